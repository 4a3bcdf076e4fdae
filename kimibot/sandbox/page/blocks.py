"""Draws Block Kit blocks as HTML; see https://docs.slack.dev/reference/block-kit/blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from kimibot.sandbox.page.markdown import Markdown
from kimibot.sandbox.page.mrkdwn import mrkdwn_html
from kimibot.sandbox.page.readers import Reader
from kimibot.sandbox.page.richtext import rich_text_html

Block = Mapping[str, Any]


class Blocks:
    """Draws the blocks of any message."""

    def __init__(self) -> None:
        self._markdown = Markdown()

    def html(self, blocks: Sequence[Block], reader: Reader) -> str:
        """The HTML of a message's blocks, in their order."""
        return "".join(self._block(block, reader) for block in blocks)

    def _block(self, block: Block, reader: Reader) -> str:
        kind = block.get("type")
        if kind == "markdown":
            text = self._markdown.html(str(block.get("text", "")), reader)
            return f'<div class="block markdown">{text}</div>'
        if kind == "rich_text":
            return f'<div class="block rich">{rich_text_html(block, reader)}</div>'
        if kind == "divider":
            return "<hr>"
        if kind == "header":
            text = _text(block.get("text"), reader)
            return f'<div class="block heading h2" role="heading" aria-level="4">{text}</div>'
        inside = _FILLINGS.get(str(kind), _unknown)(block, reader)
        return f'<div class="block {escape(str(kind))}">{inside}</div>'


def _section(block: Block, reader: Reader) -> str:
    fields = "".join(f"<div>{_text(field, reader)}</div>" for field in block.get("fields") or [])
    texts = _text(block["text"], reader) if block.get("text") else ""
    accessory = block.get("accessory")
    return (
        f'<div class="words">{texts}</div>'
        + (f'<div class="fields">{fields}</div>' if fields else "")
        + (_element(accessory, reader) if accessory else "")
    )


def _elements(block: Block, reader: Reader) -> str:
    return "".join(_element(element, reader) for element in block.get("elements") or [])


def _element(element: Block, reader: Reader) -> str:
    action = escape(str(element.get("action_id", "")))
    if element.get("type") == "static_select":
        return _menu(element, action, reader)
    if element.get("type") != "button":
        return f"<span>{_text(element, reader)}</span>"
    label = _text(element.get("text"), reader)
    style = escape(str(element.get("style") or "usual"))
    asks = _question(element.get("confirm"))
    return (
        f'<button type="button" class="press is-{style}" data-action="{action}"{asks}>{label}'
        "</button>"
    )


def _question(confirm: Any) -> str:
    """What is asked before the press counts, as attributes of the button."""
    if not isinstance(confirm, Mapping):
        return ""
    names = {"title": "title", "text": "text", "yes": "confirm", "no": "deny"}
    said = {ours: (confirm.get(theirs) or {}).get("text", "") for ours, theirs in names.items()}
    return "".join(f' data-{name}="{escape(str(text))}"' for name, text in said.items())


def _menu(menu: Block, action: str, reader: Reader) -> str:
    label = _text(menu.get("placeholder"), reader)
    options = "".join(
        f'<option value="{escape(str(option.get("value", "")))}">'
        f"{_text(option.get('text'), reader)}</option>"
        for option in menu.get("options") or []
    )
    return (
        f'<select class="press is-usual" data-action="{action}" aria-label="{label}">'
        f'<option value="" selected hidden>{label}</option>{options}</select>'
    )


def _text(text: Any, reader: Reader) -> str:
    """A text object: mrkdwn is drawn, plain_text is shown as it is."""
    if not isinstance(text, Mapping):
        return ""
    words = str(text.get("text", ""))
    if text.get("type") == "mrkdwn":
        return mrkdwn_html(words, reader)
    return escape(words, quote=False).replace("\n", "<br>")


def _unknown(block: Block, _reader: Reader) -> str:
    return f"<em>a block of type {escape(str(block.get('type')))}</em>"


_FILLINGS = {"section": _section, "context": _elements, "actions": _elements}
