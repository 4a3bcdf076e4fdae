"""Posts, edits, deletes and finds the messages of a reply."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kimibot.conversation import Thread
from kimibot.errors import SlackError
from kimibot.pacing import Pacing
from kimibot.slack.dates import with_dates, without_dates
from kimibot.slack.inline import BREAK
from kimibot.slack.long_code import without_our_lines
from kimibot.slack.markdown import notification, unescape
from kimibot.slack.web_api import WebApi
from kimibot.unseen import without_unseen
from kimibot.views import Button, Handle, Menu, Question, Style, View

log = logging.getLogger(__name__)

METADATA_TYPE = "kimibot_reply"
MOST_TEXT_CHARACTERS = 4_000
"""Of `text` (docs.slack.dev/reference/methods/chat.update)."""

_NOTE_CHARACTERS = 2_900
"""A section holds 3,000 (docs.slack.dev/reference/block-kit/blocks/section-block)."""

_OPTION_CHARACTERS, _MOST_OPTIONS = 75, 100
"""docs.slack.dev/reference/block-kit/composition-objects/option-object and select-menu-element"""


class SlackMessages:
    """The messages of our replies. Each carries its turn's id and part number in its metadata."""

    def __init__(self, web_api: WebApi, pacing: Pacing) -> None:
        self._web_api = web_api
        self._pacing = pacing

    async def post(self, thread: Thread, view: View, turn_id: str, part: int) -> str:
        """Post a part into the thread; its ts. The caller has the slot. Nothing unfurls."""
        answer = await self._web_api.call(
            "chat.postMessage",
            channel=thread.channel,
            thread_ts=thread.root_ts,
            unfurl_links=False,
            unfurl_media=False,
            metadata=_metadata(turn_id, part),
            **content(view),
        )
        return str(answer["ts"])

    async def edit(self, thread: Thread, ts: str, view: View) -> None:
        """Make the message show this view. The caller has the slot. Metadata stays as it was."""
        await self._web_api.call(
            "chat.update",
            channel=thread.channel,
            ts=ts,
            **content(view),
        )

    async def delete(self, thread: Thread, ts: str) -> None:
        await self._web_api.call("chat.delete", channel=thread.channel, ts=ts)

    async def find(self, thread: Thread, turn_id: str) -> Sequence[str]:
        """The messages of a turn's reply that are in the thread, oldest first."""
        return [ts for ts, _ in await self.left(thread, turn_id)]

    async def left(self, thread: Thread, turn_id: str) -> Sequence[tuple[str, str]]:
        """The same, each with the text of the model in it, as near as Slack has it."""
        messages = await self._web_api.pages(
            "conversations.replies",
            "messages",
            channel=thread.channel,
            ts=thread.root_ts,
            include_all_metadata=True,
        )
        ours = [message for message in messages if _is_of(message, turn_id)]
        return sorted((str(message["ts"]), _body_of(message)) for message in ours)

    async def take_button_off(
        self, channel: str, message: Mapping[str, Any], action_id: str
    ) -> None:
        """Show a message as an interaction brought it, but without one of its buttons, if Slack
        takes that: it is a courtesy, as the button does nothing any more."""
        blocks = list(_blocks_without(message.get("blocks") or [], action_id))
        ts, text = str(message.get("ts") or ""), str(message.get("text") or "")
        await self._pacing.call("chat.update")
        try:
            await self._web_api.call(
                "chat.update", channel=channel, ts=ts, text=text, blocks=blocks
            )
        except SlackError as error:
            log.info("button not taken off: %s", error, extra={"channel": channel})

    async def whisper(
        self, thread: Thread, user: str, text: str, buttons: Sequence[Button] = ()
    ) -> None:
        """Tell one person something that the others in the thread do not see."""
        await self._pacing.call("chat.postEphemeral")
        await self._web_api.call(
            "chat.postEphemeral",
            channel=thread.channel,
            thread_ts=thread.root_ts,
            user=user,
            text=with_dates(text),
            blocks=[_note(text), _actions(buttons)] if buttons else None,
        )


