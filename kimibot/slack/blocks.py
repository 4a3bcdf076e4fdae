"""Cuts the model's Markdown, line by line, into prose, code in fences, and tables.

The rules are CommonMark's (https://spec.commonmark.org/0.31.2/#fenced-code-blocks) and GitHub's
for tables (https://github.github.com/gfm/#tables-extension-), each decided by the lines so far:
what follows never changes what a line was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from kimibot.slack.tables import cells, is_rule

LONGEST_FENCE_LINE = 500
"""A longer line neither opens nor closes a fence: nobody writes such a line for that."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_OPENING = re.compile(
    r"(?P<prefix>[ \t]*(?:(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])[ \t]*)*)"
    r"(?P<mark>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)"
)
_LANGUAGE = re.compile(r"[\w+#./:@-]{1,40}")
_QUOTE = re.compile(r"[ \t]*>")


class Extent(Enum):
    """How much of a line there is: all of it, its beginning, or its rest."""

    WHOLE = "whole"
    BEGINNING = "beginning"
    REST = "rest"


class Kind(Enum):
    """What a line is."""

    TEXT = "text"
    OPEN = "open"
    CODE = "code"
    CLOSE = "close"
    RULE = "rule"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class Fence:
    """What opened a fence: what stands before its mark, the mark itself, the language."""

    prefix: str
    mark: str
    language: str

    @property
    def is_top_level(self) -> bool:
        """Whether nothing but at most three spaces stand before it."""
        return self.prefix.strip(" ") == "" and len(self.prefix) <= 3

    @property
    def closing_prefix(self) -> str:
        """The prefix of the lines that follow: quote signs stay, list marks become spaces."""
        return re.sub(r"[^>\t]", " ", self.prefix)

    @property
    def opening_line(self) -> str:
        """A line that opens the same fence again, at the beginning of a part."""
        return f"{self.closing_prefix}{self.mark}{self.language}\n"

    def is_closed_by(self, line: str) -> bool:
        inner = self._inner(line)
        if inner is None or len(line) > LONGEST_FENCE_LINE:
            return False
        run = inner.strip()
        limit = 4 if self.is_top_level else len(self.prefix.expandtabs(4)) + 4
        is_near = _width(inner) < limit
        return is_near and len(run) >= len(self.mark) and not run.strip(self.mark[0])

    def content(self, line: str) -> str:
        """The line of code as it was meant, without what the quote or list item puts before it.

        https://spec.commonmark.org/0.31.2/#fenced-code-blocks
        """
        inner = self._inner(line)
        if not self.prefix or inner is None:
            return line
        indent = len(self.prefix.rpartition(">")[2])
        return inner[min(indent, len(inner) - len(inner.lstrip(" \t"))) :]

    def holds(self, line: str) -> bool:
        """Whether the line is still in the quote or list item that the fence stands in."""
        if self.is_top_level or not line.strip():
            return self.is_top_level or ">" not in self.prefix
        if ">" in self.prefix:
            return self._inner(line) is not None
        return _width(line) >= max(2, len(self.prefix.expandtabs(4)) - 3)

    def _inner(self, line: str) -> str | None:
        """The line without the quote signs of the fence, or None where it has not as many."""
        at = 0
        for _ in range(self.prefix.count(">")):
            sign = _QUOTE.match(line, at)
            if sign is None:
                return None
            at = sign.end()
        return line[at:]


@dataclass(slots=True)
class Scanner:
    """Says of each line what it is. Feed it all lines of a text, in order."""

    fence: Fence | None = None
    columns: int = 0
    _previous: str = ""

    def feed(self, line: str, extent: Extent = Extent.WHOLE) -> Kind:
        """What the line is. One that is cut off at either end opens and closes nothing."""
        if self.fence is not None:
            if extent is Extent.WHOLE and self.fence.is_closed_by(line):
                self.fence = None
                return Kind.CLOSE
            if extent is Extent.REST or self.fence.holds(line):
                return Kind.CODE
            self.fence = None
        kind = self._outside(line) if extent is Extent.WHOLE else Kind.TEXT
        if kind not in (Kind.RULE, Kind.ROW):
            self.columns = 0
        self._previous = line if kind is Kind.TEXT else ""
        return kind

    def _outside(self, line: str) -> Kind:
        self.fence = opening(line)
        if self.fence is not None:
            return Kind.OPEN
        if "|" not in line:
            return Kind.TEXT
        if self.columns:
            return Kind.ROW
        if line.endswith(("\n", "\r")) and "|" in self._previous and is_rule(line):
            columns = len(cells(line))
            if columns == len(cells(self._previous)):
                self.columns = columns
                return Kind.RULE
        return Kind.TEXT


@dataclass(slots=True)
class Prose:
    """Lines outside code and tables; the first and the last may be cut off."""

    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Code:
    """A fence and the lines in it; `end` is the line that closed it, if one did."""

    fence: Fence
    lines: list[str] = field(default_factory=list)
    end: str = ""


@dataclass(slots=True)
class Table:
    """The lines of a table: head, rule, rows."""

    lines: list[str]


Block = Prose | Code | Table


def opening(line: str) -> Fence | None:
    """The fence that the line opens, if it does."""
    if ("```" not in line and "~~~" not in line) or len(line) > LONGEST_FENCE_LINE:
        return None
    match = _OPENING.match(line.rstrip("\r\n"))
    if match is None:
        return None
    language = _LANGUAGE.match(match["info"].strip())
    return Fence(match["prefix"], match["mark"], language[0] if language else "")


def _width(line: str) -> int:
    """The columns before the line's first letter."""
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    return len(indent.expandtabs(4))


def lines(text: str, start: int = 0, end: int | None = None) -> Iterator[str]:
    """The lines of a text with their ends: LF, CRLF or CR."""
    for match in _LINE.finditer(text, start, len(text) if end is None else end):
        yield match[0]


def blocks(fed: Iterable[tuple[str, Extent]]) -> list[Block]:
    """The blocks of the lines, each given with how much of it there is."""
    scanner = Scanner()
    found: list[Block] = []
    for line, extent in fed:
        _add(found, scanner.feed(line, extent), line, scanner)
    return [block for block in found if not isinstance(block, Prose) or block.lines]


def _add(found: list[Block], kind: Kind, line: str, scanner: Scanner) -> None:
    last = found[-1] if found else None
    if kind is Kind.OPEN and scanner.fence is not None:
        found.append(Code(scanner.fence))
    elif kind is Kind.CLOSE and isinstance(last, Code):
        last.end = line
        found.append(Prose())
    elif kind is Kind.RULE and isinstance(last, Prose):
        found.append(Table([last.lines.pop(), line]))
    elif kind is Kind.TEXT and not isinstance(last, Prose):
        found.append(Prose([line]))
    elif last is not None:
        last.lines.append(line)
