"""Reads what was said from a message's blocks, attachments and text, as Markdown.

Blocks come first: `text` is often missing or shortened where there are blocks. The shapes are
those of https://docs.slack.dev/reference/block-kit/blocks and
https://docs.slack.dev/messaging/formatting-message-text. Nothing here raises, whatever the shape:
what can't be read is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kimibot.slack.mrkdwn import link, read_mrkdwn
from kimibot.slack.rich_elements import quoted, read_rich_text
from kimibot.slack.shapes import Shape, shape, shapes, string

MAX_CHARACTERS = 100_000
MAX_BLOCKS = 200
MAX_DEPTH = 3
MAX_ATTACHMENTS = 20
MAX_ATTACHMENT_CHARACTERS = 20_000
CUT = "[…]"

_LINE_END = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS = ("title", "subtitle", "text", "body", "description", "details", "output")
_CHILDREN = ("blocks", "child_blocks", "elements", "tasks")
_SILENT = ("actions", "context_actions", "input")


@dataclass(slots=True)
class Said:
    """What a message says, and whom its author's own words address."""

    text: str = ""
    mentions: set[str] = field(default_factory=set)


def read_said(message: Shape) -> Said:
    """The author's own words, byte-exact in code, then what is attached, quoted and bounded."""
    said = Said()
    own = read_blocks(shapes(message, "blocks", MAX_BLOCKS), said.mentions)
    own = own if own.strip() else read_mrkdwn(string(message, "text"), said.mentions)
    attached = _attached(message, 0)
    texts = [_shortened(own, MAX_CHARACTERS).strip("\n"), attached]
    said.text = _SURROGATE.sub("\ufffd", "\n\n".join(filter(None, texts)))
    return said


def read_blocks(blocks: Iterable[Shape], mentions: set[str], depth: int = 0) -> str:
    """The text of the blocks, each on lines of its own."""
    texts = [_block(block, mentions, depth) for block in blocks]
    return "\n\n".join(filter(None, texts))


def _block(block: Shape, mentions: set[str], depth: int) -> str:
    kind = string(block, "type")
    if depth > MAX_DEPTH or kind in _SILENT:
        return ""
    read = _KINDS.get(kind)
    return read(block, mentions) if read else _any_block(block, mentions, depth)


def _any_block(block: Shape, mentions: set[str], depth: int) -> str:
    """Blocks of kinds that came later: their words, then the blocks in them."""
    texts = [_words(block, key, mentions) for key in _WORDS]
    for key in _CHILDREN:
        texts.append(read_blocks(shapes(block, key, MAX_BLOCKS), mentions, depth + 1))
    return "\n".join(filter(None, texts))


def _words(source: Shape, key: str, mentions: set[str]) -> str:
    """A text object, a rich_text block or a string at a key."""
    words = shape(source, key)
    if not words:
        return string(source, key)
    if words.get("type") == "rich_text":
        return read_rich_text(words, mentions)
    text = string(words, "text")
    return read_mrkdwn(text, mentions) if words.get("type") == "mrkdwn" else text


def _section(block: Shape, mentions: set[str]) -> str:
    fields = [_words({"text": item}, "text", mentions) for item in shapes(block, "fields")]
    return "\n".join(filter(None, [_words(block, "text", mentions), *fields]))


def _header(block: Shape, mentions: set[str]) -> str:
    text = " ".join(_words(block, "text", mentions).split())
    return f"## {text}" if text else ""


def _context(block: Shape, mentions: set[str]) -> str:
    texts = []
    for element in shapes(block, "elements"):
        is_image = element.get("type") == "image"
        read = _image if is_image else _context_words
        texts.append(read(element, mentions))
    return " ".join(filter(None, texts))


def _context_words(element: Shape, mentions: set[str]) -> str:
    return _words({"text": element}, "text", mentions)


def _image(block: Shape, mentions: set[str]) -> str:
    names = (string(block, "alt_text"), _words(block, "title", mentions))
    name = next((name for name in names if name), "")
    return f"[image: {name}]" if name else ""


def _markdown(block: Shape, mentions: set[str]) -> str:
    text = string(block, "text")
    read_mrkdwn(text, mentions)
    return text


