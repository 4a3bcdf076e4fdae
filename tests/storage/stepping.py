"""Stops the real queries before each statement, so that a test decides who goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any, cast

from sqlalchemy import ClauseElement, Dialect, Executable, Result
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.storage import Database

PATIENT_SECONDS = 60.0
COMMIT = "COMMIT"

Rewire = Callable[[AsyncConnection], AsyncConnection]
"""Puts something between the queries and their connection."""


class Lane:
    """One chain of statements: who walks it waits at a gate before each of them.

    `step` is what it is about to do, or "" while it is between two gates or at its end.
    `history` holds what the database has told it: together with `step`, all that it can know.
    `asked_at` is when it let go the first statement of its transaction, `transactions` how many
    have ended. `is_dead` says that it will do nothing any more. `tasks` are those that walk it.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        tasks: Callable[[], Sequence[asyncio.Task[Any]]],
    ) -> None:
        self.step = ""
        self.history: list[str] = []
        self.server_pid: int | None = None
        self.asked_at = 0.0
        self.transactions = 0
        self.is_dead = False
        self._clock = clock
        self._tasks = tasks
        self._gate: asyncio.Future[None] | None = None
        self._arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_under_way(self) -> bool:
        """Between two gates: at its statement, or at what follows from it."""
        return not self.step and bool(self._live_tasks())

    async def gate(self, step: str, *, is_first: bool = False) -> None:
        """Wait for `go`."""
        if self.is_dead:
            raise asyncio.CancelledError
        self.step = step
        self._gate = asyncio.get_running_loop().create_future()
        self._arrived.set_result(None)
        await self._gate
        if is_first:
            self.asked_at = self._clock()

    def go(self) -> None:
        """Let it do what it waits for."""
        gate = self._leave_gate()
        if gate is not None:
            gate.set_result(None)

    def die(self) -> None:
        """Let it do nothing any more: at its gate, or at the one that it comes to next."""
        self.is_dead = True
        gate = self._leave_gate()
        if gate is not None:
            gate.cancel()

    async def settle(self, seconds: float) -> None:
        """Wait until it is at a gate or at its end, at most so long."""
        await asyncio.wait(
            [self._arrived, *self._live_tasks()],
            timeout=seconds,
            return_when=asyncio.FIRST_COMPLETED,
        )

    def _live_tasks(self) -> list[asyncio.Task[Any]]:
        return [task for task in self._tasks() if not task.done()]

    def _leave_gate(self) -> asyncio.Future[None] | None:
        gate, self._gate, self.step = self._gate, None, ""
        if gate is not None:
            self._arrived = asyncio.get_running_loop().create_future()
        return gate


class SteppedDatabase:
    """A database whose transactions walk along a lane; the commit is a step of its own.

    It waits longer than the real one: how long a process stands at a gate is no fault.
    """

    def __init__(self, database: Database, lane: Lane, rewire: Rewire) -> None:
        self._database = database
        self._lane = lane
        self._rewire = rewire

    @asynccontextmanager
    async def reading(self, give_up_seconds: float = 0) -> AsyncIterator[AsyncConnection]:
        """A transaction that only reads, so that its end is nothing that others could see."""
        async with (
            self._database.reading(PATIENT_SECONDS) as connection,
            self._stepped(connection) as stepped,
        ):
            yield stepped

    @asynccontextmanager
    async def writing(self, give_up_seconds: float | None = None) -> AsyncIterator[AsyncConnection]:
        """A transaction that ends with a gate and the commit."""
        async with (
            self._database.writing(PATIENT_SECONDS) as connection,
            self._stepped(connection) as stepped,
        ):
            yield stepped
            await self._lane.gate(COMMIT)
        self._lane.history.append(COMMIT)

    @asynccontextmanager
    async def _stepped(self, connection: AsyncConnection) -> AsyncIterator[AsyncConnection]:
        raw = await connection.get_raw_connection()
        driver: Any = raw.driver_connection
        self._lane.server_pid = driver.get_server_pid()
        stepped = SteppedConnection(connection, self._lane)
        try:
            yield self._rewire(cast(AsyncConnection, stepped))
        finally:
            # The connection may be another lane's next.
            self._lane.server_pid = None
            self._lane.transactions += 1


class SteppedConnection:
    """As much of a connection as the queries use."""

    def __init__(self, connection: AsyncConnection, lane: Lane) -> None:
        self.dialect: Dialect = connection.dialect
        self._connection = connection
        self._lane = lane
        self._is_first = True

    async def execute(self, statement: Executable, values: Any = None) -> Result[Any]:
        """Wait at the gate, then execute; what comes back is noted in the lane's history."""
        step = f"{words_of(statement, values, self.dialect)} {values}"
        await self._lane.gate(step, is_first=self._is_first)
        self._is_first = False
        result = await self._connection.execute(statement, values)
        if not result.returns_rows:
            self._lane.history.append(str(result.rowcount))
            return result
        frozen = result.freeze()
        self._lane.history.append(repr(frozen.data))
        return frozen()

    async def scalars(self, statement: Executable, values: Any = None) -> Any:
        """The first column of all rows."""
        return (await self.execute(statement, values)).scalars()

    async def scalar(self, statement: Executable, values: Any = None) -> Any:
        """The first column of the first row."""
        return (await self.execute(statement, values)).scalar()


def words_of(statement: Executable, values: Any, dialect: Dialect) -> str:
    """A statement as the server gets it, on one line."""
    first = values[0] if isinstance(values, list) else values
    return _words(statement, tuple(first or ()), dialect)


@lru_cache(maxsize=200)
def _words(statement: Executable, columns: tuple[str, ...], dialect: Dialect) -> str:
    assert isinstance(statement, ClauseElement)
    return " ".join(str(statement.compile(dialect=dialect, column_keys=columns)).split())
