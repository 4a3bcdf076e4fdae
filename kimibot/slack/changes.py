"""Reads what Slack tells of messages that are there: one was edited, deleted, or reacted to.

https://docs.slack.dev/reference/events/message/message_changed,
https://docs.slack.dev/reference/events/message/message_deleted and
https://docs.slack.dev/reference/events/reaction_added
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kimibot.conversation import Deletion, Edit, Reaction, Thread, Us
from kimibot.slack.events import is_ours, read, read_reply
from kimibot.slack.shapes import Shape, is_ts, shape, shapes, string

_MARKS_OF_A_PREVIEW = (
    "from_url",
    "original_url",
    "app_unfurl_url",
    "is_app_unfurl",
    "is_msg_unfurl",
)


def read_edit(payload: Mapping[str, Any], us: Us) -> Edit | None:
    """The edit that an `event_callback` tells of, or None. Never raises.

    None for our own edits, and where only a preview of a link or a count of replies has changed.
    A mention that an edit brings is told twice, with `app_mention` too.
    """
    event = shape(payload, "event")
    if is_ours(event, us):
        return None
    if event.get("type") == "app_mention":
        return _brought_mention(payload, event, us)
    before, now = shape(event, "previous_message"), shape(event, "message")
    if event.get("subtype") != "message_changed" or _says_the_same(before, now):
        return None
    channel, ts = string(event, "channel"), string(now, "ts")
    root_ts = string(now, "thread_ts") or ts
    if not channel or not is_ts(root_ts):
        return None
    thread = Thread(us.team, channel, root_ts)
    message = read_reply(now, thread, us)
    if message is None:
        return None
    message = replace(message, event_id=string(payload, "event_id"))
    edited_ts = string(shape(now, "edited"), "ts") or string(event, "event_ts")
    return Edit(message, read_reply(before, thread, us), edited_ts)


def read_deletion(payload: Mapping[str, Any], us: Us) -> Deletion | None:
    """The deletion that an `event_callback` tells of, or None. Never raises.

    A root that has replies is not deleted but becomes a tombstone, by an edit of its own.
    """
    event = shape(payload, "event")
    before, now = shape(event, "previous_message"), shape(event, "message")
    is_tombstone = event.get("subtype") == "message_changed" and now.get("subtype") == "tombstone"
    if not is_tombstone and event.get("subtype") != "message_deleted":
        return None
    ts = string(now, "ts") if is_tombstone else string(event, "deleted_ts")
    channel, root_ts = string(event, "channel"), string(before, "thread_ts") or ts
    if not channel or not is_ts(ts) or not is_ts(root_ts):
        return None
    thread = Thread(us.team, channel, root_ts)
    message = read_reply(before, thread, us)
    if message is not None and message.ts != ts:
        message = None
    return Deletion(thread, ts, message, is_ours=_was_ours(before, us))


def read_reaction(payload: Mapping[str, Any], us: Us) -> Reaction | None:
    """The reaction of somebody else to a message of ours, or None. Never raises."""
    event = shape(payload, "event")
    item, user = shape(event, "item"), string(event, "user")
    if event.get("type") != "reaction_added" or item.get("type") != "message":
        return None
    if not user or user == us.user_id or event.get("item_user") != us.user_id:
        return None
    channel, ts, name = string(item, "channel"), string(item, "ts"), string(event, "reaction")
    if not channel or not is_ts(ts):
        return None
    return Reaction(us.team, channel, ts, name, user)


def _brought_mention(payload: Mapping[str, Any], event: Shape, us: Us) -> Edit | None:
    edited_ts = string(shape(event, "edited"), "ts")
    message = read(payload, us) if edited_ts else None
    return None if message is None else Edit(message, None, edited_ts)


def _says_the_same(before: Shape, now: Shape) -> bool:
    """Slack looks at links after they were posted, and shows what it finds as an attachment."""
    return bool(before) and all(
        own(before) == own(now) for own in (_words, _blocks, _files, _attachments)
    )


def _words(message: Shape) -> str:
    return string(message, "text")


def _blocks(message: Shape) -> list[Shape]:
    return shapes(message, "blocks")


def _files(message: Shape) -> list[tuple[str, str]]:
    """Slack adds to a file what it finds out about it, such as small pictures."""
    return [(string(file, "id"), string(file, "name")) for file in shapes(message, "files")]


def _attachments(message: Shape) -> list[Shape]:
    found = shapes(message, "attachments")
    return [one for one in found if not any(one.get(mark) for mark in _MARKS_OF_A_PREVIEW)]


def _was_ours(message: Shape, us: Us) -> bool:
    return bool(message) and is_ours(message, us)
