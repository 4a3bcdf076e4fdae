"""The way from no tables to the newest ones."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import inspect, text

from kimibot.errors import StorageError
from kimibot.storage import Database, Store, Upgraded, open_database, pending, upgrade
from kimibot.storage.migrate import alembic_config
from kimibot.storage.tables import metadata
from kimibot.turns import Kind, Press
from tests.postgres import Postgres
from tests.storage.said import NOW, ask

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
async def empty(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database without a table."""
    if request.param == "sqlite":
        opened = open_database(f"sqlite:///{tmp_path}/kimibot.db")
        yield opened
        await opened.close()
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    url = postgres.new_database(migrated=False)
    opened = open_database(url)
    yield opened
    await opened.close()
    postgres.drop(url)


on_both = pytest.mark.parametrize(
    "empty",
    ["sqlite", pytest.param("postgresql", marks=pytest.mark.processes)],
    indirect=True,
)


async def tables(database: Database) -> set[str]:
    async with database.reading() as connection:
        return await connection.run_sync(lambda inner: set(inspect(inner).get_table_names()))


AN_ANSWER_THAT_WENT_ON = (
    "INSERT INTO threads (id, team, channel, root_ts) VALUES (1, 'T1', 'C1', '1.1')",
    """INSERT INTO turns (id, thread_id, team, channel, ts, asker, event_id, state, outcome,
    reply_ts, accepted_at, ended_at, kind) VALUES
    ('a', 1, 'T1', 'C1', '1.1', 'U1', '', 'ended', 'answered', '["1.2"]',
     '2026-11-30 12:00:00+00', '2026-11-30 12:00:00+00', 'ask'),
    ('b', 1, 'T1', 'C1', '1.2', 'U1', '', 'ended', 'answered', '["1.3"]',
     '2026-11-30 12:00:00+00', '2026-11-30 12:00:00+00', 'continue')""",
    """INSERT INTO messages (id, thread_id, team, channel, ts, speaker, author, text, turn_id)
    VALUES (1, 1, 'T1', 'C1', '1.2', 'us', '', 'One, two', 'a')""",
)


async def move(database: Database, how: Callable[[Config, str], None], revision: str) -> None:
    """To an older migration."""
    async with database.migrating() as connection:
        await connection.run_sync(lambda inner: how(alembic_config(inner), revision))


@on_both
async def test_an_upgrade_makes_the_tables_and_leaves_nothing_pending(empty: Database) -> None:
    before = await pending(empty)

    done = await upgrade(empty)

    assert before is True
    assert re.fullmatch("made, at migration [0-9a-f]{12}", str(done))
    assert await pending(empty) is False
    assert await tables(empty) == {*metadata.tables, "alembic_version"}


@on_both
async def test_an_upgrade_of_what_is_new_already_changes_nothing(empty: Database) -> None:
    await upgrade(empty)
    await ask(Store(empty), 1)

    done = await upgrade(empty)

    assert str(done).startswith("was at the newest migration already")
    assert await Store(empty).open_asks() == 1


def test_an_upgrade_tells_from_where_it_came() -> None:
    assert str(Upgraded("abc", "def")) == "upgraded from migration abc to def"


@on_both
async def test_the_migrations_make_what_the_code_expects(empty: Database) -> None:
    await upgrade(empty)

    async with empty.migrating() as connection:
        await connection.run_sync(lambda inner: command.check(alembic_config(inner)))


@on_both
async def test_a_downgrade_takes_everything_back(empty: Database) -> None:
    await upgrade(empty)

    async with empty.migrating() as connection:
        await connection.run_sync(lambda inner: command.downgrade(alembic_config(inner), "base"))

    assert await tables(empty) == {"alembic_version"}


@on_both
async def test_turns_that_were_pressed_before_keep_their_reply_and_leave_room_for_others(
    empty: Database,
) -> None:
    await move(empty, command.upgrade, "7f2c95be0a14")
    async with empty.writing() as connection:
        for row in AN_ANSWER_THAT_WENT_ON:
            await connection.execute(text(row))

    await upgrade(empty)

    async with empty.reading() as connection:
        turns = await connection.execute(text("SELECT id, pressed FROM turns ORDER BY id"))
        answers = await connection.execute(text("SELECT turn_id FROM messages"))
        assert turns.all() == [("a", ""), ("b", "continue")]
        assert answers.all() == [("a",)]
    assert await Store(empty).press("a", Press(Kind.PATCH), NOW) == 1


@on_both
async def test_a_downgrade_keeps_one_turn_of_those_that_had_one_message(empty: Database) -> None:
    await upgrade(empty)
    async with empty.writing() as connection:
        for row in AN_ANSWER_THAT_WENT_ON:
            await connection.execute(text(row))
    for number in (1, 2):
        await Store(empty).press("a", Press(Kind.PATCH, number), NOW)

    await move(empty, command.downgrade, "7f2c95be0a14")

    async with empty.reading() as connection:
        turns = await connection.execute(text("SELECT ts, kind FROM turns ORDER BY ts"))
        assert turns.all() == [("1.1", "ask"), ("1.2", "continue")]


@on_both
async def test_a_database_that_is_newer_than_the_program_is_refused(empty: Database) -> None:
    await upgrade(empty)
    async with empty.writing() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = 'tomorrow'"))

    assert await pending(empty) is True
    with pytest.raises(StorageError, match="tomorrow"):
        await upgrade(empty)


@on_both
async def test_an_upgrade_that_fails_leaves_no_half_of_it(empty: Database) -> None:
    async with empty.writing() as connection:
        await connection.execute(text("CREATE TABLE turns (id INTEGER)"))

    with pytest.raises(StorageError):
        await upgrade(empty)

    assert await tables(empty) == {"turns"}


async def test_foreign_keys_count_again_after_an_upgrade_of_sqlite(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/kimibot.db")
    await upgrade(database)

    async with database.writing() as connection:
        enforced = (await connection.execute(text("PRAGMA foreign_keys"))).scalar()

    await database.close()
    assert enforced == 1


async def test_four_replicas_may_upgrade_at_once(postgres: Postgres) -> None:
    url = postgres.new_database(migrated=False)
    replicas = [open_database(url) for _ in range(4)]

    await asyncio.gather(*(upgrade(replica) for replica in replicas))

    assert [await pending(replica) for replica in replicas] == [False] * 4
    for replica in replicas:
        await replica.close()
    postgres.drop(url)


@pytest.mark.processes
def test_an_upgrade_works_from_any_folder(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.postgres import migrate\n"
        "asyncio.run(migrate('sqlite:///here.db'))\n"
    )

    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=60)

    assert (tmp_path / "here.db").is_file()


@pytest.mark.processes
def test_alembics_own_command_finds_the_migrations(tmp_path: Path) -> None:
    alembic = [sys.executable, "-m", "alembic", "-x", f"url=sqlite:///{tmp_path}/scratch.db"]

    for order in (["upgrade", "head"], ["check"]):
        subprocess.run([*alembic, *order], cwd=ROOT, check=True, timeout=60, capture_output=True)


def test_a_drafted_migration_names_no_class_of_ours() -> None:
    drafted = list((ROOT / "migrations" / "versions").glob("*.py"))

    assert drafted
    assert all("kimibot" not in path.read_text() for path in drafted)
