"""Builds the Bolt app: every event is stored before Slack gets its acknowledgement.

Bolt acknowledges an event by itself and runs its listener in a task that nobody awaits, so there
are no listeners for events: a global middleware stores the message and answers 200, or raises,
and then Slack gets no acknowledgement and delivers again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from slack_bolt.async_app import AsyncApp, AsyncRespond
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from kimibot.conversation import Asker, Deletion, Edit, Message, Reaction, Shortcut, Us
from kimibot.slack.changes import read_deletion, read_edit, read_reaction
from kimibot.slack.events import read
from kimibot.slack.shapes import shape, string
from kimibot.slack.shortcuts import read_shortcut

log = logging.getLogger(__name__)

Accept = Callable[[Message], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told of what, before Slack gets its acknowledgement; who raises keeps it back."""

    said: Accept
    edited: Callable[[Edit], Awaitable[None]]
    deleted: Callable[[Deletion], Awaitable[None]]
    reacted: Callable[[Reaction], Awaitable[None]]


Choose = Callable[[Shortcut], Awaitable[None]]
"""What it leads to when somebody chooses one of our shortcuts on a message."""

Press = Callable[[str, str], Awaitable[bool | None]]
"""What a press of one of our buttons leads to: the button's value, and who pressed it. True says
that the button has served."""

Pick = Callable[[str, Asker], Awaitable[None]]
"""What it leads to when somebody picks what is there for anybody, with a button or in a menu: its
value, and who it was."""

TakeOff = Callable[[str, Mapping[str, Any], str], object]
"""Takes a button that has served off its message: the channel, the message, the button's action.
Returns at once."""


def build_app(
    client: AsyncWebClient,
    us: Us,
    *,
    listeners: Listeners,
    actions: Mapping[str, Press],
    picks: Mapping[str, Pick],
    shortcuts: Mapping[str, Choose],
    take_off: TakeOff,
    signing_secret: str | None,
    on_event: Callable[[], None] = lambda: None,
    on_message: Callable[[str], None] = lambda _: None,
) -> AsyncApp:
    """The app for Socket Mode (no signing secret) and for signed HTTP requests.

    `on_event` is told of each event that is delivered, whatever it is about, and `on_message` of
    the channel of each that is about a message, whoever has written it.
    """
    with _quiet_bolt():
        app = AsyncApp(
            client=_without_token(client),
            signing_secret=signing_secret or "",
            request_verification_enabled=signing_secret is not None,
            authorize=_constant_authorization(us, client.token or ""),
            ignoring_self_events_enabled=False,  # ours are dropped first of all, in `read`
            attaching_conversation_kwargs_enabled=False,
        )
    app.use(_storing(us, listeners, on_event, on_message))
    for action_id, press in actions.items():
        app.action(action_id)(_listener(press, take_off))
    for action_id, pick in picks.items():
        app.action(action_id)(_pick_listener(pick))
    for callback_id, choose in shortcuts.items():
        app.message_shortcut(callback_id)(_shortcut_listener(choose, us))
    return app


@contextmanager
def _quiet_bolt() -> Iterator[None]:
    """Bolt finds SLACK_BOT_TOKEN in the environment by itself, and warns that it is not used."""
    logger = logging.getLogger("slack_bolt.AsyncApp")
    logger.addFilter(_nothing)
    try:
        yield
    finally:
        logger.removeFilter(_nothing)


def _nothing(_: logging.LogRecord) -> bool:
    return False


def _without_token(client: AsyncWebClient) -> AsyncWebClient:
    """With a token beside an authorization Bolt warns, and takes the authorization's."""
    bare = AsyncWebClient(
        base_url=client.base_url,
        session=client.session,
        timeout=client.timeout,
        retry_handlers=[],
    )
    bare.proxy = client.proxy  # as an argument, none would mean that of the environment
    return bare


def _constant_authorization(us: Us, token: str) -> Callable[..., Awaitable[AuthorizeResult]]:
    """What `auth.test` said at the start: asked again at each event, a failing call would make
    Bolt acknowledge the event and lose it."""
    result = AuthorizeResult(
        enterprise_id=None,
        team_id=us.team,
        bot_user_id=us.user_id,
        bot_id=us.bot_id,
        bot_token=token,
    )

    async def authorize() -> AuthorizeResult:
        return result

    return authorize


def _storing(
    us: Us,
    listeners: Listeners,
    on_event: Callable[[], None],
    on_message: Callable[[str], None],
) -> Callable[..., Awaitable[BoltResponse]]:
    async def store(
        body: dict[str, Any], next_: Callable[[], Awaitable[BoltResponse]]
    ) -> BoltResponse:
        kind = body.get("type")
        if kind == "event_callback":
            on_event()
            if (event := shape(body, "event")).get("type") == "message":
                on_message(string(event, "channel"))
            await _tell(body, us, listeners)
            return BoltResponse(status=200)
        if kind == "app_rate_limited":
            log.warning("Slack holds events back: more than 30,000 in an hour")
            return BoltResponse(status=200)
        return await next_()

    return store


async def _tell(body: dict[str, Any], us: Us, listeners: Listeners) -> None:
    """An event is one of the four, or concerns nobody."""
    if (edit := read_edit(body, us)) is not None:
        await listeners.edited(edit)
    elif (message := read(body, us)) is not None:
        await listeners.said(message)
    elif (deletion := read_deletion(body, us)) is not None:
        await listeners.deleted(deletion)
    elif (reaction := read_reaction(body, us)) is not None:
        await listeners.reacted(reaction)


def _listener(press: Press, take_off: TakeOff) -> Callable[..., Awaitable[None]]:
    """Acknowledged after the press has been acted on: what was acknowledged is not lost."""

    async def pressed(
        ack: Callable[[], Awaitable[object]],
        respond: AsyncRespond,
        body: dict[str, Any],
        action: dict[str, Any],
    ) -> None:
        user = string(shape(body, "user"), "id")
        has_served = await press(string(action, "value"), user)
        await ack()
        if has_served and (message := body.get("message")):
            channel = string(shape(body, "channel"), "id")
            take_off(channel, message, string(action, "action_id"))
        elif has_served:
            await _withdraw(respond)

    return pressed


async def _withdraw(respond: AsyncRespond) -> None:
    """An offer to one person, which has no message that we could change, goes away as a whole.

    https://docs.slack.dev/interactivity/handling-user-interaction/#updating_message_response
    """
    try:
        await respond(delete_original=True)
    except (aiohttp.ClientError, TimeoutError) as error:  # a press on what is left is harmless
        log.info("an offer that has served stays: %s", type(error).__name__)


def _pick_listener(pick: Pick) -> Callable[..., Awaitable[None]]:
    """Acknowledged after it has been acted on, as a press is."""

    async def picked(
        ack: Callable[[], Awaitable[object]], body: dict[str, Any], action: dict[str, Any]
    ) -> None:
        user = shape(body, "user")
        value = string(action, "value") or string(shape(action, "selected_option"), "value")
        await pick(value, Asker(string(user, "id"), string(user, "team_id")))
        await ack()

    return picked


def _shortcut_listener(choose: Choose, us: Us) -> Callable[..., Awaitable[None]]:
    """Acknowledged after it has been acted on, as a press is."""

    async def chosen(ack: Callable[[], Awaitable[object]], body: dict[str, Any]) -> None:
        shortcut = read_shortcut(body, us)
        if shortcut is not None:
            await choose(shortcut)
        await ack()

    return chosen
