"""Diffs that git makes are read as git means them, and broken ones as far as they go."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from kimibot.review.changes import Side, Status
from kimibot.review.diffs import is_diff, parse, whole
from kimibot.review.hunks import read_hunks
from tests.review.repositories import Tree, begin, judge, reapplied, versions, write

WORDS = b"the quick brown fox jumps over a lazy dog and runs on".split()


def text(count: int, seed: int = 1) -> list[bytes]:
    """So many lines of words."""
    luck = random.Random(seed)
    return [b"%d %s\n" % (n, b" ".join(luck.choices(WORDS, k=6))) for n in range(count)]


def changed(lines: list[bytes], *at: int) -> bytes:
    return b"".join(b"changed %d\n" % n if n in at else line for n, line in enumerate(lines))


UNUSUAL = ("日本.txt", 'qu"ote', "back\\slash", "a b/c d", "t\ta")
LONG = text(4_000)
MOVED = text(60)

CASES: dict[str, tuple[Tree, Tree]] = {
    "a file of 4,000 lines, changed in the middle": (
        {"long.py": b"".join(LONG)},
        {"long.py": changed(LONG, 3, 2_000, 2_001, 3_999)},
    ),
    "a new file of 4,000 lines": ({"a": b"a\n"}, {"a": b"a\n", "long.py": b"".join(LONG)}),
    "200 small files": (
        {f"src/{n}.py": changed(text(9, n)) for n in range(200)},
        {f"src/{n}.py": changed(text(9, n), n % 9) for n in range(200)},
    ),
    "renames, with and without changes": (
        {"a b.txt": changed(MOVED), "c.txt": changed(text(50, 2))},
        {"x/a b.txt": changed(MOVED, 7), "d.txt": changed(text(50, 2))},
    ),
    "deletions only": (
        {"a.txt": changed(MOVED), "gone.txt": b"one\ntwo\n", "empty": b""},
        {"a.txt": b"".join(MOVED[:20] + MOVED[30:])},
    ),
    "no newline at the end, on each side and on both": (
        {"a": b"one\ntwo", "b": b"one\ntwo\n", "c": b"one\ntwo", "d": b"x"},
        {"a": b"one\ntwo\n", "b": b"one\ntwo", "c": b"one\nthree", "d": b"x\ny"},
    ),
    "carriage returns": (
        {"a": b"one\r\ntwo\r\n\r\nthree\r\n", "b": b"one\ntwo\n"},
        {"a": b"one\r\n2\r\n\r\nthree\r\n", "b": b"one\r\ntwo\r\n"},
    ),
    "separators that are no ends of lines": (
        {"a": "x\u2028y\u0085z\x0c\x0b\x1c-\rw\n\u2028+\n".encode() * 3},
        {"a": "x\u2028y\u0085z\x0c\x0b\x1c-\rv\n\u2028+\n".encode() * 3},
    ),
    "binary files": (
        {"a.bin": bytes(range(256)), "b.bin": b"\0\1", "gone b/x.bin": b"\0"},
        {"a.bin": bytes(range(255)), "c.bin": b"\0\1", "new b/y.bin": b"\0\2"},
    ),
    "moved code": (
        {"a.py": b"".join(MOVED)},
        {"a.py": b"".join(MOVED[:10] + MOVED[30:50] + MOVED[10:30] + MOVED[50:])},
    ),
    "unusual names": (
        dict.fromkeys(UNUSUAL, b"1\n2\n3\n"),
        dict.fromkeys(UNUSUAL, b"1\n2!\n3\n"),
    ),
    "names that hold the sign of the new side": (
        {"x b/y": b"1\n", "x b/e": b"", "é b/é": b"1\n", "b/b/b": b"1\n", "a/a": b"1\n"},
        {"x b/y": b"2\n", "x b/f": b"", "é b/é": b"2\n", "b/b/b": b"2\n", "a/a": b"2\n"},
    ),
    "names that end in a blank": ({"a ": b"1\n", "b\n": b"1\n"}, {"a ": b"2\n", "b\n": b"2\n"}),
    "empty files that are filled, and full ones emptied": (
        {"a": b"", "b": b"1\n2\n"},
        {"a": b"1\n", "b": b"", "c": b""},
    ),
    "text that looks like a diff": (
        {"a.sql": b"-- x\n-- a/y\n++ b/y\n@@ -1 +1 @@\ndiff --git a/a b/a\n" * 3},
        {"a.sql": b"-- x\n++ b/y\n@@ -1,9 +1 @@\ndiff --git a/b b/b\n\\ No newline\n" * 3},
    ),
    "bytes that are not UTF-8": ({"a": b"\xff\xfe\n\xe9t\xe9\n"}, {"a": b"\xff\xfe\n\xe8\n"}),
    "nothing but blanks": ({"a": b"\n\n \n\t\nx\n"}, {"a": b"\n \n\t\n\nx\n\n"}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("options", [(), ("-M", "-C", "--find-copies-harder"), ("-U0",)])
def test_what_git_writes_is_read_line_by_line(
    case: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    of = versions(tmp_path / "repository", *CASES[case])
    diff = parse(of.diff(*options))

    judge(of, diff, *options)
    assert diff.rest == ""
    assert all(hunk.is_exact for file in diff.files for hunk in file.hunks)
    if not any(file.is_binary for file in diff.files):
        reapplied(of, diff)


@pytest.mark.parametrize("option", ["--no-prefix", "--src-prefix=i/", "--full-index", "--binary"])
@pytest.mark.parametrize(
    "case", ["unusual names", "binary files", "renames, with and without changes"]
)
def test_the_ways_to_write_names_make_no_difference(case: str, option: str, tmp_path: Path) -> None:
    of = versions(tmp_path / "repository", *CASES[case])
    options = [option, "--dst-prefix=w/"] if "src" in option else [option]

    judge(of, parse(of.diff(*options)))


def test_modes_links_and_submodules_are_told_from_changes(tmp_path: Path) -> None:
    of = begin(tmp_path / "repository")
    write(of.folder, {"run me.sh": b"1\n", "both.sh": b"1\n", "link": b"text\n"})
    of.commit("old")
    for name in ("run me.sh", "both.sh"):
        (of.folder / name).chmod(0o755)
    write(of.folder, {"both.sh": b"2\n"})
    (of.folder / "link").unlink()
    os.symlink("both.sh", of.folder / "link")
    nested = begin(of.folder / "nested")
    nested.commit("new")
    of.commit("new")

    diff = parse(of.diff())

    found = {(file.path, file.status): file for file in diff.files}
    assert found["run me.sh", Status.MODE].new_mode == "100755"
    assert found["both.sh", Status.MODIFIED].new_mode == "100755"
    assert {("link", Status.REMOVED), ("link", Status.ADDED)} <= found.keys()
    assert found["nested", Status.ADDED].is_submodule
    assert [file.path for file in diff.files if file.is_submodule] == ["nested"]


def test_a_patch_that_was_mailed_keeps_its_message_as_text(tmp_path: Path) -> None:
    of = versions(tmp_path / "repository", *CASES["moved code"])
    mail = of.git("format-patch", "--stdout", "old..new")

    diff = parse(mail)

    judge(of, diff)
    assert "Subject: [PATCH] new" in diff.rest


def test_a_diff_that_came_with_carriage_returns_everywhere_is_read_as_without(
    tmp_path: Path,
) -> None:
    of = versions(tmp_path / "repository", *CASES["renames, with and without changes"])

    assert parse(of.diff().replace(b"\n", b"\r\n")) == parse(of.diff())


def test_colours_are_left_out(tmp_path: Path) -> None:
    of = versions(tmp_path / "repository", *CASES["moved code"])

    assert parse(of.diff("--color=always")) == parse(of.diff())


def test_blanks_lost_at_the_ends_of_lines_change_no_number(tmp_path: Path) -> None:
    of = versions(tmp_path / "repository", {"a": b"1\n\n2\n\n3\n"}, {"a": b"1\n\n2!\n\n3\n"})
    stripped = b"\n".join(line.rstrip() for line in of.diff().split(b"\n"))

    judge(of, parse(stripped))


def test_the_hunks_alone_are_read_as_those_of_the_whole(tmp_path: Path) -> None:
    of = versions(tmp_path / "repository", *CASES["text that looks like a diff"])
    data = of.diff()
    hunks = data[data.index(b"@@") :].removesuffix(b"\n")

    assert read_hunks(hunks) == parse(data).files[0].hunks


PLAIN = b"""\
--- old/a.c\t2026-01-01 10:00:00.000000000 +0000
+++ new/a.c\t2026-01-02 10:00:00.000000000 +0000
@@ -1,2 +1,2 @@
 one
