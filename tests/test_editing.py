"""An edit corrects the history; it asks, begins anew, or offers to, and never does so twice."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import pytest

from kimibot import texts
from kimibot.background import Background
from kimibot.conversation import Edit, Message, Speaker, Thread, Us
from kimibot.editing import Editing, read_renewal, written
from kimibot.errors import SlackError
from kimibot.turns import Again, Corrected, Renewal, Stop, StopCause, TurnToStop
from kimibot.views import Button

US = Us("T1", "UBOT", "BBOT")
THREAD = Thread("T1", "C1", "1700000000.000100")
PLAIN = Message(THREAD, "1700000100.000100", Speaker.PERSON, "U1", "why?")
ASK = replace(PLAIN, text="<@UBOT> why?", mentions=frozenset({"UBOT"}))
RESTART = TurnToStop("turn-1", 7, Stop(StopCause.ASK_EDITED))
RENEWAL = Renewal("turn-1", 1)

SOON, LATE, MUCH_LATER = "1700000110.000000", "1700000116.000000", "1700009999.000000"


@dataclass
class Corrections:
    """Says what it is told to say, and notes what it is asked."""

    answers: list[Corrected]
    again: Again = Again.QUEUED
    restarts: list[bool] = field(default_factory=list)
    added: list[Message] = field(default_factory=list)
    renewed: list[Renewal] = field(default_factory=list)

    async def correct(
        self, message: Message, *, files_gone: Collection[str], restarts: bool
    ) -> Corrected:
        self.restarts.append(restarts)
        return self.answers.pop(0)

    async def add_if_ours(self, message: Message) -> None:
        self.added.append(message)

    async def answer_again(self, renewal: Renewal) -> tuple[Again, int]:
        self.renewed.append(renewal)
        return self.again, 7

    async def turn_owner(self, turn_id: str) -> tuple[Thread, str] | None:
        return (THREAD, "U1") if turn_id == "turn-1" else None

    async def has_asked(self, turn_id: str, person: str) -> bool:
        return person == "U1"


class Stage:
    def __init__(self, *answers: Corrected, again: Again = Again.QUEUED) -> None:
        self.corrections = Corrections(list(answers), again)
        self.accepted: list[Message] = []
        self.restarted: list[TurnToStop] = []
        self.woken: list[int] = []
        self.whispers: list[tuple[str, str, tuple[Button, ...]]] = []
        self.editing = Editing(
            self.corrections,
            US,
            accept=self._accept,
            restart=self.restarted.append,
            wake=self.woken.append,
            whisper=self._whisper,
            background=Background(),
        )

    async def edited(self, message: Message, before: Message | None, edited_ts: str) -> None:
        await self.editing.edited(Edit(message, before, edited_ts))
        await asyncio.sleep(0)

    async def pressed(self, value: str, person: str = "U1") -> bool:
        has_served = await self.editing.pressed(value, person)
        await asyncio.sleep(0)
        return has_served

    async def _accept(self, message: Message) -> None:
        self.accepted.append(message)

    async def _whisper(
        self, thread: Thread, user: str, text: str, buttons: Sequence[Button] = ()
    ) -> None:
        self.whispers.append((user, text, tuple(buttons)))
        raise SlackError("chat.postEphemeral", "user_not_in_channel")  # which must do no harm


KNOWN = Corrected(is_known=True, has_changed=True)
ANSWERED = replace(KNOWN, has_turn=True, renewal=RENEWAL)


@pytest.mark.parametrize(("edited_ts", "is_soon"), [(SOON, True), (LATE, False), ("", False)])
async def test_an_edit_counts_as_soon_for_fifteen_seconds(edited_ts: str, is_soon: bool) -> None:
    stage = Stage(replace(KNOWN, has_turn=True))

    await stage.edited(ASK, ASK, edited_ts)

    assert stage.corrections.restarts == [is_soon]


async def test_what_runs_begins_anew_and_nothing_else_happens() -> None:
    stage = Stage(replace(ANSWERED, restart=RESTART))

    await stage.edited(ASK, ASK, SOON)

    assert stage.restarted == [RESTART]
    assert (stage.accepted, stage.whispers) == ([], [])


async def test_an_edit_that_adds_the_mention_is_an_ask_however_late() -> None:
    stage = Stage(KNOWN, replace(KNOWN, has_changed=False, has_turn=True))

    await stage.edited(ASK, PLAIN, MUCH_LATER)

    assert stage.accepted == [ASK]
    assert (stage.restarted, stage.whispers) == ([], [])


async def test_an_edit_of_what_was_said_to_others_asks_nothing() -> None:
    stage = Stage(KNOWN)

    await stage.edited(PLAIN, PLAIN, SOON)

    assert (stage.accepted, stage.corrections.added) == ([], [])


async def test_an_old_ask_of_which_nothing_is_known_is_not_asked_by_an_edit() -> None:
    stage = Stage(Corrected(is_known=False, has_changed=False))

    await stage.edited(ASK, ASK, MUCH_LATER)

    assert stage.accepted == []


async def test_an_edit_that_overtakes_its_ask_is_the_ask() -> None:
    came_meanwhile = replace(KNOWN, has_turn=True, restart=RESTART)
    stage = Stage(Corrected(is_known=False, has_changed=False), came_meanwhile)

    await stage.edited(ASK, ASK, SOON)

    assert stage.accepted == [ASK]
    assert stage.restarted == [RESTART]


async def test_an_edit_that_overtakes_a_remark_is_kept_for_it() -> None:
    stage = Stage(Corrected(is_known=False, has_changed=False))

    await stage.edited(PLAIN, PLAIN, SOON)

    assert stage.corrections.added == [PLAIN]


async def test_the_asker_of_an_edited_question_is_offered_another_answer() -> None:
    stage = Stage(ANSWERED)

    await stage.edited(ASK, ASK, MUCH_LATER)

    button = Button(texts.ANSWER_AGAIN, texts.ANSWER_AGAIN_LABEL, "turn-1:1")
    assert stage.whispers == [("U1", texts.QUESTION_EDITED, (button,))]
    assert stage.accepted == []


async def test_a_repeated_delivery_offers_nothing() -> None:
    stage = Stage(replace(ANSWERED, has_changed=False))

    await stage.edited(ASK, ASK, MUCH_LATER)

    assert stage.whispers == []


async def test_a_press_queues_the_answer_and_wakes_the_worker() -> None:
    stage = Stage()

    assert await stage.pressed(written(RENEWAL))

    assert (stage.corrections.renewed, stage.woken) == ([RENEWAL], [7])


@pytest.mark.parametrize(
    ("again", "told"),
    [
        (Again.IS_FOLLOWED, [texts.IS_FOLLOWED]),
        (Again.STILL_RUNNING, [texts.NOT_ANSWERED_YET]),
        (Again.DONE_ALREADY, []),
    ],
)
async def test_a_press_that_comes_to_nothing_is_explained_unless_it_is_the_second(
    again: Again, told: list[str]
) -> None:
    stage = Stage(again=again)

    has_served = await stage.pressed(written(RENEWAL))

    assert [text for _, text, _ in stage.whispers] == told
    assert stage.woken == []
    assert has_served is (again is not Again.STILL_RUNNING)


async def test_only_the_asker_may_press() -> None:
    stage = Stage()

    assert not await stage.pressed(written(RENEWAL), person="U2")

    assert [(user, text) for user, text, _ in stage.whispers] == [("U2", texts.NOT_YOURS)]
    assert stage.corrections.renewed == []


@pytest.mark.parametrize("value", ["", "turn-1", "turn-1:", ":1", "turn-1:x", "gone:1"])
async def test_a_value_that_is_none_of_ours_does_nothing(value: str) -> None:
    stage = Stage()

    await stage.pressed(value)

    assert (stage.corrections.renewed, stage.whispers) == ([], [])


def test_a_renewal_comes_back_from_the_button_as_it_was() -> None:
    assert read_renewal(written(RENEWAL)) == RENEWAL
