"""What a thread remembers, and in which order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sqlalchemy import Engine, event, select, update

from kimibot.answers import Answer, ToolCall, Usage
from kimibot.conversation import Placed, Speaker
from kimibot.storage import Database, Store
from kimibot.storage.tables import messages
from kimibot.turns import Outcome
from tests.storage.said import NOW, THREAD, answered, ask, claimed, failed, keep, says, ts


@contextmanager
def statements() -> Iterator[list[str]]:
    """All that is sent to any database meanwhile."""
    seen: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *more: Any) -> None:
        seen.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)


async def texts(store: Store, thread_id: int) -> list[str]:
    return [one.text for one in await store.recall(thread_id)]


async def test_messages_come_back_by_time_until_they_have_a_place(store: Store) -> None:
    thread_id = (await ask(store, 5)).thread_id
    await store.add_messages(thread_id, [says(9, "nine"), says(1, "one"), says(7, "seven")])

    assert await texts(store, thread_id) == ["one", "question 5", "seven", "nine"]


async def test_what_has_a_place_keeps_it_before_what_has_none(store: Store) -> None:
    thread_id = (await ask(store, 5)).thread_id
    await store.add_messages(thread_id, [says(6, "six")])
    by_text = {one.text: one.id for one in await store.recall(thread_id)}
    placed = (Placed(by_text["six"], 0, "<b> six"), Placed(by_text["question 5"], 1, "<a> five"))
    claim = await claimed(store, thread_id)

    await keep(store, claim, replace(answered(8, "because", place=2), placed=placed))
    await store.add_messages(thread_id, [says(1, "one")])

    assert await texts(store, thread_id) == ["six", "question 5", "because", "one"]
    assert [one.sent for one in await store.recall(thread_id)][:2] == ["<b> six", "<a> five"]


async def test_what_is_said_after_the_ask_that_is_being_answered_is_left_for_the_next_turn(
    store: Store,
) -> None:
    thread_id = (await ask(store, 5)).thread_id
    claim = await claimed(store, thread_id)
    await ask(store, 7)
    await store.add_messages(thread_id, [says(4, "four"), says(8, "eight")])
    read = await texts(store, thread_id)

    await keep(store, claim, answered(9, "because"))

    assert read == ["four", "question 5"]
    assert await texts(store, thread_id) == ["four", "question 5", "question 7", "because"]


async def test_what_has_been_sent_is_read_again_when_an_earlier_ask_is(store: Store) -> None:
    thread_id = (await ask(store, 5)).thread_id
    await store.add_messages(thread_id, [says(6, "six")])
    placed = tuple(
        Placed(one.id, number, one.text)
        for number, one in enumerate(await store.recall(thread_id), 1)
    )
    claim = await claimed(store, thread_id)
    await keep(store, claim, replace(failed(ts(7)), placed=placed))
    await store.requeue(claim.turns[0].id)
    await claimed(store, thread_id)

    assert await texts(store, thread_id) == ["question 5", "six"]


async def test_a_place_in_one_thread_moves_no_message_of_another(store: Store) -> None:
    other = (await ask(store, 1, thread=replace(THREAD, channel="C2"))).thread_id
    (foreign,) = await store.recall(other)
    thread_id = (await ask(store, 1)).thread_id

    placed = (Placed(foreign.id, 3, "moved"),)
    await keep(store, await claimed(store, thread_id), replace(answered(2), placed=placed))

    assert await store.recall(other) == [foreign]


async def test_gaps_are_filled_without_doubles(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id

    await store.add_messages(thread_id, [says(1, "again"), says(2, "two"), says(2, "two")])
    await store.add_messages(thread_id, [says(2, "two")])
    await store.add_messages(thread_id, [])

    assert await texts(store, thread_id) == ["question 1", "two"]


async def test_parts_of_our_reply_that_are_read_back_are_not_messages(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    claim = await claimed(store, thread_id)
    await store.note_reply(claim, claim.turns[0].id, [ts(2), ts(3)], NOW)
    parts = [replace(says(number, "Thinking…"), speaker=Speaker.US) for number in (2, 3)]

    await store.add_messages(thread_id, [*parts, says(4, "four")])
    await keep(store, claim, failed(ts(2), ts(3)))

    assert await texts(store, thread_id) == ["question 1", "four"]


async def test_deleted_and_empty_messages_are_left_out(store: Store, database: Database) -> None:
    thread_id = (await ask(store, 1)).thread_id
    await store.add_messages(thread_id, [says(2, ""), says(3, "three"), says(4, "four")])
    async with database.writing() as connection:
        statement = update(messages).where(messages.c.ts == ts(3)).values(deleted_at=NOW)
        await connection.execute(statement)

    assert await texts(store, thread_id) == ["question 1", "four"]


async def test_an_answer_of_many_parts_is_one_message(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    ending = replace(answered(2, "long"), reply_ts=(ts(2), ts(3), ts(4)))

    await keep(store, await claimed(store, thread_id), ending)

    answer = (await store.recall(thread_id))[-1]
    assert (answer.ts, answer.speaker, answer.text) == (ts(2), Speaker.US, "long")
    assert (answer.finish_reason, answer.place) == ("stop", None)


async def test_what_the_model_sent_comes_back_byte_for_byte(store: Store) -> None:
    raw = {
        "role": "assistant",
        "zeta": {"b": 1, "a": [1.5, None, True]},
        "content": "NUL \x00, half \ud800, e\u0301, 🦊, \u2028",
        "alpha": "",
        "reasoning_content": "",
    }
    thread_id = (await ask(store, 1)).thread_id
    answer = Answer("x", raw=raw)

    await keep(store, await claimed(store, thread_id), replace(answered(2), answer=answer))

    recalled = (await store.recall(thread_id))[-1].raw
    assert json.dumps(recalled) == json.dumps(raw)


async def test_an_answer_of_tool_calls_alone_is_kept(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    calls = (ToolCall("call_1", "look", "{}"),)
    answer = Answer("", tool_calls=calls, finish_reason="tool_calls", raw={"role": "assistant"})

    await keep(store, await claimed(store, thread_id), replace(answered(2), answer=answer))

    assert (await store.recall(thread_id))[-1].finish_reason == "tool_calls"


async def test_an_answer_without_a_word_leaves_only_the_ask(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    ending = replace(answered(2), outcome=Outcome.FAILED, answer=Answer("", reasoning="Hm."))

    await keep(store, await claimed(store, thread_id), ending)

    assert await texts(store, thread_id) == ["question 1"]


async def test_an_answer_that_never_reached_the_thread_is_not_remembered(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id

    await keep(store, await claimed(store, thread_id), replace(answered(2), reply_ts=()))

    assert await texts(store, thread_id) == ["question 1"]


async def test_a_second_try_replaces_the_cut_answer_of_the_first(store: Store) -> None:
    accepted = await ask(store, 1)
    assert accepted.turn_id is not None
    cut = replace(answered(2, "half an ans"), outcome=Outcome.FAILED)
    await keep(store, await claimed(store, accepted.thread_id), cut)
    await store.requeue(accepted.turn_id)

    await keep(store, await claimed(store, accepted.thread_id), answered(5, "whole"))

    assert await texts(store, accepted.thread_id) == ["question 1", "whole"]


async def test_a_second_try_that_fails_leaves_only_the_ask(store: Store) -> None:
    accepted = await ask(store, 1)
    assert accepted.turn_id is not None
    cut = replace(answered(2, "half an ans"), outcome=Outcome.FAILED)
    await keep(store, await claimed(store, accepted.thread_id), cut)
    await store.requeue(accepted.turn_id)

    await keep(store, await claimed(store, accepted.thread_id), failed(ts(2)))

    assert await texts(store, accepted.thread_id) == ["question 1"]


async def test_a_part_that_was_read_back_before_the_end_becomes_the_answer(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    claim = await claimed(store, thread_id)
    read_back = replace(says(2, "Thinking…"), speaker=Speaker.US, author="UBOT")
    await store.add_messages(thread_id, [read_back])

    await keep(store, claim, answered(2, "whole"))

    assert await texts(store, thread_id) == ["question 1", "whole"]


async def test_usage_is_kept_whatever_an_endpoint_counts(store: Store, database: Database) -> None:
    thread_id = (await ask(store, 1)).thread_id
    answer = Answer("x", usage=Usage(10**30, -5, None))

    await keep(store, await claimed(store, thread_id), replace(answered(2), answer=answer))

    columns = (messages.c.prompt_tokens, messages.c.completion_tokens, messages.c.cached_tokens)
    async with database.reading() as connection:
        row = (await connection.execute(select(*columns).where(messages.c.ts == ts(2)))).one()
    assert tuple(row) == (2**53, 0, None)


async def test_a_long_thread_is_read_with_no_more_statements_than_a_short_one(
    store: Store,
) -> None:
    thread_id = (await ask(store, 1)).thread_id
    counted: list[int] = []
    for last in (2, 1000):
        await store.add_messages(thread_id, [says(n, "word " * 40) for n in range(2, last + 1)])
        with statements() as seen:
            remembered = await store.recall(thread_id)
        counted.append(len(seen))

    assert len(remembered) == 1000
    assert counted[0] == counted[1] > 0
