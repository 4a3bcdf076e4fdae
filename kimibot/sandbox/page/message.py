"""Draws one message: face, name, time, blocks or text, files, reactions, replies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any

from kimibot.sandbox.page.blocks import Blocks
from kimibot.sandbox.page.emoji import drawn
from kimibot.sandbox.page.files import files_html
from kimibot.sandbox.page.mrkdwn import mrkdwn_html
from kimibot.sandbox.page.readers import Reader, hue, initials
from kimibot.sandbox.slack.people import SHORTCUTS

Fields = Mapping[str, Any]


class Messages:
    """Draws messages for whoever reads them. All that was said is escaped."""

    def __init__(self) -> None:
        self._blocks = Blocks()

    def html(self, message: Fields, reader: Reader) -> str:
        """One message as an `article`, with its ts, author and root for the page's script."""
        author = author_of(message)
        ts = str(message.get("ts", ""))
        facts = {"ts": ts, "author": author, "root": str(message.get("thread_ts") or ts)}
        data = "".join(f' data-{name}="{escape(value)}"' for name, value in facts.items())
        kind = " is-ephemeral" if message.get("is_ephemeral") else ""
        return (
            f'<article class="message{kind}"{data} aria-label="{escape(reader.name(author))}">'
            f"{_face(author, reader, is_app='bot_id' in message)}"
            f'<div class="body">{_head(message, author, reader)}'
            f'<div class="content">{self._content(message, reader)}</div>'
            f"{_reactions(message)}{_replies(message, reader)}</div>"
            f"{_tools(message, author, reader)}</article>"
        )

    def _content(self, message: Fields, reader: Reader) -> str:
        if message.get("subtype") == "tombstone":
            return '<p class="gone">This message was deleted.</p>'
        blocks = message.get("blocks") or []
        if blocks:
            said = self._blocks.html(blocks, reader)
        else:
            said = f"<p>{mrkdwn_html(str(message.get('text', '')), reader)}</p>"
        files = files_html(message.get("files") or [], reader.viewer)
        return said + files + _edited(message)


def author_of(message: Fields) -> str:
    """The id of who said it: a person's, or that of an app's bot user."""
    return str(message.get("user") or message.get("bot_id") or "")


def _face(author: str, reader: Reader, *, is_app: bool) -> str:
    kind = "is-app" if is_app else f"hue-{hue(author)}"
    letters = "" if is_app else escape(initials(reader.name(author)))
    return f'<div class="face {kind}" aria-hidden="true">{letters}</div>'


def _head(message: Fields, author: str, reader: Reader) -> str:
    badge = '<span class="badge">App</span>' if "bot_id" in message else ""
    hint = '<span class="hint">Only visible to you</span>' if message.get("is_ephemeral") else ""
    return (
        f'<header><span class="author">{escape(reader.name(author))}</span>{badge}'
        f"{_time(str(message.get('ts', '')))}{hint}</header>"
    )


def _time(ts: str) -> str:
    """The page's script writes the hour in the reader's own time zone."""
    try:
        said_at = datetime.fromtimestamp(float(ts), UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return f'<time datetime="{said_at:%Y-%m-%dT%H:%M:%SZ}">{said_at:%H:%M}</time>'


def _edited(message: Fields) -> str:
    """Slack marks an edit of text; an app that edits its blocks gets no mark."""
    if "bot_id" in message or not message.get("edited"):
        return ""
    return '<span class="edited"> (edited)</span>'


def _reactions(message: Fields) -> str:
    pills = "".join(
        f'<span class="reaction">{drawn(str(one.get("name", "")))} {len(one.get("users") or [])}'
        "</span>"
        for one in message.get("reactions") or []
    )
    return f'<div class="reactions">{pills}</div>' if pills else ""


def _replies(message: Fields, reader: Reader) -> str:
    count = int(message.get("reply_count") or 0)
    if not count:
        return ""
    faces = "".join(
        _face(user, reader, is_app=_is_app(user, reader))
        for user in (message.get("reply_users") or [])[:4]
    )
    words = "1 reply" if count == 1 else f"{count} replies"
    last = _time(str(message.get("latest_reply", "")))
    return (
        f'<button type="button" class="replies" data-do="thread">{faces}<strong>{words}</strong>'
        f'<span class="last">last {last}</span></button>'
    )


def _is_app(user: str, reader: Reader) -> bool:
    person = reader.people.get(user)
    return person is not None and person.is_bot


def _tools(message: Fields, author: str, reader: Reader) -> str:
    if message.get("is_ephemeral") or message.get("subtype") == "tombstone":
        return ""
    labels = {"thread": "Reply in thread"}
    if author == reader.viewer:
        labels |= {"edit": "Edit message", "delete": "Delete message"}
    shortcuts = "".join(
        f'<button type="button" data-do="shortcut" data-callback="{escape(callback_id)}"'
        f' aria-label="{escape(name)}" title="{escape(name)}"></button>'
        for callback_id, name in SHORTCUTS.items()
    )
    buttons = shortcuts + "".join(
        f'<button type="button" data-do="{name}" aria-label="{label}" title="{label}"></button>'
        for name, label in labels.items()
    )
    return f'<div class="tools" role="group" aria-label="Message actions">{buttons}</div>'
