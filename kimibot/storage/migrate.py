"""Brings a database to the newest migration, and tells whether it is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.errors import StorageError
from kimibot.storage.engine import Database

_LOCK = 0x6B696D69
_PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The newest migration before and after; "" where there were no tables."""

    before: str
    after: str

    def __str__(self) -> str:
        if not self.before:
            return f"made, at migration {self.after}"
        if self.before == self.after:
            return f"was at the newest migration already ({self.after})"
        return f"upgraded from migration {self.before} to {self.after}"


async def upgrade(database: Database) -> Upgraded:
    """Runs the missing migrations in one transaction; several processes may do so at once.

    Raises StorageError when the database is newer than this program.
    """
    async with database.migrating() as connection:
        if connection.dialect.name == "postgresql":
            await _wait_for_the_others(connection)
        try:
            return await connection.run_sync(_upgrade)
        except CommandError as error:
            raise StorageError(f"the migrations don't fit this database: {error}") from error


async def pending(database: Database) -> bool:
    """Whether `upgrade` has something to do."""
    async with database.reading() as connection:
        return await connection.run_sync(_is_behind)


def alembic_config(connection: Connection) -> Config:
    """Alembic's settings without a file: our migrations, on this connection."""
    config = Config()
    config.set_main_option("script_location", str(_folder()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


async def _wait_for_the_others(connection: AsyncConnection) -> None:
    """One replica migrates while the others wait; without it, one of four failed.

    The lock ends with the transaction. Only then may a statement be limited in its wait for other
    tables' locks, so that a long query elsewhere can't make all later ones queue up behind it.
    """
    await connection.execute(text("SET LOCAL statement_timeout = 0"))
    await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    await connection.execute(text("SET LOCAL lock_timeout = '10s'"))


def _upgrade(connection: Connection) -> Upgraded:
    before = _newest(connection)
    command.upgrade(alembic_config(connection), "head")
    return Upgraded(before, _newest(connection))


def _newest(connection: Connection) -> str:
    return MigrationContext.configure(connection).get_current_revision() or ""


def _is_behind(connection: Connection) -> bool:
    scripts = ScriptDirectory.from_config(alembic_config(connection))
    current = MigrationContext.configure(connection).get_current_heads()
    return set(current) != set(scripts.get_heads())


def _folder() -> Path:
    """A wheel carries the migrations inside the package, a checkout has them beside it."""
    for folder in (_PACKAGE / "migrations", _PACKAGE.parent / "migrations"):
        if (folder / "env.py").is_file():
            return folder
    raise StorageError("the migrations are missing from this installation")
