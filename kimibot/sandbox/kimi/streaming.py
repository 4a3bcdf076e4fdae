"""Sends one planned answer as server-sent events, on time, to the end that was planned."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator

from aiohttp import web

from kimibot.sandbox.kimi.dialect import DONE, Envelope, data_line, error_body
from kimibot.sandbox.kimi.faults import Faults
from kimibot.sandbox.kimi.plan import Counted, End, Plan

# With a linger time of zero, closing a socket sends a reset: see SO_LINGER in socket(7).
_NO_LINGER = struct.pack("ii", 1, 0)


class Streaming:
    """One answer on its way. `response` is what the handler returns in the end."""

    def __init__(self, plan: Plan, envelope: Envelope, usage: Counted, faults: Faults) -> None:
        self.response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-cache",
                **faults.trace_headers,
            }
        )
        self._plan = plan
        self._envelope = envelope
        self._usage = usage
        self._faults = faults

    async def send(self, request: web.Request, speed: float) -> AsyncIterator[float]:
        """Send it all, and yield the time at which each chunk with content went out.

        Raises ConnectionError when the client is gone. Waits are kept against the clock, so that a
        busy machine doesn't slow the answer down.
        """
        now = asyncio.get_running_loop().time
        await self.response.prepare(request)
        if self._opens:
            await self.response.write(self._envelope.opening())
        due = now()
        for chunk in self._plan.chunks:
            due += chunk.wait_seconds / speed
            await asyncio.sleep(max(0.0, due - now()))
            await self.response.write(self._envelope.chunk(chunk))
            if chunk.content:
                yield now()
        await self._end(request)

    @property
    def _opens(self) -> bool:
        """Raw bytes and an end before the first chunk mean exactly what they say."""
        if self._plan.chunks:
            return self._plan.chunks[0].raw is None
        return self._plan.end in (End.DONE, End.WITHOUT_DONE, End.HANG)

    async def _end(self, request: web.Request) -> None:
        end = self._plan.end
        if end in (End.DONE, End.WITHOUT_DONE, End.HANG):
            await self.response.write(self._envelope.finish(self._plan.finish_reason, self._usage))
        if end in (End.DONE, End.WITHOUT_DONE):
            await self.response.write(self._envelope.usage(self._usage))
        if end is End.DONE:
            await self.response.write(DONE)
        if end is End.ERROR:
            await self.response.write(self._error())
        if end in (End.STALL, End.HANG):
            await asyncio.Event().wait()
        if end in (End.CUT, End.RESET):
            break_connection(request, reset=end is End.RESET)

    def _error(self) -> bytes:
        faults = self._faults
        return data_line(
            error_body(faults.dialect, "api_error", "the stream failed", faults.trace_id)
        )


def break_connection(request: web.Request, *, reset: bool) -> None:
    """Close the client's connection in the middle of whatever goes on there."""
    transport = request.transport
    if transport is None:
        return
    connection = transport.get_extra_info("socket")
    if not reset or connection is None:
        transport.close()
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()
