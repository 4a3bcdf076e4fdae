"""Pure: puts the beginning of the function or block around a change before its hunk."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kimibot.review.attributes import Attributes
from kimibot.review.changes import SYMLINK, FileDiff, Hunk, Line, Status
from kimibot.review.secrecy import may_hold_keys
from kimibot.review.sifting import reason_to_skip

MOST_ABOVE = 40
"""A beginning that is further away costs more to read than it tells."""

_CHANGED = (Status.MODIFIED, Status.RENAMED)
_CLOSING = re.compile(rb"[\s)\]}>,;:{]*$|(?:else|elif|except|finally|catch|case|default)\b")


def worth_widening(files: Sequence[FileDiff], attributes: str) -> list[int]:
    """Which of the files are read and have lines above a change, by their places in the list.

    What may hold keys is not read further than the change itself.
    """
    found = Attributes(attributes)
    return [
        at
        for at, file in enumerate(files)
        if file.status in _CHANGED
        and SYMLINK not in (file.old_mode, file.new_mode)
        and any(hunk.new_start > 1 for hunk in file.hunks)
        and reason_to_skip(file, found) is None
        and not may_hold_keys(file.path)
    ]


def widened(file: FileDiff, content: bytes) -> FileDiff:
    """The file with its hunks begun where the code around them begins, as far as that is near.

    `content` is the new version; where it is another one than that of the diff, nothing changes.
    The lines that are put before a hunk can be spoken of, but are no part of the diff.
    """
    lines = content.split(b"\n")
    if file.status not in _CHANGED or not _is_of(file, lines):
        return file
    hunks: list[Hunk] = []
    for hunk in file.hunks:
        after = max((line.new or 0 for line in hunks[-1].lines), default=0) if hunks else 0
        hunks.append(_widened(hunk, lines, after))
    return replace(file, hunks=tuple(hunks))


def _is_of(file: FileDiff, lines: Sequence[bytes]) -> bool:
    return all(
        hunk.is_exact and (line.new is None or lines[line.new - 1 : line.new] == [line.content])
        for hunk in file.hunks
        for line in hunk.lines
    )


def _widened(hunk: Hunk, lines: Sequence[bytes], after: int) -> Hunk:
    """`after` is the last line of the hunk before, which must not come twice."""
    first = next((line for line in hunk.lines if line.is_context), None)
    if first is None or first is not hunk.lines[0] or first.old is None or first.new is None:
        return hunk
    begin = _begin(lines, first.new, after)
    moved = first.old - first.new
    above = [Line(at + moved, at, lines[at - 1]) for at in range(begin, first.new)]
    return replace(
        hunk,
        section="" if above else hunk.section,
        lines=(*above, *hunk.lines),
        old_start=hunk.old_start - len(above),
        new_start=hunk.new_start - len(above),
    )


def _begin(lines: Sequence[bytes], first: int, after: int) -> int:
    """The number of the line, above the first one, that all below it are indented against.

    A line that only closes or continues something is no beginning.
    """
    code = (line for line in lines[first - 1 :] if line.strip())
    level = _indent(next(code, b""))
    begin = first
    for at in range(first - 1, max(after, first - 1 - MOST_ABOVE), -1):
        line = lines[at - 1]
        if level == 0:
            break
        if line.strip() and _indent(line) < level:
            level = _indent(line)
            begin = begin if _CLOSING.match(line.strip()) else at
    return begin


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())
