"""Cuts a growing answer into parts that each fit one Slack message.

A cut depends on nothing that comes after the first sign that no longer fits, so it never moves
while the text grows. Sizes are upper bounds of what the rendered part can take.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kimibot.slack import tables
from kimibot.slack.blocks import Extent, Kind, blocks, lines, opening
from kimibot.slack.inline import BREAK
from kimibot.slack.inner_cuts import Rank, inner_cuts
from kimibot.slack.ledger import Ledger, is_heading
from kimibot.slack.markdown import show, show_plain
from kimibot.views import Cut, Part, Style

_WISHES: Sequence[tuple[tuple[Rank, ...], float]] = (
    ((Rank.SENTENCE,), 1 / 2),
    ((Rank.SPACE,), 1 / 2),
    ((Rank.PARAGRAPH, Rank.LINE), 1 / 8),
    ((Rank.SENTENCE, Rank.SPACE), 1 / 8),
    ((Rank.GRAPHEME,), 1 / 2),
    ((Rank.PARAGRAPH, Rank.LINE, Rank.SENTENCE, Rank.SPACE, Rank.WEAK_LINE), 0),
    ((Rank.GRAPHEME,), 0),
    ((Rank.INSIDE,), 0),
)
"""Which places are taken first, and which share of the limit the part must have there."""

_ANY_LINE = "x"
_LINE_SIGN = re.compile(r"[ \t>]*(?:[-*+#]+|\d{1,9}[.)])?\s*")
_WIDEST_INDENT = 100
_SPACE = re.compile(r"\s*")
_BLOCK_SIGN = re.compile(r"[#>*+=_|\d-]")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a part may end, and how much of the limit it takes until there."""

    cut: Cut
    rank: Rank
    size: float


def part(text: str, start: Cut, style: Style = Style.MARKDOWN) -> Part:
    """The part of `text` that begins at `start`, safe for Slack.

    A MARKDOWN body is at most 9,000 UTF-8 bytes with at most 40 headings and rules, for a
    `markdown` block; a PLAIN one is mrkdwn of at most 3,900 characters. The body is empty only
    where nothing can be seen yet. Once `end` is not None, a longer text with the same beginning
    gives the same part.
    """
    source = _source(text, start)
    end = _end(source, style)
    stop = len(text) if end is None else end.offset
    found = blocks(source.fed(stop))
    is_reopened = bool(source.reopen)
    if style is Style.PLAIN:
        return Part(show_plain(found, is_reopened).rstrip(), end)
    body = show(found, is_reopened).rstrip()
    if source.is_inner and not is_reopened and _BLOCK_SIGN.match(body):
        body = BREAK + body
    return Part(body, end)


def settled(text: str, start: Cut, style: Style = Style.MARKDOWN) -> Cut:
    """The last place at which the part that begins at `start` may end while the text grows.

    Between lines, or in prose between words; never within a link, a mark or a line of code. It is
    `start` where there is none yet. Meant for a text whose part is not full.
    """
    source, ledger = _source(text, start), Ledger(style)
    for line in lines(source.reopen):
        ledger.add(line)
    last, at = start, source.begin
    for line in lines(text, source.begin):
        if at > source.begin and _rank(ledger, line) is not None and not _is_head(ledger, line):
            last = Cut(at, ledger.reopening)
        if line[-1] not in "\r\n":
            return _settled_in(line, at, ledger) or last
        ledger.add(line, source.extent(at))
        at += len(line)
    is_place = at > source.begin and _rank(ledger, _ANY_LINE) is not None
    is_place = is_place and not _is_head(ledger, "")
    return Cut(at, ledger.reopening) if is_place else last


def _is_head(ledger: Ledger, line: str) -> bool:
    """Whether the last line may be the head of a table, given what is there of the next one."""
    is_text = ledger.last_kind is Kind.TEXT and "|" in ledger.last_line
    return is_text and tables.may_become_rule(line)


def _settled_in(line: str, at: int, ledger: Ledger) -> Cut | None:
    """The last place between the words of a line that still grows; none in code and tables."""
    if ledger.fence is not None or "|" in line or opening(line) is not None:
        return None
    sign = _LINE_SIGN.match(line)
    places = inner_cuts(line, len(line), sign.end() if sign else 0, is_code=False)
    words = [inner for inner, rank in places if rank in (Rank.SENTENCE, Rank.SPACE)]
    return Cut(at + words[-1]) if words else None


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a part's text begins; `is_inner` tells whether that is within a line."""

    text: str
    begin: int
    reopen: str
    is_inner: bool

    def fed(self, stop: int) -> Iterator[tuple[str, Extent]]:
        """The lines up to `stop`, each with how much of it there is."""
        for line in lines(self.reopen):
            yield line, Extent.WHOLE
        at = self.begin
        for line in lines(self.text, self.begin, stop):
            extent = self.extent(at)
            at += len(line)
            is_cut = extent is Extent.WHOLE and _is_inner(self.text, at)
            yield line, Extent.BEGINNING if is_cut else extent

    def extent(self, at: int) -> Extent:
        """How much there is of the line that begins at `at` and is not cut at its end."""
        return Extent.REST if self.is_inner and at == self.begin else Extent.WHOLE


