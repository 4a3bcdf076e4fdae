"""What a review has found is kept with its answer, and goes with it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from kimibot.conversation import Deletion
from kimibot.errors import ClaimLost
from kimibot.storage import Database, Store
from kimibot.storage.stop_store import StopStore
from kimibot.turns import Claim, Kind
from tests.storage.said import NOW, THREAD, answered, ask, claimed, keep, says, ts

STEPS = (
    {"role": "assistant", "tool_calls": [{"id": "z", "function": {"name": "f"}}], "a": "\ud800"},
    {"role": "tool", "tool_call_id": "z", "content": "naïve \x00"},
)
FOUND = {"findings": [{"path": "a.py", "title": "naïve \x00"}], "dropped": 2}


async def review(store: Store, number: int, found: dict[str, object]) -> int:
    """A review that has ended; its thread."""
    accepted = await ask(store, number)
    claim = await claimed(store, accepted.thread_id)
    ending = answered(number + 1)
    assert ending.answer is not None
    answer = replace(ending.answer, review=found, steps=STEPS)
    await keep(store, claim, replace(ending, answer=answer))
    return accepted.thread_id


async def steps_kept(database: Database) -> list[Any]:
    async with database.reading() as connection:
        kept = text("SELECT 1 FROM messages WHERE steps IS NOT NULL")
        return list(await connection.execute(kept))


async def test_the_newest_review_of_a_thread_is_the_one_that_counts(store: Store) -> None:
    thread_id = await review(store, 1, {"findings": [], "dropped": 0})
    await review(store, 3, FOUND)
    await keep(store, await claimed(store, (await ask(store, 5)).thread_id), answered(6))

    assert await store.last_review(thread_id) == FOUND


async def test_a_thread_without_one_has_none(store: Store) -> None:
    assert await store.last_review((await ask(store, 1)).thread_id) is None


async def test_the_steps_to_an_answer_come_back_byte_for_byte(store: Store) -> None:
    thread_id = await review(store, 1, FOUND)

    [_, answer] = await store.recall(thread_id)

    assert json.dumps(answer.steps) == json.dumps(STEPS)


async def test_what_was_found_is_forgotten_with_the_thread(
    store: Store, database: Database
) -> None:
    thread_id = await review(store, 1, FOUND)
    await store.accept(says(7, "forget"), is_ask=True, kind=Kind.FORGET, now=NOW)
    claim = await claimed(store, thread_id)

    await store.forget_thread(claim, ts(7))

    assert await store.last_review(thread_id) is None
    assert await steps_kept(database) == []


async def test_what_was_found_goes_with_the_reply(store: Store, database: Database) -> None:
    thread_id = await review(store, 1, FOUND)

    await StopStore(database).forget(Deletion(THREAD, ts(2), is_ours=True), is_ask=False)

    assert await store.last_review(thread_id) is None
    assert await steps_kept(database) == []


async def order(store: Store, number: int, kind: Kind) -> Claim:
    """The claim on the thread for a word."""
    accepted = await store.accept(says(number), is_ask=True, kind=kind, now=NOW)
    assert accepted is not None
    return await claimed(store, accepted.thread_id)


async def rows_of_feedback(database: Database) -> list[Any]:
    async with database.reading() as connection:
        return list(await connection.execute(text("SELECT number, said_by FROM feedback")))


TWO = {"findings": [{"title": "One"}, {"title": "Two"}], "dropped": 0}


async def test_what_is_no_problem_is_noted_once_and_known_by_what_was_found(
    store: Store, database: Database
) -> None:
    thread_id = await review(store, 1, TWO)
    claim = await order(store, 3, Kind.NOT_A_PROBLEM)

    assert await store.note_no_problem(claim, ts(2), 2)
    assert await store.note_no_problem(claim, ts(2), 2)

    assert await store.no_problems(thread_id) == [{"title": "Two"}]
    assert await rows_of_feedback(database) == [(2, "U1")]


async def test_only_what_a_review_has_found_can_be_no_problem(
    store: Store, database: Database
) -> None:
    await review(store, 1, TWO)
    claim = await order(store, 3, Kind.NOT_A_PROBLEM)

    noted = [await store.note_no_problem(claim, ts(2), number) for number in (0, 3, -1)]
    elsewhere = await store.note_no_problem(claim, ts(1), 1)

    assert [*noted, elsewhere] == [False] * 4
    assert await rows_of_feedback(database) == []


async def test_what_is_a_problem_after_all_is_named_and_not_left_out_any_more(
    store: Store, database: Database
) -> None:
    await review(store, 1, TWO)
    claim = await order(store, 3, Kind.A_PROBLEM)
    for number in (1, 2):
        await store.note_no_problem(claim, ts(2), number)

    assert await store.take_back_no_problem(claim, 2) == {"title": "Two"}
    assert await store.take_back_no_problem(claim, 2) is None, "it counts again already"
    assert await rows_of_feedback(database) == [(1, "U1")]


async def test_a_number_that_the_newest_review_has_is_of_no_review_before(
    store: Store, database: Database
) -> None:
    await review(store, 1, TWO)
    await review(store, 3, {"findings": [{"title": "New"}], "dropped": 0})
    claim = await order(store, 5, Kind.A_PROBLEM)
    for number in (1, 2):
        await store.note_no_problem(claim, ts(2), number)

    assert await store.take_back_no_problem(claim, 1) is None
    assert await store.take_back_no_problem(claim, 2) == {"title": "Two"}
    assert await rows_of_feedback(database) == [(1, "U1")]


async def test_who_has_lost_the_thread_notes_nothing(store: Store, database: Database) -> None:
    await review(store, 1, TWO)
    lost = await order(store, 3, Kind.NOT_A_PROBLEM)
    await store.release(lost)

    with pytest.raises(ClaimLost):
        await store.note_no_problem(lost, ts(2), 1)
    with pytest.raises(ClaimLost):
        await store.take_back_no_problem(lost, 1)
    assert await rows_of_feedback(database) == []


async def test_what_is_no_problem_is_forgotten_with_the_thread(
    store: Store, database: Database
) -> None:
    thread_id = await review(store, 1, TWO)
    claim = await order(store, 3, Kind.FORGET)
    await store.note_no_problem(claim, ts(2), 1)

    await store.forget_thread(claim, ts(3))

    assert await store.no_problems(thread_id) == []
    assert await rows_of_feedback(database) == []


async def test_what_is_no_problem_goes_with_the_review(store: Store, database: Database) -> None:
    thread_id = await review(store, 1, TWO)
    claim = await order(store, 3, Kind.NOT_A_PROBLEM)
    await store.note_no_problem(claim, ts(2), 1)

    await StopStore(database).forget(Deletion(THREAD, ts(2), is_ours=True), is_ask=False)

    assert await store.no_problems(thread_id) == []
    assert await rows_of_feedback(database) == []


async def test_what_is_no_problem_goes_with_an_old_thread(store: Store, database: Database) -> None:
    await review(store, 1, TWO)
    claim = await order(store, 3, Kind.NOT_A_PROBLEM)
    await store.note_no_problem(claim, ts(2), 1)
    await keep(store, claim, answered(4))

    assert await store.remove_old(datetime.now(UTC) + timedelta(days=1), 10) == 1
    assert await rows_of_feedback(database) == []
