"""Makes one line of the model's prose safe and readable in a Slack `markdown` block.

What Slack's block does with entities and control sequences is described at
https://docs.slack.dev/messaging/formatting-message-text and
https://docs.slack.dev/reference/block-kit/blocks/markdown-block: a raw `<!here>` or `<@U…>`
notifies, and an escaped one does not.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterator

BREAK = "\u200b"
"""A zero-width space: it stands between the signs of a token that must not be one."""

Span = tuple[int, int]

_NEEDS_WORK = re.compile(r"[<&`~*!]")
_BACKTICKS = re.compile(r"`+")
_PING = re.compile(r"<(?=[!@#])")
_PROSE = re.compile(
    r"(?P<autolink><(?:https?://|mailto:)[^\s<>|`]+>)"
    r"|(?P<entity>&(?=(?:lt|gt|amp|LT|GT|AMP|#0{0,6}60|#[xX]0{0,6}3[cC]);))"
    r"|(?P<break>(?<=\S)<br ?/?>)"
    r"|(?P<angle><)"
    r"|(?P<fence>`{3,}|~{3,})"
    r"|(?P<image>!\[(?P<alt>(?:[^\[\]]|\[[^\[\]]*\])*)\](?=[(\[]))"
    r"|(?P<target>\]\(<(?P<address>[^\s<>|]+)>)"
    r"|(?P<badge>\[!\[(?P<name>[^\[\]]*)\]\([^()\s]*\)\]\()"
)
_MARK = re.compile(r"(?<!\\)(?:\*{1,3}|~~)")
_IMAGE_NAME = "image"


def render_line(line: str) -> str:
    """The line with every `<` escaped or broken, unless it opens a plain autolink.

    Code spans keep their text; only what could ping is broken in them. No run of three or more
    backticks or tildes is left, so a line of prose never opens or closes a fence.
    """
    if not _NEEDS_WORK.search(line):
        return line
    spans = code_spans(line)
    gaps = [] if line.isascii() else _gaps(line, spans)
    return "".join(_pieces(line, spans, deque(gaps)))


def code_spans(line: str) -> list[Span]:
    """Where inline code stands, with its backticks: a run is closed by the next one as long."""
    runs = [match.span() for match in _BACKTICKS.finditer(line)]
    later: dict[int, deque[int]] = {}
    for start, end in runs:
        later.setdefault(end - start, deque()).append(start)
    spans: list[Span] = []
    for start, end in runs:
        same = later[end - start]
        while same and same[0] <= start:
            same.popleft()
        is_inside = bool(spans) and start < spans[-1][1]
        is_escaped = line[max(0, start - 2) : start] != "\\\\" and line[start - 1 : start] == "\\"
        if same and not is_inside and not is_escaped:
            spans.append((start, same[0] + end - start))
    return spans


def break_pings(code: str) -> str:
    """Code in which no `<!`, `<@` or `<#` is left."""
    return _PING.sub("<" + BREAK, code) if "<" in code else code


def marks(line: str, spans: list[Span]) -> tuple[list[tuple[Span, Span]], list[Span]]:
    """Pairs of emphasis marks outside code, and the ones that are still open at the end."""
    pairs: list[tuple[Span, Span]] = []
    opened: dict[str, Span] = {}
    for mark in _MARK.finditer(_masked(line, spans)):
        before = line[max(0, mark.start() - 1) : mark.start()]
        after = line[mark.end() : mark.end() + 1]
        if mark[0] in opened and not before.isspace():
            pairs.append((opened.pop(mark[0]), mark.span()))
        elif after and not after.isspace():
            opened[mark[0]] = mark.span()
    return pairs, list(opened.values())


def _masked(line: str, spans: list[Span]) -> str:
    """The line with its code blanked out, at the same length."""
    pieces, end = [], 0
    for start, stop in spans:
        pieces += [line[end:start], "x" * (stop - start)]
        end = stop
    return "".join([*pieces, line[end:]])


def _gaps(line: str, spans: list[Span]) -> list[int]:
    """Where a space is needed for Slack to see the mark that touches a wide character.

    CommonMark takes `**` next to an ideograph and punctuation for text
    (https://spec.commonmark.org/0.31.2/#left-flanking-delimiter-run), a zero-width space does not
    count as white space there, and an ordinary space is what was seen to work in Slack
    (https://github.com/seratch/ChatGPT-in-Slack/pull/121).
    """
    outer = [(opening[0], closing[1]) for opening, closing in marks(line, spans)[0]]
    outer += spans
    before = {start for start, _ in outer if start and _is_wide(line[start - 1])}
    behind = {end for _, end in outer if end < len(line) and _is_wide(line[end])}
    return sorted(before | behind)


def _is_wide(character: str) -> bool:
    is_wide = unicodedata.east_asian_width(character) in "WF"
    return is_wide and unicodedata.category(character)[0] in "LNP"


def _pieces(line: str, spans: list[Span], gaps: deque[int]) -> Iterator[str]:
    end = 0
    for start, stop in [*spans, (len(line), len(line))]:
        while gaps and gaps[0] <= start:
            yield _prose(line[end : gaps[0]]) + " "
            end = gaps.popleft()
        yield _prose(line[end:start])
        yield _code(line[start:stop])
        end = stop


def _prose(text: str) -> str:
    return _PROSE.sub(_safe, text)


def _safe(token: re.Match[str]) -> str:
    kind = token.lastgroup
    if kind in ("image", "badge"):
        name = token["alt"] if kind == "image" else token["name"]
        return f"[{_prose(name) or _IMAGE_NAME}]" + ("(" if kind == "badge" else "")
    if kind == "target":
        return f"]({_prose(token['address'])}"
    if kind == "break":
        return " "
    if kind == "autolink":
        return token[0].replace("&lt;", "&amp;lt;").replace("&gt;", "&amp;gt;")
    if kind == "fence":
        return BREAK.join(re.findall("..?", token[0]))
    return "&amp;" if kind == "entity" else "&lt;"


def _code(span: str) -> str:
    """A code span in which no run of backticks is longer than two."""
    if not span:
        return ""
    length = len(span) - len(span.lstrip("`"))
    inside = break_pings(span[length:-length])
    runs = {len(run) for run in _BACKTICKS.findall(inside)}
    if length > 2 or max(runs, default=0) > 2:
        length = 1 if runs <= {2} else 2
    if length == 2:
        inside = _BACKTICKS.sub(lambda run: BREAK.join(run[0]), inside)
    return "`" * length + inside + "`" * length
