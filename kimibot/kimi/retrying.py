"""Decides whether a try that failed is made again, and after how long. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kimibot.answers import Retry
from kimibot.errors import Busy, KimiError, ServerFault, Unreachable
from kimibot.kimi.body import EMPTY

LONGEST_RETRY_AFTER_SECONDS = 60.0
"""Asked to wait for longer than that, nobody is kept waiting: the error is shown at once."""

LONGEST_BACKOFF_SECONDS = 8.0
UNREACHABLE_RETRIES = 10
"""As many as fit into a minute."""

GATEWAY_PATIENCE_SECONDS = 60.0
_GATEWAY_TIMEOUTS = (504, 524)


@dataclass(frozen=True, slots=True)
class Failed:
    """A try that failed: how many were made, how long this one took, and all of them."""

    error: KimiError
    tries: int
    try_seconds: float
    all_seconds: float


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Only for tries of which nothing was read: a replay costs money and doubles text.

    `random` gives numbers from 0 to 1 for the jitter.
    """

    max_retries: int
    unreachable_seconds: float
    random: Callable[[], float]

    def next(self, failed: Failed) -> Retry | None:
        """The retry to make after its wait, None if the error is to be raised."""
        most = self._most(failed)
        if failed.tries > most:
            return None
        wait_seconds = self._wait_seconds(failed)
        if wait_seconds is None:
            return None
        return Retry(failed.tries, most, wait_seconds, failed.error.name)

    def _most(self, failed: Failed) -> int:
        error = failed.error
        if isinstance(error, Unreachable):
            return UNREACHABLE_RETRIES if self.max_retries else 0
        if isinstance(error, ServerFault):
            if error.code == EMPTY:
                return min(1, self.max_retries)
            if error.status in _GATEWAY_TIMEOUTS and failed.try_seconds > GATEWAY_PATIENCE_SECONDS:
                return 0  # it would run into the same limit again
        return self.max_retries if isinstance(error, (Busy, ServerFault)) else 0

    def _wait_seconds(self, failed: Failed) -> float | None:
        error = failed.error
        if isinstance(error, (Busy, ServerFault)) and error.retry_after_seconds is not None:
            wish = error.retry_after_seconds
            return self._jittered(wish) if wish <= LONGEST_RETRY_AFTER_SECONDS else None
        # The help centre's own advice for 429 is 1, 2, 4, 8 s.
        first_seconds = 1.0 if isinstance(error, Busy) else 0.5
        backoff = min(first_seconds * 2 ** (failed.tries - 1), LONGEST_BACKOFF_SECONDS)
        wait = self._jittered(backoff)
        if isinstance(error, Unreachable) and failed.all_seconds + wait > self.unreachable_seconds:
            return None
        return wait

    def _jittered(self, seconds: float) -> float:
        """Never sooner; up to a quarter later, so that not all come back at once."""
        return seconds * (1 + self.random() / 4)
