"""The doors to the database, the same for both kinds."""

from __future__ import annotations

import asyncio
import gc
import warnings

import pytest
from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.errors import DatabaseUnavailable, StorageError
from kimibot.storage import Database
from kimibot.storage.tables import threads
from tests.storage.said import a_thread


async def channels(connection: AsyncConnection) -> list[str]:
    return sorted(await connection.scalars(select(threads.c.channel)))


async def tasks_that_never_end() -> set[asyncio.Task[object]]:
    """What still runs beside the test, after time enough to close a connection."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    return (await asyncio.wait(others, timeout=5))[1] if others else set()


async def test_what_is_written_is_there_for_the_next_reader(database: Database) -> None:
    async with database.writing() as connection:
        await connection.execute(insert(threads), a_thread("C1"))

    async with database.reading() as connection:
        assert await channels(connection) == ["C1"]


async def test_a_block_that_fails_writes_nothing(database: Database) -> None:
    with pytest.raises(LookupError):
        async with database.writing() as connection:
            await connection.execute(insert(threads), a_thread("C1"))
            raise LookupError

    async with database.reading() as connection:
        assert await channels(connection) == []


async def test_a_reader_cannot_write(database: Database, database_url: str) -> None:
    with pytest.raises(StorageError):
        async with database.reading() as connection:
            await connection.execute(insert(threads), a_thread("C1"))

    async with database.reading() as connection:
        assert await channels(connection) == []


async def test_a_reader_does_not_wait_for_a_writer(database: Database) -> None:
    async with database.writing() as writing:
        await writing.execute(insert(threads), a_thread("C1"))
        async with database.reading(give_up_seconds=5) as reading:
            assert await channels(reading) == []


async def test_writers_that_read_first_lose_no_update(database: Database) -> None:
    async with database.writing() as connection:
        await connection.execute(insert(threads), a_thread("C1"))

    async def count_up() -> None:
        async with database.writing() as connection:
            row = (await connection.execute(select(threads).with_for_update())).one()
            await connection.execute(threads.update().values(fence=row.fence + 1))

    await asyncio.gather(*(count_up() for _ in range(20)))

    async with database.reading() as connection:
        assert (await connection.scalars(select(threads.c.fence))).one() == 20


async def test_a_cancelled_writer_leaves_nothing_and_blocks_nobody(database: Database) -> None:
    async def write_and_linger(begun: asyncio.Event) -> None:
        async with database.writing() as connection:
            await connection.execute(insert(threads), a_thread("C1"))
            begun.set()
            await asyncio.Event().wait()

    begun = asyncio.Event()
    task = asyncio.create_task(write_and_linger(begun))
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])

    async with database.writing(give_up_seconds=5) as connection:
        assert await channels(connection) == []
    assert task.cancelled()


async def test_writers_cancelled_at_any_step_block_nobody(database: Database) -> None:
    async def write(number: int) -> None:
        async with database.writing() as connection:
            await connection.execute(insert(threads), a_thread(f"C{number}"))
            await connection.execute(delete(threads))

    for steps in range(40):
        task = asyncio.create_task(write(steps))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    async with database.writing(give_up_seconds=5) as connection:
        assert await channels(connection) == []


async def test_writers_cancelled_twice_block_nobody(database: Database) -> None:
    """The second cancellation meets the connection while it is being closed."""

    async def write(number: int) -> None:
        async with database.writing() as connection:
            await connection.execute(insert(threads), a_thread(f"C{number}"))
            await connection.execute(delete(threads))

    for steps in range(5, 25):
        task = asyncio.create_task(write(steps))
        for _ in range(steps):
            await asyncio.sleep(0)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([task])

    async with database.writing(give_up_seconds=5) as connection:
        assert await channels(connection) == []
    assert await tasks_that_never_end() == set()


async def test_a_row_that_breaks_a_rule_is_told_without_its_content(database: Database) -> None:
    with pytest.raises(StorageError) as fault:
        async with database.writing() as connection:
            await connection.execute(insert(threads), [a_thread("C-hush"), a_thread("C-hush")])

    assert not isinstance(fault.value, DatabaseUnavailable)
    assert "hush" not in str(fault.value)
    assert fault.value.__cause__ is not None
    assert "hush" not in str(fault.value.__cause__).partition("DETAIL")[0]


async def test_closing_waits_for_what_is_under_way_and_leaves_no_connection_open(
    database: Database,
) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def write() -> None:
        async with database.writing() as connection:
            begun.set()
            await may_end.wait()
            await connection.execute(insert(threads), a_thread("C1"))

    writing = asyncio.create_task(write())
    await begun.wait()
    closing = asyncio.create_task(database.close())
    await asyncio.sleep(0)
    may_end.set()

    await asyncio.gather(writing, closing)
    del writing, closing
    with warnings.catch_warnings(record=True) as left_open:
        warnings.simplefilter("always")
        gc.collect()

    assert left_open == []
    with pytest.raises(DatabaseUnavailable):
        await database.ping()
