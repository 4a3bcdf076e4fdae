"""What the script does and sees in its channel: what ana says and presses, and each reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from kimibot.sandbox.slack import LocalSlackControls

Say = Callable[[str], None]
Fields = dict[str, Any]
Wanted = Callable[[Fields], bool]

ASKER = "ana"
STEP_SECONDS = 60.0
AT_REST_SECONDS = 1.0
_FINDING = re.compile(r"^\*\*\d+\. .*$", re.MULTILINE)
_LINK = re.compile(r"(?<=\])\([^()\s]*\)")
_INDENT = "\n" + " " * 11


class Unexpected(Exception):
    """The channel does not show what it should."""


class Channel:
    """The channel of that name as ana uses it. What is said and seen is told by `say`."""

    def __init__(self, slack: LocalSlackControls, name: str, say: Say) -> None:
        self._slack = slack
        self._name = name
        self._say = say
        self._counts: dict[str, int] = {}

    async def ask(self, text: str, root: str | None = None, files: Sequence[Fields] = ()) -> str:
        """Say it, in the thread of `root` or in one of its own; its ts."""
        named = "".join(f"  [{file['name']}]" for file in files)
        self._say(f"\n  {ASKER:8} {text}{named}")
        return await self._slack.say(ASKER, self._name, text, thread_ts=root, files=files)

    async def edit(self, ts: str, text: str) -> None:
        self._say(f"  {ASKER:8} (edits it) {text}")
        await self._slack.edit(ASKER, self._name, ts, text)

    async def press(self, reply: Fields, action_id: str, label: str) -> None:
        """Press a button of a reply."""
        self._say(f"  {ASKER:8} (presses {label})")
        await self._slack.click(ASKER, self._name, reply["ts"], action_id)

    async def pick(self, reply: Fields, action_id: str, number: int) -> None:
        """Choose in a menu of a reply, counted from 1. Raises Unexpected where it has none."""
        menu = _handles(reply).get(action_id, {})
        options = menu.get("options", [])
        if len(options) < number:
            raise Unexpected(f"the reply has no menu {action_id} with {number} choices")
        option = options[number - 1]
        label = f"{menu['placeholder']['text']} {option['text']['text']}"
        self._say(f"  {ASKER:8} (picks {label})")
        await self._slack.click(ASKER, self._name, reply["ts"], action_id, option["value"])

    async def choose(self, ts: str, shortcut: str, label: str) -> None:
        """Choose something in the menu of a message."""
        self._say(f"  {ASKER:8} (chooses {label})")
        await self._slack.shortcut(ASKER, self._name, ts, shortcut)

    async def answer(self, root: str, *, replies: int = 1) -> str:
        """The text of the newest reply, once there are so many and none of them grows."""
        reply = await self.reply(root, lambda reply: bool(body(reply)), replies, is_growing=False)
        self.show(reply)
        return body(reply)

    async def reply(
        self, root: str, is_wanted: Wanted, replies: int = 1, *, is_growing: bool | None = None
    ) -> Fields:
        """The newest reply, once there are so many and it is as wanted."""

        async def look() -> Fields | None:
            found = await self.replies(root)
            grows = any(has_button(one, "stop") for one in found)
            is_so = is_growing is None or grows == is_growing
            return found[-1] if len(found) >= replies and is_so and is_wanted(found[-1]) else None

        return await self._slack.until(look, STEP_SECONDS)

    async def replies(self, root: str) -> list[Fields]:
        """The bot's messages in the thread, oldest first."""
        thread = await self._slack.thread(self._name, root)
        found = [message for message in thread if message.get("bot_id")]
        self._counts[root] = len(found)
        return found

    async def nothing_more_came(self) -> None:
        """Let the channel come to rest. Raises Unexpected where a thread has got a reply since it
        was last looked at, or where one has not ended."""
        while await self._is_changed():
            pass
        for root, count in list(self._counts.items()):
            found = await self.replies(root)
            if len(found) != count:
                raise Unexpected(f"a thread has {len(found)} replies where it had {count}")
            if any(has_button(one, "stop") for one in found):
                raise Unexpected("a reply has not ended")

    def show(self, reply: Fields) -> None:
        """Tell how the reply begins, and what stands below it."""
        self._tell([_shortened(body(reply)), note(reply)])

    def show_findings(self, reply: Fields) -> None:
        """Tell the verdict of a review, and what it has found."""
        found = _FINDING.findall(_LINK.sub("", body(reply)))
        self._tell([_shortened(body(reply)), *found])

    def _tell(self, lines: Sequence[str]) -> None:
        self._say(f"  kimibot  {_INDENT.join(filter(None, lines))}")

    async def _is_changed(self) -> bool:
        before = await self._slack.revision()
        return await self._slack.wait_for_change(before, AT_REST_SECONDS) != before


def body(reply: Fields) -> str:
    """The text of the model in a reply, without our own words below it."""
    blocks = reply.get("blocks") or []
    return "".join(block["text"] for block in blocks if block["type"] == "markdown")


def note(reply: Fields) -> str:
    """Our own words in a reply."""
    blocks = reply.get("blocks") or []
    elements = [e for block in blocks if block["type"] == "context" for e in block["elements"]]
    return " · ".join(element["text"].replace("\n", " · ") for element in elements)


def has_button(reply: Fields, action_id: str) -> bool:
    return action_id in _handles(reply)


def _handles(reply: Fields) -> dict[str, Fields]:
    """What can be pressed or chosen below a reply, by its action."""
    blocks = reply.get("blocks") or []
    elements = [e for block in blocks if block["type"] == "actions" for e in block["elements"]]
    return {element["action_id"]: element for element in elements}


def _shortened(text: str) -> str:
    lines = text.strip().splitlines()
    if not lines:
        return ""
    more = f"  … ({len(lines)} lines)" if len(lines) > 1 else ""
    return lines[0][:90] + more
