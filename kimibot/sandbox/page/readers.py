"""Who reads the page: how people and channels are called, and what each is drawn with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from zlib import crc32

from kimibot.sandbox.slack.people import Channel, Person

HUES = 8


@dataclass(frozen=True, slots=True)
class Reader:
    """The person at whose page we draw, with all whom a text can name."""

    viewer: str
    people: Mapping[str, Person]
    channels: Mapping[str, Channel]

    def name(self, user_id: str) -> str:
        """The name that a person goes by, or the id of somebody unknown."""
        person = self.people.get(user_id)
        return person.real_name if person else user_id

    def mention(self, target: str, label: str = "") -> str:
        """The pill for `@U…`, `#C…`, `!here` or `!subteam^S…`, without its angle brackets."""
        kind, name = target[0], target[1:]
        if kind == "@":
            is_me = " is-me" if name == self.viewer else ""
            return _pill(f"@{label or self._short(name)}", f"mention{is_me}")
        if kind == "#":
            channel = self.channels.get(name)
            return _pill(f"#{channel.name if channel else label or name}", "mention")
        return _pill(f"@{label or name.split('^')[-1].lstrip('@')}", "mention is-loud")

    def _short(self, user_id: str) -> str:
        person = self.people.get(user_id)
        return person.name if person else user_id


def initials(name: str) -> str:
    """Up to two letters for a face."""
    words = name.split()
    return "".join(word[0] for word in (words[:1] + words[1:][-1:])).upper()


def hue(user_id: str) -> int:
    """A number below HUES that stays the same for the same person."""
    return crc32(user_id.encode()) % HUES


def _pill(text: str, kind: str) -> str:
    return f'<span class="{kind}">{escape(text)}</span>'
