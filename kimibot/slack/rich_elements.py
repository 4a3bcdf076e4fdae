"""Reads a rich_text block as Markdown, exact in code.

https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import groupby

from kimibot.slack.mrkdwn import code_block, code_span, link
from kimibot.slack.shapes import Shape, shape, shapes, string

_MARKS = {"strike": "~~", "italic": "_", "bold": "**"}
_DEEPEST_INDENT = 8
_PIECES = {
    "usergroup": ("@{}", "usergroup_id"),
    "channel": ("<#{}>", "channel_id"),
    "broadcast": ("@{}", "range"),
    "color": ("{}", "value"),
    "team": ("{}", "team_id"),
}
_MANY_PEOPLE = ("usergroup", "broadcast")


def read_rich_text(block: Shape, mentions: set[str]) -> str:
    """The block's text. Whom it addresses outside code and quotes is added to `mentions`."""
    text, before = "", ""
    for element in shapes(block, "elements"):
        kind = string(element, "type")
        read = _KINDS.get(kind, _section)
        shown = _bordered(element, read, mentions)
        if before:
            text += "\n\n" if before in _ENDED_BY_BLANK and read is _section else "\n"
        text, before = text + shown, kind
    return text


def _bordered(element: Shape, read: Callable[[Shape, set[str]], str], mentions: set[str]) -> str:
    """A list or code with a border stands in a quote."""
    if element.get("border") == 1 and read is not _quote:
        return quoted(read(element, set()))
    return read(element, mentions)


def quoted(text: str) -> str:
    """Every line of the text with a quote sign before it."""
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))


def _section(element: Shape, mentions: set[str]) -> str:
    return _inline(shapes(element, "elements"), mentions).removesuffix("\n")


def _quote(element: Shape, _mentions: set[str]) -> str:
    return quoted(_section(element, set()))


def _code(element: Shape, _mentions: set[str]) -> str:
    code = "".join(_typed(piece) for piece in shapes(element, "elements"))
    return code_block(code, string(element, "language"))


def _list(element: Shape, mentions: set[str]) -> str:
    indent = " " * 4 * min(_whole_number(element, "indent"), _DEEPEST_INDENT)
    first = _whole_number(element, "offset") + 1
    is_ordered = element.get("style") == "ordered"
    items = []
    for number, item in enumerate(shapes(element, "elements"), start=first):
        mark = f"{number}. " if is_ordered else "- "
        lines = _section(item, mentions).split("\n")
        items.append(f"\n{indent}{' ' * len(mark)}".join([f"{indent}{mark}{lines[0]}", *lines[1:]]))
    return "\n".join(items)


_KINDS: dict[str, Callable[[Shape, set[str]], str]] = {
    "rich_text_section": _section,
    "rich_text_list": _list,
    "rich_text_quote": _quote,
    "rich_text_preformatted": _code,
}
_ENDED_BY_BLANK = ("rich_text_list", "rich_text_quote")


def _whole_number(element: Shape, key: str) -> int:
    value = element.get(key)
    return min(max(value, 0), 1_000_000) if isinstance(value, int) else 0


def _inline(elements: Sequence[Shape], mentions: set[str]) -> str:
    """Neighbours of the same style are one run, so that their marks do not collide."""
    pieces = [(_styles(element), _piece(element, mentions)) for element in elements]
    runs = groupby(pieces, key=lambda piece: piece[0])
    return "".join(_styled("".join(text for _, text in run), styles) for styles, run in runs)


def _styles(element: Shape) -> tuple[str, ...]:
    styles = shape(element, "style")
    return tuple(name for name in ("code", *_MARKS) if styles.get(name) is True)


def _styled(text: str, styles: Sequence[str]) -> str:
    if "code" in styles and text:
        text = code_span(text)
    for name in styles:
        if name in _MARKS:
            text = "\n".join(_marked(line, _MARKS[name]) for line in text.split("\n"))
    return text


def _marked(line: str, mark: str) -> str:
    """The mark around the line, its outer spaces left outside."""
    core = line.strip()
    if not core:
        return line
    start = line.index(core)
    return f"{line[:start]}{mark}{core}{mark}{line[start + len(core) :]}"


def _piece(element: Shape, mentions: set[str]) -> str:
    kind = string(element, "type")
    if "code" in _styles(element):
        return _typed(element)
    if kind == "user":
        user = string(element, "user_id")
        if user:
            mentions.add(user)
        return f"<@{user}>" if user else ""
    if kind in _MANY_PEOPLE:
        mentions.update({string(element, _PIECES[kind][1])} - {""})
    if kind == "link":
        return link(string(element, "url"), string(element, "text"))
    if kind == "emoji":
        return _emoji(string(element, "unicode")) or f":{string(element, 'name')}:"
    return _other(element, kind)


def _typed(element: Shape) -> str:
    """What stands for the element in code."""
    kind = string(element, "type")
    if kind == "link":
        return string(element, "text") or string(element, "url")
    if kind == "user":
        return f"<@{string(element, 'user_id')}>"
    return f":{string(element, 'name')}:" if kind == "emoji" else _other(element, kind)


def _other(element: Shape, kind: str) -> str:
    if kind == "date":
        return string(element, "fallback") or _date(element.get("timestamp"))
    if kind in _PIECES:
        form, key = _PIECES[kind]
        return form.format(string(element, key)) if string(element, key) else ""
    return string(element, "text") or string(element, "fallback") or string(element, "url")


def _emoji(codes: str) -> str:
    """The emoji of code points in hexadecimal, joined by hyphens; nothing if they are none."""
    try:
        return "".join(chr(int(code, 16)) for code in codes.split("-")) if codes else ""
    except (ValueError, OverflowError):
        return ""


def _date(timestamp: object) -> str:
    if not isinstance(timestamp, int):
        return ""
    try:
        return datetime.fromtimestamp(timestamp, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
