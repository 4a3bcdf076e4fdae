"""What only a file can do: be locked, be opened twice, be no database."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic

import pytest
from sqlalchemy import make_url, text

from kimibot.errors import DatabaseUnavailable, StorageError
from kimibot.storage import Store, open_database, upgrade
from tests.storage.said import NOW, SLACK_WAITS_SECONDS, ask, says


def rights(folder: Path) -> dict[str, str]:
    """Who may do what with each file, as chmod takes it."""
    return {path.name: f"{path.stat().st_mode & 0o777:o}" for path in folder.iterdir()}


@contextmanager
def locked_by_another(url: str) -> Iterator[sqlite3.Connection]:
    """A connection that is not ours holds SQLite's write lock."""
    path = make_url(url).database or ""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


async def test_an_ask_is_given_up_while_slack_still_waits_if_the_file_stays_locked(
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
    assert 1.0 < seconds < SLACK_WAITS_SECONDS
    assert redelivered.turn_id is not None


async def test_many_asks_at_once_are_all_given_up_while_slack_still_waits(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    store = Store(database)
    with locked_by_another(sqlite_url):
        began = monotonic()
        asks = (store.accept(says(number), is_ask=True, now=NOW) for number in range(20))
        given_up = await asyncio.gather(*asks, return_exceptions=True)
        seconds = monotonic() - began
    await database.close()

    assert {type(one) for one in given_up} == {DatabaseUnavailable}
    assert seconds < SLACK_WAITS_SECONDS


async def test_closing_waits_for_the_last_call_of_a_connection_that_was_stopped(
    sqlite_url: str,
) -> None:
    before = set(threading.enumerate())
    database = open_database(sqlite_url)
    await ask(Store(database), 1)
    with locked_by_another(sqlite_url):
        waiting = asyncio.create_task(ask(Store(database), 2))
        await asyncio.sleep(0.05)
        for _ in range(2):  # the first one is the polite one
            waiting.cancel()
            await asyncio.sleep(0)
        await asyncio.wait({waiting})
        await database.close()

        left = [one for one in set(threading.enumerate()) - before if "_connection" in one.name]
    assert left == []


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


async def test_nobody_else_may_read_what_people_say(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/kimibot.db")
    await upgrade(database)

    found = rights(tmp_path)

    await database.close()
    assert found == {f"kimibot.db{end}": "600" for end in ("", "-wal", "-shm", ".lock")}


async def test_a_file_that_is_there_keeps_its_rights(sqlite_url: str, tmp_path: Path) -> None:
    (tmp_path / "kimibot.db").chmod(0o640)

    await open_database(sqlite_url).close()

    assert rights(tmp_path)["kimibot.db"] == "640"


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
