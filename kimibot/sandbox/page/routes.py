"""Serves the page of the local Slack, on a port of its own or beside other routes.

Only this machine may use it: requests under another host name, and orders that a foreign page could
send, are refused. The page's content policy allows nothing but its own files.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import resources
from types import MappingProxyType
from typing import Any

from aiohttp import web

from kimibot.sandbox.page.acting import Acting, Refusal
from kimibot.sandbox.page.examples import Group, local_examples
from kimibot.sandbox.page.looking import Looking
from kimibot.sandbox.page.views import Views
from kimibot.sandbox.slack.server import LocalSlack
from kimibot.sandbox.slack.workspace import Unknown

_TYPES = MappingProxyType({"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"})
_OWN_HOSTS = ("127.0.0.1", "localhost", "[::1]")
_CLOSING_SECONDS = 0.2
LARGEST_ORDER_BYTES = 64 * 1024 * 1024
"""A message with files comes in one piece, a third larger than they are."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = MappingProxyType(
    {
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Act = Callable[[dict[str, Any]], Awaitable[Mapping[str, Any]]]


def add_page(
    app: web.Application, slack: LocalSlack, *, examples: Sequence[Group] | None = None
) -> None:
    """Serve the page at `/`. Without `examples` it suggests what the local Kimi knows."""
    workspace = slack.parts.workspace
    views = Views(workspace, local_examples() if examples is None else examples)
    looking = Looking(workspace, views, _HEADERS)
    acting = Acting(slack)
    app.router.add_get("/", _guarded(_index))
    for name in ("state", "channel", "thread", "changes"):
        app.router.add_get(f"/page/{name}", _guarded(getattr(looking, name)))
    for name in ("say", "edit", "delete", "click", "shortcut", "source"):
        app.router.add_post(f"/page/{name}", _guarded(_obeying(getattr(acting, name))))
    app.router.add_get("/page/file/{id}", _guarded(looking.file))
    app.router.add_get("/page/{name}.{kind:css|js|svg}", _guarded(_file))
    app.on_shutdown.append(looking.close)


@asynccontextmanager
async def open_page(
    slack: LocalSlack, port: int = 0, *, examples: Sequence[Group] | None = None
) -> AsyncIterator[str]:
    """The page on a loopback port of its own, 0 for a free one; yields its address."""
    app = web.Application(client_max_size=LARGEST_ORDER_BYTES)
    add_page(app, slack, examples=examples)
    # Without handler_cancellation the stream of a closed page would live until the next change.
    runner = web.AppRunner(
        app, handler_cancellation=True, access_log=None, shutdown_timeout=_CLOSING_SECONDS
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def _index(_request: web.Request) -> web.Response:
    return web.Response(text=_static("index.html"), content_type="text/html", headers=_HEADERS)


async def _file(request: web.Request) -> web.Response:
    name, kind = request.match_info["name"], request.match_info["kind"]
    if not name.isalpha():
        raise web.HTTPNotFound
    try:
        text = _static(f"{name}.{kind}")
    except FileNotFoundError as error:
        raise web.HTTPNotFound from error
    return web.Response(text=text, content_type=_TYPES[kind], headers=_HEADERS)


def _static(name: str) -> str:
    return resources.files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def _obeying(act: Act) -> Handler:
    """An order comes as JSON, which a foreign page can't send without asking first."""

    async def obey(request: web.Request) -> web.StreamResponse:
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType
        order = json.loads(await request.read())
        if not isinstance(order, dict):
            raise Refusal("An order is one JSON object.")
        return web.json_response(await act(order))

    return obey


def _guarded(handler: Handler) -> Handler:
    """Refuse other host names, so that no foreign name can be pointed at this machine."""

    async def guarded(request: web.Request) -> web.StreamResponse:
        if request.host.rsplit(":", 1)[0] not in _OWN_HOSTS:
            raise web.HTTPForbidden
        try:
            return await handler(request)
        except Unknown as error:
            return web.json_response({"error": str(error)}, status=404)
        except (Refusal, KeyError, ValueError) as error:
            return web.json_response({"error": str(error)}, status=400)

    return guarded
