"""What a turn does with the day's tokens: refused kindly, cut in time, warned of, and counted."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from kimibot.allowance import DailyLimits, Limit, Standing, Taken, Whose
from kimibot.answering import DRAINING
from kimibot.answers import Delta, Usage
from kimibot.errors import (
    Busy,
    ClaimLost,
    ContextTooLong,
    CutOff,
    KeyRefused,
    KimiError,
    NoFirstEvent,
    RequestRefused,
)
from kimibot.estimating import tokens
from kimibot.spending import estimate
from kimibot.stop_signal import StopRequested
from kimibot.turns import Claim, Ending, Outcome, Stop, StopCause, Turn, Used
from tests.test_answering import AT, CLAIM, ROOT, SHOT, TURN, Memory, Stage, Step, said
from tests.virtual_time import in_virtual_time

MIDNIGHT = "<!date^1796083200^{date_short_pretty} at {time}|at 00:00 UTC>"
COUNTED = Delta(usage=Usage(100, 20, 80))


def limited(
    *scripts: list[Step], used: int = 0, held: int = 0, whose: Whose = Whose.PERSON
) -> Stage:
    """A stage on which so many of 10,000 tokens are taken already."""
    stage = Stage(*scripts)
    taken = Taken(used, held)
    stage.daily_tokens.taken = Standing(taken, taken)
    is_own = whose is Whose.PERSON
    stage.daily_limits = DailyLimits(10_000 if is_own else None, None if is_own else 10_000)
    return stage


def of_claim(*askers: str) -> Claim:
    """Asks of these people that wait in one thread."""
    turns = [
        Turn(f"turn-{n}", f"170000000{n}.1", asker, "", 1, AT) for n, asker in enumerate(askers)
    ]
    return replace(CLAIM, turns=tuple(turns))


@in_virtual_time
async def test_whose_tokens_are_used_up_is_told_the_limit_and_when_the_count_starts_again() -> None:
    stage = limited(used=10_000)

    ending = await stage.answer()

    assert stage.note == (
        "You have used your 10,000 tokens for today, so I can't answer this now. "
        f"The count starts again {MIDNIGHT}."
    )
    assert (ending.outcome, ending.error_code) == (Outcome.REFUSED, "daily_tokens")
    assert (stage.model.requests, ending.used, stage.has_button) == ([], None, False)


@in_virtual_time
async def test_the_workspaces_limit_is_named_as_such() -> None:
    stage = limited(used=12_000, whose=Whose.WORKSPACE)

    await stage.answer()

    assert stage.note.startswith("This workspace has used its 10,000 tokens for today, so")
    assert MIDNIGHT in stage.note


@in_virtual_time
async def test_who_has_answers_running_that_may_need_the_rest_is_asked_to_wait_for_them() -> None:
    stage = limited(used=1_000, held=9_000)

    ending = await stage.answer()

    assert "My other answers to you may need the rest of your 10,000 tokens" in stage.note
    assert ending.outcome is Outcome.REFUSED


@in_virtual_time
async def test_a_refusal_of_one_person_leaves_the_asks_of_the_others_to_be_answered() -> None:
    claim = of_claim("U0ANA", "U0BO", "U0ANA")

    own = await limited(used=10_000).answer(claim)
    shared = await limited(used=10_000, whose=Whose.WORKSPACE).answer(claim)

    assert own.left_open == ("turn-1",)
    assert shared.left_open == ()


@in_virtual_time
async def test_without_limits_nobody_counts_before_the_model_is_asked() -> None:
    stage = Stage(said("Because."))

    await stage.answer()

    assert (stage.daily_tokens.asked, stage.model.budgets) == ([], [1000])


@in_virtual_time
async def test_what_is_left_is_the_most_that_the_model_may_say() -> None:
    stage = limited(said("Beca", finish_reason="length"), used=6_000)
    stage.model.max_completion_tokens = 8_000

    await stage.answer()

    [(wanted, _)] = stage.daily_tokens.asked
    assert stage.model.budgets == [4_000 - wanted.prompt_tokens]
    assert stage.channel.bodies() == ["Beca"]
    assert stage.note == (
        "The answer ends here: it has reached the end of your 10,000 tokens for today. "
        f"The count starts again {MIDNIGHT}."
    )


@in_virtual_time
async def test_an_endpoint_that_goes_on_beyond_what_it_was_allowed_is_cut_off() -> None:
    beyond = Delta(content="of it", usage=Usage(100, 4_001))
    stage = limited([Delta(content="Half "), beyond, 600.0, *said("and more")], used=6_000)
    stage.model.max_completion_tokens = 8_000

    ending = await stage.answer()

    assert stage.channel.bodies() == ["Half of it"]
    assert "it has reached the end of your 10,000 tokens for today" in stage.note
    assert (ending.used, stage.model.open_streams) == (Used(100, 4_001), 0)


@in_virtual_time
async def test_a_count_at_the_end_beyond_the_limit_leaves_a_whole_answer_whole() -> None:
    stage = limited([*said("Because."), Delta(usage=Usage(100, 9_999))])

    ending = await stage.answer()

    assert (stage.note, ending.used) == ("", Used(100, 9_999))


@in_virtual_time
async def test_an_answer_that_needs_no_more_than_is_left_has_no_note() -> None:
    stage = limited(said("Because."), used=6_000)
    stage.model.max_completion_tokens = 8_000

    await stage.answer()

    assert stage.note == ""


@in_virtual_time
async def test_a_second_try_gets_what_the_first_has_left_and_both_count() -> None:
    thinking: list[Step] = [
        Delta(reasoning="hm"),
        Delta(finish_reason="length", usage=Usage(1_000, 5_000)),
    ]
    stage = limited(thinking, said("There.", usage=Usage(1_000, 300)))
    stage.model.max_completion_tokens = 5_000

    ending = await stage.answer()

    (_, before), (wanted, then) = stage.daily_tokens.asked
    assert (before, then) == (Used(), Used(1_000, 5_000))
    assert stage.model.budgets == [5_000, 4_000 - wanted.prompt_tokens]
    assert ending.used == Used(2_000, 5_300)


@in_virtual_time
async def test_no_second_try_is_made_when_the_first_has_used_all() -> None:
    thinking: list[Step] = [
        Delta(reasoning="hm"),
        Delta(finish_reason="length", usage=Usage(1_000, 1_000)),
    ]
    stage = limited(thinking, used=8_000)

    ending = await stage.answer()

    assert stage.note.startswith("You have used your 10,000 tokens for today")
    assert (ending.outcome, ending.used) == (Outcome.REFUSED, Used(1_000, 1_000))


@in_virtual_time
async def test_the_warning_stands_below_the_answer() -> None:
    stage = limited(said("Because."))
    stage.daily_tokens.warns_of = Limit(Whose.PERSON, 10_000, Taken(8_200, 0))

    ending = await stage.answer()

    told = "You have used 8,200 of 10,000 tokens for today. The count starts again"
    assert stage.note == f"{told} {MIDNIGHT}."
    assert ending.outcome is Outcome.ANSWERED


@in_virtual_time
async def test_a_database_that_is_away_at_the_end_costs_the_warning_and_not_the_answer() -> None:
    stage = limited(said("Because."))
    stage.daily_tokens.is_away = True

    ending = await stage.answer()

    assert (stage.channel.bodies(), stage.note) == (["Because."], "")
    assert ending.outcome is Outcome.ANSWERED


@in_virtual_time
async def test_an_answer_counts_as_kimi_has_counted_it_on_the_day_of_its_end() -> None:
    ending = await Stage([*said("Because."), COUNTED]).answer()

    assert (ending.used, ending.day) == (Used(100, 20, 80), AT.date())


@in_virtual_time
async def test_what_is_cut_off_counts_what_was_sent_and_received_by_estimate() -> None:
    stage = Stage([Delta(reasoning="x" * 300), Delta(content="y" * 300), CutOff()])

    ending = await stage.answer()

    [sent] = stage.model.requests
    assert ending.used == Used(estimate(sent), tokens("x" * 600))
    assert ending.outcome is Outcome.FAILED


@in_virtual_time
async def test_what_was_stopped_counts_too() -> None:
    stage = Stage([Delta(content="Half of"), 60.0, *said("it.")])
    answering = asyncio.create_task(stage.answer())
    await asyncio.sleep(5)
    stage.signal.request(Stop(StopCause.PERSON, "U0ANA"))

    ending = await answering

    [sent] = stage.model.requests
    assert ending.used == Used(estimate(sent), tokens("Half of"))


@pytest.mark.parametrize(("error", "counts"), [(Busy(), 0), (KeyRefused(), 0), (NoFirstEvent(), 1)])
def test_a_request_that_was_refused_is_free_and_one_that_was_never_answered_is_not(
    error: KimiError, counts: int
) -> None:
    @in_virtual_time
    async def scene() -> None:
        stage = Stage()
        stage.model.refusals = [error]

        ending = await stage.answer()

        [sent] = stage.model.requests
        assert ending.used == (Used(estimate(sent)) if counts else None)

    scene()


@in_virtual_time
async def test_an_ask_that_is_stopped_while_it_waits_for_a_place_at_kimi_has_used_nothing() -> None:
    stage = Stage(said("Never."))
    stage.model.waits = [3]
    answering = asyncio.create_task(stage.answer())
    await asyncio.sleep(5)
    stage.signal.request(Stop(StopCause.PERSON, "U0ANA"))

    ending = await answering

    assert (ending.outcome, ending.used) == (Outcome.STOPPED, None)


def growing() -> Stage:
    """An answer of which Kimi tells in its middle what it has used."""
    return Stage([Delta(content="Half of"), COUNTED, 600.0, *said("it.")])


async def begun(stage: Stage) -> asyncio.Task[Ending]:
    answering = asyncio.create_task(stage.answer())
    await asyncio.sleep(5)
    return answering


@in_virtual_time
async def test_what_was_used_for_an_answer_that_begins_anew_counts() -> None:
    stage = growing()
    answering = await begun(stage)

    stage.signal.request(Stop(StopCause.ASK_EDITED))
    await asyncio.wait({answering})

    assert isinstance(answering.exception(), StopRequested)
    assert stage.daily_tokens.counted == [(AT.date(), Used(100, 20, 80))]


@in_virtual_time
async def test_what_was_used_for_an_answer_that_another_owner_goes_on_with_counts() -> None:
    handed_over, lost = growing(), growing()
    lost.memory.note_fails_with = ClaimLost()
    handing_over = await begun(handed_over)

    handing_over.cancel(DRAINING)
    await asyncio.wait({handing_over})
    with pytest.raises(ClaimLost):
        await lost.answer()

    assert handing_over.cancelled()
    assert handed_over.daily_tokens.counted == [(AT.date(), Used(100, 20, 80))]
    assert [used.completion_tokens > 0 for _, used in lost.daily_tokens.counted] == [True]


@in_virtual_time
async def test_what_ends_a_turn_is_counted_with_its_end_alone() -> None:
    stages = [
        Stage([*said("Because."), COUNTED]),
        Stage([Delta(content="Half"), COUNTED, CutOff()]),
    ]

    endings = [await stage.answer() for stage in stages]

    assert [ending.used for ending in endings] == [Used(100, 20, 80)] * 2
    assert [stage.daily_tokens.counted for stage in stages] == [[], []]


@in_virtual_time
async def test_a_database_that_is_away_costs_the_count_and_not_the_new_beginning() -> None:
    stage = growing()
    stage.daily_tokens.is_away = True
    answering = await begun(stage)

    stage.signal.request(Stop(StopCause.ASK_EDITED))
    await asyncio.wait({answering})

    assert isinstance(answering.exception(), StopRequested)


@in_virtual_time
async def test_what_begins_anew_while_it_waits_for_a_place_at_kimi_has_used_nothing() -> None:
    stage = growing()
    stage.model.waits = [3]
    answering = await begun(stage)

    stage.signal.request(Stop(StopCause.ASK_EDITED))
    await asyncio.wait({answering})

    assert isinstance(answering.exception(), StopRequested)
    assert stage.daily_tokens.counted == []


@in_virtual_time
async def test_what_was_refused_once_it_had_begun_is_counted_once() -> None:
    too_long = [replace(ROOT, id=n, ts=f"17000000{n:02d}.1", text="word " * 200) for n in range(10)]
    again = [*said("Better."), Delta(usage=Usage(50, 10, 0))]
    long = Stage([COUNTED, ContextTooLong()], again, memory=Memory(too_long))
    pictured = Stage(
        [COUNTED, RequestRefused()], again, memory=Memory([replace(ROOT, attachments=(SHOT,))])
    )

    of_long = await long.answer(replace(CLAIM, turns=(replace(TURN, ts=too_long[-1].ts),)))
    of_pictured = await pictured.answer()

    assert (of_long.used, of_pictured.used) == (Used(150, 30, 80), Used(150, 30, 80))
