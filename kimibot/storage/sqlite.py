"""Connections to SQLite that begin transactions when they are told to and survive cancellation."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable
from functools import partial
from typing import Any
from weakref import WeakSet

import aiosqlite
from sqlalchemy import Connection, event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.util import await_only

BUSY_SECONDS = 0.2
"""How long one try to begin may wait inside SQLite, where a cancellation can't reach it."""

LAST_CALL_SECONDS = 2.0
"""How long the call may take that was under way when its connection was stopped."""


def sqlite_engine(url: str, *, begin: str, read_only: bool = False, **pool: Any) -> AsyncEngine:
    """An engine whose transactions begin with `begin`: BEGIN, or BEGIN IMMEDIATE for writing.

    A deferred transaction that reads before it writes fails at once when another writer was
    faster, whatever the timeout (https://www.sqlite.org/lang_transaction.html).
    """
    opened = WeakSet[_CancellableConnection]()
    engine = create_async_engine(
        url,
        hide_parameters=True,
        # A block always ends its transaction itself, and one that could not is not used again.
        pool_reset_on_return=None,
        connect_args={
            "async_creator_fn": partial(_CancellableConnection, opened),
            "timeout": BUSY_SECONDS,
        },
        **pool,
    )

    def begin_transaction(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    def wait_for_stopped(_: object) -> None:
        """Or they would tell a loop that is closed what has come of their last call."""
        await_only(asyncio.to_thread(_wait, list(opened)))

    event.listen(engine.sync_engine, "engine_disposed", wait_for_stopped)
    event.listen(engine.sync_engine, "connect", _prepare)
    event.listen(engine.sync_engine, "begin", begin_transaction)
    if read_only:
        event.listen(engine.sync_engine, "connect", _forbid_writing)
    return engine


async def switch_foreign_keys(connection: AsyncConnection, *, on: bool) -> None:
    """Outside a transaction only: inside one SQLite ignores it."""
    driver: Any = (await connection.get_raw_connection()).driver_connection
    await driver.execute(f"PRAGMA foreign_keys = {'ON' if on else 'OFF'}")


class _CancellableConnection(aiosqlite.Connection):
    """aiosqlite's connection, which a second stop would leave waiting for a thread that is gone.

    SQLAlchemy closes the connection of a task that is cancelled, and stops it when the task is
    cancelled again meanwhile: that makes two stops. A file that is opened only after the stop is
    closed too.
    """

    def __init__(self, opened: WeakSet[_CancellableConnection], path: str, **options: Any) -> None:
        opened.add(self)
        self._path = path
        self._options = options
        self._opened: sqlite3.Connection | None = None
        self._is_stopping = False
        super().__init__(self._open, iter_chunk_size=64)
        self._thread.daemon = True

    def stop(self) -> asyncio.Future[Any] | None:
        if self._is_stopping:
            return None
        self._is_stopping = True
        self._tx.put_nowait((None, self._close_opened))
        return super().stop()

    def wait(self) -> None:
        """Until its thread has ended, if it was stopped."""
        if self._is_stopping:
            self._thread.join(LAST_CALL_SECONDS)

    def _open(self) -> sqlite3.Connection:
        self._opened = sqlite3.connect(self._path, **self._options)
        return self._opened

    def _close_opened(self) -> None:
        if self._opened is not None:
            self._opened.close()


def _wait(connections: Iterable[_CancellableConnection]) -> None:
    for connection in connections:
        connection.wait()


def _prepare(connection: Any, _record: object) -> None:
    """Takes transactions out of the hands of Python's driver, which begins them too late.

    https://docs.sqlalchemy.org/en/21/dialects/sqlite.html#serializable-isolation-savepoints-transactional-ddl
    """
    connection.isolation_level = None
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        _pragma(connection, pragma)


def _forbid_writing(connection: Any, _record: object) -> None:
    _pragma(connection, "query_only = ON")


def _pragma(connection: Any, pragma: str) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
