"""Marks and notices: what is shown beside the answers, in time or not at all, and never twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from kimibot import texts
from kimibot.background import Background
from kimibot.conversation import Message, Speaker, Thread
from kimibot.errors import FateUnknown, ReplyRefused, SlackError
from kimibot.marks import PATIENCE_SECONDS, Marks
from kimibot.notices import Notices
from kimibot.turns import Ending, Outcome, Turn
from tests.fakes import THREAD
from tests.test_answering import AT, CLAIM, TURN
from tests.virtual_time import in_virtual_time

ASK = Message(THREAD, TURN.ts, Speaker.PERSON, "U0ANA", "and for lists?")
WAITED = replace(CLAIM, turns=(replace(TURN, had_to_wait=True),))


@dataclass
class Reactions:
    """The reactions that the ask shows."""

    seconds: float = 0.1
    refusal: SlackError | None = None
    shown: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    async def add(self, thread: Thread, ts: str, name: str) -> None:
        await self._call("add")
        self.shown.append(name)

    async def remove(self, thread: Thread, ts: str, name: str) -> None:
        await self._call("remove")
        self.shown.remove(name)

    async def _call(self, name: str) -> None:
        self.calls.append(name)
        await asyncio.sleep(self.seconds)
        if self.refusal is not None:
            raise self.refusal


@in_virtual_time
async def test_an_ask_that_waits_is_marked_until_its_turn_begins() -> None:
    reactions, background = Reactions(), Background()
    marks = Marks(reactions, background)

    marks.has_to_wait(ASK)
    await asyncio.sleep(1)
    assert reactions.shown == ["eyes"]

    marks.begins(WAITED)
    await asyncio.sleep(1)
    assert reactions.shown == []


@in_virtual_time
async def test_a_mark_that_is_still_being_made_is_taken_away_afterwards() -> None:
    reactions, background = Reactions(seconds=3), Background()
    marks = Marks(reactions, background)

    marks.has_to_wait(ASK)
    marks.begins(WAITED)
    await background.close(seconds=60)

    assert (reactions.calls, reactions.shown) == (["add", "remove"], [])


@in_virtual_time
async def test_an_ask_that_did_not_wait_costs_no_call() -> None:
    reactions, background = Reactions(), Background()

    Marks(reactions, background).begins(CLAIM)
    await background.close(seconds=60)

    assert reactions.calls == []


@in_virtual_time
async def test_an_ask_that_is_merged_keeps_its_mark() -> None:
    reactions, background = Reactions(), Background()
    merged = replace(TURN, id="turn-2", had_to_wait=True)

    Marks(reactions, background).begins(replace(CLAIM, turns=(TURN, merged)))
    await background.close(seconds=60)

    assert reactions.calls == []


@in_virtual_time
async def test_a_mark_that_is_refused_or_late_harms_nobody() -> None:
    refused = Reactions(refusal=ReplyRefused("reactions.add", "missing_scope", needed="x"))
    late = Reactions(seconds=PATIENCE_SECONDS + 1)
    for reactions in (refused, late):
        background = Background()
        Marks(reactions, background).has_to_wait(ASK)
        await background.close(seconds=60)

        assert reactions.shown == []


@in_virtual_time
async def test_what_is_under_way_when_we_go_is_ended() -> None:
    reactions, background = Reactions(seconds=5), Background()
    Marks(reactions, background).has_to_wait(ASK)
    await asyncio.sleep(1)

    await background.close(seconds=1)

    assert reactions.shown == []


@dataclass
class Announcements:
    """The messages that notify. Faults are raised in turn; those in `lost` after the post."""

    faults: list[SlackError] = field(default_factory=list)
    lost: list[SlackError] = field(default_factory=list)
    posted: list[tuple[tuple[str, ...], str, str]] = field(default_factory=list)

    async def announce(self, thread: Thread, people: Sequence[str], text: str, turn: Turn) -> None:
        if self.faults:
            raise self.faults.pop(0)
        self.posted.append((tuple(people), text, turn.id))
        if self.lost:
            raise self.lost.pop(0)

    async def is_announced(self, thread: Thread, turn: Turn) -> bool:
        return any(turn_id == turn.id for _, _, turn_id in self.posted)


async def announced(
    outcome: Outcome = Outcome.ANSWERED,
    *,
    waited_seconds: float = 61,
    turns: Sequence[Turn] = (TURN,),
    announcements: Announcements | None = None,
    reply_ts: tuple[str, ...] = ("1700000001.000100",),
) -> list[tuple[tuple[str, ...], str, str]]:
    """What is posted when this ending is kept so long after the ask."""
    announcements, background = announcements or Announcements(), Background()
    now = AT + timedelta(seconds=waited_seconds)
    notices = Notices(announcements, background, lambda: now)
    notices.ended(replace(CLAIM, turns=tuple(turns)), Ending(outcome, reply_ts=reply_ts))
    await background.close(seconds=1)
    return announcements.posted


READY = (("U0ANA",), texts.YOUR_ANSWER_IS_READY, "turn-1")


async def test_who_has_waited_for_more_than_a_minute_is_told() -> None:
    assert await announced() == [READY]


async def test_who_has_waited_less_looks_at_the_thread_still() -> None:
    assert await announced(waited_seconds=59) == []


async def test_that_there_is_no_answer_is_told_too() -> None:
    assert await announced(Outcome.FAILED) == [(("U0ANA",), texts.NO_ANSWER_YET, "turn-1")]


@pytest.mark.parametrize("outcome", [Outcome.STOPPED, Outcome.REFUSED])
async def test_who_has_stopped_an_answer_knows_it(outcome: Outcome) -> None:
    assert await announced(outcome) == []


async def test_where_no_reply_could_be_written_none_is_announced() -> None:
    assert await announced(Outcome.FAILED, reply_ts=()) == []


async def test_all_who_have_waited_long_are_told_in_one_message() -> None:
    bo = replace(TURN, id="turn-2", asker="U0BO")
    again = replace(TURN, id="turn-3")
    late = replace(TURN, id="turn-4", asker="U0MEI", accepted_at=AT + timedelta(seconds=50))

    [(people, _, _)] = await announced(turns=(TURN, bo, again, late))

    assert people == ("U0ANA", "U0BO")


async def test_a_post_whose_response_is_lost_is_not_made_again() -> None:
    lost = Announcements(lost=[FateUnknown("chat.postMessage", "TimeoutError")])

    assert await announced(announcements=lost) == [READY]


async def test_a_post_that_did_not_arrive_is_made_again() -> None:
    unsent = Announcements(faults=[FateUnknown("chat.postMessage", "TimeoutError")])

    assert await announced(announcements=unsent) == [READY]


async def test_a_post_that_slack_refuses_harms_nobody() -> None:
    refusing = Announcements(faults=[ReplyRefused("chat.postMessage", "is_archived")])

    assert await announced(announcements=refusing) == []
