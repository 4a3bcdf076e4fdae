from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic

import pytest
from sqlalchemy import delete, insert, make_url, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.errors import DatabaseUnavailable, StorageError
from kimibot.storage import Database, Store, open_database, upgrade
from kimibot.storage.tables import threads
from tests.postgres import Postgres
from tests.storage.said import NOW, ask, says
from tests.storage.wire import wire_to

UNUSED_PORT = 9  # discard: nothing listens there on loopback


def a_thread(channel: str) -> dict[str, str]:
    return {"team": "T1", "channel": channel, "root_ts": "1700000000.000100"}


async def channels(connection: AsyncConnection) -> list[str]:
    return sorted(await connection.scalars(select(threads.c.channel)))


@contextmanager
def locked_by_another(url: str) -> Iterator[sqlite3.Connection]:
    """A connection that is not ours holds SQLite's write lock."""
    path = make_url(url).database or ""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


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


async def test_an_ask_is_given_up_within_two_seconds_while_the_file_is_locked(
    sqlite_url: str,
) -> None:
    database = open_database(sqlite_url)
    store = Store(database)
    with locked_by_another(sqlite_url) as other:
        began = monotonic()
        with pytest.raises(DatabaseUnavailable):
            await store.accept(says(1), is_ask=True, now=NOW)
        seconds = monotonic() - began
        other.execute("ROLLBACK")

        redelivered = await ask(store, 1)

    await database.close()
    assert 1.0 < seconds <= 2.0
    assert redelivered.turn_id is not None


