"""Calls the Web API over one shared session, and turns whatever goes wrong into a SlackError.

`call` retries nothing: only its caller knows whether the call is still wanted, and with which text.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from kimibot.errors import (
    BlocksRefused,
    FateUnknown,
    MessageGone,
    NotConnected,
    RateLimited,
    ReplyRefused,
    SlackError,
)
from kimibot.pacing import Pacing, now

_FORMS = {"files.getUploadURLExternal", "files.completeUploadExternal"}
"""Sent as forms, as Slack's own SDK does: the first was seen to find no argument in JSON
(https://github.com/Octember/earshot/pull/10)."""

READ_TRIES = 3
PAGE_SIZE = 200

_RATE_LIMITED = {"ratelimited", "rate_limited", "message_limit_exceeded"}
_BLOCKS_REFUSED = {
    "invalid_blocks",
    "invalid_blocks_format",
    "invalid_arguments",
    "msg_blocks_too_long",
    "msg_blocks_too_many",
    "msg_too_long",
    "block_mismatch",
}
_GONE = {"message_not_found", "thread_not_found", "invalid_thread_ts", "cannot_reply_to_message"}
_REFUSED = {
    "account_inactive",
    "cant_update_message",
    "channel_is_limited_access",
    "channel_not_found",
    "edit_window_closed",
    "invalid_auth",
    "is_archived",
    "is_inactive",
    "messages_tab_disabled",
    "missing_scope",
    "no_permission",
    "not_authed",
    "not_in_channel",
    "team_access_not_granted",
    "token_expired",
    "token_revoked",
}
_PASSING = {"fatal_error", "internal_error", "request_timeout", "service_unavailable"}
"""Slack's own faults. Their pages do not say that the call was not applied."""

_DEFAULT_RETRY_AFTER_SECONDS = 10.0


@asynccontextmanager
async def open_web_api(
    token: str, *, base_url: str, timeout_seconds: float
) -> AsyncIterator[AsyncWebClient]:
    """The client that Bolt, the socket and we share, with one session for all calls.

    A session given to the SDK brings its own timeout. The SDK's retry of lost connections is
    switched off: it could post a message twice. A proxy of the environment is used as others use
    it: not for a host that NO_PROXY names, where the SDK does not look.
    """
    timeout = aiohttp.ClientTimeout(total=timeout_seconds)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        client = AsyncWebClient(token=token, base_url=base_url, session=session, retry_handlers=[])
        if proxy_bypass(urlsplit(base_url).hostname or ""):
            client.proxy = None
        yield client


OnCall = Callable[[str, SlackError | None], None]
"""Is told of each call that has ended: its method, and what went wrong."""


class WebApi:
    """One call at a time, by the names of docs.slack.dev/reference/methods."""

    def __init__(
        self,
        client: AsyncWebClient,
        pacing: Pacing,
        on_call: OnCall = lambda *_: None,
    ) -> None:
        self._client = client
        self._pacing = pacing
        self._on_call = on_call

    async def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """The answer's body. Arguments that are None are left out; the caller has the slot.

        Raises SlackError; FateUnknown where Slack may have applied the call all the same. A 429
        holds the method for everybody.
        """
        try:
            answer = await self._call(method, arguments)
        except SlackError as error:
            self._on_call(method, error)
            raise
        self._on_call(method, None)
        return answer

    async def read(self, method: str, **arguments: Any) -> dict[str, Any]:
        """`call` for what may be done twice: waits for its slot, and tries up to three times."""
        channel = str(arguments.get("channel") or "")
        for _ in range(READ_TRIES - 1):
            await self._pacing.call(method, channel)
            try:
                return await self.call(method, **arguments)
            except (RateLimited, NotConnected, FateUnknown):
                continue
        await self._pacing.call(method, channel)
        return await self.call(method, **arguments)

    async def read_soon(self, method: str, end: float, **arguments: Any) -> dict[str, Any]:
        """`read` for what is not worth a long wait: until `end`, by the loop's time.

        RateLimited at once where the method is held for longer, and whenever Slack says so.
        """
        if now() + self._pacing.held_seconds(method) > end:
            raise RateLimited(method, self._pacing.held_seconds(method))
        for _ in range(READ_TRIES - 1):
            await self._slot_until(end, method)
            try:
                return await self.call(method, **arguments)
            except (NotConnected, FateUnknown):
                continue
        await self._slot_until(end, method)
        return await self.call(method, **arguments)

    async def _slot_until(self, end: float, method: str) -> None:
        try:
            async with asyncio.timeout_at(end):
                await self._pacing.call(method)
        except TimeoutError as error:
            raise RateLimited(method, _DEFAULT_RETRY_AFTER_SECONDS) from error

    async def _call(self, method: str, arguments: dict[str, Any]) -> dict[str, Any]:
        body = {name: value for name, value in arguments.items() if value is not None}
        try:
            if method in _FORMS:
                response = await self._client.api_call(method, data=_form(body))
            else:
                response = await self._client.api_call(method, json=body)
        except SlackApiError as error:
            raise self._translated(method, error, body) from error
        except aiohttp.ClientConnectorError as error:
            raise NotConnected(method, type(error).__name__) from error
        except (TimeoutError, aiohttp.ClientError, SlackClientError, OSError) as error:
            raise FateUnknown(method, type(error).__name__) from error
        return response.data if isinstance(response.data, dict) else {}

    async def send(self, url: str, content: bytes) -> None:
        """Bytes to an address that Slack gave us for them, without our token. Raises FateUnknown:
        such an address is good for one try."""
        assert self._client.session is not None
        try:
            session, proxy = self._client.session, self._client.proxy
            async with session.post(url, data=content, proxy=proxy) as response:
                if response.status != 200:
                    raise FateUnknown("upload", f"http_{response.status}")
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise FateUnknown("upload", type(error).__name__) from error

    async def pages(self, method: str, key: str, **arguments: Any) -> list[dict[str, Any]]:
        """All elements of a list that comes in pages, by the cursor of each to the next."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = await self.read(method, limit=PAGE_SIZE, cursor=cursor, **arguments)
            found += page.get(key) or []
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or None
            if cursor is None:
                return found

    def _translated(self, method: str, error: SlackApiError, body: dict[str, Any]) -> SlackError:
        translated = _translated(method, error)
        if isinstance(translated, RateLimited):
            channel = str(body.get("channel") or "")
            self._pacing.hold(method, translated.retry_after_seconds, channel)
        return translated


def _form(body: dict[str, Any]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in body.items()
    }


def _translated(method: str, error: SlackApiError) -> SlackError:
    """Slack's codes, as far as somebody treats them differently."""
    response = error.response
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0))
    body = getattr(response, "data", None)
    body = body if isinstance(body, dict) else {}
    code = str(body.get("error") or f"http_{status}")
    if status == 429 or code in _RATE_LIMITED:
        return RateLimited(method, _retry_after_seconds(response))
    if status >= 500 or code in _PASSING or code.startswith("http_"):
        return FateUnknown(method, code)
    kind = _kind(code)
    return kind(method, code, needed=str(body.get("needed") or ""))


def _kind(code: str) -> type[SlackError]:
    if code in _BLOCKS_REFUSED:
        return BlocksRefused
    if code in _GONE:
        return MessageGone
    if code in _REFUSED or code.startswith(("restricted_action", "slack_connect_")):
        return ReplyRefused
    return SlackError


def _retry_after_seconds(response: Any) -> float:
    headers = getattr(response, "headers", None) or {}
    given = {name.lower(): value for name, value in headers.items()}.get("retry-after", "")
    try:
        return max(1.0, float(given))
    except ValueError:
        return _DEFAULT_RETRY_AFTER_SECONDS
