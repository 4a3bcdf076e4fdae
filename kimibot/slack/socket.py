"""Keeps the socket of Socket Mode open, and tells since when events have reached us over it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import time
from typing import Any

from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.async_app import AsyncApp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from kimibot.slack.requests import Unreadable, bolt_request

log = logging.getLogger(__name__)

CONNECT_SECONDS = 20.0
TOO_MANY = "too_many_websockets"
"""More than ten connections of one app: some other process uses our app token."""


ECHO_SECONDS = 5.0
"""So long after something was said in a channel we wait for its event before we miss it."""


class Hearing:
    """Since when every event has reached us, in seconds since the epoch, and from which channels.

    `is_alone` says that no other process can hear what we do not.
    """

    def __init__(self, clock: Callable[[], float], *, is_alone: bool) -> None:
        self._clock = clock
        self._is_alone = is_alone
        self._since = clock()
        self._channels: set[str] = set()

    def begins(self) -> None:
        """A connection is there; what happened before it may have passed us by."""
        self._since = self._clock()

    def since(self) -> float:
        return self._since

    def message_in(self, channel: str) -> None:
        """An event of a message came from there, such as the echo of one of ours."""
        self._channels.add(channel)

    def is_deaf_in(self, channel: str, spoken_at: float) -> bool:
        """Whether no event has come from a channel although we said something there at that time:
        then the app is not subscribed to its messages."""
        listening_seconds = self._clock() - max(self._since, spoken_at)
        is_silent = channel not in self._channels and listening_seconds > ECHO_SECONDS
        return self._is_alone and is_silent


class Socket:
    """The connection over which Slack sends events; the SDK reconnects it by itself.

    It pings every `ping_seconds`, and takes another connection when no answer comes: also one that
    stays open and lets nothing pass is noticed within four of them.
    """

    def __init__(
        self, app: AsyncApp, app_token: str, hearing: Hearing, *, ping_seconds: float
    ) -> None:
        self._app = app
        self._client = SocketModeClient(
            app_token,
            logger=app.logger,
            web_client=app.client,
            ping_interval=ping_seconds,
        )
        self._client.proxy = app.client.proxy  # see `open_web_api`: none is none here as well
        self._client.message_listeners.append(self._on_frame)
        self._client.socket_mode_request_listeners.append(self._take)
        self._hearing = hearing
        self._said_hello = asyncio.Event()
        self._connecting: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect, and wait for Slack's hello; if it takes too long, go on trying behind."""
        self._connecting = asyncio.create_task(self._client.connect())
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._said_hello.wait()
        except TimeoutError:
            log.warning("Slack's socket is not open after %g s; still trying", CONNECT_SECONDS)

    async def close(self) -> None:
        """Take no more events. What has been acknowledged is stored already.

        Also right for a socket that was never opened, and for one that is closed.
        """
        if self._client.closed:
            return
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait({self._connecting})
        await self._client.close()

    async def is_open(self) -> bool:
        """Whether Slack has said hello on a connection that still lives."""
        return self._said_hello.is_set() and bool(await self._client.is_connected())

    async def _take(self, client: Any, request: SocketModeRequest) -> None:
        """Let Bolt answer; without an answer of 200 Slack delivers again."""
        started_at = time()
        try:
            asked = bolt_request(request.payload, {}, mode="socket_mode")
        except Unreadable as error:
            log.warning("a payload of no known shape (%s), of type %s", error, request.type)
            await client.send_socket_mode_response(SocketModeResponse(request.envelope_id))
            return
        answer = await self._app.async_dispatch(asked)
        await send_async_response(client, request, answer, started_at)

    async def _on_frame(self, _: object, frame: dict[str, Any], __: str | None = None) -> None:
        if frame.get("type") == "hello":
            self._hearing.begins()
            self._said_hello.set()
            log.info("socket open, connections of this app: %s", frame.get("num_connections"))
        elif frame.get("type") == "disconnect":
            self._said_hello.clear()
            reason = str(frame.get("reason"))
            level = logging.WARNING if reason == TOO_MANY else logging.INFO
            log.log(level, "Slack closes the socket: %s", reason)
