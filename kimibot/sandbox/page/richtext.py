"""Draws rich_text blocks, which is what people's own messages consist of, as HTML.

The elements are those of https://docs.slack.dev/reference/block-kit/blocks/rich-text-block.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from kimibot.sandbox.page.emoji import drawn
from kimibot.sandbox.page.markdown import code_block
from kimibot.sandbox.page.mrkdwn import link
from kimibot.sandbox.page.readers import Reader

Element = Mapping[str, Any]

_STYLES = {"bold": "strong", "italic": "em", "strike": "s", "code": "code"}


def rich_text_html(block: Element, reader: Reader) -> str:
    """The HTML of one rich_text block."""
    return "".join(_element(element, reader) for element in block.get("elements") or [])


def _element(element: Element, reader: Reader) -> str:
    kind = element.get("type")
    if kind == "rich_text_preformatted":
        code = "".join(str(child.get("text", "")) for child in element.get("elements") or [])
        return code_block(code)
    if kind == "rich_text_list":
        return _list(element, reader)
    inside = "".join(_inline(child, reader) for child in element.get("elements") or [])
    if kind == "rich_text_quote":
        return f"<blockquote>{inside}</blockquote>"
    return f"<p>{inside.removesuffix('<br>')}</p>" if inside else ""


def _list(element: Element, reader: Reader) -> str:
    tag = "ol" if element.get("style") == "ordered" else "ul"
    items = "".join(
        "<li>" + "".join(_inline(child, reader) for child in item.get("elements") or []) + "</li>"
        for item in element.get("elements") or []
    )
    indent = min(int(element.get("indent") or 0), 4)
    return f'<{tag} class="indent-{indent}">{items}</{tag}>'


def _inline(element: Element, reader: Reader) -> str:
    html = _bare(element, reader)
    for style, tag in _STYLES.items():
        if (element.get("style") or {}).get(style):
            html = f"<{tag}>{html}</{tag}>"
    return html


def _bare(element: Element, reader: Reader) -> str:
    kind = element.get("type")
    if kind == "user":
        return reader.mention(f"@{element.get('user_id', '')}")
    if kind == "channel":
        return reader.mention(f"#{element.get('channel_id', '')}")
    if kind == "broadcast":
        return reader.mention(f"!{element.get('range', '')}")
    if kind == "usergroup":
        return reader.mention(f"!subteam^{element.get('usergroup_id', '')}")
    if kind == "emoji":
        return drawn(str(element.get("name", "")))
    if kind == "link":
        url = str(element.get("url", ""))
        return link(url, str(element.get("text") or url))
    return escape(str(element.get("text", "")), quote=False).replace("\n", "<br>")
