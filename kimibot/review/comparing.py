"""Pure: the hunks between two versions of a file, where nobody hands out a diff of them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from kimibot.review.changes import Hunk, Line

CONTEXT_LINES = 3
MOST_LINES = 20_000
"""Of both versions together: beyond that it would take too long."""

Opcode = tuple[str, int, int, int, int]


def compare(old: bytes, new: bytes) -> tuple[Hunk, ...] | None:
    """What has changed, with some lines around it; None where there is too much to compare."""
    before, after = _lines(old), _lines(new)
    if len(before) + len(after) > MOST_LINES:
        return None
    first, last = _same_ends(before, after)
    begin, end = max(0, first - CONTEXT_LINES), max(0, last - CONTEXT_LINES)
    middle = before[begin : len(before) - end], after[begin : len(after) - end]
    groups = SequenceMatcher(None, *middle).get_grouped_opcodes(CONTEXT_LINES)
    return tuple(_hunk([_moved(one, begin) for one in group], before, after) for group in groups)


def _lines(content: bytes) -> list[bytes]:
    """With their line feeds, so that a missing one at the end is a difference."""
    lines = [line + b"\n" for line in content.split(b"\n")]
    last = lines.pop().removesuffix(b"\n")
    return [*lines, last] if last else lines


def _same_ends(before: Sequence[bytes], after: Sequence[bytes]) -> tuple[int, int]:
    """How many lines are the same at the beginning, and at the end."""
    shorter = min(len(before), len(after))
    first = 0
    while first < shorter and before[first] == after[first]:
        first += 1
    last = 0
    while last < shorter - first and before[-1 - last] == after[-1 - last]:
        last += 1
    return first, last


def _moved(code: Opcode, by: int) -> Opcode:
    tag, old, old_end, new, new_end = code
    return tag, old + by, old_end + by, new + by, new_end + by


def _hunk(group: Sequence[Opcode], before: Sequence[bytes], after: Sequence[bytes]) -> Hunk:
    lines: list[Line] = []
    for tag, old, old_end, new, new_end in group:
        if tag == "equal":
            pairs = zip(range(old, old_end), range(new, new_end), strict=True)
            lines += [_line(a + 1, b + 1, before[a]) for a, b in pairs]
        else:
            lines += [_line(at + 1, None, before[at]) for at in range(old, old_end)]
            lines += [_line(None, at + 1, after[at]) for at in range(new, new_end)]
    first, end = group[0], group[-1]
    old_start = first[1] + (end[2] > first[1])
    return Hunk(tuple(lines), "", old_start, first[3] + (end[4] > first[3]))


def _line(old: int | None, new: int | None, content: bytes) -> Line:
    return Line(old, new, content.removesuffix(b"\n"), content.endswith(b"\n"))
