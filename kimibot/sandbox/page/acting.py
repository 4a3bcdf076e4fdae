"""What one can do on the page, as one of the people: write, edit, delete, press, choose."""

from __future__ import annotations

import re
from typing import Any

from kimibot.sandbox.slack.messages import Fields
from kimibot.sandbox.slack.people import Channel, Person
from kimibot.sandbox.slack.server import LocalSlack
from kimibot.sandbox.slack.workspace import Unknown

MAX_CHARACTERS = 40_000
MAX_FILES = 10
"""https://slack.com/help/articles/201330736-Add-files-to-Slack"""
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>\n]*)?>")
_LINK = re.compile(r"<(https?://[^<>|\s]+)(?:\|([^<>\n]*))?>")


class Refusal(Exception):
    """The page asked for something that this person can't do; the words are for people."""


class Acting:
    """Carries out orders. All raise Refusal, and Unknown for somebody or something not there."""

    def __init__(self, slack: LocalSlack) -> None:
        self._slack = slack
        self._workspace = slack.parts.workspace

    async def say(self, order: Fields) -> Fields:
        """Post `text` and `files` into `channel`, or into the thread `thread_ts`."""
        person, channel = self._who_and_where(order)
        files = _files(order)
        text = "" if files and not str(order["text"]).strip() else _text(order)
        if channel.is_archived or channel.is_read_only:
            raise Refusal(f"Nobody can write in #{channel.name}.")
        root = str(order.get("thread_ts") or "") or None
        ts = await self._slack.say(person.id, channel.id, text, thread_ts=root, files=files)
        return {"ts": ts}

    async def edit(self, order: Fields) -> Fields:
        """Change one's own message to `text`."""
        message = self._own(order)
        await self._slack.edit(message["user"], str(order["channel"]), message["ts"], _text(order))
        return {}

    async def delete(self, order: Fields) -> Fields:
        """Delete one's own message."""
        message = self._own(order)
        await self._slack.delete(message["user"], str(order["channel"]), message["ts"])
        return {}

    async def click(self, order: Fields) -> Fields:
        """Press the button `action_id` of a message, or choose the option `value` of that menu.
        Raises Refusal when no app took the press."""
        person, channel = self._who_and_where(order)
        ts, action_id, value = str(order["ts"]), str(order["action_id"]), order.get("value")
        if not await self._slack.click(person.id, channel.id, ts, action_id, value and str(value)):
            raise Refusal("The app did not react in time.")
        return {}

    async def shortcut(self, order: Fields) -> Fields:
        """Choose the shortcut `callback_id` on a message. Raises Refusal when no app took it."""
        person, channel = self._who_and_where(order)
        ts, callback_id = str(order["ts"]), str(order["callback_id"])
        if not await self._slack.shortcut(person.id, channel.id, ts, callback_id):
            raise Refusal("The app did not react in time.")
        return {}

    async def source(self, order: Fields) -> Fields:
        """One's own message as it would be typed again."""
        message = self._own(order)
        text = _MENTION.sub(self._at_name, message.get("text", ""))
        text = _LINK.sub(lambda found: f"[{found[2]}]({found[1]})" if found[2] else found[1], text)
        return {"text": text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")}

    def _who_and_where(self, order: Fields) -> tuple[Person, Channel]:
        person = self._workspace.person(str(order["as"]))
        channel = self._workspace.channel(str(order["channel"]))
        if person.is_bot or person.id not in channel.members:
            raise Refusal("You are not a member of this conversation.")
        return person, channel

    def _own(self, order: Fields) -> dict[str, Any]:
        person, channel = self._who_and_where(order)
        message = self._workspace.messages.get(channel.id, str(order["ts"]))
        if message is None:
            raise Unknown("This message is no longer there.")
        if message.get("user") != person.id:
            raise Refusal("This is somebody else's message.")
        return message

    def _at_name(self, found: re.Match[str]) -> str:
        person = self._workspace.people.get(found[1])
        return f"@{person.name}" if person else found[0]


def _files(order: Fields) -> list[Fields]:
    """Each with its name, type and content. Raises Refusal for more than Slack takes."""
    files = order.get("files") or []
    if len(files) > MAX_FILES:
        raise Refusal(f"A message holds at most {MAX_FILES} files.")
    return [
        {name: str(file.get(name) or "") for name in ("name", "mimetype", "base64")}
        for file in files
    ]


def _text(order: Fields) -> str:
    text = str(order["text"]).strip()
    if not text:
        raise Refusal("There is nothing to send.")
    if len(text) > MAX_CHARACTERS:
        raise Refusal(f"A message holds at most {MAX_CHARACTERS:,} characters.")
    return text
