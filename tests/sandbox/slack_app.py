"""An app's side of the local Slack for its tests: Slack's own SDK, without any retries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from kimibot.sandbox.slack import APP_TOKEN, BOT_TOKEN, LocalSlack, local_slack

DEV = "C0DEV0001"


@asynccontextmanager
async def slack_and_app(**switches: Any) -> AsyncIterator[tuple[LocalSlack, AsyncWebClient]]:
    """A local Slack and an app's Web API client; no rate limits unless they are asked for."""
    options: dict[str, Any] = {"rate_limits": False, "redelivery_seconds": ()} | switches
    async with (
        local_slack(**options) as slack,
        aiohttp.ClientSession() as session,
    ):
        yield slack, web_client(slack, session)


def web_client(slack: LocalSlack, session: aiohttp.ClientSession) -> AsyncWebClient:
    return AsyncWebClient(
        token=BOT_TOKEN, base_url=slack.api_url, session=session, retry_handlers=[]
    )


async def refusal(call: Awaitable[Any]) -> str:
    """The code with which Slack refuses a call."""
    try:
        await call
    except SlackApiError as error:
        return str(error.response["error"])
    return ""


@asynccontextmanager
async def socket_app(
    slack: LocalSlack, web: AsyncWebClient, *, acks: bool = True, ping_interval: float = 5
) -> AsyncIterator[list[SocketModeRequest]]:
    """An app connected through slack_sdk's Socket Mode client; the list grows with what comes."""
    taken: list[SocketModeRequest] = []

    async def take(client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        taken.append(request)
        if acks:
            response = SocketModeResponse(envelope_id=request.envelope_id)
            await client.send_socket_mode_response(response)

    client = SocketModeClient(app_token=APP_TOKEN, web_client=web, ping_interval=ping_interval)
    client.socket_mode_request_listeners.append(take)
    before = await slack.open_sockets()
    await client.connect()
    try:
        await slack.until(lambda: more_sockets(slack, before))
        yield taken
    finally:
        await client.close()


async def more_sockets(slack: LocalSlack, than: int) -> bool:
    return await slack.open_sockets() > than


@asynccontextmanager
async def http_app(
    slack: LocalSlack, answer: Callable[[web.Request], Awaitable[web.Response]]
) -> AsyncIterator[None]:
    """An app that takes deliveries over HTTP and answers them so."""
    application = web.Application()
    application.router.add_post("/slack/events", answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        await slack.configure(request_url=f"http://127.0.0.1:{port}/slack/events")
        yield
    finally:
        await runner.cleanup()


def markdown(text: str) -> dict[str, Any]:
    return {"type": "markdown", "text": text}


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def button(action_id: str, text: str = "Stop", value: str = "1") -> dict[str, Any]:
    return {
        "type": "button",
        "action_id": action_id,
        "value": value,
        "text": {"type": "plain_text", "text": text},
    }


def menu(action_id: str, *options: tuple[str, str], placeholder: str = "Choose…") -> dict[str, Any]:
    return {
        "type": "static_select",
        "action_id": action_id,
        "placeholder": {"type": "plain_text", "text": placeholder},
        "options": [
            {"text": {"type": "plain_text", "text": text}, "value": value}
            for text, value in options
        ],
    }


def asking_back(
    title: str = "Sure?", text: str = "It is seen.", confirm: str = "Yes", deny: str = "No"
) -> dict[str, Any]:
    """A button that asks before the press counts."""
    texts = {"title": title, "text": text, "confirm": confirm, "deny": deny}
    plain = {name: {"type": "plain_text", "text": said} for name, said in texts.items()}
    return button("a") | {"confirm": plain}


def actions(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "actions", "elements": list(elements)}
