"""A second review says of each earlier finding whether it is fixed or still open."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from kimibot.review import phrases
from kimibot.review.changes import Anchor, Side
from kimibot.review.diffs import whole
from kimibot.review.findings import Finding, State
from kimibot.review.prompts import Subject
from kimibot.review.reading import Heard
from kimibot.review.rounds import asks_again, kept, listed, read_kept, without
from kimibot.review.said import Severity
from kimibot.review.stages import Plan, begin, close, plan, show

FIRST = Finding(Anchor("a.py", Side.NEW, 2), Severity.MAJOR, "Reads too far", "", "x = rows[9]")
SECOND = Finding(Anchor("a.py", Side.NEW, 3), Severity.MINOR, "Name says little", "", "y = 1")
EARLIER = (FIRST, SECOND)


def plan_of(code: bytes) -> Plan:
    subject = Subject(earlier=listed(EARLIER))
    return plan([whole("a.py", code)], subject, context_tokens=9_000)


def second(code: bytes, *lines: dict[str, object]) -> dict[str, State | None]:
    """Of each finding that is shown then, its state."""
    made, heard = plan_of(code), Heard()
    reading = begin(made, heard)
    reading.feed("".join(f"{json.dumps(line)}\n" for line in lines))
    reading.end()
    assert heard.prose == ""
    return {one.title: one.state for one in close(made, heard, earlier=EARLIER).findings}


def judged(number: int, state: str) -> dict[str, object]:
    return {"earlier": number, "state": state}


def test_a_line_that_stands_is_still_open_wherever_it_has_moved() -> None:
    found = second(b"import os\n\nx = rows[9]\ny = 2\n")

    assert found == {"Reads too far": State.OPEN}


def test_a_line_that_stands_is_fixed_where_the_model_says_so() -> None:
    code = b"rows = [0] * 10\nx = rows[9]\ny = 1\n"

    assert second(code, judged(1, "fixed")) == {"Name says little": State.OPEN}


def test_a_line_that_is_gone_is_not_open_whatever_the_model_says() -> None:
    assert second(b"x = rows[0]\ny = 2\n", judged(1, "open"), judged(2, "open")) == {}


def test_where_passes_disagree_a_finding_is_open() -> None:
    found = second(b"x = rows[9]\n", judged(1, "open"), judged(1, "fixed"))

    assert found == {"Reads too far": State.OPEN}


def test_an_open_finding_that_is_reported_again_is_shown_once() -> None:
    again = {"path": "a.py", "line": 1, "quote": "x = rows[9]", "title": "May read too far"}
    fresh = {"path": "a.py", "line": 2, "quote": "z = x / 0", "title": "Divides by zero"}

    assert second(b"x = rows[9]\nz = x / 0\n", again, fresh) == {
        "May read too far": State.OPEN,
        "Divides by zero": State.NEW,
    }


def verdict(code: bytes, *lines: dict[str, object]) -> str:
    """Which is shown of a review that ends with "V"."""
    made, heard = plan_of(code), Heard()
    reading = begin(made, heard)
    reading.feed("".join(f"{json.dumps(line)}\n" for line in (*lines, {"verdict": "V"})))
    return close(made, heard, earlier=EARLIER).verdict


def test_a_verdict_of_a_second_review_counts_if_it_knows_of_all_that_is_open() -> None:
    code = b"x = rows[9]\ny = 1\n"
    fresh = {"path": "a.py", "line": 2, "quote": "y = 1", "title": "Name says little"}

    assert verdict(code, judged(1, "open"), judged(2, "fixed")) == "V"
    assert verdict(code, judged(1, "fixed"), judged(2, "fixed")) == "V"
    assert verdict(code, judged(1, "open"), fresh) == "V"
    assert verdict(code, judged(1, "fixed")) == "1 problem found: 1 minor."
    assert verdict(b"y = 1\n", judged(1, "open"), judged(2, "fixed")) == phrases.NONE_LEFT


def test_the_model_is_told_what_was_found_and_asked_to_judge_it() -> None:
    system, user = plan_of(b"x = 1\n").passes[0].messages

    assert '{"earlier": 2, "state": "fixed"}' in system["content"]
    assert "1. a.py: x = rows[9] | Reads too far\n2. a.py: y = 1" in user["content"]


def test_what_is_no_problem_here_is_neither_shown_as_it_comes_nor_at_the_end() -> None:
    made = plan_of(b"import os\nx = rows[9]\ny = 1\n")
    said = [
        {"path": "a.py", "line": line, "quote": quote, "title": title, "severity": "major"}
        for line, quote, title in (
            (2, "x = rows[9]", "The index is behind the end"),
            (2, "x = rows[9]", "The index is too large"),
            (3, "y = 1", "`y` is never used"),
        )
    ]
    heard = Heard(no_problems=(FIRST,))
    for _ in range(2):
        reading = begin(made, heard)
        reading.feed("".join(f"{json.dumps(one)}\n" for one in said))
        reading.end()

    assert "index" not in show(heard)
    closed = close(made, heard)
    assert [one.title for one in closed.findings] == ["`y` is never used"]
    assert closed.report.endswith(
        "\n\n1 finding left out: not a problem here, as somebody has said."
    )


def test_the_model_is_told_what_is_no_problem_here() -> None:
    subject = Subject(no_problems=listed([FIRST]))
    made = plan([whole("a.py", b"x = rows[9]\n")], subject, context_tokens=9_000)

    text = str(made.passes[0].messages[1]["content"])
    assert re.search(
        r"<<<NO PROBLEMS HERE (\w+)\n1\. a\.py: x = rows\[9\] \| Reads too far\n\1 NO PR", text
    )


def test_what_is_no_problem_is_not_looked_for_again() -> None:
    other = replace(SECOND, quote="z = 3", title="Another")

    assert without([FIRST, SECOND, other], [replace(SECOND, title="Short")]) == [FIRST, other]


LEAK = Finding(Anchor("a.py", Side.NEW, 5), Severity.MAJOR, "`a` is never closed", "", "a = f()")


@pytest.mark.parametrize(
    "beside",
    [
        replace(LEAK, anchor=Anchor("a.py", Side.NEW, 6), title="`b` is never closed", quote="b()"),
        replace(LEAK, anchor=Anchor("a.py", Side.NEW, 6)),
    ],
)
def test_what_is_no_problem_at_one_line_says_nothing_of_others_in_the_same_review(
    beside: Finding,
) -> None:
    assert without([LEAK, beside], [LEAK]) == [beside]
    assert without([LEAK, beside], [beside]) == [LEAK]


@pytest.mark.parametrize(
    ("quote", "line", "title", "is_same"),
    [
        ("a = f()", 90, "`a` is not closed", True),
        ("a = f()", 7, "The file stays open", True),
        ("a = f()", 90, "`f` may raise before the lock is free", False),
        ("b = f()", 6, "`b` is never closed", False),
        ("b = f()", 6, "`a` is never closed", True),
        ("import os", 1, "Something else altogether", False),
    ],
)
def test_what_is_no_problem_is_known_again_by_its_line_and_by_what_is_wrong_with_it(
    quote: str, line: int, title: str, is_same: bool
) -> None:
    found = replace(LEAK, anchor=Anchor("a.py", Side.NEW, line), quote=quote, title=title)

    assert without([found], [LEAK]) == ([] if is_same else [found])


def test_a_line_that_says_much_is_known_again_wherever_it_is() -> None:
    line = 'cursor.execute(f"select {name}")'
    noted = replace(LEAK, quote=line)
    moved = replace(noted, anchor=Anchor("a.py", Side.NEW, 300), title="SQL from a user")

    assert without([moved], [noted]) == []


def test_what_is_stored_is_what_was_found() -> None:
    stored = json.loads(json.dumps(kept(EARLIER, dropped=3)))

    assert read_kept(stored) == list(EARLIER)
    assert stored["dropped"] == 3


@pytest.mark.parametrize(
    ("words", "is_again"),
    [("review again", True), ("re-review please", True), ("Review it AGAIN", True),
     ("review this", False), ("review the gains", False)],
)  # fmt: skip
def test_only_who_asks_for_it_gets_a_second_round(words: str, is_again: bool) -> None:
    assert asks_again(words) is is_again
