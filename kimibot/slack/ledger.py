"""Counts, line by line, what a part takes at most once it is rendered.

What was counted for the beginning of a line never exceeds what is counted for the whole line:
that is why a part which is full stays full, and ends at the same place, while the text grows.
"""

from __future__ import annotations

import re

from kimibot.slack import tables
from kimibot.slack.blocks import LONGEST_FENCE_LINE, Extent, Fence, Kind, Scanner
from kimibot.views import Style

MARKDOWN_BYTES = 9_000
"""Slack takes 12,000 characters of Markdown in a message; it was seen to count bytes."""

MAX_HEADINGS = 40
"""Each heading and rule becomes a block of its own in Slack, and a message has at most 50.
https://docs.slack.dev/reference/block-kit/blocks/markdown-block"""

PLAIN_CHARACTERS = 3_600
"""`chat.update` takes 4,000 characters of text, a note of our own among them:
https://docs.slack.dev/reference/methods/chat.update"""

_PLAIN_UNIT = 3
"""Plain text is counted in thirds of a character, so that wide letters weigh by their bytes."""

_MARGIN = 80
"""For a line of nothing but fence marks, which is counted only after it is known what it is."""

_SPECIAL = re.compile(r"[<>&`~*!]")
_MARKDOWN_EXTRA = {"<": 3, "&": 4, "`": 3, "~": 2, "*": 1, "!": 4}
_PLAIN_EXTRA = {"<": 9, ">": 9, "&": 12}
_BACKTICKS = re.compile(r"`+")
_HEADING = re.compile(
    r"(?:[ >]|[-*+] |\d{1,9}[.)] ){0,40}(?:#|=|([-*_])[ \t]*\1[ \t]*\1)|-{1,2}[ \t]*[\r\n]"
)
_SHARE_OF_HEAD = 4


def is_heading(line: str) -> bool:
    """Whether Slack may make a block of its own of this line. Known from its first signs."""
    return _HEADING.match(line) is not None


