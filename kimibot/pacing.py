"""How often Slack may be called: one budget a workspace and method, shared by all growing replies.

`Bucket` and `choose` are the pure model: they take the time as an argument and decide.
`Pacing` is the thin part that lets callers wait for their turn.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum

SPREAD_SECONDS = 15.0
"""Over this time the free edits are spread evenly among the live answers."""

SHORTEST_GAP_SECONDS = 0.5
FEW_LIVE = 3
"""Up to so many live answers, the first words never wait for a gap."""

LARGEST_RESERVE = 5
"""Edits kept back for last texts, at most; with fewer live answers, one for each."""

SIGN_RESERVE = 5
"""How many more must be free before one is spent on the elapsed seconds."""


class Urgency(IntEnum):
    """What a call is for; the lowest number goes first."""

    LAST = 0
    FIRST = 1
    LIVE = 2
    SIGN = 3


@dataclass(frozen=True, slots=True)
class Budget:
    """What Slack allows: calls a second on average, and how many at once after a rest.

    `start` is what a fresh process dares to use before it has seen anything: another process
    may just have emptied Slack's own bucket.
    """

    rate_per_second: float
    burst: float
    start: float


EDITS = Budget(rate_per_second=50 / 60, burst=23, start=12)
"""Tier 3: 50+ a minute, short bursts pass (docs.slack.dev/apis/web-api/rate-limits)."""

POSTS = Budget(rate_per_second=1.0, burst=3, start=3)
"""One message a second and channel, short bursts pass (same page)."""

TIER_3 = Budget(rate_per_second=50 / 60, burst=20, start=10)
TIER_4 = Budget(rate_per_second=100 / 60, burst=30, start=15)

BUDGETS: Mapping[str, Budget] = {
    "chat.update": EDITS,
    "chat.postMessage": POSTS,
    "chat.postEphemeral": TIER_4,
    "users.info": TIER_4,
}


@dataclass(slots=True)
class Bucket:
    """A token bucket: `level` calls are free at the time `at`."""

    budget: Budget
    level: float
    at: float
    held_until: float = 0.0

    def free(self, now: float) -> float:
        """How many calls may be made at once, now."""
        if now < self.held_until:
            return 0.0
        return min(self.budget.burst, self.level + (now - self.at) * self.budget.rate_per_second)

    def take(self, now: float) -> None:
        """Count one call."""
        self.level = self.free(now) - 1
        self.at = now

    def hold(self, now: float, seconds: float) -> None:
        """Close the bucket, and leave it with a single call: Slack said that it was empty."""
        self.level = min(self.free(now), 1.0)
        self.held_until = max(self.held_until, now + seconds)
        self.at = self.held_until

    def free_at(self, level: float, now: float) -> float:
        """When `level` calls will be free, if nobody takes one until then."""
        lacking = level - self.free(max(now, self.held_until))
        wait = max(0.0, lacking) / self.budget.rate_per_second
        return max(now, self.held_until) + wait


@dataclass(slots=True, eq=False)
class Wish:
    """A call that somebody wants to make, as it stands now: urgency and time may still change.

    `since` is when it was first wanted, `last_call_at` when the same reply was last edited,
    `unseen` how many characters the reader does not see yet. `may_post` says that a last text
    can go out by another method as well.
    """

    urgency: Urgency
    since: float
    last_call_at: float = 0.0
    unseen: Callable[[], int] = field(default=lambda: 0)
    may_post: bool = False


def gap_seconds(free: float, rate_per_second: float, live: int) -> float:
    """The shortest time between two edits of one reply, given how many grow at once."""
    share = (free + rate_per_second * SPREAD_SECONDS) / max(1, live)
    return max(SHORTEST_GAP_SECONDS, SPREAD_SECONDS / (1 + share))


@dataclass(frozen=True, slots=True)
class Crowd:
    """How many answers grow at once, and how many of them show no word yet."""

    live: int = 0
    silent: int = 0


def due_at(wish: Wish, bucket: Bucket, crowd: Crowd, now: float) -> float:
    """The earliest time at which this wish may be granted, if no other takes what is free.

    A last text waits for nothing but a free call. First words wait for a gap when there are many.
    What is shown already is brought up to date only with calls that no first words and no last
    text will need.
    """
    if wish.urgency is Urgency.LAST:
        return bucket.free_at(1, now)
    gap = gap_seconds(bucket.free(now), bucket.budget.rate_per_second, crowd.live)
    if wish.urgency is Urgency.FIRST:
        scarcity = 1 - bucket.free(now) / bucket.budget.burst
        wait_seconds = 0.0 if crowd.live <= FEW_LIVE else gap / 3 * scarcity
        return max(wish.since + wait_seconds, bucket.free_at(1, now))
    needed = 1 + crowd.silent + min(LARGEST_RESERVE, crowd.live)
    if wish.urgency is Urgency.SIGN:
        needed += SIGN_RESERVE
    needed = min(needed, math.floor(bucket.budget.burst))
    return max(wish.last_call_at + gap, bucket.free_at(needed, now))


def choose(wishes: Sequence[Wish], bucket: Bucket, crowd: Crowd, now: float) -> Wish | None:
    """The wish to grant now, or None: last texts first and oldest first, then most unseen text."""
    due = [wish for wish in wishes if due_at(wish, bucket, crowd, now) <= now + 1e-6]
    if not due:
        return None
    return min(due, key=_rank)


def _rank(wish: Wish) -> tuple[int, float, float]:
    """Last texts, then first words, then last texts that need no edit, then what is growing."""
    if wish.urgency is Urgency.LAST:
        return (2 if wish.may_post else 0, 0.0, wish.since)
    if wish.urgency is Urgency.SIGN:
        return (4, 0.0, wish.since)
    return (1 if wish.urgency is Urgency.FIRST else 3, -wish.unseen(), wish.since)


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

    One for each workspace. `chat.postMessage` has a budget for each channel.
    """

    def __init__(self, budgets: Mapping[str, Budget] = BUDGETS) -> None:
        self._budgets = budgets
        self._lanes: dict[tuple[str, str], _Lane] = {}
        self._live: set[Growth] = set()
        self._silent: set[Growth] = set()

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

    def _crowd(self) -> Crowd:
        return Crowd(len(self._live), len(self._silent))

    async def slot(self, method: str, wish: Wish, channel: str = "") -> None:
        """Return when the call may be made, right now; it then counts as made."""
        await self._lane(method, channel).wait(wish, self._crowd)

    async def call(self, method: str, channel: str = "") -> None:
        """`slot` for a call that has nothing to do with a growing reply."""
        await self.slot(method, Wish(Urgency.LAST, now()), channel)

    def reconsider(self, method: str, channel: str = "") -> None:
        """Somebody's wish has changed its urgency: decide anew."""
        self._lane(method, channel).settle(self._crowd)

    def hold(self, method: str, seconds: float, channel: str = "") -> None:
        """Slack answered 429: nobody may call the method for so long."""
        self._lane(method, channel).bucket.hold(now(), seconds)

    def _lane(self, method: str, channel: str) -> _Lane:
        key = (method, channel if method == "chat.postMessage" else "")
        if key not in self._lanes:
            self._forget_idle_lanes()
            budget = self._budgets.get(method, TIER_3)
            self._lanes[key] = _Lane(Bucket(budget, level=budget.start, at=now()))
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
        is_full = self.bucket.free(now()) >= budget.burst
        return not self._waiting and is_full and budget.start >= budget.burst

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
