"""Pure: divides what is to be reviewed into passes that each fit one request, and says what of each
file was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kimibot.estimating import tokens
from kimibot.review.attributes import Attributes
from kimibot.review.changes import FileDiff, Hunk, Line
from kimibot.review.numbered import LONGEST_LINE, show_hunk
from kimibot.review.sifting import Reason, is_only_blanks, reason_to_skip

MOST_FILES = 60
"""Of a pass: with more, a model looks at each of them less."""

_HEADING_TOKENS = 20
_NUMBER_TOKENS = 3
_LOOK_BACK = 0.25


class Look(StrEnum):
    """How much of a file is read."""

    WHOLE = "whole"
    PARTLY = "partly"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of one file, how much is read, and why not all: a few words, or "".

    `hunks` counts all of the file's, `read_hunks` those that are read.
    """

    file: FileDiff
    look: Look
    hunks: int
    read_hunks: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a pass may be, and how many there may be."""

    pass_tokens: int
    passes: int
    pass_files: int = MOST_FILES


@dataclass(frozen=True, slots=True)
class Selection:
    """The passes, each a part of the files with a part of their hunks; and all files' coverage."""

    passes: tuple[tuple[FileDiff, ...], ...]
    coverage: tuple[Coverage, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A hunk, or as much of it as fits: of which file, and the how many-th of its hunks."""

    file: int
    hunk_number: int
    hunk: Hunk
    tokens: int


def select(files: Sequence[FileDiff], limits: Limits, attributes: str = "") -> Selection:
    """All that needs reading, in its order, however large a file is.

    `attributes` is the text of `.gitattributes` before the change: its author must not be able to
    hide a file.
    """
    found = Attributes(attributes)
    reasons = [reason_to_skip(file, found) for file in files]
    pieces = [
        piece
        for number, file in enumerate(files)
        if reasons[number] is None
        for piece in _pieces(number, file, limits.pass_tokens)
    ]
    packed = list(_packed(pieces, limits))
    read, left = packed[: limits.passes], packed[limits.passes :]
    unread = {(piece.file, piece.hunk_number) for one in left for piece in one}
    return Selection(
        passes=tuple(_pass(one, files) for one in read),
        coverage=tuple(
            _coverage(file, reasons[number], {n for f, n in unread if f == number})
            for number, file in enumerate(files)
        ),
    )


def _pieces(number: int, file: FileDiff, most_tokens: int) -> Iterator[_Piece]:
    for hunk_number, hunk in enumerate(file.hunks):
        if not is_only_blanks(file, hunk):
            for part in _parts(hunk, most_tokens - _HEADING_TOKENS):
                yield _Piece(number, hunk_number, part, tokens(show_hunk(part)))


def _parts(hunk: Hunk, most_tokens: int) -> Iterator[Hunk]:
    """The hunk, or pieces of it that are each small enough, cut where a block begins."""
    if tokens(show_hunk(hunk)) <= most_tokens:
        yield hunk
        return
    begin, lines = 0, hunk.lines
    while begin < len(lines):
        end = _end_of_part(lines, begin, most_tokens)
        yield _part(hunk, begin, end)
        begin = end


def _end_of_part(lines: Sequence[Line], begin: int, most_tokens: int) -> int:
    left, end = most_tokens - 2 * _HEADING_TOKENS, begin
    while end < len(lines):
        left -= tokens(lines[end].text[:LONGEST_LINE]) + _NUMBER_TOKENS
        if left < 0 and end > begin:
            break
        end += 1
    if end == len(lines):
        return end
    first = end - round((end - begin) * _LOOK_BACK)
    return max(range(max(first, begin + 1), end + 1), key=lambda at: (_is_block_end(lines, at), at))


def _is_block_end(lines: Sequence[Line], at: int) -> int:
    """How well a piece may end before a line: best before one without indent after a blank one."""
    before, after = lines[at - 1].content.strip(), lines[at].content
    return (not before) + (bool(after.strip()) and not after[:1].isspace())


def _part(hunk: Hunk, begin: int, end: int) -> Hunk:
    lines = hunk.lines[begin:end]
    old = next((line.old for line in lines if line.old), hunk.old_start)
    new = next((line.new for line in lines if line.new), hunk.new_start)
    return replace(hunk, lines=lines, old_start=old, new_start=new)


def _packed(pieces: Sequence[_Piece], limits: Limits) -> Iterator[list[_Piece]]:
    packed, sizes = list[_Piece](), Counter[int]()
    for piece in pieces:
        size = piece.tokens + (0 if piece.file in sizes else _HEADING_TOKENS)
        is_full = sizes.total() + size > limits.pass_tokens
        has_files = piece.file not in sizes and len(sizes) == limits.pass_files
        if packed and (is_full or has_files):
            yield packed
            packed, sizes, size = [], Counter(), piece.tokens + _HEADING_TOKENS
        packed.append(piece)
        sizes[piece.file] += size
    if packed:
        yield packed


def _pass(pieces: Sequence[_Piece], files: Sequence[FileDiff]) -> tuple[FileDiff, ...]:
    hunks: dict[int, list[Hunk]] = {}
    for piece in pieces:
        hunks.setdefault(piece.file, []).append(piece.hunk)
    return tuple(replace(files[number], hunks=tuple(found)) for number, found in hunks.items())


def _coverage(file: FileDiff, reason: Reason | None, unread: set[int]) -> Coverage:
    total = len(file.hunks)
    if reason is not None:
        return Coverage(file, Look.SKIPPED, total, 0, reason)
    blank = sum(is_only_blanks(file, hunk) for hunk in file.hunks)
    read = total - blank - len(unread)
    if read == 0:
        return Coverage(file, Look.SKIPPED, total, 0, Reason.TOO_MUCH if unread else Reason.BLANKS)
    if unread:
        return Coverage(file, Look.PARTLY, total, read, Reason.TOO_MUCH)
    look = Look.PARTLY if blank else Look.WHOLE
    return Coverage(file, look, total, read, Reason.BLANKS if blank else "")
