"""Runs a local Kimi on loopback: inside a test, or as long as a process lives."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from kimibot.sandbox.kimi.controls import add_controls
from kimibot.sandbox.kimi.endpoint import KimiOptions, LocalKimi

_CLOSING_SECONDS = 0.1


@asynccontextmanager
async def local_kimi(
    port: int = 0,
    *,
    options: KimiOptions | None = None,
    randomness: random.Random | None = None,
) -> AsyncIterator[LocalKimi]:
    """A running local Kimi on loopback; port 0 takes a free one. `base_url` says where it is."""
    kimi = LocalKimi(options or KimiOptions(), randomness or random.Random())
    app = kimi.app()
    add_controls(app, kimi)
    # Without handler_cancellation a client that goes away would be noticed only at the next chunk.
    runner = web.AppRunner(
        app, handler_cancellation=True, access_log=None, shutdown_timeout=_CLOSING_SECONDS
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        kimi.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/kimi"
        yield kimi
    finally:
        kimi.close()
        await runner.cleanup()
