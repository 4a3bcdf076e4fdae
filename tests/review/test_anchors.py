"""A quote is found at its line, near it, or at the one place where it stands."""

from __future__ import annotations

import pytest

from kimibot.review.anchors import Anchors
from kimibot.review.changes import Anchor, Side
from kimibot.review.diffs import parse, whole

CODE = b"def f(x):\n    y = x + 1\n    return y\n\n\ndef g(x):\n    y = x + 2\n    return y\n"
ANCHORS = Anchors([whole("a.py", CODE), whole("b.py", b"other\n")])


def at(line: int, path: str = "a.py") -> Anchor:
    return Anchor(path, Side.NEW, line)


@pytest.mark.parametrize(
    ("quote", "named", "found"),
    [
        ("    y = x + 1", 2, 2),
        ("y  =  x + 1", 2, 2),
        ("y = x + 1", 4, 2),
        ("y = x + 1", 8, 2),
        ("x + 2", 7, 7),
        ("return y", 3, 3),
        ("return y", 5, 3),
        ("return y", 99, None),
        ("def g(x):\n    y = x + 2", 1, 6),
        ("nowhere", 2, None),
        ("", 2, None),
        ("y", 2, None),
        ("other", 1, None),
    ],
)
def test_a_quote_decides_the_line(quote: str, named: int, found: int | None) -> None:
    expected = None if found is None else at(found)

    assert ANCHORS.find(quote, at(named)) == expected


def test_between_two_places_as_near_there_is_no_choice() -> None:
    anchors = Anchors([whole("a", b"x = 1\n---\nx = 1\n")])

    assert anchors.find("x = 1", Anchor("a", Side.NEW, 2)) is None
    assert anchors.find("x = 1", Anchor("a", Side.NEW, 3)) == Anchor("a", Side.NEW, 3)


def test_only_lines_of_the_diff_can_be_commented_on_each_on_its_side() -> None:
    diff = parse(b"--- a/x\n+++ b/x\n@@ -10,3 +20,3 @@\n same\n-old\n+new\n same 2\n")
    anchors = Anchors(diff.files)

    places = {place for file in diff.files for place, _ in file.places()}
    assert places == {
        Anchor("x", Side.NEW, 20),
        Anchor("x", Side.OLD, 11),
        Anchor("x", Side.NEW, 21),
        Anchor("x", Side.NEW, 22),
    }
    assert anchors.line_at(Anchor("x", Side.OLD, 10)) is None
    assert anchors.find("old", Anchor("x", Side.NEW, 21)) is None
    assert anchors.find("old", Anchor("x", Side.OLD, 21)) == Anchor("x", Side.OLD, 11)
