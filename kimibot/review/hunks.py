"""Reads hunks: lines are counted as the head says, since every text may stand in a file.

Nothing here raises. A head without usable numbers, and one whose counts do not fit its lines, is
read as far as its lines go; the hunk then says that it is not exact.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kimibot.review.changes import Hunk, Line

_EXACT = re.compile(
    rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(?: (.*))?", re.DOTALL
)
_LOOSE = re.compile(rb"-\s*(\d{1,9})(?:,(\d{1,9}))?[\s,]*\+\s*(\d{1,9})(?:,(\d{1,9}))?")
_SIGNATURE = (b"-- ", b"--")


def is_head(line: bytes) -> bool:
    """Whether a hunk begins here; three signs are the head of a merge's diff, which is no hunk."""
    return line.startswith(b"@@") and not line.startswith(b"@@@")


def begins_names(lines: Sequence[bytes], at: int) -> bool:
    """Whether the two lines with a file's names stand here, with a hunk below them."""
    if at + 2 >= len(lines):
        return False
    return (
        lines[at].startswith(b"--- ")
        and lines[at + 1].startswith(b"+++ ")
        and is_head(lines[at + 2])
    )


def read_hunk(lines: Sequence[bytes], at: int, previous: Hunk | None = None) -> tuple[Hunk, int]:
    """The hunk whose head is at `at`, and where the next line after it is.

    After a head without numbers its lines are numbered on from the previous hunk.
    """
    body = _begun(lines[at], previous)
    at += 1
    while at < len(lines) and body.goes_on(lines, at):
        body.take(lines[at])
        at += 1
    return body.hunk(), at


def read_hunks(data: bytes) -> tuple[Hunk, ...]:
    """The hunks of a patch that has no names in it, as GitHub's list of files has them."""
    lines, hunks, at = data.split(b"\n"), list[Hunk](), 0
    while at < len(lines):
        if is_head(lines[at]):
            hunk, at = read_hunk(lines, at, hunks[-1] if hunks else None)
            hunks.append(hunk)
        else:
            at += 1
    return tuple(hunks)


@dataclass(slots=True)
class _Body:
    """The lines of a hunk so far. `old_left` and `new_left` are None where no count is known."""

    old: int
    new: int
    old_left: int | None
    new_left: int | None
    section: str
    is_exact: bool
    old_start: int = 0
    new_start: int = 0
    lines: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        """A side without a line is said to begin at the line before it."""
        self.old_start, self.new_start = self.old, self.new
        self.old += self.old_left == 0
        self.new += self.new_left == 0

    def goes_on(self, lines: Sequence[bytes], at: int) -> bool:
        line = lines[at]
        if line.startswith(b"\\ "):
            return bool(self.lines)
        if self.old_left is None or self.new_left is None:
            return self._goes_on_uncounted(lines, at)
        if self.old_left <= 0 and self.new_left <= 0:
            return _is_more(lines, at)
        if not line or line == b"\r":
            return True
        if line[:1] not in b" +-":
            return False
        is_last_pair = (self.old_left, self.new_left) == (1, 1)
        return is_last_pair or not begins_names(lines, at)

    def _goes_on_uncounted(self, lines: Sequence[bytes], at: int) -> bool:
        """A blank line belongs to the hunk if it goes on after it."""
        is_blank = not lines[at].strip()
        return _is_more(lines, at + 1 if is_blank else at)

    def take(self, line: bytes) -> None:
        if line.startswith(b"\\ "):
            self.lines[-1] = replace(self.lines[-1], has_newline=False)
            return
        sign = line[:1]
        old = None if sign == b"+" else self.old
        new = None if sign == b"-" else self.new
        # A blank line of context may have lost the blank that it begins with.
        content = line if line == b"\r" else line[1:]
        self.lines.append(Line(old, new, content))
        self._count(old is not None, new is not None)

    def _count(self, is_old: bool, is_new: bool) -> None:
        self.old += is_old
        self.new += is_new
        if self.old_left is not None and self.new_left is not None:
            self.old_left -= is_old
            self.new_left -= is_new

    def hunk(self) -> Hunk:
        is_counted = (self.old_left, self.new_left) == (0, 0)
        return Hunk(
            tuple(self.lines),
            self.section,
            self.old_start,
            self.new_start,
            self.is_exact and is_counted,
        )


def _begun(head: bytes, previous: Hunk | None) -> _Body:
    exact = _EXACT.fullmatch(head)
    if exact:
        section = (exact[5] or b"").decode("utf-8", "replace").strip()
        old, old_left, new, new_left = _numbers(exact)
        return _Body(old, new, old_left, new_left, section, is_exact=True)
    loose = _LOOSE.search(head[:200])
    if loose:
        old, old_left, new, new_left = _numbers(loose)
        return _Body(old, new, old_left, new_left, "", is_exact=False)
    old, new = _after(previous)
    return _Body(old, new, None, None, "", is_exact=False)


def _numbers(found: re.Match[bytes]) -> tuple[int, int, int, int]:
    """A count that is missing is one."""
    old, old_count, new, new_count = found.group(1, 2, 3, 4)
    return int(old), int(old_count or 1), int(new), int(new_count or 1)


def _after(previous: Hunk | None) -> tuple[int, int]:
    if previous is None:
        return 1, 1
    old = max((line.old for line in previous.lines if line.old), default=0)
    new = max((line.new for line in previous.lines if line.new), default=0)
    return old + 1, new + 1


def _is_more(lines: Sequence[bytes], at: int) -> bool:
    """Whether a line without a count still looks like one of a hunk."""
    if at >= len(lines) or begins_names(lines, at):
        return False
    line = lines[at]
    return line[:1] in (b" ", b"+", b"-") and line.rstrip(b"\r") not in _SIGNATURE
