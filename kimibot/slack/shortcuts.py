"""Reads a shortcut that somebody has chosen in the menu of a message.

https://docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kimibot.conversation import Asker, Shortcut, Thread, Us
from kimibot.slack.events import is_ours, read_reply
from kimibot.slack.shapes import is_ts, shape, string


def read_shortcut(payload: Mapping[str, Any], us: Us) -> Shortcut | None:
    """What a `message_action` tells, or None where that can't be read. Never raises."""
    said = shape(payload, "message")
    channel, user = string(shape(payload, "channel"), "id"), shape(payload, "user")
    asker = Asker(string(user, "id"), string(user, "team_id"))
    ts = string(said, "ts") or string(payload, "message_ts")
    root_ts = string(said, "thread_ts") or ts
    if not channel or not asker.id or not is_ts(ts) or not is_ts(root_ts):
        return None
    thread = Thread(us.team, channel, root_ts)
    return Shortcut(asker, thread, ts, read_reply(said, thread, us), is_ours(said, us))
