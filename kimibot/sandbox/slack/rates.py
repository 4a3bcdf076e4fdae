"""Rate limits as Slack keeps them: a token bucket for each method, or each channel for posts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from kimibot.sandbox.slack import limits

CLAMPED_METHODS = frozenset({"conversations.history", "conversations.replies"})


@dataclass(slots=True)
class Bucket:
    """Holds `burst` tokens at most and gains `per_minute`."""

    per_minute: float
    burst: int
    level: float
    at: float

    def take(self, now: float) -> float:
        """Take a token: 0.0, or the seconds until there is one."""
        self.level = min(self.burst, self.level + (now - self.at) * self.per_minute / 60)
        self.at = now
        # An exact token often comes out as 0.9999999999 after many small steps.
        if self.level >= 1 - 1e-9:
            self.level -= 1
            return 0.0
        return (1 - self.level) * 60 / self.per_minute


class RateLimits:
    """All buckets of the one app in the one workspace. `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._buckets: dict[tuple[str, str], Bucket] = {}

    def take(self, method: str, tier: int, channel: str, *, is_clamped: bool) -> int:
        """Count one call: 0, or the whole seconds for `Retry-After`."""
        key, per_minute, burst = _limit(method, tier, channel, is_clamped=is_clamped)
        if not per_minute:
            return 0
        now = self._clock()
        bucket = self._buckets.get(key)
        if bucket is None or bucket.per_minute != per_minute:
            bucket = self._buckets[key] = Bucket(per_minute, burst, burst, now)
        return math.ceil(bucket.take(now))

    def refill(self) -> None:
        """Forget all calls so far."""
        self._buckets.clear()


def _limit(
    method: str, tier: int, channel: str, *, is_clamped: bool
) -> tuple[tuple[str, str], float, int]:
    if method == "chat.postMessage":
        key = (method, channel)
        return key, limits.POSTS_PER_MINUTE_IN_A_CHANNEL, limits.POSTS_BURST_IN_A_CHANNEL
    if is_clamped and method in CLAMPED_METHODS:
        return (method, ""), limits.CLAMPED_CALLS_PER_MINUTE, 1
    return (method, ""), limits.TIER_CALLS_PER_MINUTE.get(tier, 0.0), limits.TIER_BURST.get(tier, 0)