def _blocks_without(blocks: Sequence[Any], action_id: str) -> Iterator[Any]:
    for block in blocks:
        elements = block.get("elements") or []
        left = [one for one in elements if one.get("action_id") != action_id]
        if block.get("type") != "actions" or len(left) == len(elements):
            yield block
        elif left:
            yield {**block, "elements": left}


def _metadata(turn_id: str, part: int) -> dict[str, Any]:
    return {"event_type": METADATA_TYPE, "event_payload": {"turn": turn_id, "part": part}}


def _is_of(message: Mapping[str, Any], turn_id: str) -> bool:
    metadata = message.get("metadata") or {}
    payload = metadata.get("event_payload") or {}
    return metadata.get("event_type") == METADATA_TYPE and payload.get("turn") == turn_id


def _body_of(message: Mapping[str, Any]) -> str:
    blocks = message.get("blocks") or []
    texts = [str(block.get("text")) for block in blocks if block.get("type") == "markdown"]
    return without_our_lines(unescape("\n\n".join(texts)).replace(BREAK, ""))


def content(view: View) -> dict[str, Any]:
    """Blocks, and the short text that notifications show; or plain text and nothing else.

    A text-only edit removes the blocks of a message; the short text never stands in for them.
    """
    if view.style is Style.PLAIN:
        note = with_dates(view.note)[: MOST_TEXT_CHARACTERS - len(view.body) - 2]
        text = "\n\n".join(text for text in (view.body, note) if text)
        return (
            {"text": text, "blocks": _plain_blocks(view, text)} if view.handles else {"text": text}
        )
    text = notification(view.body or without_dates(view.note))
    return {"text": text, "blocks": _blocks(view)}


def _blocks(view: View) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if view.body:
        blocks.append({"type": "markdown", "text": view.body})
    if view.note:
        blocks.append(_note(view.note))
    if view.handles:
        blocks.append(_actions(view.handles))
    return blocks


def _plain_blocks(view: View, text: str) -> list[dict[str, Any]]:
    """Buttons need blocks; these are the simplest that there are."""
    sections = [
        {"type": "section", "text": {"type": "mrkdwn", "text": piece, "verbatim": True}}
        for piece in _pieces(text)
    ]
    return [*sections, _actions(view.handles)]


def _pieces(text: str) -> Iterator[str]:
    """Not within an escaped sign: what follows the cut begins a line or a word."""
    while len(text) > _NOTE_CHARACTERS:
        end = max(text.rfind("\n", 1, _NOTE_CHARACTERS), text.rfind(" ", 1, _NOTE_CHARACTERS))
        end = end if end > 0 else _NOTE_CHARACTERS
        yield text[:end]
        text = text[end:]
    yield text


def _actions(handles: Sequence[Handle]) -> dict[str, Any]:
    return {"type": "actions", "elements": [_element(handle) for handle in handles]}


def _element(handle: Handle) -> dict[str, Any]:
    if isinstance(handle, Menu):
        return {
            "type": "static_select",
            "placeholder": _plain_text(handle.label),
            "action_id": handle.action,
            "options": [
                {"text": _plain_text(label[:_OPTION_CHARACTERS]), "value": value}
                for label, value in handle.choices[:_MOST_OPTIONS]
            ],
        }
    return _button(handle)


def _button(button: Button) -> dict[str, Any]:
    element: dict[str, Any] = {
        "type": "button",
        "text": _plain_text(button.label),
        "action_id": button.action,
        "value": button.value,
    }
    return element | ({"confirm": _confirm(button.question)} if button.question else {})


def _confirm(question: Question) -> dict[str, Any]:
    """https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object"""
    return {
        "title": _plain_text(question.title),
        "text": _plain_text(question.text),
        "confirm": _plain_text(question.yes),
        "deny": _plain_text(question.no),
    }


def _plain_text(text: str) -> dict[str, Any]:
    """A label may be somebody's text: in it `:name:` is no emoji, and nothing turns the others."""
    return {"type": "plain_text", "text": without_unseen(text), "emoji": False}


def _note(note: str) -> dict[str, Any]:
    text = with_dates(note)[:_NOTE_CHARACTERS]
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text, "verbatim": True}]}
