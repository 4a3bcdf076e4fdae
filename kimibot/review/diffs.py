"""Reads a diff byte by byte: git's own, a plain one, or one that went through many hands.

Nothing here raises: what can't be read of one file leaves the others as they are, and all that is
no part of a file is kept as text. Lines end at a line feed and at nothing else, since every other
separator may stand within a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kimibot.review.changes import Diff, FileDiff, Hunk, Line, Status
from kimibot.review.heads import GIT, Head, read_git_head, read_plain_head
from kimibot.review.hunks import begins_names, is_head, read_hunk

_MERGE = (b"diff --cc ", b"diff --combined ")
_COLOUR = re.compile(rb"\x1b\[[\d;]*m")
_COLOURED = re.compile(rb"^\x1b\[[\d;]*m(?:diff --git |@@ -)", re.MULTILINE)
_NAMING = re.compile(rb"^(?:diff --git |--- [^\n]*\n\+\+\+ ).*$", re.MULTILINE)
_SIGNS = re.compile(rb"^(?:diff --git \S|--- [^\n]*\n\+\+\+ [^\n]*\n@@|@@ -\d+(?:,\d+)? \+\d+)",
                    re.MULTILINE)  # fmt: skip


def parse(data: bytes) -> Diff:
    """The files of a diff in their order, and what else stands around them."""
    return _Reader(_lines(data)).read()


def is_diff(data: bytes) -> bool:
    """Whether there is the head of a file or of a hunk in it."""
    return _SIGNS.search(_plain(data)) is not None


def whole(path: str, data: bytes) -> FileDiff:
    """A text that is to be reviewed as it is: all its lines are on the new side."""
    pieces = data.split(b"\n")
    has_newline = pieces[-1] == b""
    if has_newline:
        pieces.pop()
    lines = [Line(None, number, content) for number, content in enumerate(pieces, 1)]
    if lines and not has_newline:
        lines[-1] = Line(None, len(lines), pieces[-1], has_newline=False)
    hunks = (Hunk(tuple(lines), old_start=0),) if lines else ()
    return FileDiff(path, path, Status.WHOLE, hunks, is_binary=b"\0" in data)


class _Reader:
    """Goes through the lines once; `at` is the next one."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines
        self._at = 0
        self._head: Head | None = None
        self._hunks: list[Hunk] = []
        self._files: list[FileDiff] = []
        self._rest: list[bytes] = []

    def read(self) -> Diff:
        while self._at < len(self._lines):
            self._step()
        self._end_file()
        rest = b"\n".join(self._rest).decode("utf-8", "replace")
        return Diff(tuple(self._files), rest.strip("\r\n"))

    def _step(self) -> None:
        line = self._lines[self._at]
        if line.startswith(GIT):
            self._end_file()
            self._head, self._at = read_git_head(self._lines, self._at)
        elif begins_names(self._lines, self._at):
            self._end_file()
            self._head, self._at = read_plain_head(self._lines, self._at)
        elif is_head(line):
            self._read_hunk()
        elif line.startswith(_MERGE):
            self._keep_merge()
        else:
            self._keep()

    def _read_hunk(self) -> None:
        """A hunk without a file before it belongs to one without a name."""
        self._head = self._head or Head()
        previous = self._hunks[-1] if self._hunks else None
        hunk, self._at = read_hunk(self._lines, self._at, previous)
        self._hunks.append(hunk)

    def _keep_merge(self) -> None:
        """The diff of a merge has two old sides: it is no diff that can be numbered."""
        self._end_file()
        self._keep()
        while self._at < len(self._lines) and not self._lines[self._at].startswith(b"diff "):
            self._keep()

    def _keep(self) -> None:
        self._rest.append(self._lines[self._at])
        self._at += 1

    def _end_file(self) -> None:
        if self._head is not None:
            self._files.append(self._head.file(self._hunks))
        self._head, self._hunks = None, []


def _lines(data: bytes) -> list[bytes]:
    lines = _plain(data).split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return lines


def _plain(data: bytes) -> bytes:
    """Without colours, and without the carriage returns of a way that ends every line so.

    Those of a file's own lines are kept: git ends the lines with names by a line feed alone.
    """
    if _COLOURED.search(data):
        data = _COLOUR.sub(b"", data)
    naming = _NAMING.findall(data)
    if naming and all(line.endswith(b"\r") for line in naming):
        data = data.replace(b"\r\n", b"\n").removesuffix(b"\r")
    return data
