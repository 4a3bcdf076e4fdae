"""What an edit does to what is stored, and which answers can be written anew."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import select

from kimibot.attachments import Attachment, Contents, SharedFile
from kimibot.conversation import Deletion, Message, Placed, Thread
from kimibot.storage import Database, Store
from kimibot.storage.edit_store import EditStore
from kimibot.storage.stop_store import StopStore
from kimibot.storage.tables import messages, turns
from kimibot.turns import Again, Claim, Corrected, Ending, Outcome, Renewal, StopCause
from tests.storage.said import NOW, THREAD, answered, ask, claimed, failed, keep, says, ts


@pytest.fixture
def edits(database: Database) -> EditStore:
    return EditStore(database)


def edited(number: int, text: str = "what I meant", thread: Thread = THREAD) -> Message:
    return says(number, text, thread=thread)


async def ask_and_answer(store: Store, number: int = 1) -> tuple[int, str]:
    """The thread and the turn of an ask that was answered."""
    asked = await ask(store, number)
    await keep(store, await claimed(store, asked.thread_id), answered(number + 1))
    return asked.thread_id, str(asked.turn_id)


async def test_an_edit_corrects_what_is_stored_and_says_when(
    store: Store, edits: EditStore, database: Database
) -> None:
    thread_id = (await ask(store, 1)).thread_id

    corrected = await edits.correct(edited(1), restarts=False)

    assert (corrected.is_known, corrected.has_changed, corrected.has_turn) == (True, True, True)
    [one] = await store.recall(thread_id)
    assert one.text == "what I meant"
    async with database.reading() as connection:
        assert (await connection.execute(select(messages.c.edited_at))).scalar_one() is not None


async def test_an_edit_that_changes_nothing_leaves_all_as_it_is(
    store: Store, edits: EditStore
) -> None:
    thread_id = (await ask(store, 1)).thread_id
    await claimed(store, thread_id)

    corrected = await edits.correct(edited(1, "question 1"), restarts=True)

    assert (corrected.is_known, corrected.has_changed, corrected.restart) == (True, False, None)


async def test_what_was_sent_keeps_its_place_and_is_sent_anew(
    store: Store, edits: EditStore
) -> None:
    thread_id = (await ask(store, 1)).thread_id
    [one] = await store.recall(thread_id)
    placed = (Placed(one.id, 1, "Ana: question 1", one.text),)
    claim = await claimed(store, thread_id)
    await keep(store, claim, replace(answered(2, place=2), placed=placed))

    await edits.correct(edited(1), restarts=False)

    first, _ = await store.recall(thread_id)
    assert (first.place, first.sent, first.text) == (1, None, "what I meant")


async def test_what_was_edited_while_it_was_sent_is_not_taken_for_what_was_sent(
    store: Store, edits: EditStore
) -> None:
    thread_id = (await ask(store, 1)).thread_id
    [one] = await store.recall(thread_id)
    claim = await claimed(store, thread_id)
    await edits.correct(edited(1), restarts=False)

    placed = (Placed(one.id, 1, "Ana: question 1", one.text),)
    await keep(store, claim, replace(answered(2, place=2), placed=placed))

    first, _ = await store.recall(thread_id)
    assert (first.place, first.sent) == (1, None)


NOTES, KEYS = SharedFile("F1", "notes.txt"), SharedFile("F2", "keys.txt")


async def ask_with_files(store: Store) -> tuple[Claim, list[Attachment]]:
    """A turn that runs, about two files that were read."""
    message = replace(says(1), files=(NOTES, KEYS))
    accepted = await store.accept(message, is_ask=True, now=NOW)
    assert accepted is not None
    claim = await claimed(store, accepted.thread_id)
    read = [
        replace(one, contents=Contents(text=f"in {one.file.name}"))
        for one in await store.attachments(accepted.thread_id)
    ]
    await store.keep_contents(accepted.thread_id, read)
    return claim, read


async def sent_with_files(store: Store, claim: Claim) -> None:
    [one] = await store.recall(claim.thread_id)
    placed = (Placed(one.id, 1, "Ana: Why? in notes.txt in keys.txt", one.text),)
    await keep(store, claim, replace(answered(2, place=2), placed=placed))


async def without_keys(edits: EditStore) -> Corrected:
    return await edits.correct(says(1), files_gone=frozenset({"F2"}), restarts=True)


async def test_a_file_that_was_taken_out_of_its_message_is_not_kept_and_not_sent_again(
    store: Store, edits: EditStore
) -> None:
    claim, _ = await ask_with_files(store)
    await sent_with_files(store, claim)

    corrected, again = await without_keys(edits), await without_keys(edits)

    first, _ = await store.recall(claim.thread_id)
    left = await store.attachments(claim.thread_id)
    assert (corrected.has_changed, again.has_changed) == (True, False)
    assert (first.place, first.sent, first.text) == (1, None, "Why?")
    assert [one.file.name for one in left] == ["notes.txt"]


async def test_a_file_that_was_taken_out_while_it_was_sent_is_not_sent_again_either(
    store: Store, edits: EditStore
) -> None:
    claim, _ = await ask_with_files(store)
    corrected = await without_keys(edits)

    await sent_with_files(store, claim)

    first, _ = await store.recall(claim.thread_id)
    assert corrected.restart is not None
    assert (first.place, first.sent) == (1, None)


async def test_a_file_that_is_read_when_it_was_taken_out_leaves_nothing(
    store: Store, edits: EditStore
) -> None:
    claim, read = await ask_with_files(store)
    await without_keys(edits)

    await store.keep_contents(claim.thread_id, read)

    assert [one.file.name for one in await store.attachments(claim.thread_id)] == ["notes.txt"]


async def test_a_copy_from_before_brings_no_file_back_that_was_taken_out(
    store: Store, edits: EditStore
) -> None:
    claim, _ = await ask_with_files(store)
    await without_keys(edits)

    await store.accept(replace(says(1), files=(NOTES, KEYS)), is_ask=True, now=NOW)

    assert [one.file.name for one in await store.attachments(claim.thread_id)] == ["notes.txt"]


@pytest.mark.parametrize("is_ask", [True, False])
async def test_an_edit_that_overtakes_its_message_leaves_out_the_file_that_it_took_out(
    store: Store, edits: EditStore, is_ask: bool
) -> None:
    thread_id = (await ask(store, 1)).thread_id
    now = replace(says(2), files=(NOTES,))
    if is_ask:
        await store.accept(now, is_ask=True, now=NOW)
        await edits.correct(now, files_gone=frozenset({"F2"}), restarts=False)
    else:
        await edits.add_if_ours(now)

    await store.accept(replace(now, files=(NOTES, KEYS)), is_ask=is_ask, now=NOW)

    assert [one.file.name for one in await store.attachments(thread_id)] == ["notes.txt"]


async def test_a_message_that_was_deleted_stays_empty(
    store: Store, edits: EditStore, database: Database
) -> None:
    thread_id = (await ask(store, 1)).thread_id
    await StopStore(database).forget(Deletion(THREAD, ts(1), says(1)), is_ask=True)

    corrected = await edits.correct(edited(1), restarts=True)

    assert (corrected.is_known, corrected.has_changed) == (True, False)
    assert await store.recall(thread_id) == []


async def test_an_edit_that_overtakes_its_message_takes_its_place(
    store: Store, edits: EditStore
) -> None:
    thread_id = (await ask(store, 1)).thread_id
    corrected = await edits.correct(edited(2), restarts=False)
    await edits.add_if_ours(edited(2))
    await store.accept(says(2, "what I typed"), is_ask=False, now=NOW)

    assert not corrected.is_known
    assert [one.text for one in await store.recall(thread_id)] == ["question 1", "what I meant"]


async def test_an_edit_in_a_strange_thread_leaves_nothing(
    edits: EditStore, database: Database
) -> None:
    await edits.correct(edited(2), restarts=True)
    await edits.add_if_ours(edited(2))

    async with database.reading() as connection:
        assert (await connection.execute(select(messages))).all() == []


async def test_a_running_turn_begins_anew_once(store: Store, edits: EditStore) -> None:
    asked = await ask(store, 1)
    claim = await claimed(store, asked.thread_id)

    first = await edits.correct(edited(1), restarts=True)
    requested = await store.stops_requested({claim.thread_id: claim.fence})
    await store.release(claim)
    again = await claimed(store, asked.thread_id)
    second = await edits.correct(edited(1, "no, this"), restarts=True)

    assert first.restart is not None
    assert (first.restart.turn_id, first.restart.stop.cause) == (
        asked.turn_id,
        StopCause.ASK_EDITED,
    )
    assert requested == [first.restart]
    assert (again.turns[0].attempt, again.turns[0].takeovers) == (2, 0)
    assert second.restart is None
    assert await store.stops_requested({again.thread_id: again.fence}) == []


async def test_a_stop_comes_before_a_new_beginning(
    store: Store, edits: EditStore, database: Database
) -> None:
    asked = await ask(store, 1)
    claim = await claimed(store, asked.thread_id)
    await edits.correct(edited(1), restarts=True)
    await StopStore(database).mark_turn(str(asked.turn_id), "U1")

    [wanted] = await store.stops_requested({claim.thread_id: claim.fence})

    assert wanted.stop.cause is StopCause.PERSON


async def test_a_late_edit_and_a_waiting_turn_begin_nothing_anew(
    store: Store, edits: EditStore
) -> None:
    asked = await ask(store, 1)
    waiting = await edits.correct(edited(1), restarts=True)
    await claimed(store, asked.thread_id)
    late = await edits.correct(edited(1, "no, this"), restarts=False)

    assert (waiting.restart, waiting.renewal) == (None, None)
    assert (late.restart, late.renewal) == (None, Renewal(str(asked.turn_id), 1))


async def test_an_answer_is_written_anew_in_its_place_and_is_one_entry(
    store: Store, edits: EditStore
) -> None:
    thread_id, turn_id = await ask_and_answer(store)
    corrected = await edits.correct(edited(1), restarts=False)
    assert corrected.renewal == Renewal(turn_id, 1)

    assert await edits.answer_again(corrected.renewal) == (Again.QUEUED, thread_id)
    claim = await claimed(store, thread_id)
    assert (claim.turns[0].id, claim.turns[0].attempt) == (turn_id, 2)
    assert claim.turns[0].reply_ts == (ts(2),)
    await keep(store, claim, answered(2, "As you meant."))

    texts = [one.text for one in await store.recall(thread_id)]
    assert texts == ["what I meant", "As you meant."]


async def test_two_presses_are_one_and_a_third_after_the_end_is_none(
    store: Store, edits: EditStore
) -> None:
    thread_id, turn_id = await ask_and_answer(store)
    renewal = Renewal(turn_id, 1)

    presses = await asyncio.gather(*(edits.answer_again(renewal) for _ in range(4)))
    await keep(store, await claimed(store, thread_id), answered(2))

    done = [again for again, _ in presses]
    assert sorted(done) == sorted([Again.QUEUED] + [Again.DONE_ALREADY] * 3)
    assert (await edits.answer_again(renewal))[0] is Again.DONE_ALREADY


async def test_an_answer_that_others_follow_stays(store: Store, edits: EditStore) -> None:
    _, turn_id = await ask_and_answer(store)
    before = await edits.correct(edited(1), restarts=False)
    await ask(store, 5)
    after = await edits.correct(edited(1, "no, this"), restarts=False)

    assert before.renewal == Renewal(turn_id, 1)
    assert after.renewal is None
    assert (await edits.answer_again(Renewal(turn_id, 1)))[0] is Again.IS_FOLLOWED


async def test_a_running_answer_is_not_written_anew(store: Store, edits: EditStore) -> None:
    asked = await ask(store, 1)
    await claimed(store, asked.thread_id)

    refused, _ = await edits.answer_again(Renewal(str(asked.turn_id), 1))

    assert refused is Again.STILL_RUNNING


async def test_asks_that_were_answered_together_are_so_again(
    store: Store, edits: EditStore, database: Database
) -> None:
    first = await ask(store, 1)
    await ask(store, 2)
    await keep(store, await claimed(store, first.thread_id), answered(3))

    corrected = await edits.correct(edited(2), restarts=False)
    assert corrected.renewal == Renewal(str(first.turn_id), 1)
    await edits.answer_again(corrected.renewal)
    claim = await claimed(store, first.thread_id)

    assert [turn.ts for turn in claim.turns] == [ts(1), ts(2)]
    await keep(store, claim, answered(3))
    async with database.reading() as connection:
        outcomes = await connection.scalars(select(turns.c.outcome).order_by(turns.c.ts))
        assert list(outcomes) == [Outcome.ANSWERED, Outcome.MERGED]


@pytest.mark.parametrize(
    ("ending", "is_offered"),
    [
        (replace(answered(2), outcome=Outcome.STOPPED), True),
        (failed(ts(2)), False),
        (Ending(Outcome.REFUSED, reply_ts=(ts(2),)), False),
    ],
)
async def test_a_stopped_answer_can_be_written_anew_and_a_failed_one_has_its_own_button(
    store: Store, edits: EditStore, ending: Ending, is_offered: bool
) -> None:
    asked = await ask(store, 1)
    await keep(store, await claimed(store, asked.thread_id), ending)

    corrected = await edits.correct(edited(1), restarts=False)

    assert (corrected.renewal is not None) is is_offered


async def test_an_ask_that_is_gone_is_not_answered_again(
    store: Store, edits: EditStore, database: Database
) -> None:
    _, turn_id = await ask_and_answer(store)
    await StopStore(database).forget(Deletion(THREAD, ts(1), says(1)), is_ask=True)

    assert (await edits.answer_again(Renewal(turn_id, 1)))[0] is Again.DONE_ALREADY
    assert (await edits.answer_again(Renewal("no-such-turn", 1)))[0] is Again.DONE_ALREADY
