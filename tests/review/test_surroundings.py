"""A change is read with the beginning of what it stands in, under the right numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from kimibot.review.changes import FileDiff, Status
from kimibot.review.diffs import parse
from kimibot.review.surroundings import MOST_ABOVE, widened, worth_widening
from tests.review.repositories import versions

BODY = [b"        step_%d()\n" % number for number in range(12)]
CODE = b"".join(
    [b"import os\n\n\n", b"class Shop:\n", b"    def sell(self):\n", b"        if self.open:\n",
     *[b"    " + line for line in BODY], b"        else:\n", b"            wait()\n\n",
     b"    def buy(self):\n", *BODY]
)  # fmt: skip


def changed_file(folder: Path, new: bytes, *options: str) -> tuple[FileDiff, list[bytes]]:
    of = versions(folder / "repository", {"a.py": CODE}, {"a.py": new})
    (file,) = parse(of.diff(*options)).files
    return file, CODE.split(b"\n")


def firsts(file: FileDiff) -> list[str]:
    return [hunk.lines[0].text.strip() for hunk in file.hunks]


def test_a_hunk_begins_where_the_function_around_it_does(tmp_path: Path) -> None:
    new = CODE.replace(b"            step_9()", b"            step_nine()").replace(
        b"\n        step_8()", b"\n        step_eight()"
    )
    file, old = changed_file(tmp_path, b"# first\n" + new)

    wide = widened(file, b"# first\n" + new)

    assert firsts(file) == ["# first", "step_6()", "step_5()"]
    assert firsts(wide) == ["# first", "class Shop:", "def buy(self):"]
    assert [bool(hunk.section) for hunk in wide.hunks] == [False, False, False]
    for hunk in wide.hunks:
        for line in hunk.lines:
            if line.old is not None:
                assert old[line.old - 1] == line.content
            if line.new is not None:
                assert (b"# first\n" + new).split(b"\n")[line.new - 1] == line.content


@pytest.mark.parametrize(
    ("head", "is_worth"),
    [
        ("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -9 +9 @@\n-x\n+y\n", True),
        ("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n", False),
        ("diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -9 +9 @@\n-x\n+y\n", False),
        ("--- a/package-lock.json\n+++ b/package-lock.json\n@@ -9 +9 @@\n-x\n+y\n", False),
        ("diff --git a/a b/a\nindex 1..2 120000\n--- a/a\n+++ b/a\n@@ -9 +9 @@\n-x\n+y\n", False),
        ("--- a/gen/a.py\n+++ b/gen/a.py\n@@ -9 +9 @@\n-x\n+y\n", False),
        ("--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+x\n", False),
    ],
)
def test_only_what_is_read_and_has_lines_above_is_worth_widening(head: str, is_worth: bool) -> None:
    files = parse(head.encode()).files

    assert worth_widening(files, "gen/* linguist-generated") == ([0] if is_worth else [])


def test_no_line_comes_twice(tmp_path: Path) -> None:
    new = CODE.replace(b"    step_1()", b"    one()").replace(b"    step_10()", b"    ten()")
    file, _ = changed_file(tmp_path, new)

    numbers = [anchor.line for anchor, line in widened(file, new).places() if line.new]

    assert len(numbers) == len(set(numbers))
    assert numbers == sorted(numbers)


def test_a_beginning_that_is_far_away_is_left_there(tmp_path: Path) -> None:
    far = b"def f():\n" + b"    x()\n" * (MOST_ABOVE + 10)
    of = versions(tmp_path / "r", {"a.py": far}, {"a.py": far + b"    y()\n"})
    (file,) = parse(of.diff()).files

    assert widened(file, far + b"    y()\n") == file


def test_another_version_than_that_of_the_diff_changes_nothing(tmp_path: Path) -> None:
    new = CODE.replace(b"    step_9()", b"    step_nine()")
    file, _ = changed_file(tmp_path, new)

    assert widened(file, CODE) == file
    assert widened(file, b"") == file


def test_a_new_file_has_no_surroundings() -> None:
    (file,) = parse(b"--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+x\n").files

    assert file.status is Status.ADDED
    assert widened(file, b"x\n") == file


def test_a_hunk_without_lines_around_it_stays_as_it_is(tmp_path: Path) -> None:
    new = CODE.replace(b"    step_9()", b"    step_nine()")
    file, _ = changed_file(tmp_path, new, "-U0")

    assert widened(file, new) == file
