"""Turns what a person types into what Slack stores: rich_text blocks and escaped mrkdwn text.

The shapes are those of https://docs.slack.dev/reference/block-kit/blocks/rich-text-block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Element = dict[str, Any]

BROADCASTS = frozenset({"here", "channel", "everyone"})
EMOJI = frozenset(
    {
        *("smile", "grinning", "joy", "heart", "eyes", "+1", "-1", "thumbsup", "thumbsdown"),
        *("tada", "rocket", "fire", "warning", "x", "octagonal_sign", "white_check_mark", "bug"),
    }
)

FENCED = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)
BULLET = re.compile(r"(?P<indent> *)(?:[-*•◦] )(?P<item>.*)")
NUMBERED = re.compile(r"(?P<indent> *)\d{1,3}\. (?P<item>.*)")

INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|<@(?P<user>[UW][A-Z0-9]+)(?:\|[^<>\n]*)?>"
    r"|<#(?P<channel>[CGD][A-Z0-9]+)(?:\|[^<>\n]*)?>"
    r"|<!(?P<range>here|channel|everyone)(?:\|[^<>\n]*)?>"
    r"|<!subteam\^(?P<group>S[A-Z0-9]+)(?:\|[^<>\n]*)?>"
    r"|<(?P<url>https?://[^<>|\s]+)(?:\|(?P<label>[^<>\n]*))?>"
    r"|\[(?P<title>[^\[\]\n]+)\]\((?P<target>https?://[^()\s]+)\)"
    r"|(?P<bare>https?://[^\s<>|]*[^\s<>|.,;:!?)\]'\"*_~])"
    r"|:(?P<emoji>[a-z0-9_+-]+):"
    r"|(?<![\w@/.])@(?P<name>[A-Za-z][\w-]*)"
    r"|(?<!\w)\*\*(?P<strong>[^*\n]+)\*\*(?!\w)"
    r"|(?<!\w)\*(?P<bold>[^*\s](?:[^*\n]*[^*\s])?)\*(?!\w)"
    r"|(?<!\w)_(?P<italic>[^_\s](?:[^_\n]*[^_\s])?)_(?!\w)"
    r"|(?<!\w)~(?P<strike>[^~\s](?:[^~\n]*[^~\s])?)~(?!\w)"
)
STYLES = {"strong": "bold", "bold": "bold", "italic": "italic", "strike": "strike"}


def typed(text: str, ids_by_name: Mapping[str, str], block_id: str) -> tuple[str, list[Element]]:
    """The message's `text` and `blocks` for what was typed as mrkdwn or Markdown.

    `@name` becomes a mention where `ids_by_name` knows the name. Code is kept as it was typed.
    """
    elements = _elements(text, ids_by_name)
    if not elements:
        return "", []
    return as_text(elements), [{"type": "rich_text", "block_id": block_id, "elements": elements}]


def mentioned(blocks: list[Element]) -> set[str]:
    """The ids of the users that the rich_text of these blocks mentions."""
    return {
        element["user_id"]
        for block in blocks
        if block.get("type") == "rich_text"
        for element in _walk(block)
        if element.get("type") == "user"
    }


def as_text(elements: list[Element]) -> str:
    """The mrkdwn of rich_text elements, with `&`, `<` and `>` escaped once."""
    return "\n".join(_block_text(element) for element in elements)


def escape(text: str) -> str:
    """https://docs.slack.dev/messaging/formatting-message-text#escaping"""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _walk(element: Element) -> Iterator[Element]:
    yield element
    for child in element.get("elements", []):
        yield from _walk(child)


def _elements(text: str, ids_by_name: Mapping[str, str]) -> list[Element]:
    found: list[Element] = []
    pieces = FENCED.split(text)
    for index, piece in enumerate(pieces):
        if index % 2:
            found.append(_preformatted(piece))
        else:
            found += _prose(_between_fences(piece, index, len(pieces)), ids_by_name)
    return _with_line_breaks(found)


def _between_fences(piece: str, index: int, count: int) -> str:
    """Without the line break after a fence, and before one."""
    piece = piece.removeprefix("\n") if index else piece
    return piece.removesuffix("\n") if index < count - 1 else piece


def _preformatted(code: str) -> Element:
    return {
        "type": "rich_text_preformatted",
        "elements": [{"type": "text", "text": code}] if code else [],
        "border": 0,
    }


def _prose(text: str, ids_by_name: Mapping[str, str]) -> list[Element]:
    if not text:
        return []
    found: list[Element] = []
    groups: list[tuple[str, int, list[str]]] = []
    for line in text.split("\n"):
        kind, indent, content = _kind_of(line)
        if groups and groups[-1][:2] == (kind, indent):
            groups[-1][2].append(content)
        else:
            groups.append((kind, indent, [content]))
    for kind, indent, lines in groups:
        found.append(_group(kind, indent, lines, ids_by_name))
    return found


def _kind_of(line: str) -> tuple[str, int, str]:
    if line.startswith(">"):
        return "quote", 0, line[1:].removeprefix(" ")
    for kind, pattern in (("bullet", BULLET), ("ordered", NUMBERED)):
        if match := pattern.fullmatch(line):
            return kind, len(match["indent"]) // 2, match["item"]
    return "section", 0, line


