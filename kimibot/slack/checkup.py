"""What Slack says of our tokens, asked once and in plain words, and what to do about it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from kimibot.errors import FateUnknown, NotConnected, RateLimited, SlackError


@dataclass(frozen=True, slots=True)
class BotToken:
    """Whose token it is. `scopes` is None where Slack did not say."""

    bot: str
    workspace: str
    is_bot: bool
    scopes: frozenset[str] | None


async def check_bot_token(client: AsyncWebClient) -> BotToken:
    """Raises SlackError. Slack lists a token's scopes in a header of each answer:
    https://docs.slack.dev/authentication/installing-with-oauth
    """
    response = await _asked("auth.test", client.auth_test())
    headers = {name.lower(): value for name, value in response.headers.items()}
    listed = headers.get("x-oauth-scopes")
    return BotToken(
        bot=str(response.get("user") or ""),
        workspace=str(response.get("team") or ""),
        is_bot=bool(response.get("bot_id")),
        scopes=None if listed is None else frozenset(map(str.strip, listed.split(","))),
    )


async def open_socket_url(client: AsyncWebClient, app_token: str) -> str:
    """The address of a new socket. Raises SlackError."""
    method = "apps.connections.open"
    response = await _asked(method, client.apps_connections_open(app_token=app_token))
    return str(response.get("url") or "")


async def await_hello(client: AsyncWebClient, url: str, timeout_seconds: float) -> int:
    """Connect, wait for Slack's hello, and leave; returns how many sockets the app has open.

    Raises NotConnected. An event that Slack sends here meanwhile is not acknowledged, so that it
    is delivered again at once, to another socket.
    """
    try:
        async with (
            asyncio.timeout(timeout_seconds),
            aiohttp.ClientSession() as session,
            session.ws_connect(url, proxy=client.proxy) as socket,
        ):
            return await _hello(socket)
    except (aiohttp.ClientError, OSError, TypeError, ValueError) as error:
        raise NotConnected("websocket", type(error).__name__) from error


def how_to_mend(error: SlackError, variable: str) -> str:
    """What the operator does about a token that Slack refused; `variable` is where we have it."""
    if isinstance(error, NotConnected | FateUnknown | RateLimited):
        return "see that this machine reaches SLACK_API_URL"
    if error.code == "missing_scope":
        return f"give the token the scope {error.needed or 'connections:write'}"
    if error.code in {"invalid_auth", "not_authed", "not_allowed_token_type"}:
        return f"copy {variable} anew from the app's page"
    if error.code in {"account_inactive", "token_revoked", "token_expired"}:
        return f"reinstall the app and copy {variable} anew"
    return f"https://docs.slack.dev/reference/methods/{error.method}"


async def _asked(method: str, call: Awaitable[AsyncSlackResponse]) -> AsyncSlackResponse:
    try:
        return await call
    except SlackApiError as error:
        body: Any = getattr(error.response, "data", None)
        body = body if isinstance(body, dict) else {}
        code, needed = body.get("error"), body.get("needed")
        raise SlackError(
            method, str(code or "no answer of Slack's"), needed=needed or ""
        ) from error
    except (aiohttp.ClientError, SlackClientError, OSError) as error:
        raise NotConnected(method, type(error).__name__) from error


async def _hello(socket: aiohttp.ClientWebSocketResponse) -> int:
    while True:
        frame = await socket.receive_json()
        if isinstance(frame, dict) and frame.get("type") == "hello":
            return _sockets(frame)


def _sockets(hello: dict[str, Any]) -> int:
    count = hello.get("num_connections")
    return count if isinstance(count, int) else 0
