"""Turns that are queued by a press: to go on with a reply, and about somebody's message."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from kimibot.answers import Answer
from kimibot.conversation import Asker, Deletion, Thread
from kimibot.storage import Database, Store
from kimibot.storage.edit_store import EditStore
from kimibot.storage.stop_store import StopStore
from kimibot.turns import Claim, Ending, Kind, Outcome, Press
from tests.storage.said import NOW, THREAD, answered, ask, claimed, failed, keep, says, ts

CONTINUE, PATCH = Press(Kind.CONTINUE), Press(Kind.PATCH)


async def cut_off(store: Store) -> Claim:
    """A turn that has ended, with its reply."""
    accepted = await ask(store, 1, author="U7")
    claim = await claimed(store, accepted.thread_id)
    await keep(store, claim, answered(2, "One, two"))
    return claim


async def test_presses_at_the_same_time_queue_one_turn_that_goes_on(store: Store) -> None:
    cut = await cut_off(store)
    assert await store.has_ended(cut.turns[0].id)

    clicks = await asyncio.gather(*(store.press(cut.turns[0].id, CONTINUE, NOW) for _ in range(4)))
    [turn] = (await claimed(store, cut.thread_id)).turns

    assert sorted(clicks, key=str) == [cut.thread_id, None, None, None]
    assert (turn.kind, turn.asker, turn.ts) == (Kind.CONTINUE, "U7", ts(2))


async def test_there_is_nothing_to_go_on_from_while_a_turn_runs(store: Store) -> None:
    accepted = await ask(store, 1)
    assert accepted.turn_id is not None
    await claimed(store, accepted.thread_id)

    assert await store.press(accepted.turn_id, CONTINUE, NOW) is None
    assert await store.press("no-such-turn", CONTINUE, NOW) is None
    assert not await store.has_ended(accepted.turn_id)
    assert not await store.has_ended("no-such-turn")


async def test_a_stop_that_was_said_before_does_not_stop_what_goes_on(
    store: Store, database: Database
) -> None:
    cut = await cut_off(store)
    await StopStore(database).remember_word(says(3, "stop", author="U7"))

    await store.press(cut.turns[0].id, CONTINUE, NOW)

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

    assert await store.press(accepted.turn_id, CONTINUE, NOW) == accepted.thread_id
    assert await store.requeue(accepted.turn_id) is None


async def test_each_press_below_one_reply_has_a_turn_of_its_own_and_no_second(
    store: Store,
) -> None:
    above = (await cut_off(store)).turns[0].id
    presses = [CONTINUE, PATCH, Press(Kind.PATCH, 1), Press(Kind.PATCH, 2)]

    clicks = await asyncio.gather(
        *(store.press(above, press, NOW) for press in [*presses, *presses])
    )

    [thread_id, *others] = [found for found in clicks if found]
    claim = await claimed(store, thread_id)
    assert len(others) == 3
    assert sorted(turn.pressed for turn in claim.turns) == [
        "continue",
        "patch",
        "patch:1",
        "patch:2",
    ]
    assert {turn.ts for turn in claim.turns} == {ts(2)}


async def test_what_is_asked_about_an_answer_has_the_time_of_its_row(store: Store) -> None:
    accepted = await ask(store, 1)
    assert accepted.turn_id is not None
    claim = await claimed(store, accepted.thread_id)
    await keep(store, claim, replace(answered(2, "One, two"), reply_ts=(ts(2), ts(3))))

    before, *parts = [await store.turn_of_ours(THREAD, ts(number)) for number in (1, 2, 3)]
    await store.press(accepted.turn_id, Press(Kind.REVIEW_MESSAGE), NOW, Asker("U9", "T2"))

    [turn] = (await claimed(store, accepted.thread_id)).turns
    assert (before, parts) == (None, [accepted.turn_id] * 2)
    assert (turn.kind, turn.asker, turn.ts) == (Kind.REVIEW_MESSAGE, "U9", ts(2))
    assert ts(2) in [one.ts for one in await store.recall(accepted.thread_id)]


async def test_nobody_asks_about_the_parts_of_a_thread_that_is_not_ours(store: Store) -> None:
    await cut_off(store)

    assert await store.turn_of_ours(Thread("T1", "C2", ts(1)), ts(2)) is None


async def test_what_we_have_put_below_a_reply_belongs_to_it(store: Store) -> None:
    first = await ask(store, 1)
    await keep(store, await claimed(store, first.thread_id), answered(2))
    second = await ask(store, 4)
    await keep(store, await claimed(store, first.thread_id), answered(5))

    found = [await store.turn_of_ours(THREAD, ts(number)) for number in (3, 5, 6)]

    assert found == [first.turn_id, second.turn_id, second.turn_id]


async def test_presses_below_one_reply_are_answered_in_their_order(store: Store) -> None:
    cut = await cut_off(store)
    for seconds, number in enumerate([3, 10, 2]):
        press = Press(Kind.PATCH, number)
        await store.press(cut.turns[0].id, press, NOW + timedelta(seconds=seconds))

    turns = (await claimed(store, cut.thread_id)).turns

    assert [turn.pressed for turn in turns] == ["patch:3", "patch:10", "patch:2"]


async def test_whoever_goes_on_with_an_answer_to_several_is_its_asker(store: Store) -> None:
    """Or it would be paid from what somebody else may use, and refused for what they may not."""
    for number, who in enumerate((Asker("U1", "T1"), Asker("U2", "T2")), 1):
        message = says(number, author=who.id)
        accepted = await store.accept(message, is_ask=True, asker=who, now=NOW)
    assert accepted is not None
    claim = await claimed(store, accepted.thread_id)
    await keep(store, claim, answered(3, "One, two"))

    await store.press(claim.turns[0].id, CONTINUE, NOW, Asker("U2"))

    [turn] = (await claimed(store, accepted.thread_id)).turns
    assert (turn.asker, turn.asker_team) == ("U2", "T2")


async def test_whoever_presses_is_the_asker_where_that_is_wanted(store: Store) -> None:
    cut = await cut_off(store)

    await store.press(cut.turns[0].id, PATCH, NOW, Asker("U8", "T2"))

    [turn] = (await claimed(store, cut.thread_id)).turns
    assert (turn.asker, turn.asker_team) == ("U8", "T2")


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.FAILED, Outcome.STOPPED])
async def test_what_got_no_answer_is_no_hindrance_to_somebody_else(
    outcome: Outcome, store: Store
) -> None:
    above, explain = (await cut_off(store)).turns[0].id, Press(Kind.EXPLAIN, 2)
    thread_id = await store.press(above, explain, NOW, Asker("U8"))
    assert thread_id is not None
    refused = await claimed(store, thread_id)
    await keep(store, refused, Ending(outcome, reply_ts=(ts(3),)))

    picks = [store.press(above, explain, NOW, Asker(who)) for who in ("U9", "U7", "U9")]
    queued = await asyncio.gather(*picks)

    [turn] = (await claimed(store, thread_id)).turns
    assert sorted(queued, key=str) == [thread_id, None, None]
    assert (turn.kind, turn.number, turn.reply_ts) == (Kind.EXPLAIN, 2, ())
    assert turn.id != refused.turns[0].id


@pytest.mark.parametrize(("outcome", "count"), [(Outcome.REFUSED, 1), (Outcome.STOPPED, 0)])
async def test_after_a_refusal_the_same_may_be_picked_again_by_whom_it_was_refused(
    outcome: Outcome, count: int, store: Store
) -> None:
    above, explain = (await cut_off(store)).turns[0].id, Press(Kind.EXPLAIN, 2)
    thread_id = await store.press(above, explain, NOW, Asker("U8"))
    assert thread_id is not None
    await keep(store, await claimed(store, thread_id), Ending(outcome, reply_ts=(ts(3),)))

    queued = [await store.press(above, explain, NOW, Asker("U8")) for _ in range(2)]

    assert len([one for one in queued if one]) == count


async def test_what_gave_way_is_tried_again_as_what_it_was(store: Store) -> None:
    above, explain = (await cut_off(store)).turns[0].id, Press(Kind.EXPLAIN, 2)
    thread_id = await store.press(above, explain, NOW, Asker("U8"))
    assert thread_id is not None
    first = await claimed(store, thread_id)
    await keep(store, first, failed(ts(3)))
    await store.press(above, explain, NOW, Asker("U9"))
    await keep(store, await claimed(store, thread_id), answered(4))

    await store.requeue(first.turns[0].id)

    [turn] = (await claimed(store, thread_id)).turns
    assert (turn.kind, turn.number, turn.asker) == (Kind.EXPLAIN, 2, "U8")
    assert await store.press(above, explain, NOW, Asker("U7")) is None


async def test_what_is_about_no_number_and_gave_way_still_is_about_none(store: Store) -> None:
    above, about = (await cut_off(store)).turns[0].id, Press(Kind.ABOUT)
    thread_id = await store.press(above, about, NOW, Asker("U8"))
    assert thread_id is not None
    first = await claimed(store, thread_id)
    await keep(store, first, failed(ts(3)))
    await store.press(above, about, NOW, Asker("U9"))
    await keep(store, await claimed(store, thread_id), answered(4))

    await store.requeue(first.turns[0].id)

    [turn] = (await claimed(store, thread_id)).turns
    assert (turn.kind, turn.number, turn.ts) == (Kind.ABOUT, 0, ts(2))


async def test_what_befalls_the_message_above_does_not_befall_what_was_pressed_below_it(
    store: Store, database: Database
) -> None:
    stops, edits = StopStore(database), EditStore(database)
    cut = await cut_off(store)
    await store.press(cut.turns[0].id, PATCH, NOW)
    above = says(2, "not what it was")

    overtaken = await stops.forget(Deletion(THREAD, ts(2), above), is_ask=True)
    [turn] = (await claimed(store, cut.thread_id)).turns
    deleted = await stops.forget(Deletion(THREAD, ts(2), above), is_ask=True)
    edited = await edits.correct(above, restarts=True)

    assert (overtaken, turn.stop, deleted, edited.restart) == ([], None, [], None)
    assert not edited.has_turn


async def test_a_message_is_read_by_the_model_whatever_was_pressed_below_it(store: Store) -> None:
    cut = await cut_off(store)
    await store.press(cut.turns[0].id, Press(Kind.HELP), NOW)

    assert [one.is_for_model for one in await store.recall(cut.thread_id)] == [True, True]


async def test_a_message_may_be_asked_about_although_something_was_pressed_below_it(
    store: Store,
) -> None:
    cut = await cut_off(store)
    await store.press(cut.turns[0].id, PATCH, NOW)

    accepted = await ask(store, 2)

    assert accepted.turn_id is not None
