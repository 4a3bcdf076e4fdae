"""The messages of the local workspace: posted, edited, deleted, reacted to, and who is told."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

Fields = dict[str, Any]
"""A message in Slack's own shape, without the facts that depend on its replies."""

TOMBSTONE_AUTHOR = "USLACKBOT"


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to a message: added, changed, deleted; ephemeral, ephemeral_deleted.

    `message` is its newest state (for a deletion the last one), `previous` the one before.
    Where only its reactions
    changed, `reaction` says who reacted with what, and whether it was added or removed.
    """

    kind: str
    channel: str
    ts: str
    message: Fields
    previous: Fields = field(default_factory=dict)
    reaction: Fields = field(default_factory=dict)


class MessageStore:
    """All messages, by channel and ts. What it hands out are copies.

    Every change is told at once to the `listeners`, in the order of the changes.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._channels: dict[str, dict[str, Fields]] = {}
        self._replies: dict[tuple[str, str], list[str]] = {}
        self._last_ts_micros = 0
        self.ephemerals: list[Fields] = []
        self.listeners: list[Callable[[Change], None]] = []

    def new_ts(self) -> str:
        """A ts that no message has: seconds and microseconds, always growing."""
        self._last_ts_micros = max(self._last_ts_micros + 1, round(self._clock() * 1_000_000))
        return f"{self._last_ts_micros // 1_000_000}.{self._last_ts_micros % 1_000_000:06d}"

    def add(self, channel: str, fields: Fields) -> Fields:
        """Store a new message; its `ts` is given here."""
        message = deepcopy(fields) | {"ts": self.new_ts()}
        root = message.get("thread_ts")
        if root:
            self._replies.setdefault((channel, root), []).append(message["ts"])
            root_author = self._author(channel, root)
            message |= {"parent_user_id": root_author} if root_author else {}
        self._channels.setdefault(channel, {})[message["ts"]] = message
        self._tell("added", channel, message)
        return self.get(channel, message["ts"]) or {}

    def add_ephemeral(self, channel: str, fields: Fields) -> Fields:
        """Show a message to the one person in `to`; it is in no thread that the API reads."""
        message = deepcopy(fields) | {"ts": self.new_ts(), "channel": channel}
        self.ephemerals.append(message)
        self._tell("ephemeral", channel, message)
        return message

    def change_ephemeral(self, ts: str, changes: Fields) -> Fields | None:
        """Set fields of an ephemeral message; None if there is none."""
        for message in self.ephemerals:
            if message["ts"] == ts:
                message |= deepcopy(changes)
                self._tell("ephemeral", message["channel"], message)
                return message
        return None

    def delete_ephemeral(self, ts: str) -> None:
        """Take an ephemeral message away from the one who saw it."""
        for message in [message for message in self.ephemerals if message["ts"] == ts]:
            self.ephemerals.remove(message)
            self._tell("ephemeral_deleted", message["channel"], message)

    def change(self, channel: str, ts: str, changes: Fields) -> Fields | None:
        """Set fields of a message; a value of None removes the field. None if there is none."""
        message = self._channels.get(channel, {}).get(ts)
        if message is None:
            return None
        previous = self._with_replies(channel, message)
        message |= deepcopy(changes)
        for name in [name for name, value in changes.items() if value is None]:
            del message[name]
        self._tell("changed", channel, message, previous)
        return self.get(channel, ts)

    def react(self, channel: str, ts: str, reactions: list[Fields], reaction: Fields) -> None:
        """Set a message's reactions, of which `reaction` is the newest event."""
        message = self._channels[channel][ts]
        message["reactions"] = deepcopy(reactions)
        if not reactions:
            del message["reactions"]
        self._tell("changed", channel, message, self._with_replies(channel, message), reaction)

    def delete(self, channel: str, ts: str) -> bool:
        """Delete a message. A root with replies leaves a tombstone. False if there is none."""
        message = self._channels.get(channel, {}).get(ts)
        if message is None or message.get("subtype") == "tombstone":
            return False
        previous = self._with_replies(channel, message)
        if self._replies.get((channel, ts)):
            self._channels[channel][ts] = _tombstone(ts)
        else:
            self._remove(channel, message)
        self._tell("deleted", channel, previous, previous)
        return True

    def get(self, channel: str, ts: str) -> Fields | None:
        """One message with its facts about replies, or None."""
        message = self._channels.get(channel, {}).get(ts)
        return self._with_replies(channel, message) if message is not None else None

    def is_root(self, channel: str, ts: str) -> bool:
        """Whether one may reply to this message: it exists and is no reply itself."""
        message = self._channels.get(channel, {}).get(ts)
        if message is None or message.get("subtype") == "tombstone":
            return False
        return bool(message.get("thread_ts", ts) == ts)

    def all_of(self, channel: str) -> list[Fields]:
        """Every message of a channel, oldest first, replies included."""
        return [
            self._with_replies(channel, message)
            for message in self._channels.get(channel, {}).values()
        ]

    def thread(self, channel: str, ts: str) -> list[Fields]:
        """The root and its replies, oldest first; `ts` may be any of them. Empty if none."""
        message = self._channels.get(channel, {}).get(ts)
        if message is None:
            return []
        root = message.get("thread_ts", ts)
        members = [root, *self._replies.get((channel, root), [])]
        found = [self.get(channel, member) for member in members]
        return [message for message in found if message is not None]

    def _author(self, channel: str, ts: str) -> str:
        return str(self._channels.get(channel, {}).get(ts, {}).get("user", ""))

    def _remove(self, channel: str, message: Fields) -> None:
        ts, root = message["ts"], message.get("thread_ts", "")
        del self._channels[channel][ts]
        replies = self._replies.get((channel, root), [])
        if ts in replies:
            replies.remove(ts)
            if not replies and self._channels[channel].get(root, {}).get("subtype") == "tombstone":
                del self._channels[channel][root]

    def _with_replies(self, channel: str, message: Fields) -> Fields:
        shown = deepcopy(message)
        replies = self._replies.get((channel, message["ts"]), [])
        if not replies:
            return shown
        authors = dict.fromkeys(self._author(channel, ts) for ts in replies)
        return shown | {
            "thread_ts": message["ts"],
            "reply_count": len(replies),
            "reply_users_count": len(authors),
            "latest_reply": replies[-1],
            "reply_users": [author for author in authors if author],
        }

    def _tell(
        self,
        kind: str,
        channel: str,
        message: Fields,
        previous: Fields | None = None,
        reaction: Fields | None = None,
    ) -> None:
        shown = self._with_replies(channel, message)
        change = Change(kind, channel, message["ts"], shown, previous or {}, reaction or {})
        for listener in self.listeners:
            listener(change)


def _tombstone(ts: str) -> Fields:
    return {
        "type": "message",
        "subtype": "tombstone",
        "text": "This message was deleted.",
        "user": TOMBSTONE_AUTHOR,
        "ts": ts,
        "thread_ts": ts,
    }
