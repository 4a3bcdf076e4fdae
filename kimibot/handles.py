"""Pure: what can be pressed below an answer."""

from __future__ import annotations

from collections.abc import Iterator

from kimibot import texts
from kimibot.answers import Answer, reasoning_in
from kimibot.views import Button


def below(answer: Answer, turn_id: str, *, shows_reasoning: bool) -> Iterator[Button]:
    """The buttons, in the order in which they stand. Each has the turn's id as its value, so that
    it works on any replica and after a restart."""
    if answer.finish_reason == "length":
        yield continue_button(turn_id)
    if shows_reasoning and reasoning_in(answer.raw):
        yield Button(texts.SHOW_REASONING, texts.SHOW_REASONING_LABEL, turn_id)


def below_review(answer: Answer, turn_id: str) -> Iterator[Button]:
    """The same for a review."""
    if answer.review and answer.review["patch"]:
        yield Button(texts.SUGGEST_PATCH, texts.SUGGEST_PATCH_LABEL, turn_id)


def continue_button(turn_id: str) -> Button:
    """For a reply that ends before the answer does."""
    return Button(texts.CONTINUE, texts.CONTINUE_LABEL, turn_id)
