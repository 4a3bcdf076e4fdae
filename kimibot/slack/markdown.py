"""Turns the model's Markdown into what is safe in Slack: a `markdown` block, or plain `text`.

Three zones. In a fence that stands for itself and is closed, everything is exact. In other code
(inline, in lists and quotes) only what could ping is broken. In prose every `<` is escaped, unless
it opens a plain autolink. Fences are written anew: of backticks, longer than any run within, and
always closed, so that Slack sees the same fences as we do whatever the text around them is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import regex

from kimibot.fencing import fence_mark
from kimibot.slack import tables
from kimibot.slack.blocks import Block, Code, Extent, Fence, Prose, Table, blocks, lines
from kimibot.slack.inline import BREAK, break_pings, render_line

NOTIFICATION_CHARACTERS = 300
NOTHING = "…"

_LIST_LINE = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_STRAY_FENCE = re.compile(r"^( {0,3}(?:``(?=`)|~~(?=~)))", re.MULTILINE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_FLATTENED = [
    (re.compile(r"^[ \t>]*(?:`{3,}|~{3,}).*$", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*(?:#{1,6}[ \t]|>)[ \t]?", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*\|?[ \t]*:?-{3}[-:| \t]*$", re.MULTILINE), ""),
    (re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)"), r"\1"),
    (re.compile(rf"\*\*|~~|`|{BREAK}"), ""),
    (re.compile(r"[\x00-\x1f\x7f\s]+"), " "),
]


def render(text: str) -> str:
    """The text for a `markdown` block. Empty only if `text` is."""
    body = show(blocks((line, Extent.WHOLE) for line in lines(text)))
    return body or (NOTHING if text else "")


def plain(text: str) -> str:
    """The text for mrkdwn, with `&`, `<` and `>` escaped once and nothing else changed.

    https://docs.slack.dev/messaging/formatting-message-text#escaping
    """
    return _encodable(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def notification(text: str) -> str:
    """One line for notifications and screen readers: escaped, at most 300 characters.

    `text` is Markdown, also as `render` gives it.
    """
    flat = unescape(text[: 8 * NOTIFICATION_CHARACTERS])
    for pattern, instead in _FLATTENED:
        flat = pattern.sub(instead, flat)
    return _shortened(flat.strip()) or NOTHING


def unescape(text: str) -> str:
    """The text with Slack's three entities resolved once."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def show(found: Sequence[Block], is_reopened: bool = False) -> str:
    """The blocks as Markdown. What was reopened at their beginning and has nothing left is not
    shown, and neither is a fence that has just been opened at their end."""
    shown: list[str] = []
    has_table = False
    for at, block in enumerate(found):
        if _is_bare(block, is_reopened and at == 0):
            continue
        if isinstance(block, Prose):
            shown.append(_prose(block))
        elif isinstance(block, Code):
            shown.append(_code(block, found[:at]))
        else:
            is_native = not has_table and tables.fits(block.lines)
            has_table = has_table or is_native
            shown.append(_prose(block) if is_native else _drawn(block))
    return _encodable("".join(shown))


def show_plain(found: Sequence[Block], is_reopened: bool = False) -> str:
    """The blocks as mrkdwn, everything escaped; fences are kept, without their language, which
    Slack would show as code."""
    shown: list[str] = []
    for at, block in enumerate(found):
        if _is_bare(block, is_reopened and at == 0):
            continue
        if isinstance(block, Code):
            shown.append(_fenced(block, plain("".join(block.lines)), "```", "", ""))
        else:
            shown.append(plain("".join(block.lines)))
    return "".join(shown)


def _is_bare(block: Block, is_reopened: bool) -> bool:
    if isinstance(block, Code):
        return not block.lines and (is_reopened or not block.end)
    return is_reopened and isinstance(block, Table) and len(block.lines) == 2


def _prose(block: Prose | Table) -> str:
    return "".join(map(render_line, block.lines))


def _code(block: Code, before: Sequence[Block]) -> str:
    content, fence = "".join(block.lines), block.fence
    mark = fence_mark(content)
    if not fence.is_top_level:
        content = _STRAY_FENCE.sub(rf"\1{BREAK}", break_pings(content))
        prefixes = _nested_prefixes(fence, before)
        return _fenced(block, content, mark + fence.language, *prefixes)
    indent = fence.prefix if _keeps_indent(block, before) else ""
    return _fenced(block, content, mark + fence.language, indent, indent)


def _nested_prefixes(fence: Fence, before: Sequence[Block]) -> tuple[str, str]:
    """What stands before the fence's first and last line.

    A reader that knows fences but no lists must see both of them, or none.
    """
    if not fence.prefix.strip() and not _has_list(before):
        return "", ""
    closing = fence.closing_prefix
    if fence.prefix != closing and len(closing) <= 3 and ">" not in closing:
        return f"{fence.prefix.rstrip()}\n{closing}", closing
    return fence.prefix, closing


def _fenced(block: Code, content: str, opening: str, prefix: str, closing_prefix: str) -> str:
    if content and not content.endswith(("\n", "\r")):
        content += "\n"
    mark = opening[: len(opening) - len(opening.lstrip("`"))]
    end = "" if block.end and not block.end.endswith(("\n", "\r")) else "\n"
    return f"{prefix}{opening}\n{content}{closing_prefix}{mark}{end}"


def _keeps_indent(block: Code, before: Sequence[Block]) -> bool:
    """A fence in a list item is only safe where all its lines are: a line with less indent would
    end the item, and the fence with it. After nested code nothing is sure, so it stands alone."""
    indent = block.fence.prefix
    is_within = all(line.startswith(indent) or not line.strip() for line in block.lines)
    return is_within and not any(
        isinstance(other, Code) and not other.fence.is_top_level for other in before
    )


def _has_list(before: Sequence[Block]) -> bool:
    return any(
        _LIST_LINE.match(line)
        for block in before
        if isinstance(block, Prose)
        for line in block.lines
    )


def _drawn(block: Table) -> str:
    picture = tables.draw(block.lines)
    mark = fence_mark(picture)
    return f"{mark}\n{picture}\n{mark}\n"


def _shortened(text: str) -> str:
    escaped = plain(text)
    if len(escaped) <= NOTIFICATION_CHARACTERS:
        return escaped
    kept, length = [], 0
    for grapheme in regex.findall(r"\X", text):
        piece = plain(grapheme)
        length += len(piece)
        if length > NOTIFICATION_CHARACTERS - len(NOTHING):
            break
        kept.append(piece)
    return "".join(kept).rstrip() + NOTHING


def _encodable(text: str) -> str:
    """The text without halves of surrogate pairs, which UTF-8 does not have."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
