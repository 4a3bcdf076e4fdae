"""Keeps the socket of Socket Mode open, and tells since when events have reached us over it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp

log = logging.getLogger(__name__)

CONNECT_SECONDS = 20.0


class Hearing:
    """Since when every event has reached us, in seconds since the epoch."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since = clock()

    def begins(self) -> None:
        """A connection is there; what happened before it may have passed us by."""
        self._since = self._clock()

    def since(self) -> float:
        return self._since


class Socket:
    """The connection over which Slack sends events; the SDK reconnects it by itself."""

    def __init__(self, app: AsyncApp, app_token: str, hearing: Hearing) -> None:
        self._handler = AsyncSocketModeHandler(app, app_token, proxy=app.client.proxy)
        self._handler.client.message_listeners.append(self._on_frame)
        self._hearing = hearing
        self._said_hello = asyncio.Event()

    async def open(self) -> None:
        """Connect, and wait for Slack's hello; if it takes too long, go on trying behind."""
        self._connecting = asyncio.create_task(self._handler.connect_async())
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._said_hello.wait()
        except TimeoutError:
            log.warning("Slack's socket is not open after %g s; still trying", CONNECT_SECONDS)

    async def close(self) -> None:
        """Take no more events. What has been acknowledged is stored already."""
        if not self._handler.client.closed:
            self._connecting.cancel()
            await asyncio.wait({self._connecting})
            await self._handler.close_async()

    async def is_open(self) -> bool:
        """Whether Slack has said hello on a connection that still lives."""
        return self._said_hello.is_set() and bool(await self._handler.client.is_connected())

    async def _on_frame(self, _: object, frame: dict[str, Any], __: str | None = None) -> None:
        if frame.get("type") == "hello":
            self._hearing.begins()
            self._said_hello.set()
            log.info("socket open, connections of this app: %s", frame.get("num_connections"))
        elif frame.get("type") == "disconnect":
            self._said_hello.clear()
            log.info("Slack closes the socket: %s", frame.get("reason"))
