"""A turn is found by everything that names it, with its life and without its words."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kimibot.answers import Usage
from kimibot.conversation import Thread
from kimibot.storage import Database, Store
from kimibot.storage.trace import (
    MOST_TURNS,
    TracedAnswer,
    TracedTurn,
    turns_by_id,
    turns_by_message,
)
from kimibot.turns import Kind, Press
from tests.storage.said import (
    LAPSED,
    NOW,
    THREAD,
    answered,
    ask,
    claimed,
    failed,
    keep,
    says,
    ts,
)

ENDING = replace(
    answered(5),
    reply_ts=(ts(5), ts(6)),
    trace_id="trace-77",
    first_delta_at=NOW + timedelta(seconds=3),
    last_delta_at=NOW + timedelta(seconds=8),
)


async def an_answer(store: Store) -> str:
    """One answered turn; its id."""
    accepted = await ask(store, 1)
    await keep(store, await claimed(store, accepted.thread_id), ENDING)
    assert accepted.turn_id is not None
    return accepted.turn_id


async def one_by_id(database: Database, id_: str) -> TracedTurn:
    [turn] = await turns_by_id(database, id_)
    return turn


async def test_a_turn_is_found_by_each_of_its_ids(database: Database, store: Store) -> None:
    turn_id = await an_answer(store)
    await ask(store, 2, thread=Thread("T1", "C2", ts(2)))

    for known in (turn_id, "Ev1", "trace-77", "chatcmpl-1"):
        assert (await one_by_id(database, known)).id == turn_id


@pytest.mark.parametrize("number", [1, 5, 6], ids=["ask", "first part", "second part"])
async def test_a_turn_is_found_by_its_ask_and_by_each_part_of_its_reply(
    database: Database, store: Store, number: int
) -> None:
    turn_id = await an_answer(store)

    [turn] = await turns_by_message(database, THREAD.channel, ts(number))
    assert turn.id == turn_id


async def test_what_names_no_turn_finds_none(database: Database, store: Store) -> None:
    await an_answer(store)
    await store.accept(says(7), is_ask=False, now=NOW)

    for unknown in ("nothing", "", "%", "trace-", "Ev7", "\udcff", "a\x00b", "' OR 1=1 --"):
        assert await turns_by_id(database, unknown) == []
    assert await turns_by_message(database, THREAD.channel, ts(7)) == []
    assert await turns_by_message(database, "C9", ts(1)) == []


async def test_the_life_of_an_answered_turn_is_told_whole(database: Database, store: Store) -> None:
    turn = await one_by_id(database, await an_answer(store))

    assert (turn.thread, turn.ts, turn.event_id) == (THREAD, ts(1), "Ev1")
    assert (turn.state, turn.outcome, turn.error_code) == ("ended", "answered", "")
    assert (turn.attempt, turn.takeovers, turn.stop_requested) == (1, 0, "")
    assert turn.reply_ts == (ts(5), ts(6))
    assert turn.answer == TracedAnswer("chatcmpl-1", "stop", Usage(100, 20, 80))
    assert list(turn.steps) == [
        "accepted",
        "claimed",
        "shown",
        "first_delta",
        "last_delta",
        "ended",
    ]
    assert turn.steps["accepted"] == NOW
    assert turn.steps["last_delta"] == NOW + timedelta(seconds=8)


async def test_nothing_that_was_said_is_in_it(database: Database, store: Store) -> None:
    turn = await one_by_id(database, await an_answer(store))

    for words in ("question", "Because", "Hm"):
        assert words not in repr(turn)


async def test_a_queued_turn_has_no_more_than_its_beginning(
    database: Database, store: Store
) -> None:
    await ask(store, 1)

    turn = await one_by_id(database, "Ev1")
    assert (turn.state, turn.outcome, turn.attempt, turn.answer) == ("queued", "", 0, None)
    assert list(turn.steps) == ["accepted"]


async def test_turns_that_were_answered_together_know_each_other(
    database: Database, store: Store
) -> None:
    accepted = [await ask(store, number) for number in (1, 2, 3)]
    await keep(store, await claimed(store, accepted[0].thread_id), ENDING)
    first, second, third = [one.turn_id for one in accepted]

    assert (await one_by_id(database, "Ev1")).merged == (second, third)
    merged = await one_by_id(database, "Ev2")
    assert (merged.outcome, merged.merged_into, merged.answer) == ("merged", first, None)


async def test_attempts_and_takeovers_are_told_of_a_turn_that_failed_in_the_end(
    database: Database, store: Store
) -> None:
    thread_id = (await ask(store, 1)).thread_id
    await claimed(store, thread_id, "dead", LAPSED)
    await keep(store, await claimed(store, thread_id, "second"), failed(ts(5)), "second")

    turn = await one_by_id(database, "trace-1")
    assert (turn.outcome, turn.error_code) == ("failed", "busy")
    assert (turn.attempt, turn.takeovers) == (2, 1)


async def test_an_id_that_an_endpoint_gives_again_and_again_finds_the_newest(
    database: Database, store: Store
) -> None:
    for number in range(1, MOST_TURNS + 3):
        thread = Thread("T1", f"C{number}", ts(number))
        message = says(number, thread=thread)
        accepted = await store.accept(message, is_ask=True, now=NOW + timedelta(seconds=number))
        assert accepted is not None
        await keep(store, await claimed(store, accepted.thread_id), failed())

    found = await turns_by_id(database, "trace-1")
    assert [turn.ts for turn in found] == [ts(number) for number in range(MOST_TURNS + 2, 2, -1)]


async def test_a_message_is_traced_to_its_own_turn_and_not_to_what_was_pressed_below_it(
    database: Database, store: Store
) -> None:
    turn_id = await an_answer(store)
    await store.press(turn_id, Press(Kind.EXPLAIN, 2), NOW)
    thread_id = (await one_by_id(database, turn_id)).thread
    [turn] = await turns_by_message(database, THREAD.channel, ts(6))
    claim = await claimed(store, (await ask(store, 9)).thread_id)
    await keep(store, claim, answered(10))
    [pressed] = await turns_by_message(database, THREAD.channel, ts(10))

    assert (turn.id, turn.pressed, thread_id) == (turn_id, "", THREAD)
    assert (pressed.pressed, pressed.ts) == ("explain:2", ts(6))