async def test_many_asks_at_once_are_given_up_in_the_same_two_seconds(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    store = Store(database)
    with locked_by_another(sqlite_url):
        began = monotonic()
        asks = (store.accept(says(number), is_ask=True, now=NOW) for number in range(20))
        given_up = await asyncio.gather(*asks, return_exceptions=True)
        seconds = monotonic() - began
    await database.close()

    assert {type(one) for one in given_up} == {DatabaseUnavailable}
    assert seconds <= 2.2


async def test_a_write_outlasts_a_lock_that_is_let_go_in_time(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    with locked_by_another(sqlite_url) as other:
        waiting = asyncio.create_task(ask(Store(database), 1))
        done, _ = await asyncio.wait([waiting], timeout=0.3)
        other.execute("ROLLBACK")

        accepted = await waiting

    await database.close()
    assert not done
    assert accepted.turn_id is not None


async def test_a_locked_file_can_still_be_read(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    with locked_by_another(sqlite_url):
        await database.ping()
        assert await Store(database).open_asks() == 0
    await database.close()


async def test_an_answered_row_survives_power_loss_by_sqlites_settings(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    async with database.writing() as connection:
        pragmas = [
            (await connection.execute(text(f"PRAGMA {name}"))).scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    await database.close()

    assert pragmas == ["wal", 2, 1]


async def test_a_second_opening_of_a_file_is_refused_until_the_first_ends(sqlite_url: str) -> None:
    first = open_database(sqlite_url)
    with pytest.raises(StorageError, match="in use by another kimibot"):
        open_database(sqlite_url)
    await first.close()

    second = open_database(sqlite_url)
    await second.close()


async def test_a_file_by_another_name_is_the_same_file(sqlite_url: str, tmp_path: Path) -> None:
    first = open_database(sqlite_url)
    other_name = tmp_path / "link.db"
    other_name.symlink_to(make_url(sqlite_url).database or "")

    with pytest.raises(StorageError, match="in use"):
        open_database(f"sqlite:///{other_name}")

    await first.close()


async def test_who_only_looks_is_let_in_beside_the_bot(sqlite_url: str) -> None:
    bot = open_database(sqlite_url)
    await ask(Store(bot), 1)

    looking = open_database(sqlite_url, alone=False)

    assert await Store(looking).open_asks() == 1
    await looking.close()
    await bot.close()


@pytest.mark.processes
async def test_a_process_that_is_killed_frees_the_file(sqlite_url: str) -> None:
    program = (
        "import sys; from kimibot.storage import open_database; "
        "database = open_database(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(  # noqa: ASYNC220 - it has a loop of its own, ours may stand still
        [sys.executable, "-c", program, sqlite_url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(StorageError, match="in use"):
            open_database(sqlite_url)
        other.kill()

    await open_database(sqlite_url).close()


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        open_database(f"sqlite:///{tmp_path}/nowhere/kimibot.db")


async def test_a_file_that_is_no_database_is_a_fault_and_not_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "kimibot.db"
    path.write_bytes(b"not a database " * 100)
    database = open_database(f"sqlite:///{path}")

    with pytest.raises(StorageError):
        await database.ping()

    await database.close()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
async def test_a_database_in_memory_serves_readers_and_writers_alike(url: str) -> None:
    first, second = open_database(url), open_database(url)
    await upgrade(first)
    await asyncio.gather(*(ask(Store(first), number) for number in range(5)))
    counts = await asyncio.gather(*(Store(first).open_asks() for _ in range(5)))

    assert counts == [5] * 5
    await upgrade(second)
    assert await Store(second).open_asks() == 0
    await first.close()
    await second.close()


async def test_a_database_in_memory_outlives_a_cancelled_writer() -> None:
    database = open_database("sqlite://")
    await upgrade(database)
    await ask(Store(database), 1)
    for steps in range(20):
        task = asyncio.create_task(ask(Store(database), 2))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    await ask(Store(database), 2)

    assert await Store(database).open_asks() == 2
    await database.close()


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    database = open_database(f"postgresql://kimibot:hush@127.0.0.1:{UNUSED_PORT}/kimibot")

    with pytest.raises(DatabaseUnavailable) as fault:
        await database.ping()

    await database.close()
    assert "hush" not in str(fault.value)


async def test_a_database_that_the_server_has_not_is_unavailable(postgres_url: str) -> None:
    elsewhere = make_url(postgres_url).set(database="no_such_database")
    database = open_database(elsewhere.render_as_string(hide_password=False))

    with pytest.raises(DatabaseUnavailable, match="no_such_database"):
        await database.ping()

    await database.close()


async def test_a_server_that_drops_us_is_unavailable_once_and_then_used_again(
    postgres: Postgres, postgres_url: str
) -> None:
    database = open_database(postgres_url)
    with pytest.raises(DatabaseUnavailable):
        async with database.writing() as connection:
            await connection.execute(insert(threads), a_thread("C1"))
            await asyncio.to_thread(
                postgres.administrate,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                f"WHERE datname = '{make_url(postgres_url).database}'",
            )
            await connection.execute(insert(threads), a_thread("C2"))

    accepted = await ask(Store(database), 1)

    await database.close()
    assert accepted.turn_id is not None


async def test_a_server_that_falls_silent_is_given_up_within_two_seconds(
    postgres_url: str,
) -> None:
    async with wire_to(postgres_url) as (wire, url):
        database = open_database(url)
        store = Store(database)
        await ask(store, 1)
        wire.silence()

        began = monotonic()
        with pytest.raises(DatabaseUnavailable):
            await store.accept(says(2), is_ask=True, now=NOW)
        seconds = monotonic() - began

        await database.close()
    assert seconds <= 2.2


async def test_a_row_that_another_holds_is_given_up_within_two_seconds(postgres_url: str) -> None:
    database = open_database(postgres_url)
    store = Store(database)
    async with database.writing() as other:
        await other.execute(insert(threads), a_thread("C1"))

        began = monotonic()
        with pytest.raises(DatabaseUnavailable):
            await store.accept(says(1), is_ask=True, now=NOW)
        seconds = monotonic() - began

    redelivered = await ask(store, 1)
    await database.close()
    assert seconds <= 2.2
    assert redelivered.turn_id is not None
