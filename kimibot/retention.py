"""Removes once a day what has been kept for as long as it may be."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from kimibot.errors import StorageError

log = logging.getLogger(__name__)

FIRST_SECONDS = 60.0
"""After the start, when asks that have waited are under way."""

DAY_SECONDS = 86_400.0
THREADS_AT_ONCE = 50
PAUSE_SECONDS = 0.2
"""Between two transactions, so that nobody who wants to store an ask waits for more than one."""


class Rows(Protocol):
    """What is kept."""

    async def remove_old(self, before: datetime, most: int) -> int:
        """Removes at most so many threads in which nothing has happened since, and the numbers of
        the days before; how many threads. Raises StorageError."""


class Retention:
    """Keeps nothing of a thread once it has rested for `days`, nor of what people have used on
    days as long ago; with 0, everything for ever."""

    def __init__(self, rows: Rows, *, days: int, now: Callable[[], datetime]) -> None:
        self._rows = rows
        self._days = days
        self._now = now

    async def run(self) -> None:
        """Soon, and then once a day, until cancelled."""
        if not self._days:
            return
        await asyncio.sleep(FIRST_SECONDS)
        while True:
            await self._remove_old()
            await asyncio.sleep(DAY_SECONDS)

    async def _remove_old(self) -> None:
        before = self._now() - timedelta(days=self._days)
        removed = 0
        try:
            while gone := await self._rows.remove_old(before, THREADS_AT_ONCE):
                removed += gone
                await asyncio.sleep(PAUSE_SECONDS)
        except StorageError as error:
            log.warning("old threads not removed: %s", error)
        if removed:
            log.info("threads removed for their age", extra={"threads": removed})
