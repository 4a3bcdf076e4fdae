"""Between two released versions of a package every line is read, numbered and found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from kimibot.review.diffs import parse
from tests.review.releases import NAMES
from tests.review.repositories import Tree, judge, reapplied, versions


def test_there_are_a_dozen_at_least() -> None:
    assert len(NAMES) >= 12


@pytest.mark.processes
@pytest.mark.parametrize("name", NAMES)
def test_every_line_between_two_releases_has_its_place(
    name: str, released: dict[str, tuple[Tree, Tree]], tmp_path: Path
) -> None:
    of = versions(tmp_path / "repository", *released[name])
    diff = parse(of.diff())

    assert judge(of, diff) > 10
    assert all(hunk.is_exact for file in diff.files for hunk in file.hunks)
    if not any(file.is_binary for file in diff.files):
        reapplied(of, diff)
