"""Who may stop what, who is told why not, and what goes to the worker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from kimibot import texts
from kimibot.background import Background
from kimibot.conversation import Deletion, Message, Reaction, Speaker, Thread, Us
from kimibot.errors import DatabaseUnavailable, ReplyRefused
from kimibot.stopping import Stopping
from kimibot.turns import Stop, StopCause, TurnToStop
from kimibot.views import Button
from tests.fakes import THREAD

US = Us(team="T0TEAM", user_id="U0KIMI", bot_id="B0KIMI")
WORD = Message(THREAD, "1700000009.000100", Speaker.PERSON, "U0ANA", "stop")
TO_US = replace(WORD, mentions=frozenset({"U0KIMI"}))
TURN = TurnToStop("turn-1", 7, Stop(StopCause.PERSON, "U0ANA"))
REACTION = Reaction("T0TEAM", "C0DEV", "1700000001.000100", "x", "U0ANA")


@dataclass
class Wishes:
    """One open turn of Ana's, or none."""

    turns: list[TurnToStop] = field(default_factory=lambda: [TURN])
    has_others: bool = False
    speakers: frozenset[str] = frozenset({"U0ANA"})
    is_up: bool = True
    remembered: list[Message] = field(default_factory=list)
    pressed: list[tuple[str, str]] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    forgotten: list[tuple[Deletion, bool]] = field(default_factory=list)

    async def remember_word(self, word: Message) -> bool:
        if not self.is_up:
            raise DatabaseUnavailable
        self.remembered.append(word)
        return self.remembered.count(word) == 1

    async def mark_for_word(self, word: Message) -> list[TurnToStop]:
        return self.turns if word.author in self.speakers else []

    async def goes_on(self, word: Message) -> bool:
        return self.has_others

    async def mark_turn(self, turn_id: str, person: str) -> list[TurnToStop]:
        self.pressed.append((turn_id, person))
        return self.turns

    async def takes_part(self, turn_id: str, person: str) -> bool:
        return person in self.speakers

    async def mark_reply(self, reaction: Reaction) -> list[TurnToStop]:
        self.reactions.append(reaction)
        return self.turns

    async def forget(self, deletion: Deletion, *, is_ask: bool) -> list[TurnToStop]:
        self.forgotten.append((deletion, is_ask))
        return self.turns

    async def turn_owner(self, turn_id: str) -> tuple[Thread, str] | None:
        return (THREAD, "U0ANA") if turn_id == "turn-1" else None


@dataclass
class Stage:
    wishes: Wishes
    refusal: ReplyRefused | None = None
    stopped: list[TurnToStop] = field(default_factory=list)
    whispers: list[tuple[str, str]] = field(default_factory=list)

    async def whisper(
        self, thread: Thread, user: str, text: str, buttons: Sequence[Button] = ()
    ) -> None:
        self.whispers.append((user, text))
        if self.refusal is not None:
            raise self.refusal

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Stopping]:
        """All whispers are heard when the block has ended."""
        background = Background()
        yield Stopping(
            self.wishes,
            US,
            stop_turn=self.stopped.append,
            whisper=self.whisper,
            background=background,
        )
        await background.close(seconds=1)


async def test_the_word_stops_what_its_author_may_stop() -> None:
    stage = Stage(Wishes())
    async with stage.open() as stopping:
        await stopping.said(WORD)

    assert (stage.stopped, stage.whispers) == ([TURN], [])
    assert stage.wishes.remembered == [WORD]


async def test_a_stranger_hears_that_it_is_not_theirs_to_stop_and_only_once() -> None:
    stage = Stage(Wishes(has_others=True))
    word = replace(WORD, author="U0MEI")
    async with stage.open() as stopping:
        await stopping.said(word)
        await stopping.said(word)

    assert stage.stopped == []
    assert stage.whispers == [("U0MEI", texts.NOT_YOURS_TO_STOP)]


async def test_where_nothing_runs_only_who_speaks_to_us_is_told_so() -> None:
    stage = Stage(Wishes(turns=[]))
    async with stage.open() as stopping:
        await stopping.said(WORD)
        await stopping.said(replace(TO_US, ts="1700000010.000100"))

    assert stage.whispers == [("U0ANA", texts.NOTHING_TO_STOP)]


async def test_channel_talk_costs_no_look_at_the_database() -> None:
    stage = Stage(Wishes())
    async with stage.open() as stopping:
        await stopping.said(replace(WORD, ts=THREAD.root_ts))

    assert (stage.wishes.remembered, stage.stopped) == ([], [])


async def test_a_root_that_mentions_us_counts() -> None:
    stage = Stage(Wishes())
    async with stage.open() as stopping:
        await stopping.said(replace(TO_US, ts=THREAD.root_ts))

    assert stage.stopped == [TURN]


async def test_without_a_commit_there_is_no_acknowledgement() -> None:
    stage = Stage(Wishes(is_up=False))
    async with stage.open() as stopping:
        with pytest.raises(DatabaseUnavailable):
            await stopping.said(WORD)


async def test_a_whisper_that_slack_refuses_harms_nobody() -> None:
    refusal = ReplyRefused("chat.postEphemeral", "user_not_in_channel")
    stage = Stage(Wishes(turns=[], has_others=True), refusal)
    async with stage.open() as stopping:
        await stopping.said(WORD)

    assert len(stage.whispers) == 1


@pytest.mark.parametrize("person", ["U0ANA", "U0BO"])
async def test_the_asker_and_who_takes_part_may_press_the_button(person: str) -> None:
    stage = Stage(Wishes(speakers=frozenset({"U0BO"})))
    async with stage.open() as stopping:
        await stopping.pressed("turn-1", person)

    assert stage.wishes.pressed == [("turn-1", person)]
    assert stage.stopped == [TURN]


async def test_a_stranger_who_presses_the_button_is_refused() -> None:
    stage = Stage(Wishes())
    async with stage.open() as stopping:
        await stopping.pressed("turn-1", "U0MEI")

    assert (stage.wishes.pressed, stage.stopped) == ([], [])
    assert stage.whispers == [("U0MEI", texts.NOT_YOURS_TO_STOP)]


async def test_the_button_of_a_turn_that_is_not_ours_does_nothing() -> None:
    stage = Stage(Wishes())
    async with stage.open() as stopping:
        await stopping.pressed("somebody else's", "U0ANA")

    assert (stage.stopped, stage.whispers) == ([], [])


@pytest.mark.parametrize("name", ["x", "octagonal_sign"])
async def test_a_cross_and_a_stop_sign_stop(name: str) -> None:
    stage = Stage(Wishes())
    async with stage.open() as stopping:
        await stopping.reacted(replace(REACTION, name=name))

    assert stage.stopped == [TURN]


@pytest.mark.parametrize("name", ["eyes", "white_check_mark", "heavy_multiplication_x", ""])
async def test_other_reactions_cost_no_look_at_the_database(name: str) -> None:
    stage = Stage(Wishes())
    async with stage.open() as stopping:
        await stopping.reacted(replace(REACTION, name=name))

    assert (stage.wishes.reactions, stage.stopped) == ([], [])


@pytest.mark.parametrize(("message", "is_ask"), [(TO_US, True), (WORD, False), (None, False)])
async def test_a_deletion_is_passed_on_with_whether_it_was_an_ask(
    message: Message | None, is_ask: bool
) -> None:
    stage = Stage(Wishes())
    deletion = Deletion(THREAD, WORD.ts, message)
    async with stage.open() as stopping:
        await stopping.deleted(deletion)

    assert stage.wishes.forgotten == [(deletion, is_ask)]
    assert stage.stopped == [TURN]
