"""A network between the store and its server that can fall silent without a word."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sqlalchemy import make_url


class Wire:
    """Passes bytes on until `silence()`: then they are swallowed, and nothing is closed."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._is_silent = False
        self._writers: list[asyncio.StreamWriter] = []

    def silence(self) -> None:
        self._is_silent = True

    def cut(self) -> None:
        """Closes every connection."""
        for writer in self._writers:
            writer.transport.abort()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(self._host, self._port)
        self._writers += [writer, far_writer]
        await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while passed := await reader.read(65536):
                if not self._is_silent:
                    writer.write(passed)
        writer.transport.abort()


@asynccontextmanager
async def wire_to(url: str) -> AsyncIterator[tuple[Wire, str]]:
    """A wire to the server of a PostgreSQL URL, and the URL that leads through it."""
    server = make_url(url)
    wire = Wire(server.host or "127.0.0.1", server.port or 5432)
    listener = await asyncio.start_server(wire.connect, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    through = server.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
    try:
        yield wire, through
    finally:
        wire.cut()
        listener.close()
        await listener.wait_closed()
