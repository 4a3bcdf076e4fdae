"""Queries that are wrong in one way each, put in the place of the real ones.

Each stands between the queries and their connection, and tells statements apart by their words.
"""

from __future__ import annotations

from typing import Any, cast

from sqlalchemy import Dialect, Executable, Result, false, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.storage.tables import RUNNING, threads, turns
from tests.storage.stepping import words_of


class Rewired:
    """A connection that passes everything on; the broken ones change what passes."""

    def __init__(self, connection: AsyncConnection) -> None:
        self.dialect: Dialect = connection.dialect
        self._connection = connection

    @classmethod
    def of(cls, connection: AsyncConnection) -> AsyncConnection:
        """As much of a connection as the queries use."""
        return cast(AsyncConnection, cls(connection))

    async def execute(self, statement: Executable, values: Any = None) -> Result[Any]:
        """Execute, in this one's way."""
        return await self._connection.execute(statement, values)

    async def scalars(self, statement: Executable, values: Any = None) -> Any:
        """The first column of all rows."""
        return (await self.execute(statement, values)).scalars()

    async def scalar(self, statement: Executable, values: Any = None) -> Any:
        """The first column of the first row."""
        return (await self.execute(statement, values)).scalar()

    def _words(self, statement: Executable, values: Any) -> str:
        return words_of(statement, values, self.dialect)


class WithoutWaiting(Rewired):
    """A claim does not wait for the row: an UPDATE passes over one that is about to match."""

    async def execute(self, statement: Executable, values: Any = None) -> Result[Any]:
        if "FOR NO KEY UPDATE" in self._words(statement, values):
            return await self._connection.execute(select(threads.c.id), {})
        return await self._connection.execute(statement, values)


class CountingFirst(Rewired):
    """Whoever keeps an answer looks for queued turns before the release."""

    _found: Result[Any] | None = None

    async def execute(self, statement: Executable, values: Any = None) -> Result[Any]:
        words = self._words(statement, values)
        if words.startswith("UPDATE threads") and "our_fence" in values:
            others = select(turns.c.id).where(
                turns.c.thread_id == values["thread_id"],
                turns.c.ended_at.is_(None),
                turns.c.state != RUNNING,
            )
            self._found = await self._connection.execute(others)
        if words.startswith("SELECT turns.id FROM") and self._found is not None:
            return self._found
        return await self._connection.execute(statement, values)


class WithoutFence(Rewired):
    """Whoever once had a claim is taken for the one who has it now."""

    _table = threads

    async def execute(self, statement: Executable, values: Any = None) -> Result[Any]:
        is_fenced = self._words(statement, values).startswith(f"UPDATE {self._table.name}")
        if is_fenced and isinstance(values, dict) and "our_fence" in values:
            latest = select(self._table.c.fence).order_by(self._table.c.id)
            fence = (await self._connection.execute(latest)).scalars().first()
            values = {**values, "our_fence": fence}
        return await self._connection.execute(statement, values)


class NotingWithoutFence(WithoutFence):
    """A part is noted by whoever posted it."""

    _table = turns


class SeeingTheBeginning(Rewired):
    """A transaction sees only what was committed before it: REPEATABLE READ."""

    _has_begun = False

    async def execute(self, statement: Executable, values: Any = None) -> Result[Any]:
        if not self._has_begun:
            self._has_begun = True
            level = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            await self._connection.execute(level)
        return await self._connection.execute(statement, values)


class WithoutLookingForStops(Rewired):
    """A claim does not ask whether its turns were stopped before they came."""

    async def execute(self, statement: Executable, values: Any = None) -> Result[Any]:
        if "JOIN stops" in self._words(statement, values):
            return await self._connection.execute(select(threads.c.id).where(false()), {})
        return await self._connection.execute(statement, values)
