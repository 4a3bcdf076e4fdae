"""Reads what Slack tells of messages that are there already: that one is gone, or was reacted to.

https://docs.slack.dev/reference/events/message/message_deleted and
https://docs.slack.dev/reference/events/reaction_added
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kimibot.conversation import Deletion, Reaction, Thread, Us
from kimibot.slack.events import is_ours, read_reply
from kimibot.slack.shapes import Shape, shape, string

_TS = re.compile(r"\d{1,20}\.\d{1,20}")


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
    if not channel or not _TS.fullmatch(ts) or not _TS.fullmatch(root_ts):
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
    if not channel or not _TS.fullmatch(ts):
        return None
    return Reaction(us.team, channel, ts, name, user)


def _was_ours(message: Shape, us: Us) -> bool:
    return bool(message) and is_ours(message, us)
