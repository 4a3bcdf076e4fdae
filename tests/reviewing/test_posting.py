"""Who has a review posted, or stops that, is told what has become of it: the truth, once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from kimibot import texts
from kimibot.review import phrases, postable
from kimibot.review.changes import Anchor, PullRequest, Side
from kimibot.review.findings import Finding
from kimibot.review.rounds import kept
from kimibot.review.said import Severity
from kimibot.turns import Claim, Ending, Kind, Outcome, Press, Stop, StopCause, Turn
from tests.fakes import PullRequests
from tests.test_answering import CLAIM, TURN, Stage
from tests.virtual_time import in_virtual_time

BY_ANA = Stop(StopCause.PERSON, "U0ANA")
PRESSED = replace(TURN, kind=Kind.POST, pressed=Press(Kind.POST).key)
POSTED = "Posted to [acme/shop#7](https://github.com/acme/shop/pull/7#pullrequestreview-1)"


def claim_of(turn: Turn) -> Claim:
    return replace(CLAIM, turns=(turn,))


def stored() -> dict[str, Any]:
    anchor = Anchor("a.py", Side.NEW, 1)
    findings = [Finding(anchor, Severity.MAJOR, "Wrong", "It is.", "x = 1")]
    pull = PullRequest("acme/shop", 7, "a" * 40, frozenset({anchor}))
    more = postable.kept(pull, (), findings, run="run1", verdict="So-so.", coverage="Read it.")
    read: dict[str, Any] = json.loads(json.dumps(kept(findings, 0) | more))
    return read


def stage_with(pulls: PullRequests) -> Stage:
    stage = Stage(pulls=pulls)
    stage.memory.review = stored()
    return stage


async def post(stage: Stage, turn: Turn = PRESSED) -> Ending:
    return await stage.answer(claim_of(turn))


@in_virtual_time
async def test_a_review_is_told_as_posted() -> None:
    stage = stage_with(PullRequests())

    ending = await post(stage)

    assert stage.channel.bodies() == [f"{POSTED}: 1 comment at the lines."]
    assert (stage.note, stage.buttons, ending.outcome) == ("", [], Outcome.ANSWERED)


@in_virtual_time
async def test_a_stop_before_it_was_sent_keeps_it_from_being_sent_and_says_so() -> None:
    pulls = PullRequests()
    stage = stage_with(pulls)
    pulls.on_look = lambda: stage.signal.request(BY_ANA)

    ending = await post(stage)

    assert pulls.posted == []
    assert stage.channel.bodies() == [""]
    assert stage.note == f"Stopped by Ana. {texts.NOTHING_POSTED}"
    assert (stage.buttons, ending.outcome) == ([texts.TRY_AGAIN], Outcome.STOPPED)


@in_virtual_time
async def test_a_stop_while_it_was_being_sent_is_told_to_have_come_too_late() -> None:
    pulls = PullRequests()
    stage = stage_with(pulls)
    pulls.on_sent = lambda: stage.signal.request(BY_ANA)

    ending = await post(stage)

    assert stage.channel.bodies() == [f"{POSTED}: 1 comment at the lines."]
    assert (stage.note, stage.buttons) == (phrases.STOPPED_TOO_LATE, [])
    assert (ending.outcome, len(stage.channel.shown)) == (Outcome.ANSWERED, 1)


@in_virtual_time
async def test_a_stop_before_the_turn_ran_asks_github_for_nothing() -> None:
    pulls = PullRequests()
    stage = stage_with(pulls)

    await post(stage, replace(PRESSED, stop=BY_ANA))

    assert (pulls.looks, pulls.posted) == (0, [])
    assert stage.note == f"Stopped by Ana. {texts.NOTHING_POSTED}"


@in_virtual_time
async def test_what_was_posted_before_a_crash_and_then_stopped_is_told_as_posted() -> None:
    stage = stage_with(PullRequests(is_there=True))

    ending = await post(stage, replace(PRESSED, stop=BY_ANA, attempt=2))

    assert stage.channel.bodies() == [f"{POSTED}: 1 comment at the lines."]
    assert (stage.note, ending.outcome) == (phrases.STOPPED_TOO_LATE, Outcome.ANSWERED)


@in_virtual_time
async def test_what_was_on_its_way_at_a_crash_is_waited_for_and_told_as_posted() -> None:
    pulls = PullRequests(is_on_its_way=True)
    stage = stage_with(pulls)

    await post(stage, replace(PRESSED, attempt=2, takeovers=1))

    assert pulls.posted == []
    assert stage.channel.bodies() == [f"{POSTED}: 1 comment at the lines."]


@in_virtual_time
async def test_what_was_stopped_after_a_crash_is_not_posted_if_it_was_not_before() -> None:
    pulls = PullRequests()
    stage = stage_with(pulls)

    await post(stage, replace(PRESSED, stop=BY_ANA, attempt=2))

    assert (pulls.looks, pulls.posted) == (1, [])
    assert stage.note == f"Stopped by Ana. {texts.NOTHING_POSTED}"


@in_virtual_time
async def test_a_stop_says_nothing_of_a_review_that_was_there_before() -> None:
    pulls = PullRequests(is_there=True)
    stage = stage_with(pulls)
    pulls.on_look = lambda: stage.signal.request(BY_ANA)

    await post(stage)

    assert "already" in stage.channel.bodies()[0]
    assert stage.note == ""
