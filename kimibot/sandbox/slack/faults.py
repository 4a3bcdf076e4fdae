"""Faults that a test orders: a method fails, loses its response, or is slow, so many times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kimibot.sandbox.slack.arguments import Arguments

Watcher = Callable[[str, bool], None]
"""Is told of a method twice: right before it is carried out, and right after, with True, before
the answer goes out. A ConnectionError that it raises loses the call or its answer on the way."""


@dataclass(slots=True)
class Fault:
    """One order. `times` counts down; None lasts until the faults are cleared.

    `error` is answered as `ok: false`, or `status` with `body` or Slack's own for 429. With
    `after_applied` the method is carried out all the same. `drops_response` closes the connection
    instead of answering. `only_with` limits the order to calls that carry that argument.
    """

    method: str
    error: str = ""
    status: int = 200
    body: str = ""
    retry_after_seconds: int | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    after_applied: bool = False
    drops_response: bool = False
    delay_seconds: float = 0.0
    delays_before: bool = True
    only_with: str = ""
    times: int | None = 1

    @property
    def is_delay(self) -> bool:
        return self.delay_seconds > 0

    def fits(self, method: str, arguments: Arguments) -> bool:
        if self.times == 0 or self.method not in (method, "*"):
            return False
        return not self.only_with or self.only_with in arguments


class Faults:
    """The orders that are still open, oldest first, and who watches all calls."""

    def __init__(self) -> None:
        self._orders: list[Fault] = []
        self.watcher: Watcher = lambda *_: None

    def order(self, fault: Fault) -> None:
        self._orders.append(fault)

    def clear(self) -> None:
        self._orders.clear()

    def delays(self, method: str, arguments: Arguments) -> tuple[float, float]:
        """Seconds to wait before and after the method is carried out."""
        fault = self._take(method, arguments, lambda order: order.is_delay)
        if fault is None:
            return 0.0, 0.0
        before, seconds = fault.delays_before, fault.delay_seconds
        return (seconds, 0.0) if before else (0.0, seconds)

    def failure(self, method: str, arguments: Arguments) -> Fault | None:
        """The failure that this call meets, if one is ordered."""
        return self._take(method, arguments, lambda order: not order.is_delay)

    def _take(
        self, method: str, arguments: Arguments, wanted: Callable[[Fault], bool]
    ) -> Fault | None:
        for order in self._orders:
            if wanted(order) and order.fits(method, arguments):
                if order.times is not None:
                    order.times -= 1
                return order
        return None
