"""What the local Slack saw of a bot: calls, deliveries, pings, complaints, counters."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

KEPT = 100_000
"""Calls and deliveries beyond are forgotten, the oldest first."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to the Web API: with what, when (seconds since the epoch), how long it took.

    `status` is 0 where the connection was closed without an answer; `applied` says whether the
    method was carried out.
    """

    method: str
    arguments: dict[str, Any]
    at: float
    seconds: float
    status: int
    answer: dict[str, Any]
    applied: bool


@dataclass(slots=True)
class DeliveryRecord:
    """One attempt to deliver an event or a click. `ack_seconds` is None until it is acked.

    `connection` is the number of the socket, or None over HTTP or where none was open.
    """

    id: str
    kind: str
    attempt: int
    reason: str
    sent_at: float
    connection: int | None = None
    ack_seconds: float | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Ping:
    """A mention in a bot's message that would notify people."""

    channel: str
    ts: str
    mention: str


@dataclass(frozen=True, slots=True)
class Counters:
    """How often things happened. `unacked` are attempts that ran out of time or failed."""

    calls: int
    rate_limited: int
    pings: int
    unfurls: int
    complaints: int
    deliveries: int
    unacked: int
    given_up: int
    sockets_opened: int


@dataclass(slots=True)
class Records:
    """Grows while the local Slack runs; every new entry calls `on_record`."""

    on_record: Callable[[], None]
    calls: deque[Call] = field(default_factory=lambda: deque(maxlen=KEPT))
    deliveries: deque[DeliveryRecord] = field(default_factory=lambda: deque(maxlen=KEPT))
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    pings: list[Ping] = field(default_factory=list)
    unfurls: list[dict[str, Any]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    sockets_opened: int = 0
    call_count: int = 0
    rate_limited: int = 0

    def call(self, call: Call) -> None:
        self.calls.append(call)
        self.call_count += 1
        self.rate_limited += call.status == 429
        self.on_record()

    def delivery(self, record: DeliveryRecord) -> None:
        self.deliveries.append(record)
        self.on_record()

    def complain(self, complaint: str) -> None:
        """Note something that a well-made app does not do."""
        self.complaints.append(complaint)
        self.on_record()

    def counters(self) -> Counters:
        return Counters(
            calls=self.call_count,
            rate_limited=self.rate_limited,
            pings=len(self.pings),
            unfurls=len(self.unfurls),
            complaints=len(self.complaints),
            deliveries=len(self.deliveries),
            unacked=sum(bool(record.failure) for record in self.deliveries),
            given_up=len(self.given_up),
            sockets_opened=self.sockets_opened,
        )
