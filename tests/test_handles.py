"""What can be pressed below a whole answer."""

from __future__ import annotations

from typing import Any

import pytest

from kimibot import texts
from kimibot.answers import Answer
from kimibot.handles import TITLE_CHARACTERS, below, below_review
from kimibot.views import Button, Menu

DETAILS = [{"type": "reasoning.text", "text": "Hm."}, "not a part", {"type": "other"}]


def actions(raw: dict[str, Any], *, shows_reasoning: bool = True) -> list[str]:
    answer = Answer("Because.", raw=raw)
    return [b.action for b in below(answer, "turn-1", shows_reasoning=shows_reasoning)]


@pytest.mark.parametrize(
    ("field", "value"),
    [("reasoning_content", "Hm."), ("reasoning", "Hm."), ("reasoning_details", DETAILS)],
)
def test_reasoning_can_be_asked_for_under_whatever_name_it_came(field: str, value: object) -> None:
    raw = {"role": "assistant", "content": "Because.", field: value}

    assert actions(raw) == [texts.SHOW_REASONING]
    assert actions(raw, shows_reasoning=False) == []


@pytest.mark.parametrize("value", ["", " \n", None, 7, [], [7]])
def test_where_there_is_none_there_is_no_button(value: object) -> None:
    assert actions({"role": "assistant", "content": "Because.", "reasoning_content": value}) == []
    assert actions({}) == []


def review(*titles: str) -> Answer:
    return Answer("", review={"findings": [{"title": one} for one in titles], "patch": ""})


def test_a_review_offers_each_of_its_findings_by_number_and_title() -> None:
    explain, no_problem = below_review(review("`pop` changes\n`rows`", "x" * 51), "turn-1")

    second = f"2 · {'x' * (TITLE_CHARACTERS - 1)}…"
    choices = (("1 · pop changes rows", "turn-1:1"), (second, "turn-1:2"))
    assert explain == Menu(texts.EXPLAIN, "Explain…", choices)
    assert no_problem == Menu(texts.NOT_A_PROBLEM, "Not a problem…", choices)


def test_where_there_is_nothing_to_choose_a_button_does() -> None:
    assert list(below_review(review("One"), "turn-1")) == [
        Button(texts.EXPLAIN, "Explain", "turn-1:1"),
        Button(texts.NOT_A_PROBLEM, "Not a problem", "turn-1:1"),
    ]


def test_a_review_without_findings_offers_nothing() -> None:
    assert list(below_review(review(), "turn-1")) == []
    assert list(below_review(Answer("", review=None), "turn-1")) == []


def test_a_review_of_a_pull_request_is_posted_only_after_a_question_that_slack_takes() -> None:
    """https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object"""
    name = f"{'o' * 39}/{'r' * 100}"
    pull = {"full_name": name, "number": 2**31}
    answer = Answer("", review={"findings": [], "patch": "", "pull": pull})
    [post] = below_review(answer, "turn-1")

    assert isinstance(post, Button)
    assert (post.action, post.value) == (texts.POST_REVIEW, "turn-1")
    assert post.question is not None
    assert len(post.question.title) <= 100
    assert len(post.question.text) <= 300
    assert max(len(post.question.yes), len(post.question.no)) <= 30
    assert name in post.question.text
