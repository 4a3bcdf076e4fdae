"""Finds where a line that is too long for one part may be cut."""

from __future__ import annotations

import re
from enum import IntEnum

import regex

from kimibot.slack.inline import Span, code_spans, marks


class Rank(IntEnum):
    """How good a place for a cut is: the less, the better."""

    PARAGRAPH = 0
    LINE = 1
    SENTENCE = 2
    SPACE = 3
    WEAK_LINE = 4
    GRAPHEME = 5
    INSIDE = 6


_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？][”’」』）]*")
_SPACE = re.compile(r"\s+|[，、；：]")
_URL_SIGN = "[!-;=?-~]"
_TOKEN = re.compile(
    r"\[[^\[\]]*\](?:\([^()\s]*\))?|<[^<>\s]*>"
    rf"|https?://{_URL_SIGN}+|:[\w+'-]{{1,80}}:"
)
_OPEN_TOKEN = re.compile(
    r"(?:\[[^\[\]]*(?:\](?:\([^()\s]*)?)?|<[^<>\s]*"
    rf"|https?:/?/?{_URL_SIGN}*|:[\w+'-]{{0,80}})$"
)
_BACKTICKS = re.compile(r"`+")


def inner_cuts(line: str, end: int, blank: int, *, is_code: bool) -> list[tuple[int, Rank]]:
    """The places in `line` behind its first `blank` letters, up to `end`, in order.

    `end` is the first letter that no longer fits: nothing behind it is looked at. A place within a
    link, an emoji's name or an inline mark has the last rank. There is always one place: at worst
    within a grapheme.
    """
    seen = line[: end + 1]
    starts = [match.start() for match in regex.finditer(r"\X", seen)][1:]
    starts = [start for start in starts if blank < start <= end] or [max(1, end)]
    if is_code:
        return [(start, Rank.GRAPHEME) for start in starts]
    ranks = dict.fromkeys(_ends(_SPACE, seen), Rank.SPACE)
    ranks |= dict.fromkeys(_ends(_SENTENCE, seen), Rank.SENTENCE)
    inside = _inside(seen)
    return [(at, Rank.INSIDE if inside[at] else ranks.get(at, Rank.GRAPHEME)) for at in starts]


def _ends(pattern: re.Pattern[str], text: str) -> list[int]:
    return [match.end() for match in pattern.finditer(text)]


def _inside(seen: str) -> bytearray:
    """For each place, whether it is within something that must stay whole."""
    inside = bytearray(len(seen) + 1)
    for start, end in _whole(seen):
        if end > start + 1:
            inside[start + 1 : end] = b"\x01" * (end - start - 1)
    return inside


def _whole(seen: str) -> list[Span]:
    spans = code_spans(seen)
    pairs, opened = marks(seen, spans)
    whole = spans + [(opening[0], closing[1]) for opening, closing in pairs]
    whole += [match.span() for match in _TOKEN.finditer(seen)]
    still_open = [start for start, end in opened if end - start > 1]
    if match := _OPEN_TOKEN.search(seen):
        still_open.append(match.start())
    still_open += _loose_backticks(seen, spans)
    return whole + [(start, len(seen) + 1) for start in still_open]


def _loose_backticks(seen: str, spans: list[Span]) -> list[int]:
    """The last run of backticks that nothing has closed yet, if there is one."""
    last = spans[-1][1] if spans else 0
    behind = [run.start() for run in _BACKTICKS.finditer(seen, last)]
    return behind[-1:]