def _source(text: str, start: Cut) -> _Source:
    """Blank lines before a part are left out, and an absurd indent; not within code."""
    is_inner = _is_inner(text, start.offset)
    space = _space(text, start.offset)
    first = max(space.rfind("\n"), space.rfind("\r")) + 1
    is_all = start.offset + len(space) == len(text)
    is_absurd = is_all or len(space) - first > _WIDEST_INDENT
    has_table_ended = (first > 0 or is_absurd) and opening(start.reopen) is None
    if start.reopen and not has_table_ended:
        return _Source(text, start.offset, start.reopen, is_inner)
    begin = start.offset + (len(space) if is_absurd else first)
    return _Source(text, begin, "", is_inner and first == 0)


def _is_inner(text: str, offset: int) -> bool:
    return 0 < offset < len(text) and text[offset - 1] not in "\r\n"


def _space(text: str, offset: int) -> str:
    match = _SPACE.match(text, offset)
    return match[0] if match else ""


def _end(source: _Source, style: Style) -> Cut | None:
    """Where the part ends, or None if all the rest fits."""
    text, ledger = source.text, Ledger(style)
    window = source.begin + 2 * ledger.limit
    window = min(len(text), window + len(_space(text, window)) + 1)
    for line in lines(source.reopen):
        ledger.add(line)
    places: list[_Place] = []
    at = source.begin
    for line in lines(text, source.begin, window):
        rank = _rank(ledger, line) if at > source.begin else None
        if rank is not None:
            places.append(_Place(Cut(at, ledger.reopening), rank, ledger.size))
        if not ledger.add(line, source.extent(at)):
            return _best(places, ledger.limit) or _inner_end(source, style, places, at, line)
        at += len(line)
    return None


def _rank(ledger: Ledger, line: str) -> Rank | None:
    """How good a place before this line is. Of the line itself, only whether it is blank counts."""
    if ledger.last_kind in (Kind.OPEN, Kind.RULE):
        return None
    if ledger.fence is not None:
        return Rank.LINE
    if not line.strip():
        return None
    if ledger.last_kind is Kind.ROW:
        return Rank.LINE
    if is_heading(ledger.last_visible_line):
        return Rank.WEAK_LINE
    if ledger.last_kind is Kind.CLOSE or not ledger.last_line.strip():
        return Rank.PARAGRAPH
    return Rank.WEAK_LINE if "|" in ledger.last_line else Rank.LINE


def _best(places: Sequence[_Place], limit: int) -> Cut | None:
    """The best place between lines, if one is good enough to leave the next line whole."""
    for rank in (Rank.PARAGRAPH, Rank.LINE):
        for place in reversed(places):
            if place.rank is rank and place.size >= limit / 2:
                return place.cut
    return None


def _inner_end(source: _Source, style: Style, places: Sequence[_Place], at: int, line: str) -> Cut:
    """The best place when the line at `at` does not fit, those within the line among them."""
    ledger = Ledger(style)
    for earlier, extent in source.fed(at):
        ledger.add(earlier, extent)
    ledger.leave_fence_before(line, source.extent(at))
    fits = ledger.room_in_line(line)
    found = list(places)
    if 0 < fits < len(line) or not places:
        found += _inner_places(ledger, at, line, min(fits, len(line) - 1))
    for ranks, share in _WISHES:
        for place in reversed(found):
            if place.rank in ranks and place.size >= share * ledger.limit:
                return place.cut
    return Cut(at + len(line))


def _inner_places(ledger: Ledger, at: int, line: str, fits: int) -> Iterator[_Place]:
    """The places in the line behind its indent; in code the indent counts."""
    fence = ledger.fence
    indent = 0 if fence else len(line) - len(line.lstrip())
    size_per_letter = (ledger.limit - ledger.size) / max(1, fits)
    for inner, rank in inner_cuts(line, fits, indent, is_code=fence is not None):
        cut = Cut(at + inner, fence.opening_line if fence else "")
        yield _Place(cut, rank, ledger.size + inner * size_per_letter)
