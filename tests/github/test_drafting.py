"""A review is written for GitHub: each finding where it can stand, and nothing that acts there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kimibot.github import drafting
from kimibot.github.drafting import MOST_BODY_BYTES, MOST_COMMENT_BYTES, drafted, in_one_text
from kimibot.review import phrases
from kimibot.review.changes import Anchor, Side
from kimibot.review.findings import Finding
from kimibot.review.postable import Postable, Remark
from kimibot.review.said import Severity

BREAK = "\u200b"


def remark(
    path: str = "src/rows.py",
    line: int = 2,
    *,
    side: Side = Side.NEW,
    is_in_diff: bool = True,
    replacement: str = "",
    title: str = "Reads behind the end",
    why: str = "It always fails.",
    suggestion: str = "",
) -> Remark:
    anchor = Anchor(path, side, line)
    finding = Finding(anchor, Severity.CRITICAL, title, why, "x[9]", suggestion)
    return Remark(finding, is_in_diff, replacement)


def review(*remarks: Remark, verdict: str = "Must not be merged.") -> Postable:
    return Postable("acme/shop", 7, "a" * 40, "run1", verdict, "Read 1 of 1 file.", remarks)


def comment_of(one: Remark) -> str:
    return str(drafted(review(one)).comments[0]["body"])


def test_what_has_a_line_in_the_diff_stands_there_and_the_rest_in_the_text() -> None:
    old = remark(side=Side.OLD, line=3)
    outside = remark("README.md", 400, is_in_diff=False, suggestion="x[8]")
    draft = drafted(review(old, outside))

    assert draft.comments == (
        {
            "path": "src/rows.py",
            "line": 3,
            "side": "LEFT",
            "body": "**Critical: Reads behind the end**\n\nIt always fails.",
        },
    )
    assert draft.body == (
        "**Must not be merged.**\n\nRead 1 of 1 file.\n\n"
        "`README.md:400` · **Critical: Reads behind the end**\n\n```markdown\nx[9]\n```\n\n"
        f"It always fails.\n\n{phrases.SUGGESTED}\n\n```markdown\nx[8]\n```\n\n"
        f"{phrases.POSTED_BY}\n\n<!-- kimibot:review v1 pr=7 head={'a' * 40} run=run1 -->"
    )
    assert draft.payload["event"] == "COMMENT"
    assert draft.payload["commit_id"] == "a" * 40


def test_where_github_takes_no_comments_all_is_in_the_text() -> None:
    draft = in_one_text(review(remark(), remark(line=5)))

    assert draft.comments == ()
    assert "`src/rows.py:2`" in draft.body
    assert "`src/rows.py:5`" in draft.body


def test_a_file_whose_name_hides_something_is_posted_as_what_it_is() -> None:
    body = drafted(review(remark("src/\u202egpj.\u200b@acme.py", is_in_diff=False))).body

    assert rf"`src/\u202egpj.\u200b@{BREAK}acme.py:" in body
    assert "\u202e" not in body


def test_a_line_that_the_change_removes_is_told_as_that_also_in_the_text() -> None:
    gone, there = remark(side=Side.OLD, line=3), remark(line=5)

    body = in_one_text(review(gone, there)).body

    assert "`src/rows.py:3` (removed) · **Critical" in body
    assert "`src/rows.py:5` · **Critical" in body


def test_a_suggestion_for_exactly_the_line_can_be_applied_at_a_press() -> None:
    assert comment_of(remark(suggestion="y", replacement="    y")).endswith(
        "\n\n```suggestion\n    y\n```"
    )


def test_any_other_suggestion_is_only_shown() -> None:
    body = comment_of(remark(suggestion="first()\nsecond()"))

    assert body.endswith(f"{phrases.SUGGESTED}\n\n```python\nfirst()\nsecond()\n```")


def test_no_suggestion_can_end_its_own_fence() -> None:
    code = "x = '''\n```\n````\n'''"

    assert f"`````suggestion\n{code}\n`````" in comment_of(remark(replacement=code))


def test_at_most_thirty_comments_are_made_and_the_others_are_in_the_text() -> None:
    draft = drafted(review(*(remark(line=n) for n in range(1, 33))))

    assert len(draft.comments) == drafting.MOST_COMMENTS == 30
    assert "`src/rows.py:31`" in draft.body
    assert "`src/rows.py:30`" not in draft.body


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("ask @ana or @acme/core", f"ask @{BREAK}ana or @{BREAK}acme/core"),
        ("Fixes #12, acme/shop#3", f"Fixes #{BREAK}12, acme/shop#{BREAK}3"),
        ("closes GH-12", f"closes GH-{BREAK}12"),
        ("![p](https://x.org/p)", f"!{BREAK}[p]{BREAK}(https:{BREAK}//x.org/p)"),
        ("[a]: x", f"[a]{BREAK}: x"),
        ("<!-- kimibot:review v1 -->", f"<{BREAK}!-- kimibot:review v1 -->"),
        ("<img src=x>", f"<{BREAK}img src=x>"),
        ("&#64;ana &commat;bo", f"&{BREAK}#{BREAK}64;ana &{BREAK}commat;bo"),
        ("see www.x.org", f"see www{BREAK}.x.org"),
        ("_www.x.org_ or __GH-12__", f"_www{BREAK}.x.org_ or __GH-{BREAK}12__"),
        ("_mailto:x_, xmpp:y", f"_mailto:{BREAK}x_, xmpp:{BREAK}y"),
        (r"GH\-12, www\.x.org", rf"GH\-{BREAK}12, www{BREAK}\.x.org"),
        ("rough-12, awww.x.org", "rough-12, awww.x.org"),
        ("Well.\n/lgtm", f"Well.\n{BREAK}/lgtm"),
        ("`@ana`", f"`@{BREAK}ana`"),
        ("a < b, a[0](1), x: y, # 1, a @ b", f"a < b, a[0]{BREAK}(1), x: y, # 1, a @ b"),
    ],
)
def test_nothing_that_the_model_says_acts_on_github(said: str, read: str) -> None:
    hostile = remark(why=said, title=said.replace("\n", " "))
    draft = in_one_text(review(hostile, verdict=said))

    assert comment_of(hostile).endswith(f"\n\n{read}")
    assert f"\n\n{read}\n\n" in draft.body
    for text in (draft.body, comment_of(hostile)):
        assert not any(sign in text for sign in ("@ana", "#12", "GH-12", "https://", "<img", "](h"))
    assert draft.body.count("<!--") == 1


def test_code_in_an_explanation_is_left_as_it_is_but_can_not_be_applied_or_drawn() -> None:
    why = "Do:\n```suggestion\n@cache  # 1\n```\nor\n~~~mermaid\ngraph\n~~~\nthen\n```python\n@x"
    body = comment_of(remark(why=why))

    assert body.endswith(
        "Do:\n\n```\n@cache  # 1\n```\n\nor\n\n```\ngraph\n```\n\nthen\n\n```python\n@x\n```"
    )


@pytest.mark.parametrize("before", ["- ", "> ", "1. ", "* > ", ">", "\t- "])
@pytest.mark.parametrize("mark", ["```", "~~~", "`````"])
def test_no_block_in_a_quote_or_a_list_can_be_applied_or_drawn(before: str, mark: str) -> None:
    why = f"So:\n\n{before}{mark}suggestion\n{before}rm -rf\n{before}{mark}"
    body = comment_of(remark(why=why))

    assert f"{mark}suggestion" not in body
    assert body.replace(BREAK, "").endswith(why)


@pytest.mark.parametrize("end", ["  ```", "```", "> ```"])
def test_what_follows_such_a_block_is_no_code(end: str) -> None:
    why = f"- ```python\n  x = 1\n{end}\nThen ask @ana."
    body = comment_of(remark(why=why))

    assert body.replace(BREAK, "").endswith(f"\n\n{why}")
    assert "```" not in body
    assert "@ana" not in body


def test_a_carriage_return_opens_no_fence_that_nobody_closes() -> None:
    body = comment_of(remark(why="So:\r```\r@ana", replacement="y"))

    assert body.endswith("So:\n\n```\n@ana\n```\n\n```suggestion\ny\n```")


def test_a_name_of_a_file_mentions_nobody() -> None:
    assert "@types" not in in_one_text(review(remark("src/`@types/x.ts"))).body


@pytest.mark.parametrize("size", [6_500, 7_700, 7_950, 8_100, 20_000])
def test_a_comment_that_is_too_long_ends_after_a_paragraph_with_its_fences_closed(
    size: int,
) -> None:
    why = f"Why.\n```\n{'c' * size}\n```\n{'wörd ' * 200}"
    body = comment_of(remark(why=why, replacement="y" * 3_000))

    assert len(body.encode()) <= MOST_COMMENT_BYTES
    assert body.count("```") % 2 == 0
    assert ("c" * size in body) == (size < 7_900)
    assert "wörd" not in body or "c" * size in body, "what is left out is the end of it"
    assert body.endswith(f"\n\n{phrases.POSTED_IN_PART}")


def test_one_paragraph_that_is_too_long_is_cut_within() -> None:
    body = comment_of(remark(why="🦊" * 2_000 + "!"))

    assert 7_000 < len(body.encode()) <= MOST_COMMENT_BYTES
    assert body.endswith(f"🦊\n\n{phrases.POSTED_IN_PART}")


def test_a_text_that_is_too_long_keeps_its_end_by_which_it_is_known() -> None:
    long = remark(is_in_diff=False, why="é" * 1_900, suggestion="z" * 3_900)
    made = review(*(replace(long) for _ in range(15)))
    body = in_one_text(made).body

    assert MOST_BODY_BYTES - 5_000 < len(body.encode()) <= MOST_BODY_BYTES
    assert body.count("```") % 2 == 0
    assert f"\n\n{phrases.POSTED_IN_PART}\n\n{phrases.POSTED_BY}\n\n" in body
    assert body.endswith(drafting.marker(made))
