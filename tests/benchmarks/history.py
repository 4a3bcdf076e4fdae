"""What it costs to read a long thread for the model, alone in the database and among many others.

    python -m tests.benchmarks.history

The thread has 1,000 messages, every second one an answer: of 60 words, and then of 400 with 800
words of reasoning kept beside each, of which most no longer fits the model. Takes half a minute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import uvloop

from kimibot import history
from kimibot.conversation import Message, Speaker, Thread
from kimibot.storage import Database, Store, open_database
from kimibot.storage import tables as t
from tests.benchmarks.figures import Figure, milliseconds, report
from tests.postgres import migrate, some_postgres

TEAM = "T0LOCAL01"
LONG_THREAD = Thread(TEAM, "C0LONG", "1700000000.000000")
LONGEST_THREAD = Thread(TEAM, "C0LONG", "1700005000.000000")
MESSAGES = 1_000
ASK_WORDS, ANSWER_WORDS = 20, 60
LONG_ANSWER_WORDS, REASONING_WORDS = 400, 800
OTHER_THREADS, MESSAGES_IN_OTHERS = 2_000, 10
THREADS_A_TRANSACTION = 200
BUDGET_TOKENS = 95_000
READS = 50
SYSTEM = "You answer people in Slack. " * 40
NOW = datetime(2026, 11, 30, tzinfo=UTC)


async def measure(name: str, url: str) -> None:
    """The same look-ups twice: with the long thread alone, and among 2,000 others."""
    database = open_database(url)
    try:
        thread_id = await _fill_thread(database, LONG_THREAD, ANSWER_WORDS, 0)
        alone = await _look_ups(database, thread_id)
        longest_id = await _fill_thread(
            database, LONGEST_THREAD, LONG_ANSWER_WORDS, REASONING_WORDS
        )
        longest = await _timed(lambda: _read(Store(database), longest_id))
        await _fill_other_threads(database)
        among = await _look_ups(database, thread_id)
    finally:
        await database.close()
    figure = Figure("read long answers with their reasoning, p50", milliseconds(longest, 50), "ms")
    report(f"A thread of {MESSAGES:,} messages on {name}", [*_rows(alone, among), figure])


async def _look_ups(database: Database, thread_id: int) -> dict[str, list[float]]:
    """What is done at every ask, each in seconds."""
    store = Store(database)

    async def read() -> None:
        assert await _read(store, thread_id) == MESSAGES

    async def recall() -> None:
        await store.recall(thread_id)

    async def facts() -> None:
        await store.thread_facts(LONG_THREAD, "1800000000.000000")

    async def sweep() -> None:
        await store.claimable()

    async def accept() -> None:
        await store.accept(_ask(LONG_THREAD), is_ask=True, now=NOW)

    steps: dict[str, Callable[[], Awaitable[None]]] = {
        "read for the model": read,
        "  of which from the database": recall,
        "tell whether a message is a follow-up": facts,
        "look for queued turns": sweep,
        "take in a delivery that was repeated": accept,
    }
    return {step: await _timed(work) for step, work in steps.items()}


async def _read(store: Store, thread_id: int) -> int:
    """How many messages the model gets to read."""
    remembered = await store.recall(thread_id)
    reading = history.read(SYSTEM, remembered, budget_tokens=BUDGET_TOKENS, name_of=str)
    return len(remembered) - reading.left_out


async def _timed(work: Callable[[], Awaitable[object]]) -> list[float]:
    await work()
    seconds = []
    for _ in range(READS):
        began = perf_counter()
        await work()
        seconds.append(perf_counter() - began)
    return seconds


def _rows(alone: dict[str, list[float]], among: dict[str, list[float]]) -> Iterator[Figure]:
    for step, seconds in alone.items():
        budget = 20.0 if step == "read for the model" else None
        others = f", among {OTHER_THREADS:,} others" if not step.startswith(" ") else ", the same"
        yield Figure(f"{step}, p50", milliseconds(seconds, 50), "ms", budget)
        yield Figure(f"{step}{others}, p50", milliseconds(among[step], 50), "ms", budget)


async def _fill_thread(
    database: Database, thread: Thread, answer_words: int, reasoning_words: int
) -> int:
    accepted = await Store(database).accept(_ask(thread), is_ask=True, now=NOW)
    assert accepted is not None
    rows = [
        _message(accepted.thread_id, thread, number, answer_words, reasoning_words)
        for number in range(1, MESSAGES)
    ]
    async with database.writing() as connection:
        await connection.execute(t.messages.insert(), rows)
    return accepted.thread_id


async def _fill_other_threads(database: Database) -> None:
    for first in range(0, OTHER_THREADS, THREADS_A_TRANSACTION):
        numbers = range(first, first + THREADS_A_TRANSACTION)
        await _fill(database, [Thread(TEAM, "C0DEV", f"{1600000000 + n}.000000") for n in numbers])


async def _fill(database: Database, others: Sequence[Thread]) -> None:
    keys = [{"team": o.team, "channel": o.channel, "root_ts": o.root_ts} for o in others]
    async with database.writing() as connection:
        added = await connection.execute(
            t.threads.insert().returning(t.threads.c.id, t.threads.c.root_ts), keys
        )
        ids = {row.root_ts: row.id for row in added}
        rows = [
            _message(ids[other.root_ts], other, number, ANSWER_WORDS, 0)
            for other in others
            for number in range(MESSAGES_IN_OTHERS)
        ]
        await connection.execute(t.messages.insert(), rows)
        await connection.execute(t.turns.insert(), [_turn(ids[o.root_ts], o) for o in others])


def _ask(thread: Thread) -> Message:
    return Message(thread, thread.root_ts, Speaker.PERSON, "U0ANA0001", "What is this about?")


def _message(
    thread_id: int, thread: Thread, number: int, answer_words: int, reasoning_words: int
) -> dict[str, Any]:
    """Every second message is an answer of ours, kept as it goes back to the model."""
    is_ours = number % 2 == 1
    text = f"message {number} " + "word " * (answer_words if is_ours else ASK_WORDS)
    raw = {"role": "assistant", "content": text, "reasoning_content": "word " * reasoning_words}
    seconds = int(float(thread.root_ts)) + number // 1_000
    return {
        "thread_id": thread_id,
        "team": thread.team,
        "channel": thread.channel,
        "ts": f"{seconds}.{number % 1_000:06d}",
        "speaker": (Speaker.US if is_ours else Speaker.PERSON).value,
        "author": "" if is_ours else "U0ANA0001",
        "text": text,
        "sent": None if is_ours else text,
        "place": number + 1,
        "raw": raw if is_ours else None,
        "finish_reason": "stop" if is_ours else None,
    }


def _turn(thread_id: int, thread: Thread) -> dict[str, Any]:
    return {
        "id": f"{thread.channel}-{thread.root_ts}",
        "thread_id": thread_id,
        "team": thread.team,
        "channel": thread.channel,
        "ts": thread.root_ts,
        "asker": "U0ANA0001",
        "event_id": "",
        "state": t.ENDED,
        "outcome": "answered",
        "accepted_at": NOW,
        "ended_at": NOW,
    }


async def _on_sqlite(url: str) -> None:
    await migrate(url)
    await measure("SQLite", url)


def main() -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="kimibot-bench-")))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_on_sqlite(f"sqlite:///{folder}/history.db"))
        url = stack.enter_context(some_postgres()).new_database()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(measure("PostgreSQL", url))


if __name__ == "__main__":
    main()
