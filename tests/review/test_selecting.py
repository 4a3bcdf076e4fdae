"""What needs reading is divided into passes; what does not is named, with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kimibot.estimating import tokens
from kimibot.review.attributes import GENERATED, Attributes, matches
from kimibot.review.changes import FileDiff, Status
from kimibot.review.diffs import parse, whole
from kimibot.review.numbered import show_file
from kimibot.review.selecting import Limits, Look, Selection, select
from tests.review.repositories import Tree, versions

PLENTY = Limits(pass_tokens=60_000, passes=20)
LINES = [b"    value = compute(%d)\n" % n if n % 9 else b"\n" for n in range(1, 4_001)]
TEXT = b"".join(LINES)


def between(folder: Path, old: Tree, new: Tree) -> tuple[FileDiff, ...]:
    return parse(versions(folder / "repository", old, new).diff("-M")).files


def looks(selection: Selection) -> dict[str, tuple[str, str]]:
    return {one.file.path: (one.look, one.reason) for one in selection.coverage}


def shown_lines(selection: Selection, path: str) -> list[int]:
    files = [file for one in selection.passes for file in one if file.path == path]
    return [anchor.line for file in files for anchor, _ in file.places()]


def test_a_file_of_4000_lines_is_read_in_pieces_and_to_its_end(tmp_path: Path) -> None:
    files = between(tmp_path, {"a": b""}, {"a": b"", "long.py": TEXT, "last.py": b"x = 1 / 0\n"})
    limits = Limits(pass_tokens=8_000, passes=20)

    selection = select(files, limits)

    assert sorted(shown_lines(selection, "long.py")) == list(range(1, 4_001))
    assert 3 < len(selection.passes) < 15
    assert looks(selection)["long.py"] == (Look.WHOLE, "")
    assert looks(selection)["last.py"] == (Look.WHOLE, "")
    for one in selection.passes:
        assert tokens("\n".join(map(show_file, one))) <= limits.pass_tokens


def test_a_pass_ends_where_a_block_ends_if_that_is_near() -> None:
    code = b"".join(b"def f%d():\n    return %d\n\n" % (n, n) for n in range(400))

    selection = select([whole("a.py", code)], Limits(pass_tokens=2_000, passes=20))

    firsts = [one[0].hunks[0].lines[0].text for one in selection.passes]
    assert len(firsts) > 3
    assert all(first.startswith("def ") for first in firsts)


def test_200_small_files_are_read_in_passes_of_not_too_many() -> None:
    files = [whole(f"src/{n}.py", b"x = %d\n" % n) for n in range(200)]

    selection = select(files, PLENTY)

    assert [len(one) for one in selection.passes] == [60, 60, 60, 20]
    assert {look for look, _ in looks(selection).values()} == {Look.WHOLE}


def test_200_renames_cost_no_pass_and_are_all_named(tmp_path: Path) -> None:
    old = {f"a/{n}.py": b"%d\n" % n + TEXT[:300] for n in range(200)}
    files = between(tmp_path, old, {path.replace("a/", "b/"): old[path] for path in old})

    selection = select(files, PLENTY)

    assert selection.passes == ()
    assert len(selection.coverage) == 200
    assert set(looks(selection).values()) == {(Look.SKIPPED, "no change in its text")}


def test_what_is_beyond_the_most_passes_is_named(tmp_path: Path) -> None:
    files = between(tmp_path, {"a": b""}, {"a": b"", "long.py": TEXT, "zlast.py": b"x = 1\n"})

    selection = select(files, Limits(pass_tokens=8_000, passes=2))

    assert len(selection.passes) == 2
    assert looks(selection)["long.py"] == (Look.SKIPPED, "more than one review can hold")
    assert looks(selection)["zlast.py"] == (Look.SKIPPED, "more than one review can hold")


def test_of_a_file_that_is_read_in_part_its_hunks_are_counted(tmp_path: Path) -> None:
    new = LINES.copy()
    for at in range(0, 4_000, 40):
        new[at] = b"changed(%d)\n" % at
    files = between(tmp_path, {"a.py": TEXT}, {"a.py": b"".join(new)})

    (coverage,) = select(files, Limits(pass_tokens=2_000, passes=1)).coverage

    assert coverage.look is Look.PARTLY
    assert 0 < coverage.read_hunks < coverage.hunks == 100


def test_a_review_is_never_about_a_lock_file() -> None:
    lock = json.dumps({f"package-{n}": {"resolved": "x" * 60} for n in range(20_000)}, indent=1)
    files = [whole("web/package-lock.json", lock.encode()), whole("web/a.ts", b"let a = 1\n")]

    selection = select(files, PLENTY)

    assert [[file.path for file in one] for one in selection.passes] == [["web/a.ts"]]
    assert looks(selection)["web/package-lock.json"] == (Look.SKIPPED, "lock file")


@pytest.mark.parametrize(
    ("path", "content", "reason"),
    [
        ("go.sum", b"x\n", "lock file"),
        ("a/b/uv.lock", b"x\n", "lock file"),
        ("node_modules/x/index.js", b"x\n", "vendored"),
        ("a/vendor/b/c.go", b"x\n", "vendored"),
        ("api/v1/a.pb.go", b"x\n", "generated"),
        ("x_pb2.py", b"x\n", "generated"),
        ("a/__snapshots__/b.snap", b"x\n", "generated"),
        ("a.min.js", b"x\n", "generated"),
        ("app.js", b"var a=1;" * 300 + b"\n", "minified"),
        ("a.bin", b"\0\1", "binary"),
        ("vendored.py", b"x\n", ""),
        (".github/workflows/ci.yml", b"x: 1\n", ""),
        ("app.js", b"x();\n" * 30 + b"y" * 120 + b"\n", ""),
        ("docs/lock.md", b"x\n", ""),
    ],
)
def test_what_nobody_writes_by_hand_is_skipped_and_named(
    path: str, content: bytes, reason: str
) -> None:
    assert looks(select([whole(path, content)], PLENTY)) == {
        path: (Look.SKIPPED if reason else Look.WHOLE, reason)
    }


def test_generated_code_is_known_by_its_first_lines(tmp_path: Path) -> None:
    marked = b"// Code generated by tool. DO NOT EDIT.\npackage a\n"
    files = between(
        tmp_path, {"a.go": b"1\n"}, {"a.go": marked, "b.go": b"\n" * 30 + marked, "c.go": b"ok\n"}
    )

    found = looks(select(files, PLENTY))

    assert {path: reason for path, (_, reason) in found.items()} == {
        "a.go": "generated",
        "b.go": "",
        "c.go": "",
    }


def test_the_repository_has_the_last_word_on_what_is_generated() -> None:
    attributes = (
        "# a remark\n*.min.js -linguist-generated\nsrc/gen/** linguist-generated=true\n"
        "src/gen/hand.py linguist-generated=false\nvendor/** -linguist-vendored\n"
    )
    paths = ("a.min.js", "src/gen/x/y.py", "src/gen/hand.py", "vendor/a.py")

    found = looks(select([whole(path, b"x\n") for path in paths], PLENTY, attributes))

    assert [path for path, (look, _) in found.items() if look is Look.WHOLE] == [
        "a.min.js",
        "src/gen/hand.py",
        "vendor/a.py",
    ]


@pytest.mark.parametrize(
    ("glob", "matching", "others"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc"]),
        ("/a.py", ["a.py"], ["x/a.py"]),
        ("x/*.py", ["x/a.py"], ["x/y/a.py", "z/x/a.py"]),
        ("x/**", ["x/a", "x/y/z"], ["x", "y/x/z"]),
        ("**/x/**", ["x/a", "y/x/z"], ["xx/a"]),
        ("a?[0-9].[!c]", ["ab1.d"], ["ab1.c", "abx.d"]),
        ("[z-a]", [], ["z"]),
    ],
)
def test_patterns_mean_what_they_mean_to_git(
    glob: str, matching: list[str], others: list[str]
) -> None:
    assert all(matches(glob, path) for path in matching)
    assert not any(matches(glob, path) for path in others)


def test_no_pattern_takes_long_to_match() -> None:
    """Both could be written so that a careless matcher would never come to an end."""
    assert not matches("*a" * 2_000 + "b", "a" * 4_000)
    assert not matches("**/a/" * 50 + "b", "a/" * 90 + "c")
    assert not matches("**/x/**/y", "a/" * 2_000)


def test_an_attribute_can_be_taken_back() -> None:
    found = Attributes("*.py linguist-generated\nb.py !linguist-generated")

    assert found.says(GENERATED, "a.py") is True
    assert found.says(GENERATED, "b.py") is False
    assert found.says(GENERATED, "c.js") is None


@pytest.mark.parametrize(
    ("path", "old", "new", "is_blank"),
    [
        ("a.js", b"f( x );\n  y();\n", b"f( x );\n\ty();\n\n", True),
        ("a.js", b"one();\n", b"one();   \r\n", True),
        ("a.js", b"f('a b');\n", b"f('ab');\n", False),
        ("a.py", b"if x:\n    y()\n    z()\n", b"if x:\n    y()\nz()\n", False),
        ("a.py", b"x = 1\n", b"x = 1  \n\n", True),
        ("Makefile", b"a:\n\tb\n", b"a:\n    b\n", False),
        ("a.js", b"a();\nb();\n", b"b();\na();\n", False),
    ],
)
def test_hunks_that_change_only_blanks_are_not_read_unless_an_indent_has_a_meaning(
    path: str, old: bytes, new: bytes, is_blank: bool, tmp_path: Path
) -> None:
    files = between(tmp_path, {path: old}, {path: new})

    assert looks(select(files, PLENTY)) == {
        path: (Look.SKIPPED, "nothing but blanks changed") if is_blank else (Look.WHOLE, "")
    }


def test_of_a_file_with_both_only_the_other_hunks_are_read(tmp_path: Path) -> None:
    new = LINES.copy()
    new[0], new[3_000] = b"\tvalue = compute(1)\n", b"changed()\n"
    files = between(tmp_path, {"a.js": TEXT}, {"a.js": b"".join(new)})

    selection = select(files, PLENTY)

    assert looks(selection) == {"a.js": (Look.PARTLY, "nothing but blanks changed")}
    assert min(shown_lines(selection, "a.js")) > 2_900


def test_a_file_that_could_not_be_had_is_named() -> None:
    file = FileDiff("a", "a", Status.MODIFIED, is_withheld=True)

    assert looks(select([file], PLENTY)) == {"a": (Look.SKIPPED, "too large to be had")}
