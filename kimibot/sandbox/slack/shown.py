"""What readers of a message get: its text, whom it pings, and what it would unfurl."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

MENTION = re.compile(
    r"<!(?:channel|here|everyone)(?:\|[^<>\n]*)?>"
    r"|<!subteam\^[A-Z0-9]+(?:\|[^<>\n]*)?>"
    r"|<@[UW][A-Z0-9]+(?:\|[^<>\n]*)?>"
)
PLAIN_BROADCAST = re.compile(r"(?<![\w<!])@(?:here|channel|everyone)\b")
ADDRESS = re.compile(r"https?://[^\s<>|)]+")
INTERACTIVE = ("actions", "context_actions")
CODE_SPAN = re.compile(r"(`[^`]+`|``[^`].*?``)")
TOKEN = re.compile(r"<(?P<target>[^<>|\n]+)(?:\|(?P<label>[^<>\n]*))?>")


@dataclass(frozen=True, slots=True)
class Shown:
    """A message as its readers see it: its text, and the labels of its buttons and menus.

    `pings` are the mentions that notify somebody, `addresses` what could be drawn as a preview.
    """

    text: str
    buttons: tuple[str, ...]
    pings: tuple[str, ...]
    addresses: tuple[str, ...]


def shown(message: dict[str, Any]) -> Shown:
    """Read a message as Slack does: its blocks, or its text where it has none."""
    blocks = message.get("blocks") or []
    texts = list(_block_texts(blocks)) if blocks else [("mrkdwn", str(message.get("text", "")))]
    texts += _attachment_texts(message)
    return Shown(
        text="\n".join(_readable(kind, text) for kind, text in texts),
        buttons=tuple(_button_labels(blocks)),
        pings=tuple(pings_of(message)),
        addresses=tuple(addresses_of(message)),
    )


def pings_of(message: dict[str, Any]) -> list[str]:
    """The mentions in a message that notify somebody.

    The text field counts even beside blocks, because it feeds notifications. Markdown blocks
    parse raw mentions outside code; a fence that is never closed does not count as code here,
    because whether it protects is not documented. In mrkdwn a mention counts in code too. See
    https://docs.slack.dev/messaging/formatting-message-text.
    """
    blocks = message.get("blocks") or []
    pings = [*MENTION.findall(message.get("text", "")), *_rich_mentions(blocks)]
    for kind, text in [*_block_texts(blocks), *_attachment_texts(message)]:
        pings += markdown_mentions(text) if kind == "markdown" else _mrkdwn_mentions(kind, text)
    return pings


def addresses_of(message: dict[str, Any]) -> list[str]:
    """The web addresses in a message, each once, in order."""
    texts = [*_block_texts(message.get("blocks") or []), *_attachment_texts(message)]
    everything = "\n".join([message.get("text", ""), *(text for _, text in texts)])
    return list(dict.fromkeys(ADDRESS.findall(everything)))


def markdown_mentions(source: str) -> list[str]:
    """The mentions in a markdown block that stand outside code spans and closed fences."""
    found = Counter(MENTION.findall(source))
    if found:
        for code in _code_in(source):
            found -= Counter(MENTION.findall(code))
    return sorted(found.elements())


def _mrkdwn_mentions(kind: str, text: str) -> list[str]:
    return MENTION.findall(text) if kind == "mrkdwn" else []


def plain_broadcasts(text: str) -> list[str]:
    """`@here` and its kin without brackets: they notify only with link_names or parse=full."""
    return PLAIN_BROADCAST.findall(text)


def unescape(text: str) -> str:
    """Entities decoded once, `&amp;` last."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _code_in(source: str) -> Iterator[str]:
    lines = source.split("\n")
    for token in MarkdownIt("commonmark").parse(source):
        if token.type == "fence" and _is_closed(token, lines):
            yield token.content
        for child in token.children or []:
            if child.type == "code_inline":
                yield child.content


