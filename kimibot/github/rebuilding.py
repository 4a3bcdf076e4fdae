"""Pure: a diff put together from GitHub's list of files, for changes too large for one diff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kimibot.github.facts import FileShape
from kimibot.review.changes import FileDiff, Status
from kimibot.review.comparing import compare
from kimibot.review.diffs import whole
from kimibot.review.hunks import read_hunks

_STATUSES = {
    "added": Status.ADDED,
    "removed": Status.REMOVED,
    "renamed": Status.RENAMED,
    "copied": Status.COPIED,
}


def file_diff(shape: FileShape) -> FileDiff:
    """What the list says of a file. Without a patch it is binary, or only named anew, or withheld:
    the count of changed lines tells which."""
    status = _STATUSES.get(shape.status, Status.MODIFIED)
    patch = shape.patch or ""
    return FileDiff(
        old_path=shape.previous_filename or shape.filename,
        new_path=shape.filename,
        status=status,
        hunks=read_hunks(patch.encode("utf-8", "replace")),
        is_binary=not patch and not shape.changes and status is Status.MODIFIED,
        is_withheld=is_withheld(shape),
    )


def is_withheld(shape: FileShape) -> bool:
    """Whether there are changes whose text GitHub has left out."""
    return not shape.patch and shape.changes > 0


def completed(first: Sequence[FileShape], second: Sequence[FileShape]) -> list[FileShape]:
    """The first list with the patches that only the second one has."""
    patches = {shape.filename: shape for shape in second if shape.patch}
    return [patches.get(shape.filename, shape) if is_withheld(shape) else shape for shape in first]


def from_contents(shape: FileShape, old: bytes | None, new: bytes | None) -> FileDiff:
    """A file of the list from its two versions.

    Where they are too long to be compared the new one is read as it is; where one of them could
    not be had, the file is as it was listed.
    """
    file = file_diff(shape)
    needs_old, needs_new = file.status is not Status.ADDED, file.status is not Status.REMOVED
    if (needs_old and old is None) or (needs_new and new is None):
        return file
    hunks = compare(old or b"", new or b"")
    if hunks is None:
        return replace(whole(file.path, new), is_compared=True) if new is not None else file
    return FileDiff(
        old_path=file.old_path,
        new_path=file.new_path,
        status=file.status,
        hunks=hunks,
        is_binary=whole("", new or old or b"").is_binary,
        is_compared=True,
    )
