"""The page's views over HTTP, and the stream of what changes in them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kimibot.sandbox.page.acting import Refusal
from kimibot.sandbox.page.files import file_response
from kimibot.sandbox.page.views import Views
from kimibot.sandbox.slack.people import Channel, Person
from kimibot.sandbox.slack.workspace import Workspace


class Looking:
    """Answers with what the person in the query's `as` sees; `headers` go with files."""

    def __init__(self, workspace: Workspace, views: Views, headers: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._views = views
        self._headers = headers
        self._streams: set[asyncio.Task[Any]] = set()

    async def close(self, _app: web.Application) -> None:
        """End the streams: the server would wait for them."""
        for stream in self._streams:
            stream.cancel()

    async def state(self, request: web.Request) -> web.StreamResponse:
        """People, channels, direct conversations, examples."""
        return web.json_response(self._views.state(self._viewer(request)))

    async def channel(self, request: web.Request) -> web.StreamResponse:
        """The messages of a channel, drawn."""
        viewer = self._viewer(request)
        return web.json_response(self._views.channel(viewer, self._channel(request, viewer)))

    async def thread(self, request: web.Request) -> web.StreamResponse:
        """The messages of a thread, drawn."""
        viewer = self._viewer(request)
        channel = self._channel(request, viewer)
        return web.json_response(self._views.thread(viewer, channel, request.query["ts"]))

    async def file(self, request: web.Request) -> web.StreamResponse:
        """What is in a file of a conversation."""
        viewer, file_id = self._viewer(request), request.match_info["id"]
        return file_response(self._workspace, viewer, file_id, self._headers)

    async def changes(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: `ready` once, then each change that the viewer can see."""
        viewer = self._viewer(request)
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        stream = asyncio.current_task()
        assert stream is not None  # a handler runs in a task
        self._streams.add(stream)
        try:
            async with self._workspace.subscribe() as changes:
                await response.prepare(request)
                await response.write(b"event: ready\ndata: {}\n\n")
                async for change in changes:
                    for told in self._views.changes(viewer, change):
                        await response.write(f"data: {json.dumps(told)}\n\n".encode())
        finally:
            self._streams.discard(stream)
        return response

    def _viewer(self, request: web.Request) -> Person:
        return self._workspace.person(request.query["as"])

    def _channel(self, request: web.Request, viewer: Person) -> Channel:
        channel = self._workspace.channel(request.query["channel"])
        if viewer.id not in channel.members:
            raise Refusal("You are not a member of this conversation.")
        return channel
