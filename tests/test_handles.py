"""What can be pressed below a whole answer."""

from __future__ import annotations

from typing import Any

import pytest

from kimibot import texts
from kimibot.answers import Answer
from kimibot.handles import below

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
