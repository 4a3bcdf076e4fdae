"""Takes Slack's signed HTTP requests, when there is no socket."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.async_app import AsyncApp

log = logging.getLogger(__name__)


def events_endpoint(app: AsyncApp) -> Callable[[web.Request], Awaitable[web.Response]]:
    """The handler of `POST /slack/events`: Bolt checks the signature over the raw body."""

    async def handle(request: web.Request) -> web.Response:
        try:
            bolt_request = await to_bolt_request(request)
        except UnicodeDecodeError:
            return web.Response(status=400, text="the body is not UTF-8")
        return await to_aiohttp_response(await app.async_dispatch(bolt_request))

    return handle
