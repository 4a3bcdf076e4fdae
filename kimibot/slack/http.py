"""Takes Slack's signed HTTP requests, when there is no socket."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.async_app import AsyncApp

from kimibot.slack.requests import Unreadable, bolt_request


def events_endpoint(app: AsyncApp) -> Callable[[web.Request], Awaitable[web.Response]]:
    """The handler of `POST /slack/events`: Bolt checks the signature over the raw body."""

    async def handle(request: web.Request) -> web.Response:
        timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
        if not (timestamp.isascii() and timestamp.isdigit()):
            return web.Response(status=401, text="this is not signed by Slack")
        try:
            body = await request.text()
            asked = bolt_request(body, request.headers, query=request.query_string, mode="http")
        except (UnicodeDecodeError, LookupError, Unreadable):
            return web.Response(status=400, text="this is no payload of Slack's")
        return await to_aiohttp_response(await app.async_dispatch(asked))

    return handle
