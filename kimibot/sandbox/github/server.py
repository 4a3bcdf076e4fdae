"""Runs a local GitHub on loopback."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from aiohttp import web

from kimibot.sandbox.github.endpoint import PREFIX, LocalGitHub
from kimibot.sandbox.github.pages import add_pages

_CLOSING_SECONDS = 0.1
_SHA = re.compile(r"[0-9a-f]{40}")


@asynccontextmanager
async def local_github(port: int = 0) -> AsyncIterator[LocalGitHub]:
    """A running local GitHub without repositories; port 0 takes a free one."""
    github = LocalGitHub()
    app = web.Application()
    app.router.add_route("*", f"{PREFIX}/{{path:.*}}", partial(_answer_watched, github))
    add_pages(app, github)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_CLOSING_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        github.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield github
    finally:
        await runner.cleanup()


async def _answer_watched(github: LocalGitHub, request: web.Request) -> web.StreamResponse:
    """A ConnectionError of the watcher loses the request, or its answer, on the way."""
    path = _SHA.sub("SHA", request.path.removeprefix(PREFIX))
    try:
        github.watcher(f"{request.method} {path}", False)
        answer = await github.answer(request)
        github.watcher(f"{request.method} {path}", True)
    except ConnectionError:
        if request.transport is not None:
            request.transport.close()
        raise
    return answer
