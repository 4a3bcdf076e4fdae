"""How many answers are streamed at once, and who waits for a place, in which order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

OnWait = Callable[[int], None]
"""Is told how many answers must end before ours begins, whenever that changes; 0 when it begins."""


@dataclass(eq=False, slots=True)
class _Waiting:
    granted: asyncio.Future[None]
    on_wait: OnWait


class Places:
    """A place goes to whoever has waited longest."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: list[_Waiting] = []

    @property
    def ahead(self) -> int:
        """How many answers would have to end first, if somebody asked now."""
        return 0 if self._free else len(self._waiting) + 1

    @asynccontextmanager
    async def taken(self, on_wait: OnWait) -> AsyncIterator[None]:
        """Holds a place while the block runs. Nobody is told anything where one is free."""
        await self._take(on_wait)
        try:
            yield
        finally:
            self._give_back()

    async def _take(self, on_wait: OnWait) -> None:
        if self._free:
            self._free -= 1
            return
        waiting = _Waiting(asyncio.get_running_loop().create_future(), on_wait)
        self._waiting.append(waiting)
        on_wait(len(self._waiting))
        try:
            await waiting.granted
        except asyncio.CancelledError:
            self._go_away(waiting)
            raise
        on_wait(0)

    def _go_away(self, waiting: _Waiting) -> None:
        """A place that was granted at this very moment goes to the next one."""
        if not waiting.granted.cancelled():
            self._give_back()
        elif waiting in self._waiting:
            self._waiting.remove(waiting)
            self._tell()

    def _give_back(self) -> None:
        while self._waiting:
            first = self._waiting.pop(0)
            if not first.granted.done():
                first.granted.set_result(None)
                self._tell()
                return
        self._free += 1

    def _tell(self) -> None:
        for number, waiting in enumerate(self._waiting, start=1):
            waiting.on_wait(number)
