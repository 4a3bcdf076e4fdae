"""Whether a claim surely still holds, by our own clock: asked right before each Slack call."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeaseTimes:
    """How long a claim holds, how often it is renewed, how often lapsed ones are looked for.

    A Slack call takes at most `call_seconds`. What another replica was told to stop here is
    looked for every `stop_seconds`.
    """

    lease_seconds: float = 20.0
    renew_seconds: float = 5.0
    sweep_seconds: float = 2.0
    call_seconds: float = 8.0
    stop_seconds: float = 1.0


class Lease:
    """Our hold on a thread. The database's clock decides; ours is asked because it is at hand.

    A process that was stopped for a while finds its lease over when it goes on, and can do nothing
    in Slack until the database has said that the thread is still its own.
    """

    def __init__(self, call_seconds: float, held_until: float) -> None:
        self._call_seconds = call_seconds
        self._held_until = held_until
        self._prolonged = asyncio.Event()

    def prolong(self, held_until: float) -> None:
        """The database has renewed it until then, by the time of the running loop."""
        self._held_until = held_until
        self._prolonged.set()

    async def sure(self) -> None:
        """Return when a call that begins now will end before the lease does."""
        while not self._outlasts_a_call():
            self._prolonged.clear()
            await self._prolonged.wait()

    def _outlasts_a_call(self) -> bool:
        return asyncio.get_running_loop().time() + self._call_seconds < self._held_until
