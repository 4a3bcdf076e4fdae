"""Nothing is kept of a thread that has rested for long enough, and all of one that has not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import select, update

from kimibot.errors import DatabaseUnavailable
from kimibot.storage import Database, Store, expiry, open_database, usage
from kimibot.storage.stop_store import StopStore
from kimibot.storage.tables import messages, metadata, turns, usage_warnings
from kimibot.turns import Used
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

SAID_AT = datetime.fromtimestamp(float(ts(0)), UTC)
LATER = SAID_AT + timedelta(days=1)
MUCH_LATER = "1800000000.000100"


async def ask_long_ago(store: Store, database: Database, channel: str = "C1") -> int:
    """An old thread of one ask and its answer."""
    thread = replace(THREAD, channel=channel)
    thread_id = (await ask(store, 1, thread=thread)).thread_id
    await keep(store, await claimed(store, thread_id), answered(2))
    await age_turns(database)
    return thread_id


async def age_turns(database: Database) -> None:
    """As if they had been asked when their messages say so."""
    async with database.writing() as connection:
        await connection.execute(update(turns).values(accepted_at=SAID_AT))


async def rows_left(database: Database) -> dict[str, int]:
    async with database.reading() as connection:
        return {
            table.name: len((await connection.execute(select(table))).all())
            for table in metadata.sorted_tables
            if table.name in ("threads", "turns", "messages", "stops")
        }


async def test_a_thread_that_rests_goes_with_all_that_is_kept_of_it(
    store: Store, database: Database
) -> None:
    await ask_long_ago(store, database)
    await StopStore(database).remember_word(says(3, "stop"))

    assert await store.remove_old(datetime.now(UTC) + timedelta(days=1), 10) == 1
    assert await rows_left(database) == {"threads": 0, "turns": 0, "messages": 0, "stops": 0}


async def test_what_was_used_long_ago_goes_and_of_the_days_since_it_stays(
    store: Store, database: Database
) -> None:
    before = datetime(2026, 8, 31, 23, 59, tzinfo=UTC)
    days = [date(2026, 8, 30), date(2026, 8, 31), date(2026, 11, 29)]
    thread_id = (await ask(store, 1)).thread_id
    claim = await claimed(store, thread_id)
    async with database.writing() as connection:
        for day in days:
            await usage.warn(connection, claim, day)
            await usage.count_unfinished(connection, claim, day, Used(100, 20))

    assert await store.remove_old(before, 10) == 0

    async with database.reading() as connection:
        kept = await usage.report(connection, days[0])
        warned = list(await connection.scalars(select(usage_warnings.c.day)))
    assert [row.day for row in kept] == sorted(warned) == days[1:]


async def test_a_thread_stays_as_long_as_anything_happens_in_it(
    store: Store, database: Database
) -> None:
    spoken, tried, begun = [
        await ask_long_ago(store, database, channel) for channel in ("C1", "C2", "C3")
    ]
    await store.add_messages(spoken, [replace(says(3), ts=MUCH_LATER)])
    async with database.writing() as connection:
        recent = update(turns).where(turns.c.thread_id == tried).values(accepted_at=NOW)
        await connection.execute(recent)

    assert await store.remove_old(LATER, 10) == 1
    assert await store.recall(begun) == []
    assert len(await store.recall(spoken)) == 3
    assert len(await store.recall(tried)) == 2


async def test_an_open_turn_or_a_live_claim_keeps_its_thread(
    store: Store, database: Database
) -> None:
    waiting = (await ask(store, 1)).thread_id
    held = await ask_long_ago(store, database, "C2")
    await ask(store, 5, thread=replace(THREAD, channel="C2"))
    await claimed(store, held)
    await age_turns(database)

    assert await store.remove_old(LATER, 10) == 0
    assert len(await store.recall(waiting)) == 1


async def test_a_claim_that_lapsed_without_an_open_turn_keeps_nothing(
    store: Store, database: Database
) -> None:
    thread_id = (await ask(store, 1)).thread_id
    claim = await claimed(store, thread_id, lease_seconds=LAPSED)
    async with database.writing() as connection:
        await connection.execute(update(turns).values(ended_at=NOW, accepted_at=SAID_AT))

    assert claim.fence == 1
    assert await store.remove_old(LATER, 10) == 1


async def test_one_transaction_removes_no_more_than_it_is_told(
    store: Store, database: Database
) -> None:
    for number in range(5):
        await ask_long_ago(store, database, f"C{number}")

    removed = [await store.remove_old(LATER, 2) for _ in range(4)]

    assert removed == [2, 2, 1, 0]


async def test_who_asks_in_a_removed_thread_starts_afresh_and_no_old_claim_fits(
    store: Store, database: Database
) -> None:
    before = await ask_long_ago(store, database)
    await store.remove_old(LATER, 10)

    asked = await ask(store, 7)
    claim = await claimed(store, asked.thread_id)

    assert asked.thread_id != before
    assert [one.text for one in await store.recall(asked.thread_id)] == ["question 7"]
    assert claim.turns[0].attempt == 1
    await keep(store, claim, failed(ts(8)))


@pytest.fixture
async def two(postgres_url: str) -> tuple[Store, Database]:
    database = open_database(postgres_url)
    return Store(database), database


async def test_one_replica_at_a_time_removes(two: tuple[Store, Database]) -> None:
    store, database = two
    await ask_long_ago(store, database)
    async with database.writing() as connection:
        assert await expiry.remove_old(connection, SAID_AT, 10) == 0
        assert await store.remove_old(LATER, 10) == 0

    assert await store.remove_old(LATER, 10) == 1
    await database.close()


async def test_an_ask_that_comes_while_its_thread_is_looked_at_keeps_it(
    two: tuple[Store, Database],
) -> None:
    store, database = two
    await ask_long_ago(store, database)
    async with database.writing() as connection:
        await connection.execute(messages.insert().values(_row_of(await _thread_id(database))))
        assert await store.remove_old(LATER, 10) == 0

    assert (await rows_left(database))["messages"] == 3
    await database.close()


async def test_an_ask_that_finds_its_thread_going_is_left_to_its_second_delivery(
    two: tuple[Store, Database],
) -> None:
    store, database = two
    await ask_long_ago(store, database)
    async with database.writing() as connection:
        await expiry.remove_old(connection, LATER, 10)
        asking = asyncio.create_task(ask(store, 7))
        await _until_blocked(database)
    with pytest.raises(DatabaseUnavailable):
        await asking

    assert (await ask(store, 7)).turn_id is not None
    await database.close()


async def _until_blocked(database: Database) -> None:
    """Until somebody waits for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    async with asyncio.timeout(5):
        while True:
            async with database.reading() as connection:
                if (await connection.exec_driver_sql(waiting)).scalar_one():
                    return
            await asyncio.sleep(0.01)


async def _thread_id(database: Database) -> int:
    async with database.reading() as connection:
        found: int = (await connection.execute(select(messages.c.thread_id))).scalars().first() or 0
    return found


def _row_of(thread_id: int) -> dict[str, object]:
    message = replace(says(3), ts=MUCH_LATER)
    return {
        "thread_id": thread_id,
        "team": "T1",
        "channel": "C1",
        "ts": message.ts,
        "speaker": "person",
        "author": "U1",
        "text": message.text,
    }
