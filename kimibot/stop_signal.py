"""Tells a turn that runs that somebody wants it to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any, TypeVar

from kimibot.turns import Stop, StopCause, TurnToStop

Result = TypeVar("Result")


class StopRequested(Exception):
    """Somebody wants the turn to stop."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.cause.value)
        self.stop = stop


class StopSignal:
    """One for each turn that runs. Only the first request counts.

    `merged` are the turns that are answered together with it.
    """

    def __init__(self, turn_id: str, merged: Collection[str] = ()) -> None:
        self.turn_id = turn_id
        self._merged = merged
        self._stop: Stop | None = None
        self._requested = asyncio.Event()

    def is_for(self, wanted: TurnToStop) -> bool:
        """Whether what runs here is meant: with an edit of any ask that it answers it is."""
        is_edit = wanted.stop.cause is StopCause.ASK_EDITED
        return wanted.turn_id == self.turn_id or (is_edit and wanted.turn_id in self._merged)

    @property
    def requested(self) -> Stop | None:
        """The first request, None while there is none."""
        return self._stop

    def request(self, stop: Stop) -> None:
        """What `unless_requested` runs is ended now, or as soon as it would begin."""
        self._stop = self._stop or stop
        self._requested.set()

    async def unless_requested(self, work: Coroutine[Any, Any, Result]) -> Result:
        """What the work comes to; StopRequested, with the work cancelled, if it is to stop.

        Work that is done already counts as done.
        """
        working = asyncio.create_task(work)
        requested = asyncio.create_task(self._requested.wait())
        try:
            await asyncio.wait({working, requested}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done() and self._stop is not None:
                raise StopRequested(self._stop)
            return working.result()
        finally:
            await _ended(working, requested)


async def _ended(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
