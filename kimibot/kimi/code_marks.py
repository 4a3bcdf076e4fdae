"""Says at each place of a growing Markdown text whether it is code: pure, in linear time.

As spec.commonmark.org has fences and code spans, but without looking ahead: a backtick opens code
until its partner or the paragraph's end comes.
"""

from __future__ import annotations

import re

_PIECE = re.compile(r"\n|`+|~+|[^\n`~]+")
# What may stand before a fence on its line: blanks, quotes, bullets, numbers.
_PREFIX = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*")
_PREFIX_CHARACTERS = re.compile(r"[ \t>*+.)\d-]*")
_MAX_PREFIX = 40


class CodeMarks:
    """Fed with the text in pieces; asked only at the end of what was fed."""

    def __init__(self) -> None:
        self._fence = ("", 0)
        self._is_opening = False  # still on the fence's first line
        self._is_closing = False  # closed, if nothing else follows on this line
        self._span = 0  # the length of the run that opened inline code
        self._line: str | None = ""  # the line so far; None once a fence can't begin on it
        self._run = ("", 0)  # backticks or tildes, as long as there may be more

    def feed(self, text: str) -> None:
        for piece in _PIECE.findall(text):
            mark, length = self._run
            if piece[0] == mark:
                self._run = (mark, length + len(piece))
                continue
            self._end_run()
            if piece[0] in "`~":
                self._run = (piece[0], len(piece))
            elif piece == "\n":
                self._end_line()
            else:
                self._end_text(piece)

    def in_code(self) -> bool:
        """Whether what comes next is code, given that it is no backtick or tilde."""
        self._end_run()
        return bool(self._span or (self._fence[1] and not self._is_closing))

    def at_line_start(self) -> bool:
        """Whether there are only blanks before it on its line."""
        self._end_run()
        return self._line is not None and not self._line.strip()

    def _end_run(self) -> None:
        mark, length = self._run
        if not length:
            return
        if self._fence[1]:
            self._end_run_in_fence(mark, length)
        elif length >= 3 and self._line is not None and _PREFIX.fullmatch(self._line):
            self._fence, self._is_opening, self._span = (mark, length), True, 0
        elif mark == "`":
            self._toggle_span(length)
        self._run, self._line = ("", 0), None

    def _end_run_in_fence(self, mark: str, length: int) -> None:
        if self._is_opening and self._fence[0] == mark == "`":  # inline code that began its line
            self._span, self._fence, self._is_opening = self._fence[1], ("", 0), False
            self._toggle_span(length)
        elif self._line is not None and not self._line.strip(" \t>"):
            self._is_closing = mark == self._fence[0] and length >= self._fence[1]
        else:
            self._is_closing = False

    def _toggle_span(self, length: int) -> None:
        if not self._span:
            self._span = length
        elif self._span == length:
            self._span = 0

    def _end_text(self, text: str) -> None:
        if text.strip():
            self._is_closing = False
        if self._line is not None:
            line = (self._line + text)[:_MAX_PREFIX]
            self._line = line if _PREFIX_CHARACTERS.fullmatch(line) else None

    def _end_line(self) -> None:
        if self._is_closing:
            self._fence = ("", 0)
        if self._line is not None and not self._line.strip():
            self._span = 0
        self._is_opening, self._is_closing, self._line = False, False, ""
