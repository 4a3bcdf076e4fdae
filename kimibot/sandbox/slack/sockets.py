"""Socket Mode: https://docs.slack.dev/apis/events-api/using-socket-mode."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from kimibot.sandbox.slack import limits
from kimibot.sandbox.slack.people import BOT
from kimibot.sandbox.slack.workspace import Workspace

CONNECTION_SECONDS = 18_060
"""What Slack's hello says about how long a connection lives; observed."""


@dataclass(slots=True)
class Envelopes:
    """The ids of all envelopes sent and acked, on whatever connection."""

    sent: set[str] = field(default_factory=set)
    acked: set[str] = field(default_factory=set)


class Connection:
    """One open socket of the app.

    `is_half_open` means that the other side still believes in it while nothing passes any more.
    """

    def __init__(
        self, number: int, socket: web.WebSocketResponse, request: web.Request, envelopes: Envelopes
    ) -> None:
        self.number = number
        self.socket = socket
        self.is_half_open = False
        self.gone = asyncio.Event()
        self._request = request
        self._envelopes = envelopes
        self._awaited: dict[str, asyncio.Event] = {}

    async def deliver(self, envelope: dict[str, Any], timeout_seconds: float) -> bool:
        """Send an envelope; whether its ack came in time, on this very connection."""
        envelope_id = envelope["envelope_id"]
        self._envelopes.sent.add(envelope_id)
        acked = self._awaited[envelope_id] = asyncio.Event()
        try:
            async with asyncio.timeout(timeout_seconds):
                await self.send(envelope)
                await acked.wait()
        except TimeoutError:
            return False
        finally:
            del self._awaited[envelope_id]
        return True

    async def send(self, frame: dict[str, Any]) -> None:
        """Send a frame; it is lost without an error where the connection is broken."""
        if not self.is_half_open:
            with suppress(ConnectionError):
                await self.socket.send_str(json.dumps(frame))

    def take(self, frame: dict[str, Any]) -> str:
        """Take a frame of the app; the complaint about it, or "".

        An ack that is late, or comes on another connection, is lost without a complaint.
        """
        envelope_id = str(frame.get("envelope_id", ""))
        if envelope_id not in self._envelopes.sent:
            return f"an ack for an unknown envelope: {envelope_id!r}"
        if envelope_id in self._envelopes.acked:
            return f"a second ack for an envelope: {envelope_id!r}"
        self._envelopes.acked.add(envelope_id)
        if envelope_id in self._awaited:
            self._awaited[envelope_id].set()
        return ""

    async def close(self) -> None:
        self.gone.set()
        if not self.is_half_open:
            await self.socket.close(code=WSCloseCode.OK)

    def abort(self) -> None:
        """Reset the connection without a close frame."""
        self.gone.set()
        if self._request.transport is not None:
            self._request.transport.abort()


class Sockets:
    """The app's open connections; each delivery goes to one of them, in turn."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._tickets: dict[str, float] = {}
        self._turn = 0
        self._envelopes = Envelopes()
        self.connections: list[Connection] = []

    def issue_url(self) -> str:
        """An address for one connection, as apps.connections.open gives it."""
        ticket = self._workspace.new_id("")
        self._tickets[ticket] = self._workspace.clock() + limits.SOCKET_URL_SECONDS
        base = self._workspace.base_url.replace("http://", "ws://")
        return f"{base}/link/?ticket={ticket}&app_id={BOT.app_id}"

    def choose(self, index: int | None = None) -> Connection | None:
        """The next connection in turn, or the one at `index` in the order of opening."""
        if index is not None:
            return self.connections[index] if index < len(self.connections) else None
        if not self.connections:
            return None
        self._turn += 1
        return self.connections[self._turn % len(self.connections)]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """The WebSocket endpoint."""
        while self._workspace.options.stall_handshakes:
            await self._workspace.revision.wait_past(self._workspace.revision.number, 1.0)
        if self._workspace.clock() > self._tickets.pop(request.query.get("ticket", ""), 0.0):
            return web.Response(status=403, text="the ticket is unknown, used or too old")
        socket = web.WebSocketResponse(autoping=False, autoclose=False)
        await socket.prepare(request)
        if len(self.connections) >= limits.OPEN_SOCKETS:
            await socket.send_str(json.dumps(disconnect_frame("too_many_websockets")))
            await socket.close()
            return socket
        await self._converse(request, socket)
        return socket

    async def close(self) -> None:
        for connection in list(self.connections):
            connection.gone.set()
            connection.abort()

    async def _converse(self, request: web.Request, socket: web.WebSocketResponse) -> None:
        records = self._workspace.records
        connection = Connection(records.sockets_opened, socket, request, self._envelopes)
        records.sockets_opened += 1
        self.connections.append(connection)
        pings = asyncio.create_task(self._ping(connection))
        try:
            await connection.send(hello_frame(len(self.connections)))
            records.on_record()
            await _receive(connection, records.complain)
        finally:
            pings.cancel()
            self.connections.remove(connection)
            records.on_record()

    async def _ping(self, connection: Connection) -> None:
        while True:
            await asyncio.sleep(self._workspace.options.server_ping_seconds)
            if not connection.is_half_open:
                with suppress(ConnectionError):
                    await connection.socket.ping(b"Ping from local Slack")


async def _receive(connection: Connection, complain: Callable[[str], None]) -> None:
    """Take frames until the socket closes; a half-open one is not read from any more."""
    while True:
        frame = await connection.socket.receive()
        if connection.is_half_open:
            await connection.gone.wait()
            return
        if frame.type is WSMsgType.PING:
            await connection.socket.pong(frame.data)
        elif frame.type is WSMsgType.TEXT:
            _take(connection, frame.data, complain)
        elif frame.type is not WSMsgType.PONG:
            await connection.socket.close()
            return


def _take(connection: Connection, text: str, complain: Callable[[str], None]) -> None:
    try:
        frame = json.loads(text)
    except ValueError:
        complain(f"a frame that is not JSON: {text[:80]!r}")
        return
    complaint = connection.take(frame if isinstance(frame, dict) else {})
    if complaint:
        complain(complaint)


def hello_frame(connections: int) -> dict[str, Any]:
    return {
        "type": "hello",
        "num_connections": connections,
        "connection_info": {"app_id": BOT.app_id},
        "debug_info": {
            "host": "applink-local",
            "build_number": 1,
            "approximate_connection_time": CONNECTION_SECONDS,
        },
    }


def disconnect_frame(reason: str) -> dict[str, Any]:
    return {"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-local"}}
