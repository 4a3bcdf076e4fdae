"""The words for what is reviewed: diff, file, hunk, line, anchor. Frozen, no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

SUBMODULE = "160000"
SYMLINK = "120000"
FOLDER = "040000"
_REPLACED = "\ufffd"


class Side(StrEnum):
    """Which of the two files a line number belongs to; the values are GitHub's words."""

    OLD = "LEFT"
    NEW = "RIGHT"


class Status(StrEnum):
    """What happened to a file; WHOLE is a text that is there as it is, without an earlier one."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    RENAMED = "renamed"
    COPIED = "copied"
    MODE = "mode changed"
    WHOLE = "whole"


class Anchor(NamedTuple):
    """A place that a finding can stand at. `path` is the new name, also for the old side."""

    path: str
    side: Side
    line: int


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a hunk with its numbers: an added one has no old, a removed one no new number.

    `content` is what stands in the file, without the line feed; a carriage return is kept.
    """

    old: int | None
    new: int | None
    content: bytes
    has_newline: bool = True

    @property
    def is_context(self) -> bool:
        return self.old is not None and self.new is not None

    @property
    def text(self) -> str:
        """For showing: what is not UTF-8 is replaced."""
        return self.content.decode("utf-8", "replace").removesuffix("\r")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Neighbouring lines of a file's two versions.

    `is_exact` is False where its head was malformed or its lines were not as many as the head
    says: the numbers are then the best that can be had.
    """

    lines: tuple[Line, ...]
    section: str = ""
    old_start: int = 1
    new_start: int = 1
    is_exact: bool = True

    @property
    def added(self) -> int:
        return sum(line.old is None for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.new is None for line in self.lines)


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What a diff says about one file.

    `is_withheld` says that there are changes in it which could not be had, for their size, and
    `is_compared` that its hunks were made here: those of whoever has the change may be others.
    """

    old_path: str
    new_path: str
    status: Status
    hunks: tuple[Hunk, ...] = ()
    is_binary: bool = False
    old_mode: str = ""
    new_mode: str = ""
    is_withheld: bool = False
    is_compared: bool = False

    @property
    def path(self) -> str:
        """The name under which it is spoken of."""
        return self.old_path if self.status is Status.REMOVED else self.new_path

    @property
    def is_known_by_name(self) -> bool:
        """Whether its name is just this one: one that is no UTF-8 was only made to look right."""
        return _REPLACED not in self.path

    @property
    def is_submodule(self) -> bool:
        return SUBMODULE in (self.old_mode, self.new_mode)

    @property
    def is_all_there(self) -> bool:
        """The new file as a whole is in the hunks, not only what is around its changes."""
        return self.status in (Status.ADDED, Status.WHOLE) and not self.is_withheld

    def places(self) -> Iterator[tuple[Anchor, Line]]:
        """Each line with where a comment on it stands: a context line belongs to the new side."""
        for hunk in self.hunks:
            for line in hunk.lines:
                if line.new is not None:
                    yield Anchor(self.path, Side.NEW, line.new), line
                elif line.old is not None:
                    yield Anchor(self.path, Side.OLD, line.old), line


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as it was reviewed; `places` are all lines of its diff."""

    full_name: str
    number: int
    head_sha: str
    places: frozenset[Anchor] = frozenset()


@dataclass(frozen=True, slots=True)
class Diff:
    """The files of a diff, and the text around them that is no diff, such as commit messages.

    `missing_files` is how many more there are of which not even the names could be had.
    """

    files: tuple[FileDiff, ...] = ()
    rest: str = ""
    missing_files: int = 0
