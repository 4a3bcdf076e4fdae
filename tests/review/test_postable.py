"""What is kept of a review is enough to post it later, each finding where it stands."""

from __future__ import annotations

import json
from dataclasses import replace

from kimibot.review import postable
from kimibot.review.anchors import commentable
from kimibot.review.changes import Anchor, PullRequest, Side
from kimibot.review.diffs import parse
from kimibot.review.findings import Finding
from kimibot.review.patching import replacements
from kimibot.review.rounds import kept
from kimibot.review.said import Severity

DIFF = parse(
    b"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -4,3 +4,3 @@\n def take():\n"
    b"-    return 0\n+    return 1\n \n"
)
PULL = PullRequest("acme/shop", 7, "a" * 40, commentable(DIFF.files))


def found(line: int, suggestion: str = "", side: Side = Side.NEW) -> Finding:
    return Finding(Anchor("a.py", side, line), Severity.MINOR, "T", "why", "q", suggestion)


def stored(*findings: Finding) -> dict[str, object]:
    more = postable.kept(
        PULL, DIFF.files, findings, run="run1", verdict="So-so.", coverage="Read 1 of 1 file."
    )
    made: dict[str, object] = json.loads(json.dumps(kept(findings, 0) | more))
    return made


def test_the_lines_of_the_diff_are_those_of_its_hunks_on_either_side() -> None:
    assert sorted(PULL.places) == [
        ("a.py", Side.OLD, 5),
        ("a.py", Side.NEW, 4),
        ("a.py", Side.NEW, 5),
        ("a.py", Side.NEW, 6),
    ]


def test_a_hunk_whose_numbers_are_a_guess_gives_no_line() -> None:
    wrong = parse(b"--- a/a.py\n+++ b/a.py\n@@ -1,9 +1,9 @@\n x\n+y\n")

    assert wrong.files[0].hunks
    assert commentable(wrong.files) == frozenset()


def test_a_file_whose_name_can_not_be_said_gives_no_line() -> None:
    """With one comment at such a name, GitHub would refuse all of them."""
    no_utf8 = parse(b'diff --git "a/a\\377.py" "b/a\\377.py"\n@@ -1 +1 @@\n-w\n+x\n')

    assert [file.path for file in no_utf8.files] == ["a\ufffd.py"]
    assert commentable([*no_utf8.files, *DIFF.files]) == commentable(DIFF.files)


def test_what_is_read_again_is_what_was_kept() -> None:
    findings = (found(5, "return 2"), found(90), found(5, side=Side.OLD))
    review = postable.read(stored(*findings))

    assert review is not None
    assert (review.full_name, review.number, review.head_sha) == ("acme/shop", 7, "a" * 40)
    assert (review.run, review.verdict, review.coverage) == ("run1", "So-so.", "Read 1 of 1 file.")
    assert tuple(one.finding for one in review.remarks) == findings
    assert [one.is_in_diff for one in review.remarks] == [True, False, True]
    assert [one.replacement for one in review.remarks] == ["    return 2", "", ""]


def test_a_review_of_anything_else_can_not_be_posted() -> None:
    assert postable.read(kept((found(5),), 0)) is None


def test_a_suggestion_replaces_a_line_only_where_it_was_meant_for_just_that_one() -> None:
    several = [found(5, "first"), found(5, "second"), found(5, "def take():\n    return 2")]

    assert replacements(DIFF.files, several) == ["    first", "", ""]
    assert replacements(DIFF.files, several[2:]) == [""], "it repeats the line before"
    assert replacements(DIFF.files, [found(5, "    return 1")]) == [""], "it changes nothing"
    assert replacements(DIFF.files, [found(5, "x", Side.OLD)]) == [""], "the line is gone"


def test_what_people_hold_for_no_problem_is_left_out_and_neither_counted_nor_judged() -> None:
    other = replace(found(90), title="Quite another thing", quote="z")
    review = postable.read(stored(found(4), other))
    assert review is not None

    left = postable.without(review, [other])

    assert [one.finding for one in left.remarks] == [found(4)]
    assert left.verdict == "1 problem found: 1 minor."
    assert left.coverage == (
        "Read 1 of 1 file. 1 finding left out: not a problem here, as somebody has said."
    )
    assert postable.without(review, []) == review


def test_where_all_is_left_out_our_words_are_posted_as_the_verdict() -> None:
    review = postable.read(stored(found(4)))
    assert review is not None

    assert postable.without(review, [found(4)]).verdict == (
        "No problems left: what was found before is fixed or no problem here."
    )


def test_what_is_like_it_in_the_same_review_is_posted_all_the_same() -> None:
    review = postable.read(stored(found(4), found(90)))
    assert review is not None

    left = postable.without(review, [found(90)])

    assert [one.finding for one in left.remarks] == [found(4)]
    assert "1 finding left out" in left.coverage
