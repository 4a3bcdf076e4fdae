"""The HTTP endpoints: health, readiness, metrics, and Slack's events where there is no socket."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from kimibot.errors import BadSettings

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
MOST_BODY_BYTES = 4 * 1024 * 1024

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""https://prometheus.io/docs/instrumenting/exposition_formats/"""


@asynccontextmanager
async def serve(
    host: str,
    port: int,
    *,
    is_ready: Callable[[], Awaitable[str]],
    metrics: Callable[[], Awaitable[bytes]],
    slack_events: Handler | None,
) -> AsyncIterator[int]:
    """Listen while the block runs; yields the port. `is_ready` says what is missing, or "",
    and `metrics` gives the text for Prometheus.

    Raises BadSettings when it can't listen there.
    """
    app = web.Application(client_max_size=MOST_BODY_BYTES)
    app.router.add_get("/healthz", _healthz)
    app.router.add_get("/readyz", _readyz(is_ready))
    app.router.add_get("/metrics", _metrics(metrics))
    if slack_events is not None:
        app.router.add_post("/slack/events", slack_events)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=2.0)
    await runner.setup()
    try:
        await _listen(runner, host, port)
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int) -> None:
    try:
        await web.TCPSite(runner, host, port).start()
    except socket.gaierror as error:
        raise BadSettings([f"HOST: {host} is no address of ours: {error.strerror}"]) from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise BadSettings([f"PORT: can't listen on {host}:{port}: {reason}"]) from error


async def _healthz(_: web.Request) -> web.Response:
    return web.Response(text="ok\n")


def _readyz(is_ready: Callable[[], Awaitable[str]]) -> Handler:
    async def handle(_: web.Request) -> web.Response:
        missing = await is_ready()
        return web.Response(status=503 if missing else 200, text=f"{missing or 'ready'}\n")

    return handle


def _metrics(metrics: Callable[[], Awaitable[bytes]]) -> Handler:
    async def handle(_: web.Request) -> web.Response:
        return web.Response(body=await metrics(), headers={"Content-Type": METRICS_TYPE})

    return handle
