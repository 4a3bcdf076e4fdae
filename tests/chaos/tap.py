"""A network between the bot and its PostgreSQL that sees the commits, and can be cut.

The messages are those of https://www.postgresql.org/docs/current/protocol-message-formats.html.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from sqlalchemy import make_url

_ASKS_FOR_ENCRYPTION = (80877103, 80877104)
_WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE)(?: INTO| FROM)? (\w+)")

Watcher = Callable[[str, bool], None]


class Tap:
    """Passes messages on. `watcher` is told of each commit of a transaction that wrote something,
    before the server gets it and before the bot gets the answer; it may raise ConnectionError."""

    def __init__(self, host: str, port: int, watcher: Watcher) -> None:
        self._host = host
        self._port = port
        self._watcher = watcher
        self._is_cut = False
        self._links: set[_Link] = set()

    def cut(self) -> None:
        """Close all connections, and refuse new ones until `mend`."""
        self._is_cut = True
        for link in self._links:
            link.close()

    def mend(self) -> None:
        self._is_cut = False

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of the bot to its end."""
        if self._is_cut:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        link = _Link(reader, writer, far_reader, far_writer, self._watcher)
        self._links.add(link)
        try:
            await asyncio.gather(link.pass_requests(), link.pass_answers())
        finally:
            self._links.discard(link)


@asynccontextmanager
async def tap_on(url: str, watcher: Watcher = lambda *_: None) -> AsyncIterator[tuple[Tap, str]]:
    """A tap before the server of a PostgreSQL URL, and the URL that leads through it."""
    server = make_url(url)
    tap = Tap(server.host or "127.0.0.1", server.port or 5432, watcher)
    listener = await asyncio.start_server(tap.connect, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    through = server.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
    try:
        yield tap, through
    finally:
        tap.cut()
        listener.close()
        await listener.wait_closed()


@dataclass(eq=False)
class _Link:
    """One connection: requests pass message by message, answers as they come."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    far_reader: asyncio.StreamReader
    far_writer: asyncio.StreamWriter
    watcher: Watcher
    statements: dict[bytes, str] = field(default_factory=dict)
    written: dict[str, None] = field(default_factory=dict)
    committing: str = ""

    async def pass_requests(self) -> None:
        """The first messages have no type: a wish for encryption, and who connects to what."""
        has_type = False
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                kind = await self.reader.readexactly(1) if has_type else b""
                length = await self.reader.readexactly(4)
                payload = await self.reader.readexactly(int.from_bytes(length) - 4)
                if not has_type:
                    has_type = int.from_bytes(payload[:4]) not in _ASKS_FOR_ENCRYPTION
                self._look_at(kind, payload)
                self.far_writer.write(kind + length + payload)
        self.close()

    async def pass_answers(self) -> None:
        with suppress(ConnectionError):
            while passed := await self.far_reader.read(65536):
                committed, self.committing = self.committing, ""
                if committed:
                    self.watcher(committed, True)
                self.writer.write(passed)
        self.close()

    def close(self) -> None:
        self.writer.transport.abort()
        self.far_writer.transport.abort()

    def _look_at(self, kind: bytes, payload: bytes) -> None:
        if kind == b"P":
            name, statement = payload.split(b"\0")[:2]
            self.statements[name] = statement.decode()
        elif kind == b"B":
            self._note(self.statements.get(payload.split(b"\0")[1], ""))
        elif kind == b"Q":
            self._look_at_query(payload.rstrip(b";\0").decode())

    def _note(self, statement: str) -> None:
        if found := _WRITES.match(statement):
            self.written[f"{found[1]} {found[2]}"] = None

    def _look_at_query(self, query: str) -> None:
        if query == "COMMIT" and self.written:
            name = f"commit of {', '.join(self.written)}"
            self.watcher(name, False)
            self.committing = name
        self.written.clear()
