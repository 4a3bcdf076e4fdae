"""What the thread shows, and what is kept, when somebody wants a turn to stop."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from kimibot import texts
from kimibot.answers import Delta
from kimibot.conversation import Remembered, Speaker
from kimibot.errors import ReplyRefused
from kimibot.stop_signal import StopRequested
from kimibot.turns import Claim, Outcome, Stop, StopCause
from kimibot.views import View
from tests.fakes import THREAD, Channel
from tests.test_answering import CLAIM, TURN, Stage, said
from tests.virtual_time import in_virtual_time

BY_ANA = Stop(StopCause.PERSON, "U0ANA")
ASK_DELETED = Stop(StopCause.ASK_DELETED)
REPLY_DELETED = Stop(StopCause.REPLY_DELETED)
SECOND = replace(TURN, id="turn-2", ts="1700000005.000100")
HALF = [Delta(content="Half of ", completion_id="msg_1"), 60.0, *said("it.")]


def both(first: Stop | None, second: Stop | None) -> Claim:
    return replace(CLAIM, turns=(replace(TURN, stop=first), replace(SECOND, stop=second)))


@in_virtual_time
async def test_a_stopped_answer_stays_and_says_who_stopped_it() -> None:
    stage = Stage(HALF)
    answering = asyncio.create_task(stage.answer(both(None, None)))
    await asyncio.sleep(5)
    assert (stage.has_button, stage.model.open_streams) == (True, 1)

    stage.signal.request(BY_ANA)
    await asyncio.sleep(1)

    assert answering.done()
    ending = answering.result()
    assert stage.channel.bodies() == ["Half of "]
    assert (stage.note, stage.buttons) == ("Stopped by Ana.", [texts.CONTINUE])
    assert stage.model.open_streams == 0
    assert (ending.outcome, ending.trace_id, ending.left_open) == (Outcome.STOPPED, "msg_1", ())
    assert ending.answer is not None
    assert ending.answer.finish_reason is None


@in_virtual_time
async def test_a_stop_before_the_first_word_leaves_no_answer() -> None:
    stage = Stage([60.0, *said("late")])
    answering = asyncio.create_task(stage.answer())
    await asyncio.sleep(1)
    stage.signal.request(BY_ANA)

    ending = await answering

    assert stage.channel.bodies() == [""]
    assert stage.note == "Stopped by Ana."
    assert (ending.outcome, ending.answer) == (Outcome.STOPPED, None)


@in_virtual_time
async def test_a_stop_of_somebody_whose_name_is_not_known_waits_for_no_name() -> None:
    stage = Stage(HALF)
    answering = asyncio.create_task(stage.answer())
    await asyncio.sleep(5)
    stage.signal.request(Stop(StopCause.PERSON, "U0BO"))
    await answering

    assert stage.note == texts.STOPPED


@in_virtual_time
async def test_a_stop_after_the_last_word_lets_the_answer_be() -> None:
    channel = Channel(latency_seconds=3)
    stage = Stage(said("Whole."), channel=channel)
    answering = asyncio.create_task(stage.answer())
    await asyncio.sleep(2)
    stage.signal.request(BY_ANA)

    assert (await answering).outcome is Outcome.ANSWERED
    assert (channel.bodies(), stage.note) == (["Whole."], "")


@in_virtual_time
async def test_a_turn_that_was_stopped_before_it_ran_asks_nobody_and_says_so() -> None:
    stage = Stage()

    ending = await stage.answer(both(BY_ANA, None))

    assert stage.note == "Stopped by Ana."
    assert stage.channel.count("post") == 1
    assert stage.model.requests == []
    assert (ending.outcome, ending.left_open) == (Outcome.STOPPED, ("turn-2",))


@in_virtual_time
async def test_asks_that_were_stopped_together_are_told_so_once() -> None:
    stage = Stage()

    ending = await stage.answer(both(BY_ANA, BY_ANA))

    assert len(stage.channel.shown) == 1
    assert ending.left_open == ()


@in_virtual_time
async def test_a_deleted_ask_takes_its_reply_with_it_and_leaves_the_others_to_be_answered() -> None:
    stage = Stage(HALF)
    answering = asyncio.create_task(stage.answer(both(None, None)))
    await asyncio.sleep(5)
    stage.signal.request(ASK_DELETED)

    ending = await answering

    assert stage.channel.shown == {}
    assert stage.workspace.told == []
    assert (ending.outcome, ending.answer) == (Outcome.STOPPED, None)
    assert (ending.reply_ts, ending.left_open) == ((), ("turn-2",))


@in_virtual_time
async def test_a_reply_that_slack_does_not_let_go_is_left_without_an_apology() -> None:
    refusal = ReplyRefused("chat.delete", "no_permission")
    stage = Stage(HALF, channel=Channel(faults={"delete": [refusal]}))
    answering = asyncio.create_task(stage.answer())
    await asyncio.sleep(5)
    stage.signal.request(ASK_DELETED)

    ending = await answering

    assert stage.note == texts.STOPPED
    assert stage.workspace.told == []
    assert ending.outcome is Outcome.STOPPED


@in_virtual_time
async def test_of_an_ask_that_was_deleted_before_it_ran_nothing_is_seen() -> None:
    stage = Stage()

    ending = await stage.answer(both(ASK_DELETED, None))

    assert stage.channel.calls == []
    assert (ending.outcome, ending.left_open) == (Outcome.STOPPED, ("turn-2",))


@in_virtual_time
async def test_what_an_earlier_owner_showed_of_a_deleted_ask_is_taken_away() -> None:
    stage = Stage()
    await stage.channel.post(THREAD, View("half"), "turn-1", 1)
    turn = replace(TURN, attempt=2, stop=ASK_DELETED)

    ending = await stage.answer(replace(CLAIM, turns=(turn,)))

    assert stage.channel.shown == {}
    assert (ending.outcome, ending.reply_ts) == (Outcome.STOPPED, ())


@in_virtual_time
async def test_a_deleted_part_stops_the_answer_and_nothing_of_it_is_kept() -> None:
    stage = Stage([Delta(content="x" * 1500), 60.0, *said("y")])
    answering = asyncio.create_task(stage.answer())
    await asyncio.sleep(20)
    first, second = sorted(stage.channel.shown)
    del stage.channel.shown[first]
    stage.signal.request(REPLY_DELETED)

    ending = await answering

    assert list(stage.channel.shown) == [second]
    assert (stage.note, stage.has_button) == (texts.STOPPED, False)
    assert (ending.outcome, ending.answer) == (Outcome.STOPPED, None)


@in_virtual_time
async def test_a_deleted_reply_is_not_written_anew() -> None:
    stage = Stage(HALF)
    answering = asyncio.create_task(stage.answer())
    await asyncio.sleep(5)
    stage.channel.shown.clear()
    stage.signal.request(REPLY_DELETED)

    ending = await answering

    assert stage.channel.shown == {}
    assert (ending.outcome, ending.answer) == (Outcome.STOPPED, None)


@in_virtual_time
async def test_who_waits_for_a_place_at_kimi_is_told_how_many_are_ahead() -> None:
    stage = Stage(said("At last."))
    stage.model.ahead, stage.model.waits = 2, [2, 1, 0]

    await stage.answer()

    notes = [view.note for _, _, view in stage.channel.history if view.note]
    assert notes[0] == "Queued, 2 ahead"
    assert any(note.startswith("Queued, 2 ahead… ") for note in notes)
    assert any(note.startswith("Queued, 1 ahead… ") for note in notes)
    assert notes[-1].startswith("Thinking…")
    assert stage.channel.bodies() == ["At last."]


@in_virtual_time
async def test_who_waits_for_a_place_at_kimi_may_stop() -> None:
    stage = Stage(said("never"))
    stage.model.ahead, stage.model.waits = 1, [1, 1]
    answering = asyncio.create_task(stage.answer())
    await asyncio.sleep(5)
    stage.signal.request(BY_ANA)

    assert (await answering).outcome is Outcome.STOPPED
    assert stage.note == "Stopped by Ana."


@in_virtual_time
async def test_a_stop_before_the_first_new_word_leaves_what_an_earlier_try_has_shown() -> None:
    stage = Stage([60.0, *said("anew")])
    shown = await stage.channel.post(THREAD, View("Half of it."), "turn-1", 1)
    stage.memory.rows.append(Remembered(2, shown, Speaker.US, "", "Half of it."))
    turn = replace(TURN, attempt=2, reply_ts=(shown,))
    answering = asyncio.create_task(stage.answer(replace(CLAIM, turns=(turn,))))
    await asyncio.sleep(5)
    stage.signal.request(BY_ANA)

    ending = await answering

    assert (stage.channel.bodies(), stage.note) == (["Half of it."], "Stopped by Ana.")
    assert ending.answer is not None
    assert ending.answer.content == "Half of it."


@in_virtual_time
async def test_an_edited_ask_ends_the_work_without_a_word_in_the_thread() -> None:
    stage = Stage(HALF)
    answering = asyncio.create_task(stage.answer())
    await asyncio.sleep(5)
    stage.signal.request(Stop(StopCause.ASK_EDITED))
    await asyncio.wait({answering})

    assert isinstance(answering.exception(), StopRequested)
    assert (stage.channel.bodies(), stage.note) == (["Half of "], "")
    assert stage.model.open_streams == 0
