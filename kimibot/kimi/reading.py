"""Reads one response to its end, within its limits: deltas out, a connection freed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass

import httpx

from kimibot.answers import Delta
from kimibot.errors import CutOff, KimiError, NoFirstEvent, TooSlow
from kimibot.kimi.body import AnswerBody
from kimibot.kimi.exchange import Exchange
from kimibot.kimi.faults import Headers, fault

ERROR_BODY_BYTES = 64 * 1024
ERROR_BODY_SECONDS = 10.0

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Limits:
    """How long each thing may take, in seconds.

    `first_event` counts from the sending of the request, `idle` between what the model sends:
    comments and blank bytes are no sign of life, reasoning is. `grace` is for what may follow the
    finish reason. `unreachable` is how long a new connection is tried for.
    """

    connect_seconds: float = 10
    first_event_seconds: float = 300
    idle_seconds: float = 300
    answer_seconds: float = 900
    grace_seconds: float = 8
    unreachable_seconds: float = 60


@dataclass(frozen=True, slots=True)
class Patience:
    """When a wait ends, by the clock, and with which error."""

    until: float
    error: KimiError


class Timers:
    """Which limit ends a wait first. Made when the answer is asked for."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        seconds = limits.answer_seconds
        self._whole = Patience(
            clock() + seconds, TooSlow(f"not answered in {seconds:g} s", limit_seconds=seconds)
        )
        # Made once: it is asked for at every event, and ends the answer when it is used.
        idle = limits.idle_seconds
        self._silence = CutOff(f"silent for {idle:g} s", limit_seconds=idle)

    def first_event(self) -> Patience:
        seconds = self._limits.first_event_seconds
        return self._of(seconds, NoFirstEvent(f"nothing in {seconds:g} s", limit_seconds=seconds))

    def idle(self) -> Patience:
        return self._of(self._limits.idle_seconds, self._silence)

    def grace(self) -> Patience:
        seconds = self._limits.grace_seconds
        return self._of(seconds, CutOff("no end after the finish reason", limit_seconds=seconds))

    def left_seconds(self, patience: Patience | None = None) -> float:
        """What is left of it, or else of the time for the whole answer."""
        return (patience or self._whole).until - self._clock()

    def _of(self, seconds: float, error: KimiError) -> Patience:
        until = self._clock() + seconds
        return Patience(until, error) if until <= self._whole.until else self._whole


class Reading:
    """The deltas of one response. Raises KimiError where the answer is not whole."""

    def __init__(self, exchange: Exchange, headers: Headers, timers: Timers, key: str) -> None:
        self._exchange = exchange
        self._timers = timers
        self._body = AnswerBody(headers, key)
        self._patience = timers.first_event()
        self._events_seen = 0
        self._has_grace = False

    async def begin(self, patience: Patience) -> None:
        """Read until the model has said something. Raises KimiError."""
        self._patience = patience
        while not self._body.deltas and not self._body.is_closed:
            await self._read()
        if self._body.failure and not self._body.deltas:
            raise self._body.failure

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self

    async def __anext__(self) -> Delta:
        while not self._body.deltas:
            if self._body.failure:
                raise self._body.failure
            if self._body.is_over:
                raise StopAsyncIteration
            await self._read()
        return self._body.deltas.popleft()

    async def close(self) -> None:
        await self._exchange.close(is_whole=self._body.is_over)

    async def _read(self) -> None:
        self._renew_patience()
        try:
            async with asyncio.timeout(self._timers.left_seconds(self._patience)):
                piece = await self._exchange.piece()
        except TimeoutError:
            self._body.fail(self._patience.error)
        except KimiError as error:
            self._body.fail(error)
        else:
            self._body.end() if piece is None else self._body.feed(piece)

    def _renew_patience(self) -> None:
        """Counted from here and not from the last event: between them our caller took its time."""
        if self._body.is_finished:
            if not self._has_grace:
                self._has_grace, self._patience = True, self._timers.grace()
        elif self._body.events > self._events_seen:
            self._patience = self._timers.idle()
        self._events_seen = self._body.events


async def refusal(exchange: Exchange, response: httpx.Response, key: str) -> KimiError:
    """The error of a response that is none of status 200, from as much of it as comes."""
    text = bytearray()
    with suppress(TimeoutError, KimiError):
        async with asyncio.timeout(ERROR_BODY_SECONDS):
            while len(text) < ERROR_BODY_BYTES and (piece := await exchange.piece()) is not None:
                text += piece
    said = text.decode(errors="replace")
    return fault(response.status_code, response.headers, said.replace(key, "…") if key else said)
