"""A whole review, with a model that says what the test lets it say."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from kimibot.estimating import tokens
from kimibot.review import phrases
from kimibot.review.changes import Anchor, Side, Status
from kimibot.review.diffs import parse, whole
from kimibot.review.findings import MOST_FINDINGS, Fault, Finding
from kimibot.review.prompts import Subject
from kimibot.review.reading import Heard
from kimibot.review.said import Severity
from kimibot.review.stages import Plan, begin, close, plan, show
from tests.review.repositories import Tree, versions

LARGE = {f"src/part_{n:02}.py": b"".join(b"value_%d = %d\n" % (n, k) for k in range(600))
         for n in range(30)}  # fmt: skip
WITH_BUG = {path: content.replace(b"= 300\n", b"= 9999\n") for path, content in LARGE.items()}


def plan_of(folder: Path, old: Tree, new: Tree, context_tokens: int = 60_000) -> Plan:
    diff = parse(versions(folder / "repository", old, new).diff("-U400"))
    return plan(diff.files, Subject(words="review this"), context_tokens=context_tokens)


def said(path: str, line: int, quote: str, **more: str) -> str:
    found = {"path": path, "line": line, "quote": quote, "severity": "major"}
    return json.dumps(found | {"title": "Off by one", "why": "It was 300."} | more) + "\n"


NO_PROBLEM = said("a.py", 2, "z", title="`z` is never used")


def answer(made: Plan, *contents: str) -> Heard:
    heard = Heard()
    for content in contents:
        reading = begin(made, heard)
        reading.feed(content)
        reading.end()
    return heard


def test_a_bug_in_the_last_file_of_a_large_diff_is_shown_and_can_be_found(tmp_path: Path) -> None:
    made = plan_of(tmp_path, LARGE, WITH_BUG)
    last = made.passes[-1]
    text = str(last.messages[1]["content"])

    assert sum(len(str(one.messages)) for one in made.passes) > 300_000
    assert re.search(r"^ +301 \+ value_29 = 9999$", text, re.MULTILINE)
    heard = answer(made, *[""] * (len(made.passes) - 1),
                   said("src/part_29.py", 301, "value_29 = 9999"))  # fmt: skip
    assert "`src/part_29.py:301`" in close(made, heard).report
    assert "Read 30 of 30 files" in close(made, heard).report


def test_each_request_fits_the_context(tmp_path: Path) -> None:
    made = plan_of(tmp_path, LARGE, WITH_BUG, 20_000)

    assert len(made.passes) > 5
    for one in made.passes:
        assert sum(tokens(str(message["content"])) for message in one.messages) <= 20_000


def test_every_request_names_all_files(tmp_path: Path) -> None:
    made = plan_of(tmp_path, LARGE, WITH_BUG, 20_000)

    for one in made.passes:
        assert all(path in str(one.messages[1]["content"]) for path in LARGE)


@pytest.mark.parametrize("path", ["src/part_00.py", "src/part_17.py"])
def test_what_one_pass_says_of_the_code_of_another_is_found_too(path: str, tmp_path: Path) -> None:
    made = plan_of(tmp_path, LARGE, WITH_BUG, 20_000)
    number = int(path[-5:-3])

    heard = answer(made, said(path, 1, f"value_{number} = 9999"))

    assert [finding.anchor.line for finding in heard.findings] == [301]


def test_a_diff_that_mends_an_obvious_bug_has_no_finding_about_it(tmp_path: Path) -> None:
    made = plan_of(tmp_path, {"a.py": b"total =+ value\n"}, {"a.py": b"total += value\n"})

    heard = answer(made, said("a.py", 1, "total =+ value", title="`=+` is not `+=`"))

    assert [dropped.fault for dropped in heard.dropped] == [Fault.REMOVED]
    assert close(made, heard).report == "**No problems found.**\n\nRead 1 of 1 file."


def test_a_review_without_findings_says_so_in_the_words_of_the_model(tmp_path: Path) -> None:
    made = plan_of(tmp_path, {"a.py": b"x\n"}, {"a.py": b"y\n"})

    heard = answer(made, '{"verdict": "No problems found; the rename is complete."}')

    assert close(made, heard).report.startswith("**No problems found; the rename is complete.**")


@pytest.mark.parametrize(
    "beside",
    [said("a.py", 2, "nowhere"), said("a.py", 1, "y", title="It is off by one"), NO_PROBLEM],
    ids=["stands nowhere", "said twice", "no problem here"],
)
def test_a_verdict_that_speaks_of_more_than_stands_below_gives_way_to_our_count(
    beside: str, tmp_path: Path
) -> None:
    made = plan_of(tmp_path, {"a.py": b"x\nz\n"}, {"a.py": b"y\nz\n"})
    noted = Finding(Anchor("a.py", Side.NEW, 2), Severity.MAJOR, "Never used", "", "z")
    heard = Heard(no_problems=[noted])
    reading = begin(made, heard)

    reading.feed(said("a.py", 1, "y") + beside + '{"verdict": "Two problems are left."}\n')

    closed = close(made, heard)
    assert closed.verdict == "1 problem found: 1 major."
    assert closed.report.startswith("**1 problem found: 1 major.**")


def test_a_verdict_stands_where_what_it_speaks_of_is_shown_or_counted(tmp_path: Path) -> None:
    made = plan_of(tmp_path, {"a.py": b"x\nz\n"}, {"a.py": b"y\nz\n"})
    nit = said("a.py", 2, "z", title="Bad name", severity="nit")

    heard = answer(made, said("a.py", 1, "y"), nit, '{"verdict": "Two problems are left."}')

    assert close(made, heard).report.startswith("**Two problems are left.**")


def test_prose_instead_of_findings_is_not_lost(tmp_path: Path) -> None:
    made = plan_of(tmp_path, {"a.py": b"x\n"}, {"a.py": b"y\n"})

    text = close(made, answer(made, "I would merge this, but `y` is\nnot defined.")).report

    assert text.endswith("shown as it came:\n\nI would merge this, but `y` is\nnot defined.")


def test_matters_of_taste_come_when_they_are_asked_for(tmp_path: Path) -> None:
    made = plan_of(tmp_path, {"a.py": b"x\n"}, {"a.py": b"y\n"})
    heard = answer(made, said("a.py", 1, "y", severity="nit"))

    assert "Nit" not in close(made, heard).report
    assert "Nit: Off by one" in close(made, heard, floor=Severity.NIT).report


def test_where_all_is_skipped_nothing_is_asked(tmp_path: Path) -> None:
    made = plan_of(tmp_path, {"uv.lock": b"x\n"}, {"uv.lock": b"y\n"})

    assert made.passes == ()
    assert "There was nothing in it to review" in close(made, Heard()).report


def test_the_review_grows_with_each_line(tmp_path: Path) -> None:
    made = plan_of(tmp_path, {"a.py": b"x\nz\n"}, {"a.py": b"y\nz\n"})
    heard = Heard()
    reading = begin(made, heard)
    seen = [show(heard)]
    for line in (said("a.py", 1, "y"), said("a.py", 2, "z", title="Another"), '{"verdict": "V"}'):
        half = len(line) // 2
        assert reading.feed(line[:half]) is False
        reading.feed(line[half:])
        seen.append(show(heard))

    assert [text.count("**1.") + text.count("**2.") for text in seen] == [0, 1, 2, 2]
    assert made.passes[0].sign == "Reading `a.py`…"
    assert all(later.startswith(text) for text, later in pairwise(seen))


def test_pasted_code_is_reviewed_by_the_same_way() -> None:
    made = plan([whole("snippet", b"def f():\n    return undefined\n")], Subject(),
                context_tokens=9_000)  # fmt: skip
    heard = answer(made, said("snippet", 2, "return undefined", title="`f` always fails", why=""))

    assert "`snippet:2`" in close(made, heard).report


def test_a_new_and_a_removed_file_of_one_name_do_not_get_into_each_others_way(
    tmp_path: Path,
) -> None:
    old = b"--- a/x.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"
    new = b"--- /dev/null\n+++ b/x.py\n@@ -0,0 +1,2 @@\n+three\n+four\n"
    files = parse(old + new).files
    assert [file.status for file in files] == [Status.REMOVED, Status.ADDED]
    made = plan(files, Subject(), context_tokens=9_000)

    heard = answer(made, said("x.py", 2, "four"), said("x.py", 1, "one", side="old"))

    assert [(f.anchor.side, f.anchor.line) for f in heard.findings] == [
        (Side.NEW, 2),
        (Side.OLD, 1),
    ]


def test_a_model_that_finds_no_end_fills_no_thread() -> None:
    """The change itself may have told it to."""
    made = plan([whole("a.py", b"x = 1\n")], Subject(), context_tokens=60_000)
    heard = Heard()
    reading = begin(made, heard)
    seen = []
    for number in range(200):
        reading.feed(said("a.py", 1, "x = 1", title=f"Wrong {'in' * number} more ways"))
        seen.append(show(heard))

    assert len(heard.findings) == 200
    assert all(later.startswith(earlier) for earlier, later in pairwise(seen))
    assert seen[-1].count(". Major: ") == 2 * MOST_FINDINGS == 30
    assert seen[-1].endswith(phrases.MORE_FOUND)
    assert phrases.MORE_FOUND not in seen[29]
