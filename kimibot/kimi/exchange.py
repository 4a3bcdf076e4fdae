"""One request and the bytes of its response, in a task of its own.

httpx closes a connection by awaiting, and a cancellation that comes while it does so leaves the
connection open for ever (encode/httpx#3782). Whoever waits for an answer may be cancelled twice,
by a stop and by the end of the process: this task is cancelled by nobody else, and once.
"""

from __future__ import annotations

import asyncio

import httpx

from kimibot.errors import KimiError
from kimibot.kimi.faults import transport_faults

READ_AHEAD = 8
LAST_BYTES_SECONDS = 0.05


class Exchange:
    """Runs from its making to `close`, which must be called. `task` ends with the connection."""

    def __init__(self, http: httpx.AsyncClient, request: httpx.Request) -> None:
        self._items: asyncio.Queue[httpx.Response | bytes | KimiError | None]
        self._items = asyncio.Queue(READ_AHEAD)
        self._is_cancelled = False
        self.task = asyncio.create_task(self._run(http, request))

    async def head(self) -> httpx.Response:
        """Status and headers; asked for once, before any piece. Raises KimiError."""
        response = await self._next()
        assert isinstance(response, httpx.Response)
        return response

    async def piece(self) -> bytes | None:
        """The next bytes of the body, None at its end. Raises KimiError."""
        piece = await self._next()
        assert not isinstance(piece, httpx.Response)
        return piece

    async def close(self, *, is_whole: bool = False) -> None:
        """Free the connection: by closing it, or for the next request if its answer is whole.

        May be called again, by whoever wants to see it closed.
        The end of the body has mostly come with the last event, so waiting for it is short.
        """
        try:
            if is_whole:
                await asyncio.wait({self.task}, timeout=LAST_BYTES_SECONDS)
        finally:
            if not self._is_cancelled:
                self._is_cancelled = True
                self.task.cancel()
        await asyncio.wait({self.task})

    async def _next(self) -> httpx.Response | bytes | None:
        item = await self._items.get()
        if isinstance(item, KimiError):
            raise item
        return item

    async def _run(self, http: httpx.AsyncClient, request: httpx.Request) -> None:
        try:
            with transport_faults():
                response = await http.send(request, stream=True)
                try:
                    await self._pass_on(response)
                finally:
                    await response.aclose()
        except KimiError as error:
            await self._items.put(error)

    async def _pass_on(self, response: httpx.Response) -> None:
        await self._items.put(response)
        async for piece in response.aiter_bytes():
            await self._items.put(piece)
        await self._items.put(None)
