"""Lets callers wait for their turn: one budget a workspace and method, shared by all replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from kimibot.budget import BUDGETS, TIER_3, Bucket, Budget, Crowd, Urgency, Wish, choose, due_at

POST = "chat.postMessage"
ALL_CHANNELS = "chat.postMessage in all channels"


class Growth:
    """One live answer, counted among the others while it grows."""

    def __init__(self, silent: set[Growth]) -> None:
        self._silent = silent
        silent.add(self)

    def has_shown_words(self) -> None:
        """Readers see its first words: what it still needs is less urgent."""
        self._silent.discard(self)


class Pacing:
    """Grants calls to whoever wants to make one, in the order that `choose` decides.

    One for each workspace. `chat.postMessage` has a budget for each channel and one for all.
    """

    def __init__(self, budgets: Mapping[str, Budget] = BUDGETS) -> None:
        self._budgets = budgets
        self._lanes: dict[tuple[str, str], _Lane] = {}
        self._live: set[Growth] = set()
        self._silent: set[Growth] = set()
        self._owners = 1

    @contextmanager
    def growing(self) -> Iterator[Growth]:
        """Counts as one more live answer while the block runs."""
        growth = Growth(self._silent)
        self._live.add(growth)
        try:
            yield growth
        finally:
            self._live.discard(growth)
            growth.has_shown_words()

    @property
    def live_answers(self) -> int:
        """How many replies grow now."""
        return len(self._live)

    def _crowd(self) -> Crowd:
        return Crowd(len(self._live), len(self._silent))

    async def slot(self, method: str, wish: Wish, channel: str = "") -> None:
        """Return when the call may be made, right now; it then counts as made."""
        await self._lane(method, channel).wait(wish, self._crowd)
        if method == POST:
            await self._lane(ALL_CHANNELS, "").wait(Wish(wish.urgency, wish.since), self._crowd)

    async def call(self, method: str, channel: str = "") -> None:
        """`slot` for a call that has nothing to do with a growing reply."""
        await self.slot(method, Wish(Urgency.LAST, now()), channel)

    def reconsider(self, method: str, channel: str = "") -> None:
        """Somebody's wish has changed its urgency: decide anew."""
        self._lane(method, channel).settle(self._crowd)

    def hold(self, method: str, seconds: float, channel: str = "") -> None:
        """Slack answered 429: nobody may call the method for so long."""
        self._lane(method, channel).bucket.hold(now(), seconds)

    def held_seconds(self, method: str) -> float:
        """For how long nobody may call the method yet, because Slack said so."""
        return max(0.0, self._lane(method, "").bucket.held_until - now())

    def divide(self, owners: int) -> None:
        """So many replicas answer in this workspace now: each takes its part of every budget."""
        if owners != self._owners:
            self._owners = owners
            for lane in self._lanes.values():
                lane.bucket.divide(now(), owners)

    def _lane(self, method: str, channel: str) -> _Lane:
        key = (method, channel if method == POST else "")
        if key not in self._lanes:
            self._forget_idle_lanes()
            budget = self._budgets.get(method) or BUDGETS.get(method, TIER_3)
            bucket = Bucket(budget, level=budget.start, at=now())
            bucket.divide(now(), self._owners)
            self._lanes[key] = _Lane(bucket)
        return self._lanes[key]

    def _forget_idle_lanes(self) -> None:
        """Channels come and go: a lane that is full again holds nothing worth remembering."""
        idle = [key for key, lane in self._lanes.items() if lane.is_forgettable()]
        for key in idle:
            del self._lanes[key]


def now() -> float:
    """The time that all wishes and buckets are measured by: the running loop's."""
    return asyncio.get_running_loop().time()


class _Lane:
    """One bucket and those who wait for it."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self._waiting: dict[Wish, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def is_forgettable(self) -> bool:
        """Whether a new lane would be just the same."""
        budget = self.bucket.budget
        is_full = self.bucket.free(now()) >= self.bucket.burst
        is_slow = now() < self.bucket.slow_until
        return not self._waiting and is_full and not is_slow and budget.start >= budget.burst

    async def wait(self, wish: Wish, crowd: Callable[[], Crowd]) -> None:
        granted = asyncio.get_running_loop().create_future()
        self._waiting[wish] = granted
        self.settle(crowd)
        try:
            await granted
        finally:
            self._waiting.pop(wish, None)
            self.settle(crowd)

    def settle(self, crowd: Callable[[], Crowd]) -> None:
        """Grant all that is due, and come back when the next one will be."""
        while (wish := choose(list(self._waiting), self.bucket, crowd(), now())) is not None:
            self.bucket.take(now())
            granted = self._waiting.pop(wish)
            if not granted.done():
                granted.set_result(None)
        self._come_back(crowd)

    def _come_back(self, crowd: Callable[[], Crowd]) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._waiting:
            return
        due = min(due_at(wish, self.bucket, crowd(), now()) for wish in self._waiting)
        wait_seconds = min(max(due - now(), 0.001), 1.0)
        self._timer = asyncio.get_running_loop().call_later(wait_seconds, self.settle, crowd)
