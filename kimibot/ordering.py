"""What is said in a thread is taken in the order in which it arrives.

Deliveries are handled at the same time. A follow-up that overtakes the ask that opens its thread
would look like a stranger's talk, be acknowledged and forgotten.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from kimibot.conversation import Thread

MISSED_SECONDS = 600.0
"""Slack delivers again at once, after a minute and after five (docs.slack.dev/apis/events-api)."""

MOST_MISSED = 10_000


class Ordering:
    """One message at a time in each thread, and a memory of asks that could not be stored."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._locks: WeakValueDictionary[Thread, asyncio.Lock] = WeakValueDictionary()
        self._missed: OrderedDict[Thread, float] = OrderedDict()

    @asynccontextmanager
    async def in_turn(self, thread: Thread) -> AsyncIterator[None]:
        """Waits until what came before in the thread is dealt with."""
        lock = self._locks.setdefault(thread, asyncio.Lock())
        async with lock:
            yield

    def has_missed(self, thread: Thread) -> bool:
        """Whether an ask of this thread could not be stored and will be delivered again."""
        missed_at = self._missed.get(thread)
        return missed_at is not None and self._clock() - missed_at < MISSED_SECONDS

    def missed(self, thread: Thread) -> None:
        """An ask could not be stored."""
        self._missed[thread] = self._clock()
        self._missed.move_to_end(thread)
        while len(self._missed) > MOST_MISSED:
            self._missed.popitem(last=False)

    def stored(self, thread: Thread) -> None:
        """An ask is stored: its thread is ours."""
        self._missed.pop(thread, None)