class Ledger:
    """The size of a part so far, against `limit`, and what is open at its end."""

    def __init__(self, style: Style) -> None:
        self._is_markdown = style is Style.MARKDOWN
        self._extra = _MARKDOWN_EXTRA if self._is_markdown else _PLAIN_EXTRA
        self.limit = (MARKDOWN_BYTES if self._is_markdown else PLAIN_CHARACTERS * _PLAIN_UNIT) - (
            _MARGIN
        )
        self.last_kind = Kind.TEXT
        self.last_line = ""
        self.last_visible_line = ""
        self._scanner = Scanner()
        self._size = 0
        self._headings = 0
        self._longest_run = 2
        self._table: _Table | None = None
        self._has_table = False

    @property
    def size(self) -> int:
        """What the part takes if it ends here, with what closes an open fence."""
        return self._size + 2 * (self._longest_run - 2) + (self._table.extra if self._table else 0)

    @property
    def fence(self) -> Fence | None:
        return self._scanner.fence

    @property
    def reopening(self) -> str:
        """What the next part must begin with if this one ends here."""
        if self.fence is not None:
            return self.fence.opening_line
        head = self._table.head if self._table else ""
        return head if self._weigh(head) <= self.limit // _SHARE_OF_HEAD else ""

    @property
    def is_exact(self) -> bool:
        """Whether the next line stands in code that is shown as it is."""
        return self._is_markdown and self.fence is not None and self.fence.is_top_level

    def add(self, line: str, extent: Extent = Extent.WHOLE) -> bool:
        """Count one more line. False: it does not fit, and the ledger is of no more use."""
        fence = self.fence
        kind = self._scanner.feed(line, extent)
        if fence is not None and kind in (Kind.CODE, Kind.CLOSE):
            fits = self._add_code(line, kind, fence)
            self.last_visible_line = ""
        else:
            fits = self._add_other(line, kind)
        self.last_kind, self.last_line = kind, line
        return fits

    def leave_fence_before(self, line: str, extent: Extent) -> None:
        """Close a nested fence that the next line, which is to be cut, no longer stands in."""
        if self.fence and extent is Extent.WHOLE and not self.fence.holds(line):
            self._scanner.fence = None
            self._close_fence()

    def room_in_line(self, line: str) -> int:
        """How many letters of the line fit surely, were it cut off there: fewer than all.

        Less than what is left: the line may have been refused for what it opens.
        """
        reserve = tables.MOST_PADDING * 4 if self._table else LONGEST_FENCE_LINE + 16
        room, taken, run, longest = self.limit - self.size - reserve, 0, 0, self._longest_run
        extra = {} if self.is_exact else self._extra | ({"|": 2} if self._table else {})
        for at, letter in enumerate(line):
            run = run + 1 if letter == "`" else 0
            longest = max(longest, run) if self.fence else longest
            taken += self._letter_size(letter) + extra.get(letter, 0)
            if taken + 2 * (longest - self._longest_run) > room:
                return at
        return len(line)

    def _letter_size(self, letter: str) -> int:
        code = ord(letter)
        size = 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
        return size if self._is_markdown else max(_PLAIN_UNIT, size)

    def _add_code(self, line: str, kind: Kind, fence: Fence) -> bool:
        may_close = len(line) <= 24 and not line.strip(" >\t`~\r\n")
        if not may_close or kind is Kind.CODE:
            is_exact = self._is_markdown and fence.is_top_level
            self._size += _bytes(line) if is_exact else self._weigh(line)
            if "`" in line:
                longest = max(map(len, _BACKTICKS.findall(line)))
                self._longest_run = max(self._longest_run, longest)
        fits = may_close or self.size <= self.limit
        if kind is Kind.CLOSE:
            self._close_fence()
        return fits

    def _add_other(self, line: str, kind: Kind) -> bool:
        self._close_fence()
        visible = line.rstrip()
        self.last_visible_line = visible or self.last_visible_line
        fits = self._add_to_table(line, kind)
        if "```" in line or "~~~" in line:
            self._size += (min(len(line), LONGEST_FENCE_LINE) if self._is_markdown else 32) + 16
        self._size += self._weigh(visible)
        fits = fits and (not visible or self.size <= self.limit)
        self._size += self._weigh(line[len(visible) :])
        if kind is Kind.TEXT and self._is_markdown and is_heading(line):
            self._headings += 1
        return fits and self._headings <= MAX_HEADINGS

    def _close_fence(self) -> None:
        self._size, self._longest_run = self._size + 2 * (self._longest_run - 2), 2

    def _add_to_table(self, line: str, kind: Kind) -> bool:
        if kind is Kind.RULE:
            is_native = not self._has_table and self._scanner.columns <= tables.MAX_COLUMNS
            self._has_table = self._has_table or is_native
            self._table = _Table(self.last_line, line, self._is_markdown and not is_native)
        elif kind is Kind.ROW and self._table:
            self._table.add(line)
            return not self._is_markdown or self._table.rows <= tables.MAX_ROWS
        elif self._table:
            self._size, self._table = self.size, None
        return True

    def _weigh(self, text: str) -> int:
        size = _bytes(text) if self._is_markdown else _PLAIN_UNIT * len(text) + _astral(text)
        if _SPECIAL.search(text):
            size += sum(text.count(sign) * extra for sign, extra in self._extra.items())
        return size


class _Table:
    """The table that is open: `extra` is what drawing it in columns takes beyond its own text."""

    def __init__(self, head: str, rule: str, is_drawn: bool) -> None:
        self.head = head + rule
        self.rows = 1
        self.extra = 0
        self._is_drawn = is_drawn
        self._widths: list[int] = []
        self._bars = rule.count("|")
        if is_drawn:
            self.add(head)

    def add(self, row: str) -> None:
        self.rows += 1
        if self._is_drawn:
            tables.widen(self._widths, tables.cells(row))
            self._bars += row.count("|")
            lines = self.rows * sum(self._widths)
            self.extra = lines + 4 * len(self._widths) + 2 * self._bars + 16


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _astral(text: str) -> int:
    """How many letters take four bytes."""
    return 0 if text.isascii() else sum(letter > "\uffff" for letter in text)