-two
+2
--- /dev/null
+++ b/new.c
@@ -0,0 +1 @@
+x
"""


def test_a_plain_diff_is_read_like_one_of_git() -> None:
    first, second = parse(PLAIN).files

    assert (first.old_path, first.path, first.status) == ("old/a.c", "new/a.c", Status.MODIFIED)
    assert (second.path, second.status) == ("new.c", Status.ADDED)
    assert [line.new for line in first.hunks[0].lines] == [1, None, 2]


def test_one_broken_file_leaves_the_others_as_they_are() -> None:
    cut = PLAIN.replace(b"-1,2 +1,2", b"-1,20 +1,20")

    first, second = parse(cut).files

    assert [line.content for line in first.hunks[0].lines] == [b"one", b"two", b"2"]
    assert not first.hunks[0].is_exact
    assert second == parse(PLAIN).files[1]


@pytest.mark.parametrize(
    ("head", "numbers"),
    [
        (b"@@ -7,2 +8,2", [8, None, 9]),
        (b"@@ -7,2 +8,2 @", [8, None, 9]),
        (b"@@-7,2+8,2@@", [8, None, 9]),
        (b"@@ -7,9 +8,9 @@", [8, None, 9]),
        (b"@@ -7 +8 @@", [8, None, 9]),
        (b"@@", [1, None, 2]),
        (b"@@ ... @@", [1, None, 2]),
    ],
)
def test_a_malformed_head_of_a_hunk_costs_no_line(head: bytes, numbers: list[int | None]) -> None:
    diff = parse(PLAIN.replace(b"@@ -1,2 +1,2 @@", head))

    hunk = diff.files[0].hunks[0]
    assert [line.new for line in hunk.lines] == numbers
    assert not hunk.is_exact
    assert len(diff.files) == 2


def test_the_diff_of_a_merge_is_kept_as_text() -> None:
    merge = b"diff --cc a.c\nindex 1,2..3\n--- a/a.c\n+++ b/a.c\n@@@ -1 -1 +1 @@@\n- x\n -y\n++z\n"

    diff = parse(merge + b"diff --git a/b b/b\nnew file mode 100644\n")

    assert [file.path for file in diff.files] == ["b"]
    assert "@@@ -1 -1 +1 @@@" in diff.rest


def test_prose_is_no_diff() -> None:
    prose = b"Hello\n---\n+++ so what\n- a list\n"

    assert not is_diff(prose)
    assert parse(prose).files == ()
    assert parse(prose).rest == prose.decode().strip()
    assert is_diff(PLAIN)


def test_whatever_comes_in_nothing_is_raised() -> None:
    luck = random.Random(7)
    pieces = [*PLAIN.split(b"\n"), b"diff --git ", b'diff --git "a', b"@@", b"\\ No", b"\0", b""]

    for _ in range(2_000):
        data = b"\n".join(luck.choices(pieces, k=12))
        for file in parse(data).files:
            list(file.places())


def test_a_text_without_an_earlier_version_is_all_on_the_new_side() -> None:
    file = whole("a.py", b"one\r\ntwo")

    assert [(anchor.side, anchor.line) for anchor, _ in file.places()] == [
        (Side.NEW, 1),
        (Side.NEW, 2),
    ]
    assert [line.has_newline for line in file.hunks[0].lines] == [True, False]
    assert whole("empty", b"").hunks == ()
