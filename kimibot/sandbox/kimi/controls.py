"""The local Kimi's controls over HTTP, for tests whose local Kimi is a process of its own.

`POST /control/NAME` takes the arguments of the method of that name as one JSON object;
`GET /control/state` tells what was received.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from aiohttp import web

from kimibot.sandbox.kimi.endpoint import LocalKimi
from kimibot.sandbox.kimi.plan import Chunk, Counted, End, Pace

_DIRECT = ("refuse", "stall", "finish", "count", "reasoning_only", "forget")


def add_controls(app: web.Application, kimi: LocalKimi) -> None:
    """Serve the controls beside the endpoint."""
    orders: dict[str, Callable[..., None]] = {name: getattr(kimi, name) for name in _DIRECT}
    orders["play"] = lambda **order: _play(kimi, **order)
    orders["die"] = lambda **order: kimi.die(**{**order, "end": End(order.get("end", "reset"))})
    orders["pace"] = lambda **pace: _set_pace(kimi, **pace)
    app.router.add_post("/control/{name}", _obeying(orders))
    app.router.add_get("/control/state", _telling(kimi))


def _obeying(
    orders: Mapping[str, Callable[..., None]],
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def obey(request: web.Request) -> web.Response:
        order = orders.get(request.match_info["name"])
        if order is None:
            return web.json_response({"error": f"known: {', '.join(sorted(orders))}"}, status=404)
        try:
            order(**(json.loads(await request.read() or b"{}")))
        except (TypeError, ValueError, AttributeError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({"ok": True})

    return obey


def _telling(kimi: LocalKimi) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def tell(_request: web.Request) -> web.Response:
        return web.json_response(
            {
                "open_streams": kimi.open_streams,
                "cancelled": kimi.cancelled,
                "requests": [asdict(exchange) for exchange in kimi.requests],
            }
        )

    return tell


def _play(kimi: LocalKimi, chunks: list[Any], **order: Any) -> None:
    if "end" in order:
        order["end"] = End(order["end"])
    if "usage" in order:
        order["usage"] = Counted(**order["usage"])
    kimi.play(*(chunk if isinstance(chunk, str) else Chunk(**chunk) for chunk in chunks), **order)


def _set_pace(kimi: LocalKimi, speed: float | None = None, **pace: float) -> None:
    options = kimi.options
    kimi.options = replace(
        options,
        pace=Pace(**{**asdict(options.pace), **pace}),
        speed=options.speed if speed is None else speed,
    )
