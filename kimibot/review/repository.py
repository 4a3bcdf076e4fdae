"""The words for what else is in the repository of a change. Frozen, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from kimibot.review.changes import Side


class EntryKind(StrEnum):
    """What stands under a name in a folder."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SUBMODULE = "submodule"


@dataclass(frozen=True, slots=True)
class Entry:
    """`size_bytes` is 0 for all but files."""

    name: str
    kind: EntryKind
    size_bytes: int = 0


class Repository(Protocol):
    """The two commits of a change, and nothing else. Both raise GitHubError."""

    async def folder(self, path: str, side: Side) -> Sequence[Entry]:
        """What is in a folder; "" is the root. Raises NotThere where there is none: a link to one
        is not followed."""

    async def file(self, path: str, side: Side) -> bytes:
        """All of a file. Raises NotThere where there is none."""
