"""The Events API payloads that changes in the workspace raise.

Shapes: https://docs.slack.dev/apis/events-api and https://docs.slack.dev/reference/events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kimibot.sandbox.slack.messages import Change, Fields
from kimibot.sandbox.slack.people import BOT, TEAM_ID, VERIFICATION_TOKEN, Channel
from kimibot.sandbox.slack.typed import mentioned
from kimibot.sandbox.slack.workspace import Workspace

MESSAGE_SUBSCRIPTIONS = {
    "channel": "message.channels",
    "group": "message.groups",
    "im": "message.im",
    "mpim": "message.mpim",
}
MESSAGE_CHANGES = ("added", "changed", "deleted")
IN_MESSAGE_EVENTS = frozenset(
    {
        *("type", "subtype", "user", "team", "user_team", "source_team", "user_profile"),
        *("bot_id", "bot_profile", "username", "icons", "client_msg_id", "text", "blocks"),
        *("attachments", "files", "upload", "display_as_bot", "metadata", "edited"),
        *("ts", "thread_ts", "parent_user_id"),
    }
)
IN_APP_MENTIONS = IN_MESSAGE_EVENTS - {"type", "icons", "metadata", "parent_user_id"} | {"app_id"}
IN_NESTED_MESSAGES = IN_MESSAGE_EVENTS - {"username", "icons", "metadata", "user_profile"} | {
    *("hidden", "reply_count", "reply_users_count", "latest_reply"),
}
IN_BOT_MESSAGES = frozenset(
    {
        *("type", "subtype", "bot_id", "username", "icons", "text", "blocks", "attachments"),
        *("ts", "thread_ts"),
    }
)


@dataclass(frozen=True, slots=True)
class Event:
    """One payload to deliver, `delay_seconds` from now."""

    payload: dict[str, Any]
    delay_seconds: float = 0.0

    @property
    def id(self) -> str:
        return str(self.payload.get("event_id", ""))

    @property
    def kind(self) -> str:
        event = self.payload.get("event")
        if not isinstance(event, dict):
            return ""
        return ".".join(str(event[k]) for k in ("type", "subtype") if event.get(k))


class EventSource:
    """Listens to the workspace and hands every event that the app subscribed to to `send`."""

    def __init__(self, workspace: Workspace, send: Callable[[Event], None]) -> None:
        self._workspace = workspace
        self._send = send

    def on_change(self, change: Change) -> None:
        """Raise the events of one change, in channels where the bot is a member."""
        channel = self._workspace.channels[change.channel]
        if BOT.user_id not in channel.members:
            return
        if change.reaction:
            self.raise_event(change.reaction["type"], change.reaction)
            return
        if change.kind not in MESSAGE_CHANGES:
            return
        events = _message_events(self._workspace, channel, change)
        gap = self._workspace.options.twin_gap_seconds
        for number, event in enumerate(events):
            self._send(Event(self.wrap(event), gap * number))

    def raise_event(self, subscription: str, event: Fields) -> None:
        """Raise an event that is not about a message's text."""
        if subscription in self._workspace.options.events:
            stamped = event | {"event_ts": self._workspace.messages.new_ts()}
            self._send(Event(self.wrap(stamped)))

    def wrap(self, event: Fields, event_id: str = "") -> dict[str, Any]:
        """The outer payload around an event."""
        workspace = self._workspace
        channel = workspace.channels.get(str(event.get("channel")))
        context = f"{event.get('type')}-{TEAM_ID}-{BOT.app_id}-{event.get('channel', '')}"
        return {
            "token": VERIFICATION_TOKEN,
            "team_id": TEAM_ID,
            "api_app_id": BOT.app_id,
            "event": event,
            "type": "event_callback",
            "event_id": event_id or workspace.new_id("Ev0"),
            "event_time": int(workspace.clock()),
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": TEAM_ID,
                    "user_id": BOT.user_id,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
            "is_ext_shared_channel": channel.is_shared if channel else False,
            "event_context": context,
        }


def _message_events(workspace: Workspace, channel: Channel, change: Change) -> list[Fields]:
    events = []
    if MESSAGE_SUBSCRIPTIONS[channel.kind] in workspace.options.events:
        events.append(_message_event(workspace, channel, change))
    if _is_app_mention(workspace, channel, change):
        mention = _mention(channel, change)
        events.insert(0 if workspace.options.mention_first else len(events), mention)
    return events


def _is_app_mention(workspace: Workspace, channel: Channel, change: Change) -> bool:
    """In direct conversations there are none; an edit counts where it brings the mention."""
    if channel.kind == "im" or "app_mention" not in workspace.options.events:
        return False
    if change.message.get("bot_id") == BOT.bot_id or not _mentions_bot(change.message):
        return False
    if change.kind == "changed":
        is_new = not _mentions_bot(change.previous)
        return workspace.options.mention_on_edit and is_new
    return change.kind == "added"


def _mentions_bot(message: Fields) -> bool:
    blocks = message.get("blocks") or []
    if any(block.get("type") == "rich_text" for block in blocks):
        return BOT.user_id in mentioned(blocks)
    return f"<@{BOT.user_id}>" in message.get("text", "")


def _message_event(workspace: Workspace, channel: Channel, change: Change) -> Fields:
    if change.kind == "added":
        return _posted(channel, change)
    event = _changed(change) if change.kind == "changed" else _deleted(workspace, change)
    ts = workspace.messages.new_ts()
    return event | {
        "channel": channel.id,
        "hidden": True,
        "ts": ts,
        "event_ts": ts,
        "channel_type": channel.kind,
    }


def _posted(channel: Channel, change: Change) -> Fields:
    message = change.message
    is_bot_message = message.get("subtype") == "bot_message"
    event = _pick(message, IN_BOT_MESSAGES if is_bot_message else IN_MESSAGE_EVENTS)
    if message.get("files") and "subtype" not in event:
        event["subtype"] = "file_share"
    return event | {
        "channel": channel.id,
        "event_ts": message["ts"],
        "channel_type": channel.kind,
    }


def _mention(channel: Channel, change: Change) -> Fields:
    event = _pick(change.message, IN_APP_MENTIONS)
    return {"type": "app_mention"} | event | {"channel": channel.id, "event_ts": event["ts"]}


def _changed(change: Change) -> Fields:
    return {
        "type": "message",
        "subtype": "message_changed",
        "message": _nested(change.message),
        "previous_message": _nested(change.previous),
    }


def _deleted(workspace: Workspace, change: Change) -> Fields:
    """A root with replies is not said to be deleted: it was changed, into a tombstone.

    Seen in payloads that people have recorded; no page of Slack's says so.
    """
    tombstone = workspace.messages.get(change.channel, change.ts)
    if tombstone is not None:
        changed = {"subtype": "message_changed", "message": _nested(tombstone) | {"hidden": True}}
        return {"type": "message", **changed, "previous_message": _nested(change.previous)}
    return {
        "type": "message",
        "subtype": "message_deleted",
        "previous_message": _nested(change.previous),
        "deleted_ts": change.ts,
    }


def _nested(message: Fields) -> Fields:
    return _pick(message, IN_NESTED_MESSAGES)


def _pick(message: Fields, names: frozenset[str]) -> Fields:
    return {name: value for name, value in message.items() if name in names}
