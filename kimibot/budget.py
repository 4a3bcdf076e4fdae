"""Pure: which call may be made next, and when. The time is an argument; nobody waits here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

SPREAD_SECONDS = 15.0
"""Over this time the free edits are spread evenly among the live answers."""

SHORTEST_GAP_SECONDS = 0.5
FEW_LIVE = 3
"""Up to so many live answers, the first words never wait for a gap."""

LARGEST_RESERVE = 5
"""Edits kept back for last texts, at most; with fewer live answers, one for each."""

SLOWED_BY = 0.8
SLOW_SECONDS = 300.0
"""After a 429 the rate is lower by this factor for so long, and lower again after another."""

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

ALL_POSTS = Budget(rate_per_second=5.0, burst=30, start=30)
"""All channels of a workspace together have a cap that Slack does not publish (same page)."""

TIER_2 = Budget(rate_per_second=20 / 60, burst=8, start=4)
TIER_3 = Budget(rate_per_second=50 / 60, burst=20, start=10)
TIER_4 = Budget(rate_per_second=100 / 60, burst=30, start=15)

BUDGETS: Mapping[str, Budget] = {
    "chat.update": EDITS,
    "chat.postMessage": POSTS,
    "chat.postMessage in all channels": ALL_POSTS,
    "chat.postEphemeral": TIER_4,
    "files.completeUploadExternal": TIER_4,
    "files.getUploadURLExternal": TIER_4,
    "reactions.remove": TIER_2,
    "users.info": TIER_4,
    "files.info": TIER_4,
}


@dataclass(slots=True)
class Bucket:
    """A token bucket: `level` calls are free at the time `at`.

    `share` is the part of the budget that is ours when several replicas use it.
    """

    budget: Budget
    level: float
    at: float
    share: float = 1.0
    held_until: float = 0.0
    slowness: int = 0
    slow_until: float = 0.0

    @property
    def burst(self) -> float:
        return max(1.0, self.budget.burst * self.share)

    def rate_per_second(self, now: float) -> float:
        """Slower for some minutes after Slack has refused a call: our budget was too large."""
        slowed = SLOWED_BY**self.slowness if now < self.slow_until else 1.0
        return self.budget.rate_per_second * self.share * slowed

    def free(self, now: float) -> float:
        """How many calls may be made at once, now."""
        if now < self.held_until:
            return 0.0
        return min(self.burst, self.level + (now - self.at) * self.rate_per_second(now))

    def take(self, now: float) -> None:
        """Count one call."""
        self._settle(now)
        self.level -= 1

    def hold(self, now: float, seconds: float) -> None:
        """Close the bucket, and leave it with a single call: Slack said that it was empty.

        What is refused while it is closed was called before we knew, and tells nothing new.
        """
        self._settle(now)
        if now >= self.held_until:
            self.slowness = self.slowness + 1 if now < self.slow_until else 1
        self.level = min(self.level, 1.0)
        self.held_until = self.at = max(self.held_until, now + seconds)
        self.slow_until = self.held_until + SLOW_SECONDS

    def divide(self, now: float, owners: int) -> None:
        """So many replicas use the budget: each has its part of it."""
        self._settle(now)
        self.share = 1 / max(1, owners)
        self.level = min(self.level, self.burst)

    def free_at(self, level: float, now: float) -> float:
        """When `level` calls will be free, if nobody takes one until then."""
        open_at = max(now, self.held_until)
        lacking = level - self.free(open_at)
        return open_at + max(0.0, lacking) / self.rate_per_second(open_at)

    def _settle(self, now: float) -> None:
        if now >= self.held_until:
            self.level, self.at = self.free(now), now


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
    gap = gap_seconds(bucket.free(now), bucket.rate_per_second(now), crowd.live)
    if wish.urgency is Urgency.FIRST:
        scarcity = 1 - bucket.free(now) / bucket.burst
        wait_seconds = 0.0 if crowd.live <= FEW_LIVE else gap / 3 * scarcity
        return max(wish.since + wait_seconds, bucket.free_at(1, now))
    needed = 1 + crowd.silent + min(LARGEST_RESERVE, crowd.live)
    if wish.urgency is Urgency.SIGN:
        needed += SIGN_RESERVE
    needed = min(needed, math.floor(bucket.burst))
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
