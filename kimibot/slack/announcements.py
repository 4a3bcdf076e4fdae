"""Posts a short message that notifies people, and finds it again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kimibot.conversation import Thread
from kimibot.pacing import Pacing
from kimibot.slack.markdown import plain
from kimibot.slack.web_api import WebApi
from kimibot.turns import Turn

METADATA_TYPE = "kimibot_notice"
"""Not that of a reply's parts: a notice is none."""

_PERSON = re.compile(r"[UW][A-Z0-9]{2,40}")


class SlackAnnouncements:
    """Both wait for their slot and raise SlackError."""

    def __init__(self, web_api: WebApi, pacing: Pacing) -> None:
        self._web_api = web_api
        self._pacing = pacing

    async def announce(self, thread: Thread, people: Sequence[str], text: str, turn: Turn) -> None:
        """Post our own text to these people, who are mentioned in it."""
        mentions = " ".join(f"<@{person}>" for person in people if _PERSON.fullmatch(person))
        await self._pacing.call("chat.postMessage", thread.channel)
        await self._web_api.call(
            "chat.postMessage",
            channel=thread.channel,
            thread_ts=thread.root_ts,
            text=f"{mentions} {plain(text)}".strip(),
            unfurl_links=False,
            unfurl_media=False,
            metadata={"event_type": METADATA_TYPE, "event_payload": _payload(turn)},
        )

    async def is_announced(self, thread: Thread, turn: Turn) -> bool:
        """Whether the message of this turn, and of this attempt at it, is in the thread."""
        messages = await self._web_api.pages(
            "conversations.replies",
            "messages",
            channel=thread.channel,
            ts=thread.root_ts,
            include_all_metadata=True,
        )
        return any(_is_notice(message, turn) for message in messages)


def _payload(turn: Turn) -> dict[str, Any]:
    return {"turn": turn.id, "attempt": turn.attempt}


def _is_notice(message: Mapping[str, Any], turn: Turn) -> bool:
    metadata = message.get("metadata") or {}
    is_ours = metadata.get("event_type") == METADATA_TYPE
    return is_ours and metadata.get("event_payload") == _payload(turn)
