"""A patch of what a review suggests applies with git to the code that was reviewed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kimibot.review.changes import Anchor, FileDiff, Side
from kimibot.review.diffs import parse, whole
from kimibot.review.findings import Finding
from kimibot.review.pasted import Attached, read
from kimibot.review.patching import narrowed, patch
from kimibot.review.said import Severity
from tests.review.repositories import versions

LINES = [f"value_{n} = {n}" for n in range(40)]
CODE = "\n".join(LINES) + "\n"
NO_UTF8 = b'diff --git "a/a\\377.py" "b/a\\377.py"\n@@ -1 +1 @@\n-w\n+x\n'


def suggests(line: int, suggestion: str, path: str = "src/a.py") -> Finding:
    return Finding(Anchor(path, Side.NEW, line), Severity.MAJOR, "T", "", "", suggestion)


def applied(folder: Path, path: str, content: bytes, made: str) -> bytes:
    """The file as git leaves it."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    done = subprocess.run(
        command, input=made.encode(), cwd=folder, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target.read_bytes()


@pytest.mark.parametrize(
    "lines", [[1], [40], [1, 40], [10, 12, 30], [5, 12, 19], list(range(1, 41))]
)
@pytest.mark.parametrize("suggestion", ["new()", "one()\ntwo()\nthree()"])
@pytest.mark.parametrize("path", ["src/a.py", "a b/é.py"])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_each_suggestion_takes_the_place_of_its_line(
    lines: list[int], suggestion: str, path: str, end: str, tmp_path: Path
) -> None:
    content = (CODE.replace("\n", end) if end else CODE.rstrip("\n")).encode()
    made = patch([whole(path, content)], [suggests(n, suggestion, path) for n in lines])

    separator = end or "\n"
    wanted = [
        suggestion.replace("\n", separator) if number in lines else line
        for number, line in enumerate(LINES, 1)
    ]
    after = applied(tmp_path, path, content, made)
    assert after.decode() == separator.join(wanted) + end


def test_it_applies_to_the_new_version_of_a_diff_without_the_whole_file(tmp_path: Path) -> None:
    old = CODE.encode()
    new = CODE.replace("value_20 = 20", "value_20 = 21").replace("value_3 = 3\n", "").encode()
    diff = parse(versions(tmp_path / "r", {"src/a.py": old}, {"src/a.py": new}).diff())

    made = patch(diff.files, [suggests(20, "value_20 = 22"), suggests(4, "value_4 = 5")])

    after = applied(tmp_path / "other", "src/a.py", new, made).decode()
    assert after.count("value_20 = 22\n") == after.count("value_4 = 5\n") == 1


@pytest.mark.parametrize("path", ["Dockerfile", "bin/deploy", ".env", "src/snippet", "a (2).py"])
def test_a_file_can_have_any_name_that_is_its_own(path: str, tmp_path: Path) -> None:
    made = patch([whole(path, b"one\ntwo\n")], [suggests(2, "three", path)])

    assert applied(tmp_path, path, b"one\ntwo\n", made) == b"one\nthree\n"


def test_the_second_of_two_files_with_one_name_does_not_keep_the_patch_from_applying(
    tmp_path: Path,
) -> None:
    files = read([], [Attached("a.py", b"one\n"), Attached("a.py", b"two\n")]).files
    made = patch(files, [suggests(1, "three", file.path) for file in files])

    assert applied(tmp_path, "a.py", b"one\n", made) == b"three\n"


def test_an_indent_that_was_left_out_is_put_in() -> None:
    made = patch([whole("a.py", b"def f():\n    return 1\n")], [suggests(2, "return 2", "a.py")])

    assert "\n+    return 2\n" in made


@pytest.mark.parametrize(
    ("file", "finding"),
    [
        (whole("snippet", b"x\n"), suggests(1, "y", "snippet")),
        (whole("snippet 12", b"x\n"), suggests(1, "y", "snippet 12")),
        (whole("src/a.py", b"x\n"), suggests(1, "")),
        (whole("src/a.py", b"x\n"), suggests(1, "x")),
        (whole("src/a.py", b"x\nz\n"), suggests(1, "y\nz")),
        (whole("src/a.py", b"x\n"), suggests(7, "y")),
        (parse(NO_UTF8).files[0], suggests(1, "y", "a\ufffd.py")),
    ],
)
def test_where_nothing_can_be_patched_there_is_none(file: FileDiff, finding: Finding) -> None:
    assert patch([file], [finding]) == ""


def test_a_patch_can_be_narrowed_to_some_of_its_findings(tmp_path: Path) -> None:
    code = CODE.replace("\n", "\r\n").removesuffix("\r\n").encode()
    findings = [suggests(number, f"new_{number}()\nmore()") for number in (3, 5, 20, len(LINES))]
    made = patch([whole("src/a.py", code)], findings)

    assert narrowed(made, findings) == made
    for left in (findings[:1], findings[1:3], findings[3:]):
        assert narrowed(made, left) == patch([whole("src/a.py", code)], left)
    assert narrowed(made, []) == ""
    assert narrowed("", findings) == ""


def test_a_narrowed_patch_has_nothing_that_the_whole_one_had_not() -> None:
    code = b"a\nb\nc\nd\ne\nf\n"
    repeating = suggests(4, "d2\ne", "a.py")
    made = patch([whole("a.py", code)], [suggests(1, "a2", "a.py"), repeating])

    assert narrowed(made, [repeating]) == ""
