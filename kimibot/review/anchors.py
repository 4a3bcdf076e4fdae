"""Pure: where findings can stand, and where in the lines that were shown a quote stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kimibot.review.changes import Anchor, FileDiff, Line, Side

NEAR_LINES = 3
_SHORTEST_PIECE = 4
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class _Shown:
    """A line of a file's side, and its text as it is compared."""

    number: int
    line: Line
    bare: str


class Anchors:
    """All lines of some files by their places; nothing else can be commented on."""

    def __init__(self, files: Iterable[FileDiff]) -> None:
        self._lines: dict[Anchor, Line] = {}
        self._sides: dict[tuple[str, Side], list[_Shown]] = {}
        for file in files:
            for anchor, line in file.places():
                self._lines[anchor] = line
                shown = _Shown(anchor.line, line, bare(line.text))
                self._sides.setdefault((file.path, anchor.side), []).append(shown)

    @property
    def paths(self) -> Sequence[str]:
        """The names of all files that have lines."""
        return list(dict.fromkeys(path for path, _ in self._sides))

    def line_at(self, anchor: Anchor) -> Line | None:
        return self._lines.get(anchor)

    def places_of(self, quote: str, path: str, side: Side) -> list[int]:
        """The numbers of the lines that are the quote; if there are none, of those that hold it.

        Blanks do not count, since a model copies them carelessly. Of several quoted lines the
        first counts.
        """
        wanted = bare(_first_line(quote))
        if not wanted:
            return []
        lines = self._sides.get((path, side), [])
        same = [one.number for one in lines if one.bare == wanted]
        if same or len(wanted) < _SHORTEST_PIECE:
            return same
        return [one.number for one in lines if wanted in one.bare]

    def find(self, quote: str, anchor: Anchor) -> Anchor | None:
        """Where the quote stands: at the anchor, else near it, else at the one place of its file.

        None where it stands nowhere, or in several places of which none is the nearest.
        """
        numbers = self.places_of(quote, anchor.path, anchor.side)
        distances = sorted((abs(number - anchor.line), number) for number in numbers)
        if not distances:
            return None
        nearest = distances[0]
        is_near = nearest[0] <= NEAR_LINES
        is_single = len(distances) == 1 or (is_near and nearest[0] < distances[1][0])
        return anchor._replace(line=nearest[1]) if is_single or nearest[0] == 0 else None


def commentable(files: Iterable[FileDiff]) -> frozenset[Anchor]:
    """The lines of a diff that surely stand in its hunks for those who have made it, too."""
    return frozenset(
        anchor
        for file in files
        if file.is_known_by_name and not file.is_compared
        if all(hunk.is_exact for hunk in file.hunks)
        for anchor, _ in file.places()
    )


def bare(text: str) -> str:
    """A line without its indent, and with one blank where there are several."""
    return _SPACE.sub(" ", text).strip()


def _first_line(quote: str) -> str:
    return next((line for line in quote.split("\n") if line.strip()), "")