def _is_closed(fence: Token, lines: list[str]) -> bool:
    if fence.map is None or fence.map[1] - fence.map[0] < 2:
        return False
    last = lines[fence.map[1] - 1].strip(" \t>")
    return len(last) >= len(fence.markup) and not last.strip(fence.markup[0])


def _block_texts(blocks: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """All texts of blocks in order, each with its kind: markdown, mrkdwn or plain_text."""
    for block in blocks:
        if block.get("type") == "markdown":
            yield "markdown", str(block.get("text", ""))
        elif block.get("type") == "rich_text":
            yield "plain_text", "\n".join(rich_lines(block))
        elif block.get("type") not in INTERACTIVE:
            yield from _nested_texts(block)


def _button_labels(blocks: list[dict[str, Any]]) -> Iterator[str]:
    for block in blocks:
        if block.get("type") in INTERACTIVE:
            yield from (_label_of(element) for element in block.get("elements") or [])


def _label_of(element: dict[str, Any]) -> str:
    """Of a menu, what stands in it before anything is chosen."""
    label = element.get("placeholder") or element
    return next((text for _, text in _nested_texts(label)), "")


def _nested_texts(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for item in value:
            yield from _nested_texts(item)
    elif isinstance(value, dict):
        if isinstance(value.get("text"), str):
            yield str(value.get("type", "plain_text")), value["text"]
            return
        for item in value.values():
            yield from _nested_texts(item)


def rich_lines(block: dict[str, Any]) -> Iterator[str]:
    """The plain text of a rich_text block, an element a line."""
    for element in block.get("elements", []):
        yield "".join(_rich_pieces(element))


def _rich_pieces(element: dict[str, Any]) -> Iterator[str]:
    for child in element.get("elements", []):
        yield from _rich_pieces(child)
    keys = ("text", "url", "user_id", "channel_id", "usergroup_id", "range", "name")
    yield from (str(element[key]) for key in keys[:1] if key in element)
    if "text" not in element:
        yield from (str(element[key]) for key in keys[1:] if key in element)


def _rich_mentions(blocks: list[dict[str, Any]]) -> list[str]:
    found = []
    stack: list[Any] = list(blocks)
    while stack:
        element = stack.pop()
        if isinstance(element, list):
            stack += element
        elif isinstance(element, dict):
            found += _rich_mention(element)
            stack += [value for value in element.values() if isinstance(value, dict | list)]
    return found


def _rich_mention(element: dict[str, Any]) -> list[str]:
    kind = element.get("type")
    if kind == "user" and "user_id" in element:
        return [f"<@{element['user_id']}>"]
    if kind == "usergroup" and "usergroup_id" in element:
        return [f"<!subteam^{element['usergroup_id']}>"]
    return [f"<!{element['range']}>"] if kind == "broadcast" and "range" in element else []


def _attachment_texts(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for attachment in message.get("attachments") or []:
        for name in ("pretext", "title", "text", "footer"):
            if isinstance(attachment.get(name), str):
                yield "mrkdwn", attachment[name]
        yield from _block_texts(attachment.get("blocks") or [])


def _readable(kind: str, text: str) -> str:
    if kind == "markdown":
        return _readable_markdown(text)
    return unescape(TOKEN.sub(_label, text)) if kind == "mrkdwn" else text


def _readable_markdown(source: str) -> str:
    """Entities decoded outside code; code is literal."""
    lines = source.split("\n")
    in_fences = {
        number
        for token in MarkdownIt("commonmark").parse(source)
        if token.type == "fence" and token.map is not None and _is_closed(token, lines)
        for number in range(*token.map)
    }
    return "\n".join(
        line if number in in_fences else _readable_line(line) for number, line in enumerate(lines)
    )


def _readable_line(line: str) -> str:
    pieces = CODE_SPAN.split(line)
    return "".join(
        piece if index % 2 else unescape(piece) for index, piece in enumerate(pieces) if piece
    )


def _label(match: re.Match[str]) -> str:
    target = match["target"]
    if match["label"]:
        return match["label"]
    return target if target[0] in "@#!" or ":" in target else match[0]
