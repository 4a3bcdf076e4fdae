"""The connections: SQLite or PostgreSQL behind one pair of doors, for reading and for writing."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from pathlib import Path
from uuid import uuid4

from sqlalchemy import AsyncAdaptedQueuePool, make_url, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from kimibot.errors import DatabaseUnavailable, StorageError
from kimibot.storage.exclusive import FileLock, make_private
from kimibot.storage.faults import is_busy, translated
from kimibot.storage.sqlite import BUSY_SECONDS, sqlite_engine, switch_foreign_keys
from kimibot.storage.urls import driver_url, is_in_memory

READ_SECONDS = 10.0
WRITE_SECONDS = 15.0
MIGRATION_SECONDS = 600.0

CLOSE_SECONDS = 5.0
"""So long a transaction that is under way may take when the database is closed."""

_CONNECT_SECONDS = 5.0
_SQLITE_READERS = 4
_POSTGRESQL_CONNECTIONS = 20
_POSTGRESQL_PATIENT = 12
"""So many connections at most are with those who may wait. The others are for what has a limit of
its own: an ask that Slack wants acknowledged must not wait behind a burst of turns."""

_POSTGRESQL_SESSION = {
    "application_name": "kimibot",
    "jit": "off",
    "statement_timeout": "20s",
    "idle_in_transaction_session_timeout": "30s",
}


def open_database(url: str, *, alone: bool = True) -> Database:
    """The database behind a URL; connections are made when they are first needed.

    On an SQLite file it is the only process while `alone`, and holds a lock until closed. What
    only looks, beside a bot that runs, opens it with `alone=False`. Raises ValueError for a URL
    that can't be used, StorageError when another process has the file, or when there is none to
    look at.
    """
    with_driver = driver_url(url)
    if not with_driver.startswith("sqlite"):
        return _open_postgresql(with_driver)
    if is_in_memory(with_driver):
        return _open_memory()
    return _open_file(with_driver, alone=alone)


class Database:
    """Where transactions begin and end.

    All that its doors raise is DatabaseUnavailable, StorageError, or what the block itself
    raised. Leaving a block with an exception rolls back.
    """

    def __init__(
        self,
        reader: AsyncEngine,
        writer: AsyncEngine,
        *,
        one_writer: bool = False,
        one_connection: bool = False,
        most_patient: int | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        lock = asyncio.Lock()
        free: AbstractAsyncContextManager[None] = nullcontext()
        self.is_for_one_process = one_writer or one_connection
        self._reader = reader
        self._writer = writer
        self._turn_to_write = lock if one_writer or one_connection else free
        self._turn_to_read = lock if one_connection else free
        self._room_for_patient = free if most_patient is None else asyncio.Semaphore(most_patient)
        self._no_wait = free
        self._on_close = on_close
        self._under_way = 0
        self._at_rest = asyncio.Event()
        self._at_rest.set()
        self._is_closed = False

    @asynccontextmanager
    async def reading(self, give_up_seconds: float | None = None) -> AsyncIterator[AsyncConnection]:
        """A transaction that only reads; DatabaseUnavailable after the limit, waits included."""
        with translated(), self._counted():
            async with (
                _limit(READ_SECONDS if give_up_seconds is None else give_up_seconds),
                self._room(give_up_seconds),
                self._turn_to_read,
                self._reader.begin() as connection,
            ):
                yield connection

    @asynccontextmanager
    async def writing(self, give_up_seconds: float | None = None) -> AsyncIterator[AsyncConnection]:
        """A transaction that is committed when the block ends without an exception.

        DatabaseUnavailable after the limit, which counts everything: the wait for other writers,
        the statements and the commit. A commit that was given up may have been applied.
        """
        limit = WRITE_SECONDS if give_up_seconds is None else give_up_seconds
        with translated(), self._counted():
            async with (
                _limit(limit) as deadline,
                self._room(give_up_seconds),
                self._turn_to_write,
                self._writer.connect() as connection,
            ):
                await _begin(connection, deadline)
                yield connection
                await connection.commit()

    @asynccontextmanager
    async def migrating(self) -> AsyncIterator[AsyncConnection]:
        """As `writing`, with time for large tables, and on SQLite without foreign keys.

        SQLite changes a table by making it anew, which must not empty the tables that point to
        it, and the switch works only outside a transaction
        (https://www.sqlite.org/lang_altertable.html).
        """
        with translated(), self._counted():
            async with (
                _limit(MIGRATION_SECONDS) as deadline,
                self._turn_to_write,
                self._writer.connect() as connection,
                _no_foreign_keys(connection),
            ):
                await _begin(connection, deadline)
                yield connection
                await connection.commit()

    async def ping(self) -> None:
        """Raises DatabaseUnavailable unless the database answers within two seconds."""
        async with self.reading(give_up_seconds=2) as connection:
            await connection.execute(text("SELECT 1"))

    @contextmanager
    def _counted(self) -> Iterator[None]:
        if self._is_closed:
            raise DatabaseUnavailable("it is closed")
        self._under_way += 1
        self._at_rest.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._at_rest.set()

    def _room(self, give_up_seconds: float | None) -> AbstractAsyncContextManager[None]:
        """Who has no limit of its own leaves connections to those who have."""
        return self._room_for_patient if give_up_seconds is None else self._no_wait

    async def close(self) -> None:
        """Closes all connections, once what is under way has ended, and lets the next process in.

        The pool would not close a connection that is given back to it afterwards.
        """
        self._is_closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._at_rest.wait()
        await self._reader.dispose()
        await self._writer.dispose()
        if self._on_close is not None:
            self._on_close()


@asynccontextmanager
async def _limit(seconds: float) -> AsyncIterator[float]:
    """Gives up after `seconds`; yields the loop time by which to be done.

    The first cancellation makes SQLAlchemy close the connection politely, which takes two seconds
    when the other side is silent. The second makes it drop the connection at once.
    """
    async with asyncio.timeout(seconds), asyncio.timeout(seconds * 0.9):
        yield asyncio.get_running_loop().time() + seconds * 0.9


async def _begin(connection: AsyncConnection, deadline: float) -> None:
    """Tries again while another process writes to the SQLite file, as long as time allows.

    No try is begun that could outlast the deadline.
    """
    loop = asyncio.get_running_loop()
    while True:
        try:
            await connection.begin()
            return
        except DBAPIError as error:
            if not is_busy(error) or loop.time() + BUSY_SECONDS > deadline:
                raise


@asynccontextmanager
async def _no_foreign_keys(connection: AsyncConnection) -> AsyncIterator[None]:
    if connection.dialect.name != "sqlite":
        yield
        return
    await switch_foreign_keys(connection, on=False)
    try:
        yield
    finally:
        await connection.rollback()
        await switch_foreign_keys(connection, on=True)


def _open_file(url: str, *, alone: bool) -> Database:
    path = Path(make_url(url).database or "").resolve()
    if not alone and not path.exists():
        raise DatabaseUnavailable(f"there is no file {path}")
    absolute = make_url(url).set(database=str(path)).render_as_string(hide_password=False)
    unlock = _own(path) if alone else None
    writer = sqlite_engine(absolute, begin="BEGIN IMMEDIATE", pool_size=1, max_overflow=0)
    reader = sqlite_engine(
        absolute, begin="BEGIN", read_only=True, pool_size=_SQLITE_READERS, max_overflow=0
    )
    return Database(reader, writer, one_writer=True, on_close=unlock)


def _own(path: Path) -> Callable[[], None]:
    """Take the file for this process alone; returns what lets it go."""
    lock = FileLock(path)
    try:
        make_private(path)
    except StorageError:
        lock.release()
        raise
    return lock.release


def _open_memory() -> Database:
    """One connection does all, and another keeps the contents when that one has to be replaced."""
    name = f"file:kimibot-{uuid4().hex}?mode=memory&cache=shared"
    keeper = sqlite3.connect(name, uri=True)
    url = f"sqlite+aiosqlite:///{name}&uri=true"
    engine = sqlite_engine(
        url,
        begin="BEGIN IMMEDIATE",
        poolclass=AsyncAdaptedQueuePool,
        pool_size=1,
        max_overflow=0,
    )
    return Database(engine, engine, one_connection=True, on_close=keeper.close)


def _open_postgresql(url: str) -> Database:
    writer = create_async_engine(
        url,
        hide_parameters=True,
        isolation_level="READ COMMITTED",
        pool_size=_POSTGRESQL_CONNECTIONS // 2,
        max_overflow=_POSTGRESQL_CONNECTIONS // 2,
        pool_timeout=READ_SECONDS,
        pool_recycle=1800,
        pool_pre_ping=True,
        connect_args={"timeout": _CONNECT_SECONDS, "server_settings": _POSTGRESQL_SESSION},
    )
    reader = writer.execution_options(postgresql_readonly=True)
    return Database(reader, writer, most_patient=_POSTGRESQL_PATIENT)
