"""Turns that are queued by a press: to go on with a reply, and about somebody's message."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from kimibot.answers import Answer
from kimibot.conversation import Asker
from kimibot.storage import Database, Store
from kimibot.storage.stop_store import StopStore
from kimibot.turns import Claim, Kind
from tests.storage.said import NOW, answered, ask, claimed, failed, keep, says, ts


async def cut_off(store: Store) -> Claim:
    """A turn that has ended, with its reply."""
    accepted = await ask(store, 1, author="U7")
    claim = await claimed(store, accepted.thread_id)
    await keep(store, claim, answered(2, "One, two"))
    return claim


async def test_presses_at_the_same_time_queue_one_turn_that_goes_on(store: Store) -> None:
    cut = await cut_off(store)

    clicks = await asyncio.gather(*(store.continue_turn(cut.turns[0].id, NOW) for _ in range(4)))
    [turn] = (await claimed(store, cut.thread_id)).turns

    assert sorted(clicks, key=str) == [cut.thread_id, None, None, None]
    assert (turn.kind, turn.asker, turn.ts) == (Kind.CONTINUE, "U7", ts(2))


async def test_there_is_nothing_to_go_on_from_while_a_turn_runs(store: Store) -> None:
    accepted = await ask(store, 1)
    assert accepted.turn_id is not None
    await claimed(store, accepted.thread_id)

    assert await store.continue_turn(accepted.turn_id, NOW) is None
    assert await store.continue_turn("no-such-turn", NOW) is None


async def test_a_stop_that_was_said_before_does_not_stop_what_goes_on(
    store: Store, database: Database
) -> None:
    cut = await cut_off(store)
    await StopStore(database).remember_word(says(3, "stop", author="U7"))

    await store.continue_turn(cut.turns[0].id, NOW)

    [turn] = (await claimed(store, cut.thread_id)).turns
    assert turn.stop is None


async def test_who_asks_about_a_message_is_the_asker_and_its_author_stays(store: Store) -> None:
    message = says(5, "Disk full", author="B1", app=True)

    accepted = await store.accept(
        message, is_ask=True, kind=Kind.ABOUT, asker=Asker("U9", "T2"), now=NOW
    )

    assert accepted is not None
    [turn] = (await claimed(store, accepted.thread_id)).turns
    [remembered] = await store.recall(accepted.thread_id)
    assert (turn.kind, turn.asker, turn.asker_team) == (Kind.ABOUT, "U9", "T2")
    assert remembered.author == "B1"


async def test_a_reply_that_goes_on_below_is_not_written_anew(store: Store) -> None:
    accepted = await ask(store, 1)
    assert accepted.turn_id is not None
    claim = await claimed(store, accepted.thread_id)
    cut = replace(failed(ts(2)), answer=Answer("One, two", raw={"content": "One, two"}))
    await keep(store, claim, cut)

    assert await store.continue_turn(accepted.turn_id, NOW) == accepted.thread_id
    assert await store.requeue(accepted.turn_id) is None
