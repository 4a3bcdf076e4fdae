"""The database of an exploration as seen from outside: its rows, its clock, who waits for whom.

Its clock stands still until it is told to go on. PostgreSQL looks for a function in the schemas
of the search path in their order, so one that comes before pg_catalog can take the place of a
built-in function (https://www.postgresql.org/docs/current/ddl-schemas.html#DDL-SCHEMAS-CATALOG).
The time is that of a sequence, because those are outside all transactions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import NullPool, make_url, text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from kimibot.storage import driver_url

_PREPARE = """
CREATE SCHEMA stage;
CREATE SEQUENCE stage.seconds MINVALUE 0 START 0;
CREATE FUNCTION stage.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS $$
    SELECT timestamptz '2026-11-30 12:00:00Z' + last_value * interval '1 second'
    FROM stage.seconds
$$;
CREATE TABLE stage.saved_threads AS TABLE threads;
CREATE TABLE stage.saved_turns AS TABLE turns;
CREATE TABLE stage.saved_messages AS TABLE messages;
ALTER TABLE threads SET (autovacuum_enabled = off);
ALTER TABLE turns SET (autovacuum_enabled = off);
ALTER TABLE messages SET (autovacuum_enabled = off);
CREATE FUNCTION stage.clear() RETURNS void LANGUAGE sql AS $$
    DELETE FROM threads;
    DELETE FROM stops;
    SELECT setval('stage.seconds', 0);
    SELECT setval('threads_id_seq', count(*) + 1, false) FROM stage.saved_threads;
    SELECT setval('messages_id_seq', count(*) + 1, false) FROM stage.saved_messages;
$$;
CREATE FUNCTION stage.save() RETURNS void LANGUAGE sql AS $$
    INSERT INTO stage.saved_threads SELECT * FROM threads;
    INSERT INTO stage.saved_turns SELECT * FROM turns;
    INSERT INTO stage.saved_messages SELECT * FROM messages;
$$;
CREATE FUNCTION stage.restore() RETURNS void LANGUAGE sql AS $$
    SELECT stage.clear();
    INSERT INTO threads SELECT * FROM stage.saved_threads;
    INSERT INTO turns SELECT * FROM stage.saved_turns;
    INSERT INTO messages SELECT * FROM stage.saved_messages;
$$;
CREATE FUNCTION stage.committed() RETURNS text LANGUAGE sql AS $$
    SELECT json_build_object(
        'threads', (SELECT coalesce(json_agg(one ORDER BY id), '[]') FROM threads one),
        'turns', (SELECT coalesce(json_agg(one ORDER BY ts, pressed), '[]') FROM turns one),
        'messages', (
            SELECT coalesce(json_agg(one ORDER BY ts), '[]')
            FROM (SELECT ts, speaker, text, turn_id, place FROM messages) one
        ),
        'stops', (SELECT coalesce(json_agg(one ORDER BY ts), '[]') FROM stops one)
    )::text
$$;
"""
_CLEAR = text("SELECT stage.clear()")
_SAVE = text("SELECT stage.save()")
_RESTORE = text("SELECT stage.restore()")
_COMMITTED = text("SELECT stage.committed()")
_PASS_TIME = text("SELECT setval('stage.seconds', CAST(:seconds AS bigint))")
_IS_BLOCKED = text("SELECT cardinality(pg_blocking_pids(CAST(:pid AS integer))) > 0")


class Stage:
    """Rows are put back in one go; the clock counts seconds from 0 in each run."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._seconds = 0

    def clock(self) -> float:
        """The database's clock, as all processes know it."""
        return self._seconds

    async def pass_time(self, seconds: int) -> None:
        """Put the clock forward."""
        self._seconds += seconds
        await self._connection.execute(_PASS_TIME, {"seconds": self._seconds})

    async def clear(self) -> None:
        """Begin with nothing."""
        await self._connection.execute(_CLEAR)

    async def save(self) -> None:
        """Make what is committed the beginning of each run."""
        await self._connection.execute(_SAVE)

    async def restore(self) -> None:
        """Put rows and clock back."""
        self._seconds = 0
        await self._connection.execute(_RESTORE)

    async def committed(self) -> str:
        """All rows, as JSON; those of messages without their numbers, which tell nothing."""
        rows: str = (await self._connection.execute(_COMMITTED)).scalar_one()
        return rows

    async def is_blocked(self, pid: int | None) -> bool:
        """Whether the server's process waits for a row that another holds."""
        if pid is None:
            return False
        return bool((await self._connection.execute(_IS_BLOCKED, {"pid": pid})).scalar_one())


@asynccontextmanager
async def stage_of(url: str) -> AsyncIterator[Stage]:
    """Sets the stage in a fresh database; connections that are made from now on see its clock."""
    engine = create_async_engine(driver_url(url), poolclass=NullPool, isolation_level="AUTOCOMMIT")
    name = make_url(url).database
    async with engine.connect() as connection:
        raw: Any = (await connection.get_raw_connection()).driver_connection
        await raw.execute(_PREPARE)
        await connection.exec_driver_sql(
            f"ALTER DATABASE {name} SET search_path = stage, pg_catalog, public"
        )
    async with engine.connect() as connection:
        yield Stage(connection)
    await engine.dispose()
