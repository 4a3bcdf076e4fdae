"""Who wants which turn to stop, whichever of stop and ask is stored first; and what is deleted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kimibot.answers import Answer
from kimibot.conversation import Deletion, Message, Placed, Reaction, Thread
from kimibot.storage import Database, Store
from kimibot.storage.stop_store import StopStore
from kimibot.turns import Ending, Outcome, Stop, StopCause
from tests.storage.said import NOW, THREAD, answered, ask, claimed, failed, keep, says, ts

OTHER = Thread("T1", "C1", ts(50))


@pytest.fixture
def stops(database: Database) -> StopStore:
    return StopStore(database)


def stop(number: int, *, author: str = "U1", thread: Thread = THREAD) -> Message:
    return says(number, "stop", author=author, thread=thread)


async def said(stops: StopStore, word: Message) -> list[str]:
    """The turns that the word stops."""
    await stops.remember_word(word)
    return [marked.turn_id for marked in await stops.mark_for_word(word)]


async def test_the_word_stops_all_that_was_asked_in_the_thread_before(
    store: Store, stops: StopStore
) -> None:
    first, second = await ask(store, 1), await ask(store, 2)
    claim = await claimed(store, first.thread_id)
    waiting = await ask(store, 3)
    later = await ask(store, 9)

    stopped = await said(stops, stop(5))

    assert sorted(stopped) == sorted([str(t.turn_id) for t in (first, second, waiting)])
    assert later.turn_id not in stopped
    requested = await store.stops_requested({claim.thread_id: claim.fence})
    assert {wish.turn_id for wish in requested} == {first.turn_id, second.turn_id}
    assert {wish.stop for wish in requested} == {Stop(StopCause.PERSON, "U1")}


async def test_a_participant_may_stop_and_a_stranger_may_not(
    store: Store, stops: StopStore
) -> None:
    asked = await ask(store, 1)
    await store.accept(says(2, author="U2"), is_ask=False, now=NOW)

    assert await said(stops, stop(3, author="U3")) == []
    assert await stops.goes_on(stop(3, author="U3"))
    assert await said(stops, stop(4, author="U2")) == [asked.turn_id]
    assert not await stops.goes_on(stop(4, author="U2"))


async def test_a_stop_in_another_thread_stops_nothing_here(store: Store, stops: StopStore) -> None:
    await ask(store, 1)

    assert await said(stops, stop(60, thread=OTHER)) == []


async def test_a_stop_that_is_a_root_counts_for_its_author_in_the_whole_channel(
    store: Store, stops: StopStore
) -> None:
    mine, theirs = await ask(store, 1), await ask(store, 51, author="U2", thread=OTHER)
    root = replace(stop(90), thread=Thread("T1", "C1", ts(90)))

    assert await said(stops, root) == [mine.turn_id]
    assert theirs.turn_id is not None


async def test_a_stop_that_overtakes_its_ask_is_found_by_the_claim(
    store: Store, stops: StopStore
) -> None:
    assert await said(stops, stop(2)) == []

    claim = await claimed(store, (await ask(store, 1)).thread_id)

    assert claim.turns[0].stop == Stop(StopCause.PERSON, "U1")


async def test_an_overtaking_stop_of_a_stranger_counts_for_nothing(
    store: Store, stops: StopStore
) -> None:
    await said(stops, stop(2, author="U3"))

    claim = await claimed(store, (await ask(store, 1)).thread_id)

    assert claim.turns[0].stop is None


async def test_what_is_asked_after_a_stop_runs(store: Store, stops: StopStore) -> None:
    await said(stops, stop(2))

    claim = await claimed(store, (await ask(store, 3)).thread_id)

    assert claim.turns[0].stop is None


async def test_a_word_that_is_delivered_again_is_known(stops: StopStore) -> None:
    assert await stops.remember_word(stop(2))
    assert not await stops.remember_word(stop(2))


async def test_the_first_to_stop_a_turn_is_the_one_who_did(store: Store, stops: StopStore) -> None:
    asked = await ask(store, 1)
    turn_id = str(asked.turn_id)

    [marked] = await stops.mark_turn(turn_id, "U1")

    assert (marked.thread_id, marked.stop) == (asked.thread_id, Stop(StopCause.PERSON, "U1"))
    assert await stops.mark_turn(turn_id, "U2") == []


async def test_a_turn_that_has_ended_is_not_stopped(store: Store, stops: StopStore) -> None:
    asked = await ask(store, 1)
    await keep(store, await claimed(store, asked.thread_id), answered(2))

    assert await stops.mark_turn(str(asked.turn_id), "U1") == []
    assert await said(stops, stop(9)) == []


async def test_trying_again_forgets_an_earlier_stop(store: Store, stops: StopStore) -> None:
    asked = await ask(store, 1)
    claim = await claimed(store, asked.thread_id)
    await said(stops, stop(2))
    await keep(store, claim, failed(ts(3)))

    await store.requeue(str(asked.turn_id))

    assert (await claimed(store, asked.thread_id)).turns[0].stop is None


async def test_a_reaction_stops_the_askers_own_turn_alone(store: Store, stops: StopStore) -> None:
    asked = await ask(store, 1)
    claim = await claimed(store, asked.thread_id)
    await store.note_reply(claim, str(asked.turn_id), [ts(2), ts(3)], NOW)
    reaction = Reaction("T1", "C1", ts(3), "x", "U1")

    assert await stops.mark_reply(replace(reaction, user="U2")) == []
    assert await stops.mark_reply(replace(reaction, ts=ts(4))) == []
    [marked] = await stops.mark_reply(reaction)
    assert marked.turn_id == asked.turn_id


async def test_turns_that_are_left_open_are_claimed_next(store: Store) -> None:
    first, second, third = [await ask(store, number) for number in (1, 2, 3)]
    claim = await claimed(store, first.thread_id)
    ending = Ending(Outcome.STOPPED, left_open=(str(second.turn_id),))

    following = await keep(store, claim, ending)

    assert following is not None
    assert [turn.id for turn in following.turns] == [second.turn_id]
    assert following.turns[0].takeovers == 0
    assert third.turn_id is not None


async def test_an_ask_that_meets_an_open_turn_has_to_wait(store: Store) -> None:
    first, second = await ask(store, 1), await ask(store, 2)

    assert (first.must_wait, second.must_wait) == (False, True)
    claim = await claimed(store, first.thread_id)
    assert [turn.had_to_wait for turn in claim.turns] == [False, True]


async def test_a_deleted_message_is_emptied_and_read_no_more(
    store: Store, stops: StopStore, database: Database
) -> None:
    asked = await ask(store, 1)
    remark = says(2, "my password is CANARY", author="U2")
    await store.accept(remark, is_ask=False, now=NOW)

    assert await stops.forget(Deletion(THREAD, ts(2), remark), is_ask=False) == []

    assert [row.ts for row in await store.recall(asked.thread_id)] == [ts(1)]
    async with database.reading() as connection:
        rows = await connection.exec_driver_sql("SELECT * FROM messages")
        assert "CANARY" not in str(rows.all())


async def test_deleting_an_ask_stops_its_turn(store: Store, stops: StopStore) -> None:
    asked = await ask(store, 1)
    claim = await claimed(store, asked.thread_id)

    [marked] = await stops.forget(Deletion(THREAD, ts(1), says(1)), is_ask=True)

    assert marked.turn_id == asked.turn_id
    assert marked.stop == Stop(StopCause.ASK_DELETED)
    assert await store.stops_requested({claim.thread_id: claim.fence}) == [marked]


async def test_a_deletion_that_overtakes_its_ask_stops_it_and_leaves_no_text(
    store: Store, stops: StopStore
) -> None:
    assert await stops.forget(Deletion(THREAD, ts(1), says(1)), is_ask=True) == []

    claim = await claimed(store, (await ask(store, 1)).thread_id)

    assert claim.turns[0].stop == Stop(StopCause.ASK_DELETED)
    assert await store.recall(claim.thread_id) == []


async def test_a_deletion_that_overtakes_a_remark_leaves_no_text(
    store: Store, stops: StopStore
) -> None:
    asked = await ask(store, 1)
    remark = says(2, author="U2")
    await stops.forget(Deletion(THREAD, ts(2), remark), is_ask=False)

    await store.accept(remark, is_ask=False, now=NOW)

    assert [row.ts for row in await store.recall(asked.thread_id)] == [ts(1)]


async def test_what_is_deleted_elsewhere_leaves_no_row(
    stops: StopStore, database: Database
) -> None:
    assert await stops.forget(Deletion(OTHER, ts(51), says(51)), is_ask=False) == []

    async with database.reading() as connection:
        for table in ("messages", "stops"):
            rows = await connection.exec_driver_sql(f"SELECT count(*) FROM {table}")
            assert rows.scalar_one() == 0


async def test_deleting_a_part_of_a_running_reply_stops_the_turn(
    store: Store, stops: StopStore
) -> None:
    asked = await ask(store, 1)
    claim = await claimed(store, asked.thread_id)
    await store.note_reply(claim, str(asked.turn_id), [ts(2)], NOW)

    [marked] = await stops.forget(Deletion(THREAD, ts(2), is_ours=True), is_ask=False)

    assert (marked.turn_id, marked.stop) == (asked.turn_id, Stop(StopCause.REPLY_DELETED))


async def test_the_answer_of_a_deleted_reply_is_not_read_again(
    store: Store, stops: StopStore
) -> None:
    asked = await ask(store, 1)
    ending = replace(answered(2), reply_ts=(ts(2), ts(3)))
    await keep(store, await claimed(store, asked.thread_id), ending)

    assert await stops.forget(Deletion(THREAD, ts(3), is_ours=True), is_ask=False) == []

    assert [row.ts for row in await store.recall(asked.thread_id)] == [ts(1)]


async def test_an_answer_whose_reply_was_deleted_before_it_was_kept_is_not_kept(
    store: Store, stops: StopStore
) -> None:
    asked = await ask(store, 1)
    claim = await claimed(store, asked.thread_id)
    await store.note_reply(claim, str(asked.turn_id), [ts(2)], NOW)
    await stops.forget(Deletion(THREAD, ts(2), is_ours=True), is_ask=False)

    await keep(store, claim, replace(answered(2), answer=Answer("Because.")))

    assert [row.ts for row in await store.recall(asked.thread_id)] == [ts(1)]


async def test_deleting_one_of_our_other_messages_stops_nothing(
    store: Store, stops: StopStore
) -> None:
    asked = await ask(store, 1)
    claim = await claimed(store, asked.thread_id)
    await store.note_reply(claim, str(asked.turn_id), [ts(2)], NOW)

    assert await stops.forget(Deletion(THREAD, ts(3), is_ours=True), is_ask=False) == []


async def test_what_is_deleted_while_it_is_being_answered_is_not_kept_as_it_was_sent(
    store: Store, stops: StopStore, database: Database
) -> None:
    asked = await ask(store, 1)
    claim = await claimed(store, asked.thread_id)
    [row] = await store.recall(asked.thread_id)
    await stops.forget(Deletion(THREAD, ts(1), says(1)), is_ask=True)

    placed = (Placed(row.id, 1, "U1: my password is CANARY"),)
    await keep(store, claim, Ending(Outcome.STOPPED, placed=placed))

    async with database.reading() as connection:
        rows = await connection.exec_driver_sql("SELECT * FROM messages")
        assert "CANARY" not in str(rows.all())


async def test_what_is_deleted_is_emptied_also_where_slack_does_not_name_its_thread(
    store: Store, stops: StopStore
) -> None:
    asked = await ask(store, 1)
    await store.accept(says(2, author="U2"), is_ask=False, now=NOW)

    await stops.forget(Deletion(Thread("T1", "C1", ts(2)), ts(2)), is_ask=False)

    assert [row.ts for row in await store.recall(asked.thread_id)] == [ts(1)]
