"""Folds long code: the reply shows its beginning, and the whole of it goes into a file.

What a reply has closed must not change. So a folded text only grows, save for the moment at which
a block of code becomes a long one; until then nothing is firm behind what would stay of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import regex

from kimibot import texts
from kimibot.slack.blocks import Fence, Kind, Scanner, lines
from kimibot.slack.mrkdwn import code_block
from kimibot.views import CodeFile, Folded

LONG_CHARACTERS = 8_000
"""Longer code is nothing to read in a thread, and takes more than one message."""

EXCERPT_LINES = 40
EXCERPT_CHARACTERS = 6_000
"""So much of long code stays in the reply; the characters are for lines that are absurdly long."""

_LONGEST_CLUSTER = 100
_OUR_LINE = re.compile(
    r"^[ >\t]*" + re.sub(r"\\\{\w+\\\}", r"\\d+", re.escape(texts.CODE_BELOW)) + r"[ \t]*\n?",
    re.MULTILINE,
)


@dataclass(slots=True)
class _Block:
    """A block of code that is still open, up to its last whole line."""

    fence: Fence
    start: int
    end: int
    excerpt_end: int
    lines: int = 0
    is_excerpt_full: bool = False

    def add(self, end: int) -> None:
        """One more whole line, which ends there."""
        self.lines, self.end = self.lines + 1, end
        fits = self.lines <= EXCERPT_LINES and end - self.start <= EXCERPT_CHARACTERS
        self.is_excerpt_full = self.is_excerpt_full or not fits
        if not self.is_excerpt_full:
            self.excerpt_end = end

    def excerpt(self, text: str) -> int:
        """Where what stays of it ends: within its first line only if that is too long."""
        limit = self.start + EXCERPT_CHARACTERS
        if self.excerpt_end > self.start or len(text) <= limit:
            return self.excerpt_end
        clusters = regex.finditer(r"\X", text, pos=limit - _LONGEST_CLUSTER, endpos=limit + 1)
        return [match.start() for match in clusters][-1]


class LongCode:
    """The long code of one text, which may still grow. Each line is read once."""

    def __init__(self) -> None:
        self._scanner = Scanner()
        self._at = 0
        self._shown: list[str] = []
        self._shown_length = 0
        self._kept_from = 0
        self._block: _Block | None = None
        self._files: list[CodeFile] = []

    def grown(self, text: str) -> Folded:
        """The text so far; it begins with the one of the call before."""
        for line in lines(text, self._at):
            if self._at + len(line) == len(text) and not line.endswith("\n"):
                break
            self._add(text, line)
        block, folds = self._block, len(self._files)
        if block is None:
            return Folded(self._joined(text, len(text)), folds=folds)
        end = block.excerpt(text)
        firm = self._shown_length + end - self._kept_from
        count = texts.code_so_far(block.lines) if block.lines > EXCERPT_LINES else ""
        if len(text) - block.start > LONG_CHARACTERS:
            return Folded(self._joined(text, end), firm, count, folds + 1)
        return Folded(self._joined(text, len(text)), firm, count, folds)

    def ended(self, text: str) -> Folded:
        """The whole text; nothing may come after it."""
        for line in lines(text, self._at):
            self._add(text, line)
        self._end_block(text, len(text))
        shown = self._joined(text, len(text))
        return Folded(shown, folds=len(self._files), files=tuple(self._files))

    def unfolded(self, folded: Folded) -> str:
        """The folded text, and behind it all of its long code: for where files have no place."""
        blocks = [
            f"{texts.code_title(file.number)}\n\n{code_block(file.code, file.language)}\n"
            for file in folded.files
        ]
        return "\n\n".join([folded.text, *blocks])

    def _add(self, text: str, line: str) -> None:
        kind = self._scanner.feed(line)
        end = self._at + len(line)
        if kind is not Kind.CODE:
            self._end_block(text, end if kind is Kind.CLOSE else self._at)
        if kind is Kind.OPEN and self._scanner.fence is not None:
            self._block = _Block(self._scanner.fence, end, end, end)
        elif self._block is not None:
            self._block.add(end)
        self._at = end

    def _end_block(self, text: str, end: int) -> None:
        """Of a block that is long, the excerpt is shown and what to look for below."""
        block, self._block = self._block, None
        if block is None or block.end - block.start <= LONG_CHARACTERS:
            return
        file = self._file(text, block)
        kept = text[self._kept_from : block.excerpt(text[: block.end])]
        prefix = block.fence.closing_prefix
        below = texts.CODE_BELOW.format(lines=block.lines, number=file.number)
        line_end = "" if kept.endswith("\n") else "\n"
        shown = f"{kept}{line_end}{prefix}{block.fence.mark}\n{prefix}{below}\n"
        self._shown.append(shown)
        self._shown_length += len(shown)
        self._kept_from = end
        self._files.append(file)

    def _file(self, text: str, block: _Block) -> CodeFile:
        code = lines(text, block.start, block.end)
        inner = "".join(map(block.fence.content, code))
        return CodeFile(len(self._files) + 1, block.fence.language, inner)

    def _joined(self, text: str, end: int) -> str:
        return "".join([*self._shown, text[self._kept_from : end]])


def without_our_lines(text: str) -> str:
    """What is the model's in a folded text."""
    return _OUR_LINE.sub("", text)
