"""Where nobody hands out a diff, one of our own says the same of every line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kimibot.review.changes import Diff, FileDiff, Status
from kimibot.review.comparing import MOST_LINES, compare
from tests.review.repositories import reapplied, versions
from tests.review.test_diffs import LONG, changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"".join(LONG), changed(LONG, 0, 5, 2_000, 3_999)),
        (b"one\ntwo\n", b"one\ntwo"),
        (b"one\r\n", b"one\n"),
        (b"1\n2\n3\n", b"1\n3\n"),
        (b"1\n" * 50, b"1\n" * 49),
        (b"a\n\n\nb\n", b"a\n\nx\n\nb\n"),
        (b"", b"1\n"),
        (b"1\n", b""),
    ],
)
def test_what_is_compared_can_be_applied(old: bytes, new: bytes, tmp_path: Path) -> None:
    of = versions(tmp_path / "repository", {"a": old}, {"a": new})

    hunks = compare(old, new)

    assert hunks
    file = FileDiff("a", "a", Status.MODIFIED, hunks, old_mode="100644", new_mode="100644")
    reapplied(of, Diff((file,)))


def test_the_same_twice_has_no_hunks() -> None:
    assert compare(b"x\n", b"x\n") == ()


def test_too_much_is_not_compared() -> None:
    assert compare(b"x\n" * MOST_LINES, b"y\n") is None
