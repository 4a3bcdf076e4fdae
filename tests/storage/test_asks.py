"""What comes in: stored once, queued once, with what was said before it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from sqlalchemy import Table, func, select

from kimibot.conversation import Message, Speaker, Thread
from kimibot.storage import Database, Store
from kimibot.storage.tables import messages, threads, turns
from tests.storage.said import (
    LEASE_SECONDS,
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


async def count(database: Database, table: Table) -> int:
    async with database.reading() as connection:
        return (await connection.execute(select(func.count()).select_from(table))).scalar_one()


async def test_an_ask_opens_its_thread_and_queues_a_turn(store: Store) -> None:
    accepted = await ask(store, 1)

    assert accepted.turn_id is not None
    assert await store.claimable() == [accepted.thread_id]
    assert await store.open_asks() == 1
    assert await store.turn_owner(accepted.turn_id) == (THREAD, "U1")


async def test_a_delivery_that_slack_repeats_queues_nothing_but_finds_its_thread(
    store: Store, database: Database
) -> None:
    first = await ask(store, 1)

    second = await ask(store, 1)

    assert second.thread_id == first.thread_id
    assert second.turn_id is None
    assert await count(database, messages) == 1
    assert await store.open_asks() == 1


async def test_twins_that_arrive_at_once_are_one_turn(store: Store, database: Database) -> None:
    twins = await asyncio.gather(*(ask(store, 1) for _ in range(8)))

    assert len({twin.thread_id for twin in twins}) == 1
    assert len([twin for twin in twins if twin.turn_id]) == 1
    assert await count(database, messages) == 1


async def test_a_copy_that_came_first_as_no_ask_is_no_hindrance(store: Store) -> None:
    await ask(store, 1)
    message = says(2)
    copy = await store.accept(message, is_ask=False, now=NOW)

    accepted = await store.accept(message, is_ask=True, now=NOW)

    assert copy is not None
    assert copy.turn_id is None
    assert accepted is not None
    assert accepted.turn_id is not None


async def test_what_does_not_open_a_thread_is_forgotten(store: Store, database: Database) -> None:
    accepted = await store.accept(says(1), is_ask=False, now=NOW)

    assert accepted is None
    assert await count(database, threads) == 0
    assert await count(database, messages) == 0


async def test_the_same_channel_and_time_in_another_workspace_is_another_ask(store: Store) -> None:
    first = await ask(store, 1)

    second = await ask(store, 1, thread=replace(THREAD, team="T2"))

    assert second.turn_id is not None
    assert second.thread_id != first.thread_id


async def test_turn_ids_come_from_the_caller(database: Database) -> None:
    store = Store(database, new_id=lambda: "turn-1")

    assert (await ask(store, 1)).turn_id == "turn-1"


async def test_text_that_a_database_cannot_hold_does_not_make_an_ask_unstorable(
    store: Store,
) -> None:
    accepted = await store.accept(says(1, "a\x00b\ud800c 🦊"), is_ask=True, now=NOW)

    assert accepted is not None
    (remembered,) = await store.recall(accepted.thread_id)
    assert remembered.text == "a\ufffdb\ufffdc 🦊"


async def test_a_hostile_text_stays_text(store: Store, database: Database) -> None:
    text = "'); DROP TABLE turns; -- %s %(x)s :x $1 ?"

    accepted = await store.accept(says(1, text), is_ask=True, now=NOW)

    assert accepted is not None
    assert [one.text for one in await store.recall(accepted.thread_id)] == [text]


async def test_a_thread_that_is_not_ours_has_no_facts(store: Store) -> None:
    await ask(store, 1)

    assert await store.thread_facts(Thread("T1", "C1", ts(2)), ts(3)) is None


async def test_facts_name_the_people_and_apps_before_a_message(store: Store) -> None:
    accepted = await ask(store, 1, author="U1")
    gap = [says(2, author="B1", app=True), says(3, author="U2"), says(5, author="U3")]
    await store.add_messages(accepted.thread_id, gap)

    facts = await store.thread_facts(THREAD, ts(4))

    assert facts is not None
    assert facts.thread_id == accepted.thread_id
    assert facts.muted is False
    assert facts.speakers == {"U1", "B1", "U2"}
    assert facts.previous_speaker is Speaker.PERSON
    assert facts.previous_asker == ""


async def test_the_first_message_has_nobody_before_it(store: Store) -> None:
    await ask(store, 1)

    facts = await store.thread_facts(THREAD, ts(1))

    assert facts is not None
    assert facts.speakers == frozenset()
    assert facts.previous_speaker is None


async def test_a_message_after_our_reply_knows_whom_we_answered(store: Store) -> None:
    accepted = await ask(store, 1, author="U7")
    await keep(store, await claimed(store, accepted.thread_id), answered(2))

    facts = await store.thread_facts(THREAD, ts(3))

    assert facts is not None
    assert facts.speakers == {"U7"}
    assert facts.previous_speaker is Speaker.US
    assert facts.previous_asker == "U7"


async def test_a_reply_that_is_still_growing_counts_by_its_latest_part(store: Store) -> None:
    accepted = await ask(store, 1, author="U7")
    claim = await claimed(store, accepted.thread_id)
    await store.add_messages(accepted.thread_id, [says(3, author="U8")])
    await store.note_reply(claim, claim.turns[0].id, [ts(2), ts(4)], NOW)

    between = await store.thread_facts(THREAD, ts(4))
    after = await store.thread_facts(THREAD, ts(5))

    assert between is not None
    assert between.previous_speaker is Speaker.PERSON
    assert after is not None
    assert after.previous_speaker is Speaker.US
    assert after.previous_asker == "U7"


async def test_only_a_failed_turn_is_tried_again_and_only_once(store: Store) -> None:
    accepted = await ask(store, 1)
    assert accepted.turn_id is not None
    while_queued = await store.requeue(accepted.turn_id)
    claim = await claimed(store, accepted.thread_id)
    while_running = await store.requeue(accepted.turn_id)
    await keep(store, claim, failed(ts(2)))

    clicks = await asyncio.gather(*(store.requeue(accepted.turn_id) for _ in range(4)))

    assert (while_queued, while_running) == (None, None)
    assert sorted(clicks, key=str) == [accepted.thread_id, None, None, None]
    assert await store.claimable() == [accepted.thread_id]


async def test_an_answered_turn_is_not_tried_again(store: Store) -> None:
    accepted = await ask(store, 1)
    assert accepted.turn_id is not None
    await keep(store, await claimed(store, accepted.thread_id), answered(2))

    assert await store.requeue(accepted.turn_id) is None
    assert await store.requeue("no-such-turn") is None


async def test_a_second_try_knows_its_reply_and_is_as_old_as_the_click(store: Store) -> None:
    accepted = await ask(store, 1)
    assert accepted.turn_id is not None
    await keep(store, await claimed(store, accepted.thread_id), failed(ts(2)))
    await store.requeue(accepted.turn_id)

    claim = await store.claim(accepted.thread_id, "first", LEASE_SECONDS)

    assert claim is not None
    (turn,) = claim.turns
    assert turn.id == accepted.turn_id
    assert turn.attempt == 2
    assert turn.reply_ts == (ts(2),)
    assert turn.accepted_at != NOW


async def test_a_turn_that_does_not_exist_has_no_owner(store: Store) -> None:
    assert await store.turn_owner("no-such-turn") is None


async def test_an_event_id_is_kept_for_the_trace(store: Store) -> None:
    message = Message(THREAD, ts(1), Speaker.PERSON, "U1", "Why?", event_id="Ev77")
    accepted = await store.accept(message, is_ask=True, now=NOW)

    assert accepted is not None
    assert (await claimed(store, accepted.thread_id)).turns[0].event_id == "Ev77"


async def test_the_time_of_an_ask_comes_back_with_its_zone(store: Store) -> None:
    accepted = await ask(store, 1)

    assert (await claimed(store, accepted.thread_id)).turns[0].accepted_at == NOW


async def test_turns_table_holds_one_row_an_ask(store: Store, database: Database) -> None:
    for number in (1, 2, 2, 3):
        await ask(store, number)

    assert await count(database, turns) == 3