def _group(kind: str, indent: int, lines: list[str], ids_by_name: Mapping[str, str]) -> Element:
    if kind in ("bullet", "ordered"):
        items = [
            {"type": "rich_text_section", "elements": _inline(line, ids_by_name, {})}
            for line in lines
        ]
        return {
            "type": "rich_text_list",
            "style": kind,
            "indent": indent,
            "border": 0,
            "elements": items,
        }
    name = "rich_text_quote" if kind == "quote" else "rich_text_section"
    return {"type": name, "elements": _inline("\n".join(lines), ids_by_name, {})}


def _inline(text: str, ids_by_name: Mapping[str, str], style: dict[str, bool]) -> list[Element]:
    found: list[Element] = []
    end = 0
    for match in INLINE.finditer(text):
        elements = _token(match, ids_by_name, style)
        if elements is None:
            continue
        found += _plain(text[end : match.start()], style)
        found += elements
        end = match.end()
    return found + _plain(text[end:], style)


def _plain(text: str, style: dict[str, bool]) -> list[Element]:
    return [_styled({"type": "text", "text": text}, style)] if text else []


def _styled(element: Element, style: dict[str, bool]) -> Element:
    return element | {"style": dict(style)} if style else element


def _token(
    match: re.Match[str], ids_by_name: Mapping[str, str], style: dict[str, bool]
) -> list[Element] | None:
    """The elements of one token, or None where it is only text."""
    kind = next(name for name, value in match.groupdict().items() if value is not None)
    value = match[kind]
    if kind in STYLES:
        return _inline(value, ids_by_name, style | {STYLES[kind]: True})
    if kind == "code":
        return [_styled({"type": "text", "text": value}, style | {"code": True})]
    element = _named(value, ids_by_name) if kind == "name" else _linked(kind, value, match)
    return [_styled(element, style)] if element else None


def _named(name: str, ids_by_name: Mapping[str, str]) -> Element | None:
    if name in BROADCASTS:
        return {"type": "broadcast", "range": name}
    user_id = ids_by_name.get(name.lower())
    return {"type": "user", "user_id": user_id} if user_id else None


def _linked(kind: str, value: str, match: re.Match[str]) -> Element | None:
    if kind == "emoji":
        return {"type": "emoji", "name": value} if value in EMOJI else None
    if kind == "title":
        return {"type": "link", "url": match["target"], "text": value}
    if kind == "url" and match["label"]:
        return {"type": "link", "url": value, "text": match["label"]}
    shapes = {
        "user": ("user", "user_id"),
        "channel": ("channel", "channel_id"),
        "range": ("broadcast", "range"),
        "group": ("usergroup", "usergroup_id"),
        "url": ("link", "url"),
        "bare": ("link", "url"),
    }
    name, key = shapes[kind]
    return {"type": name, key: value}


def _with_line_breaks(elements: list[Element]) -> list[Element]:
    """A section that something follows ends with its line break, as Slack stores it."""
    for element in elements[:-1]:
        if element["type"] != "rich_text_section":
            continue
        last = element["elements"][-1] if element["elements"] else {}
        if last.get("type") == "text" and "style" not in last:
            last["text"] += "\n"
        else:
            element["elements"].append({"type": "text", "text": "\n"})
    return elements


def _block_text(element: Element) -> str:
    if element["type"] == "rich_text_preformatted":
        return "```" + "".join(_inline_text(e) for e in element["elements"]) + "```"
    if element["type"] == "rich_text_list":
        return "\n".join(_items(element))
    text = "".join(_inline_text(e) for e in element["elements"])
    if element["type"] == "rich_text_quote":
        return "\n".join(f"&gt; {line}" for line in text.split("\n"))
    return text.removesuffix("\n")


def _items(element: Element) -> Iterator[str]:
    indent = "    " * element.get("indent", 0)
    for number, item in enumerate(element["elements"], start=1):
        mark = f"{number}." if element["style"] == "ordered" else "•"
        yield f"{indent}{mark} " + "".join(_inline_text(e) for e in item["elements"])


def _inline_text(element: Element) -> str:
    kind, style = element["type"], element.get("style", {})
    if kind == "text":
        text = escape(element["text"])
    elif kind == "link":
        label = element.get("text")
        url = escape(element["url"])
        text = f"<{url}|{escape(label)}>" if label else f"<{url}>"
    else:
        text = _mention_text(element)
    for name, mark in (("code", "`"), ("bold", "*"), ("italic", "_"), ("strike", "~")):
        text = f"{mark}{text}{mark}" if style.get(name) else text
    return text


def _mention_text(element: Element) -> str:
    patterns = {
        "user": "<@{user_id}>",
        "channel": "<#{channel_id}|>",
        "broadcast": "<!{range}>",
        "usergroup": "<!subteam^{usergroup_id}>",
        "emoji": ":{name}:",
    }
    return patterns[element["type"]].format(**element)
