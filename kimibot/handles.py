"""Pure: what can be pressed below an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kimibot import texts
from kimibot.answers import Answer, reasoning_in
from kimibot.views import Button, Handle, Menu, Question

TITLE_CHARACTERS = 50
"""Of a finding in a menu: all that may be chosen counts to what a message may hold."""


def below(answer: Answer, turn_id: str, *, shows_reasoning: bool) -> Iterator[Button]:
    """The buttons, in the order in which they stand. Each has the turn's id as its value, so that
    it works on any replica and after a restart."""
    if answer.finish_reason == "length":
        yield continue_button(turn_id)
    if shows_reasoning and reasoning_in(answer.raw):
        yield Button(texts.SHOW_REASONING, texts.SHOW_REASONING_LABEL, turn_id)


def below_review(answer: Answer, turn_id: str) -> Iterator[Handle]:
    """The same for a review. What is about one of its findings has the number behind the id."""
    if answer.review and answer.review["patch"]:
        yield Button(texts.SUGGEST_PATCH, texts.SUGGEST_PATCH_LABEL, turn_id)
    findings = answer.review["findings"] if answer.review else []
    if findings:
        yield _about_one(texts.EXPLAIN, texts.EXPLAIN_LABEL, findings, turn_id)
        yield _about_one(texts.NOT_A_PROBLEM, texts.NOT_A_PROBLEM_LABEL, findings, turn_id)
    if answer.review and (pull := answer.review.get("pull")):
        yield _post_button(turn_id, pull["full_name"], pull["number"])


def _about_one(action: str, label: str, findings: Sequence[dict[str, Any]], turn_id: str) -> Handle:
    """A menu, where there is anything to choose."""
    if len(findings) == 1:
        return Button(action, label, f"{turn_id}:1")
    choices = tuple(
        (f"{number} · {_short(str(one['title']))}", f"{turn_id}:{number}")
        for number, one in enumerate(findings, 1)
    )
    return Menu(action, f"{label}…", choices)


def _short(title: str) -> str:
    """As words alone: nothing is drawn in a menu."""
    plain = " ".join(title.replace("`", "").split())
    return plain if len(plain) <= TITLE_CHARACTERS else f"{plain[: TITLE_CHARACTERS - 1]}…"


def continue_button(turn_id: str) -> Button:
    """For a reply that ends before the answer does."""
    return Button(texts.CONTINUE, texts.CONTINUE_LABEL, turn_id)


def _post_button(turn_id: str, full_name: str, number: int) -> Button:
    """Others than who is in the thread will see it, so it is asked twice."""
    question = Question(
        title=texts.POST_REVIEW_TITLE,
        text=texts.post_review(full_name, number),
        yes=texts.POST_REVIEW_YES,
        no=texts.POST_REVIEW_NO,
    )
    return Button(texts.POST_REVIEW, texts.POST_REVIEW_LABEL, turn_id, question)
