"""A model's endpoint whose every byte a test decides: HTTP/1.1 on a loopback socket."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Peer:
    """A client's request, and the connection to answer it on."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    request_line: str
    headers: dict[str, str]
    body: dict[str, Any]

    async def begin(
        self, status: int = 200, content_type: str = "text/event-stream", **headers: str
    ) -> None:
        """The head of a response that comes in pieces."""
        fields = {"content-type": content_type, "transfer-encoding": "chunked"}
        self.writer.write(_head(status, fields | _dashed(headers)))
        await self.writer.drain()

    async def say(self, data: bytes) -> None:
        if data:
            self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))
            await self.writer.drain()

    async def end(self) -> None:
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def respond(
        self,
        status: int,
        body: bytes = b"",
        content_type: str = "application/json",
        **headers: str,
    ) -> None:
        """A whole response."""
        fields = {"content-type": content_type, "content-length": str(len(body))}
        self.writer.write(_head(status, fields | _dashed(headers)) + body)
        await self.writer.drain()

    def hang_up(self) -> None:
        self.writer.close()

    def reset(self) -> None:
        """Closing with a linger of nothing sends RST instead of FIN."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def gone(self) -> None:
        """Wait until the client has closed its side."""
        with suppress(ConnectionError):
            while await self.reader.read(1024):
                pass


Script = Callable[[Peer], Awaitable[None]]


@dataclass
class ModelServer:
    """Plays one script a request, in order, the last one again and again."""

    base_url: str = ""
    scripts: list[Script] = field(default_factory=list)
    requests: list[Peer] = field(default_factory=list)
    connections: int = 0
    open_connections: int = 0

    def play(self, *scripts: Script) -> None:
        self.scripts = list(scripts)

    def has_got(self, requests: int) -> bool:
        return len(self.requests) >= requests

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_connections += 1
        try:
            while not writer.is_closing() and (peer := await _request(reader, writer)):
                self.requests.append(peer)
                at = min(len(self.requests), len(self.scripts)) - 1
                await self.scripts[at](peer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.open_connections -= 1
            writer.close()


@asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    server = ModelServer()
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(server.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listening = await asyncio.start_server(accept, "127.0.0.1", 0, limit=4 * 1024 * 1024)
    port = listening.sockets[0].getsockname()[1]
    server.base_url = f"http://127.0.0.1:{port}/v1"
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def streams(data: bytes, content_type: str = "text/event-stream", **headers: str) -> Script:
    """A stream that comes in one piece and ends well."""

    async def script(peer: Peer) -> None:
        await peer.begin(200, content_type, **headers)
        await peer.say(data)
        await peer.end()

    return script


def responds(
    status: int, body: bytes = b"", content_type: str = "application/json", **headers: str
) -> Script:
    async def script(peer: Peer) -> None:
        await peer.respond(status, body, content_type, **headers)

    return script


async def _request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Peer | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    request_line, *lines = head.decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Peer(reader, writer, request_line, headers, json.loads(body))


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} x", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _dashed(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
