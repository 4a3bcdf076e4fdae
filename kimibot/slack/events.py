"""Turns what Slack delivers into a message, or nothing if it is not something said.

https://docs.slack.dev/apis/events-api and https://docs.slack.dev/reference/events/message
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kimibot.attachments import SharedFile
from kimibot.conversation import Message, Speaker, Thread, Us
from kimibot.slack.rich_text import read_said
from kimibot.slack.shapes import Shape, is_ts, shape, shapes, string

_TYPES = ("message", "app_mention")
_SAID = (None, "", "file_share", "thread_broadcast", "me_message", "bot_message")
"""Subtypes of messages that somebody said; all others tell of joins, topics, edits, deletions."""

MOST_FILES = 30
MOST_NAME_CHARACTERS = 255

_SYSTEM_USERS = ("USLACKBOT", "USLACK")


def read(payload: Mapping[str, Any], us: Us) -> Message | None:
    """The message of an `event_callback`, or None if it is not something that others have said.

    Never raises, whatever the payload.
    """
    if not isinstance(payload, Mapping) or payload.get("type") != "event_callback":
        return None
    event = shape(payload, "event")
    channel, ts = string(event, "channel"), string(event, "ts")
    root_ts = string(event, "thread_ts") or ts
    if not channel or not is_ts(root_ts) or not _is_said(event, us):
        return None
    is_direct = event.get("channel_type") == "im" or channel.startswith("D")
    thread = Thread(us.team, channel, root_ts)
    return _message(event, thread, is_direct, string(payload, "event_id"))


def read_reply(message: Mapping[str, Any], thread: Thread, us: Us) -> Message | None:
    """A message of `conversations.replies`, or None if it is ours or not something said.

    Never raises, whatever the message.
    https://docs.slack.dev/reference/methods/conversations.replies
    """
    if not isinstance(message, Mapping) or not _is_said(message, us):
        return None
    return _message(message, thread, thread.channel.startswith("D"), "")


def is_ours(event: Mapping[str, Any], us: Us) -> bool:
    """Whether the event is the echo of a post or an edit of our own. Costs next to nothing.

    The deletion of one of our messages is not: somebody else may have deleted it.
    """
    if event.get("subtype") == "message_changed":
        event = shape(event, "message")
    profile = shape(event, "bot_profile")
    return bool(
        (us.user_id and event.get("user") == us.user_id)
        or (us.bot_id and us.bot_id in (event.get("bot_id"), profile.get("id")))
        or (us.app_id and us.app_id in (event.get("app_id"), profile.get("app_id")))
    )


def read_file(file: Shape) -> SharedFile:
    """A file as events and `files.info` describe it. Never raises, whatever it is."""
    name = string(file, "name") or string(file, "title")
    return SharedFile(
        id=string(file, "id"),
        name=" ".join(name.split())[:MOST_NAME_CHARACTERS],
        mimetype=string(file, "mimetype").lower(),
        filetype=string(file, "filetype").lower(),
        size_bytes=_size(file),
        mode=string(file, "mode"),
        url=string(file, "url_private_download") or string(file, "url_private"),
        access=string(file, "file_access"),
    )


def _is_said(event: Shape, us: Us) -> bool:
    return (
        not is_ours(event, us)
        and event.get("type") in _TYPES
        and event.get("subtype") in _SAID
        and not event.get("hidden")
        and event.get("user") not in _SYSTEM_USERS
        and is_ts(string(event, "ts"))
    )


def _message(event: Shape, thread: Thread, is_direct: bool, event_id: str) -> Message | None:
    """Who has a bot id is an app, whatever else the event says; a post with a person's token
    has an app id too."""
    bot_id, user = string(event, "bot_id"), string(event, "user")
    said = read_said(event)
    files = tuple(read_file(file) for file in shapes(event, "files", MOST_FILES))
    if not (bot_id or user) or not (said.text.strip() or files):
        return None
    return Message(
        thread=thread,
        ts=string(event, "ts"),
        speaker=Speaker.APP if bot_id else Speaker.PERSON,
        author=bot_id or user,
        text=said.text,
        mentions=frozenset(said.mentions),
        is_direct=is_direct,
        event_id=event_id,
        author_team=_team(event),
        app_id=string(event, "app_id") or string(shape(event, "bot_profile"), "app_id"),
        files=files,
    )


def _team(event: Shape) -> str:
    """The author's own: in a shared channel, `team` may be that of the workspace that hosts it.

    https://docs.slack.dev/apis/slack-connect
    """
    keys = ("user_team", "source_team", "team")
    return next((string(event, key) for key in keys if string(event, key)), "")


def _size(file: Shape) -> int:
    size = file.get("size")
    return size if isinstance(size, int) and size > 0 else 0
