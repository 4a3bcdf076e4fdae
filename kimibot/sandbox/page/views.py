"""What the page is told: who and what there is, and the messages of a channel or thread, drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from kimibot.sandbox.page.examples import Group
from kimibot.sandbox.page.message import Messages
from kimibot.sandbox.page.readers import Reader, hue, initials
from kimibot.sandbox.slack.messages import Change, Fields
from kimibot.sandbox.slack.people import BOT, TEAM_NAME, Channel, Person
from kimibot.sandbox.slack.workspace import Workspace


class Views:
    """Draws the workspace as one of its people sees it."""

    def __init__(self, workspace: Workspace, examples: Sequence[Group]) -> None:
        self._workspace = workspace
        self._examples = examples
        self._messages = Messages()

    def state(self, viewer: Person) -> dict[str, Any]:
        """Everything around the messages, for the page's script."""
        people = [_person(person) for person in self._people()]
        return {
            "team": TEAM_NAME,
            "viewer": viewer.id,
            "bot": BOT.user_id,
            "people": people,
            "channels": [_channel(channel) for channel in self._channels_of(viewer)],
            "directs": [self._direct(viewer, person) for person in self._others(viewer)],
            "examples": [asdict(group) for group in self._examples],
        }

    def channel(self, viewer: Person, channel: Channel) -> list[dict[str, str]]:
        """The messages of a channel outside threads, and what only this person sees."""
        said = self._workspace.messages.all_of(channel.id)
        roots = [message for message in said if _root(message) == message["ts"]]
        return list(self._drawn(viewer, [*roots, *self._whispered(viewer, channel, "")]))

    def thread(self, viewer: Person, channel: Channel, ts: str) -> list[dict[str, str]]:
        """The messages of a thread, its root first."""
        said = self._workspace.messages.thread(channel.id, ts)
        return list(self._drawn(viewer, [*said, *self._whispered(viewer, channel, ts)]))

    def changes(self, viewer: Person, change: Change) -> list[dict[str, str]]:
        """What a change means for this person's page; a reply also changes its root."""
        channel = self._workspace.channels[change.channel]
        if viewer.id not in channel.members:
            return []
        if change.kind == "ephemeral":
            if change.message.get("to") != viewer.id:
                return []
            return [self._told("ephemeral", viewer, channel, _whisper(change.message))]
        message = self._workspace.messages.get(channel.id, change.ts)
        kind = "deleted" if message is None else change.kind.replace("deleted", "changed")
        told = [self._told(kind, viewer, channel, message or change.message)]
        root = self._workspace.messages.get(channel.id, _root(change.message))
        if root is not None and root["ts"] != change.ts:
            told.append(self._told("changed", viewer, channel, root))
        return told

    def _told(self, kind: str, viewer: Person, channel: Channel, message: Fields) -> dict[str, str]:
        drawn = next(self._drawn(viewer, [message]))
        return {"kind": kind, "channel": channel.id, **drawn}

    def _drawn(self, viewer: Person, messages: Iterable[Fields]) -> Iterator[dict[str, str]]:
        reader = Reader(viewer.id, self._workspace.people, self._workspace.channels)
        for message in sorted(messages, key=lambda one: float(one["ts"])):
            html = self._messages.html(message, reader)
            yield {"ts": message["ts"], "root": _root(message), "html": html}

    def _whispered(self, viewer: Person, channel: Channel, root: str) -> Iterator[Fields]:
        for message in self._workspace.messages.ephemerals:
            is_here = message["channel"] == channel.id and message.get("to") == viewer.id
            if is_here and str(message.get("thread_ts") or "") == root:
                yield _whisper(message)

    def _people(self) -> list[Person]:
        return [person for person in self._workspace.people.values() if not person.is_bot]

    def _others(self, viewer: Person) -> Iterator[Person]:
        """With whom one can talk directly: the bot first."""
        if not viewer.is_stranger:
            yield self._workspace.people[BOT.user_id]
        yield from (
            person
            for person in self._people()
            if person.id != viewer.id and person.team_id == viewer.team_id
        )

    def _channels_of(self, viewer: Person) -> Iterator[Channel]:
        for channel in self._workspace.channels.values():
            if channel.name and viewer.id in channel.members:
                yield channel

    def _direct(self, viewer: Person, other: Person) -> dict[str, Any]:
        channel = self._workspace.direct_channel(viewer.id, other.id)
        return {"id": channel.id, "with": other.id, **_person(other)} | {"id": channel.id}


def _person(person: Person) -> dict[str, Any]:
    kind = "guest" if person.is_guest else "outside" if person.is_stranger else ""
    return {
        "id": person.id,
        "name": person.name,
        "real_name": person.real_name,
        "kind": "app" if person.is_bot else kind,
        "initials": initials(person.real_name),
        "hue": hue(person.id),
    }


def _channel(channel: Channel) -> dict[str, Any]:
    closed = "archived" if channel.is_archived else "read-only" if channel.is_read_only else ""
    return {
        "id": channel.id,
        "name": channel.name,
        "is_private": channel.kind == "group",
        "is_shared": channel.is_shared,
        "has_bot": BOT.user_id in channel.members,
        "members": len(channel.members),
        "closed": closed,
    }


def _root(message: Fields) -> str:
    return str(message.get("thread_ts") or message["ts"])


def _whisper(message: Fields) -> Fields:
    return {**message, "is_ephemeral": True}
