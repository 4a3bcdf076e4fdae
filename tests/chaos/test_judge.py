"""The judge of the channel finds what is wrong with it, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.judge import Ask, Turn, complaints
from tests.chaos.script import answer_to

Fields = dict[str, Any]

ASK = Ask("1.000000", "short-1")
TURN = Turn("one", ASK.ts, "ended", "answered", "", ("2.000000",))
LATER_ASK = Ask("1.500000", "long-2")
MERGED = Turn("two", LATER_ASK.ts, "ended", "merged", "one", ())


def part(
    text: str, ts: str = "2.000000", *, turn: str = "one", note: str = "", button: str = ""
) -> Fields:
    """A message of ours as the local Slack keeps it."""
    blocks: list[Fields] = [{"type": "markdown", "text": text}] if text else []
    if note:
        blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": note}]})
    if button:
        blocks.append({"type": "actions", "elements": [{"action_id": button}]})
    metadata = {"event_type": "kimibot_reply", "event_payload": {"turn": turn}}
    return {"ts": ts, "bot_id": "B1", "text": text or note, "blocks": blocks, "metadata": metadata}


WHOLE = part(answer_to(ASK.name))
FAILED = replace(TURN, outcome="failed")


def test_an_ask_with_its_whole_answer_is_well() -> None:
    assert complaints([ASK], [TURN], [{"ts": ASK.ts, "user": "U1"}, WHOLE]) == []


def test_an_answer_may_have_parts_that_are_cut_within_a_fence() -> None:
    text = answer_to(LATER_ASK.name)
    cut = text.index("line_30")
    parts = [
        part(text[:cut] + "```", "3.000000", turn="two"),
        part("```python\n" + text[cut:], "4.000000", turn="two"),
    ]
    turn = replace(MERGED, outcome="answered", merged_into="", reply_ts=("3.000000", "4.000000"))

    assert complaints([LATER_ASK], [turn], parts) == []
    assert complaints([LATER_ASK], [turn], parts[:1]) != []
    assert complaints([LATER_ASK], [turn], list(reversed(parts))) == []


def test_a_beginning_with_a_text_about_the_failure_is_well() -> None:
    half = part(answer_to(ASK.name)[:20], note="The answer was cut off here.", button="try_again")

    assert complaints([ASK], [FAILED], [half]) == []


def test_an_ask_that_was_answered_with_another_is_well() -> None:
    together = part(answer_to(LATER_ASK.name))

    assert complaints([ASK, LATER_ASK], [TURN, MERGED], [together]) == []


@pytest.mark.parametrize(
    ("turns", "messages", "complaint"),
    [
        ([], [], "no turn"),
        ([replace(TURN, state="running", outcome="")], [WHOLE], "running"),
        ([replace(TURN, outcome="stopped")], [WHOLE], "stopped"),
        ([TURN], [], "no reply"),
        ([TURN], [WHOLE, part(answer_to(ASK.name), "3.000000")], "its row says"),
        ([TURN], [WHOLE, part("Once more.", "3.000000", turn="gone")], "is no turn"),
        ([TURN], [part("Thinking…")], "still says"),
        ([TURN], [part(answer_to(ASK.name)[:20])], "letters"),
        ([TURN], [part(answer_to(ASK.name) * 2)], "letters"),
        ([TURN], [part(answer_to(ASK.name), note="Cut off.")], "the reply says"),
        ([TURN], [part(answer_to(ASK.name), button="try_again")], "has a button"),
        ([FAILED], [WHOLE], "does not say so"),
        ([FAILED], [part("Something else", note="Cut off.")], "not the beginning"),
        ([FAILED], [part("", note="Cut off.", button="stop")], "button for 'stop'"),
    ],
)
def test_what_is_wrong_is_found(turns: list[Turn], messages: list[Fields], complaint: str) -> None:
    assert any(complaint in found for found in complaints([ASK], turns, messages))


def test_a_merged_ask_has_no_reply_of_its_own() -> None:
    own = part("Thinking", "3.000000", turn="two")

    [found, *_] = complaints([LATER_ASK], [TURN, MERGED], [own])
    assert "Thinking" in found
    assert any("of its own" in each for each in complaints([LATER_ASK], [TURN, MERGED], [own]))


def test_an_ask_can_be_merged_only_into_one_that_is_answered() -> None:
    open_turn = replace(TURN, state="queued", outcome="")

    assert any("merged into" in each for each in complaints([LATER_ASK], [open_turn, MERGED], []))


def test_who_waited_long_may_be_told_once_that_it_is_done() -> None:
    of_notice = {"event_type": "kimibot_notice", "event_payload": {"turn": "one", "attempt": 1}}
    notice = part("", "9.000000", note="Done.") | {"metadata": of_notice}

    assert complaints([ASK], [TURN], [WHOLE, notice]) == []
    assert complaints([ASK], [TURN], [WHOLE, notice, notice | {"ts": "9.500000"}]) != []