def _table(block: Shape, mentions: set[str]) -> str:
    value = block.get("rows")
    found = value[:1_000] if isinstance(value, list) else []
    rows = [row[:100] for row in found if isinstance(row, list)]
    if not rows:
        return ""
    lines = [_row(row, mentions) for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * max(1, len(rows[0])), *lines[1:]])


def _row(row: Sequence[object], mentions: set[str]) -> str:
    cells = [_cell(cell, mentions) if isinstance(cell, Mapping) else "" for cell in row]
    return "| " + " | ".join(cells) + " |"


def _cell(cell: Shape, mentions: set[str]) -> str:
    if cell.get("type") == "rich_text":
        text = read_rich_text(cell, mentions)
    else:
        value = cell.get("value")
        text = string(cell, "text") or ("" if value is None else str(value)[:100])
    return " ".join(text.split()).replace("|", "\\|")


_KINDS: dict[str, Callable[[Shape, set[str]], str]] = {
    "rich_text": read_rich_text,
    "section": _section,
    "header": _header,
    "context": _context,
    "image": _image,
    "markdown": _markdown,
    "table": _table,
    "data_table": _table,
    "divider": lambda _block, _mentions: "---",
}


def _attached(message: Shape, depth: int) -> str:
    """What is attached or forwarded, as quotes: others' words, never the author's own."""
    if depth >= MAX_DEPTH:
        return ""
    texts: list[str] = []
    left = MAX_ATTACHMENT_CHARACTERS
    for attachment in shapes(message, "attachments", MAX_ATTACHMENTS):
        text = _shortened(_attachment(attachment, depth), max(0, left))
        left -= len(text)
        if text:
            texts.append(quoted(f"{_origin(attachment)}\n{_LINE_END.sub(chr(10), text)}"))
    return "\n\n".join(texts)


def _origin(attachment: Shape) -> str:
    is_forwarded = attachment.get("is_share") is True or attachment.get("is_msg_unfurl") is True
    keys = ("author_name", "author_subname", "service_name", "channel_name", "author_id")
    name = next((string(attachment, key) for key in keys if string(attachment, key)), "")
    name = " ".join(name.split())[:80]
    if is_forwarded:
        return f"Forwarded from {name}:" if name else "Forwarded message:"
    return f"Attached, from {name}:" if name else "Attached:"


def _attachment(attachment: Shape, depth: int) -> str:
    others: set[str] = set()
    texts = [
        read_mrkdwn(string(attachment, "pretext"), others),
        _title(attachment),
        _content(attachment, others),
        *[_field(item, others) for item in shapes(attachment, "fields")],
    ]
    if not any(texts):
        texts = [read_mrkdwn(string(attachment, "fallback"), others)]
    texts += [_file(file) for file in shapes(attachment, "files", MAX_ATTACHMENTS)]
    texts += [_attached(attachment, depth + 1)]
    return "\n".join(filter(None, texts)).strip("\n")


def _title(attachment: Shape) -> str:
    title = read_mrkdwn(string(attachment, "title"), set())
    address = string(attachment, "title_link")
    return link(address, title) if address and title else title


def _content(attachment: Shape, others: set[str]) -> str:
    """The words of the attachment: its blocks, or a forwarded message's, or its text."""
    blocks = shapes(attachment, "blocks", MAX_BLOCKS)
    for forwarded in shapes(attachment, "message_blocks", MAX_ATTACHMENTS):
        blocks += shapes(shape(forwarded, "message"), "blocks", MAX_BLOCKS)
    text = read_blocks(blocks[:MAX_BLOCKS], others, 1)
    return text if text.strip() else read_mrkdwn(string(attachment, "text"), others)


def _field(item: Shape, others: set[str]) -> str:
    title, value = (read_mrkdwn(string(item, key), others) for key in ("title", "value"))
    return f"{title}: {value}" if title and value else title or value


def _file(file: Shape) -> str:
    name = string(file, "name") or string(file, "title")
    return f"[file: {' '.join(name.split())[:200]}]" if name else ""


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n{CUT}" if most else ""
