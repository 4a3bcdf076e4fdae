"""A press below a reply is acted on, however soon it comes, or is told why not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from kimibot import texts
from kimibot.background import Background
from kimibot.buttons import Buttons
from kimibot.conversation import Asker, Shortcut, Thread
from kimibot.review import phrases
from kimibot.turns import Kind, Press
from kimibot.views import Button
from tests.virtual_time import in_virtual_time

THREAD = Thread("T1", "C1", "1.0")


class Rows:
    """The rows of a turn that ends after it was looked at so many times."""

    def __init__(self, looks: int, *, is_gone: bool = False) -> None:
        self._looks = looks
        self._is_gone = is_gone
        self.pressed: list[Press] = []
        self.askers: list[Asker | None] = []

    async def turn_owner(self, turn_id: str) -> tuple[Thread, str] | None:
        return THREAD, "U1"

    async def has_asked(self, turn_id: str, person: str) -> bool:
        return person == "U1"

    async def has_ended(self, turn_id: str) -> bool:
        self._looks -= 1
        return self._looks < 0

    async def turn_of_ours(self, thread: Thread, ts: str) -> str | None:
        return "turn" if ts == "2.0" else None

    async def press(
        self, turn_id: str, press: Press, now: datetime, asker: Asker | None = None
    ) -> int | None:
        self.askers.append(asker)
        self.pressed.append(press)
        if self._is_gone:
            return None
        return 7 if self.pressed.count(press) == 1 else None

    async def requeue(self, turn_id: str) -> int | None:
        return 7 if self._looks < 0 else None

    async def answer_to(self, turn_id: str) -> Any:
        has_any = self._looks < 0 and not self._is_gone
        return {"reasoning_content": "Hm."} if has_any else None

    async def accept(self, message: Any, **how: Any) -> None:
        return None


class Seen:
    """What the press has led to."""

    def __init__(self) -> None:
        self.woken: list[int] = []
        self.told: list[tuple[str, str]] = []
        self.shown: list[str] = []

    async def whisper(
        self, thread: Thread, user: str, text: str, buttons: Sequence[Button] = ()
    ) -> None:
        self.told.append((user, text))

    async def show(self, thread: Thread, user: str, text: str) -> None:
        self.shown.append(text)


def buttons_of(rows: Rows, seen: Seen, background: Background) -> Buttons:
    return Buttons(
        rows,
        whisper=seen.whisper,
        show=seen.show,
        wake=seen.woken.append,
        background=background,
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        shows_reasoning=True,
    )


async def pressed(rows: Rows) -> tuple[bool, Seen]:
    seen, background = Seen(), Background()
    has_served = await buttons_of(rows, seen, background).suggest_patch("turn", "U1")
    await background.close(1.0)
    return has_served, seen


async def picked(rows: Rows, *values: str) -> Seen:
    seen, background = Seen(), Background()
    buttons = buttons_of(rows, seen, background)
    for value in values:
        await buttons.pick(value, Asker("U2", "T2"), kind=Kind.EXPLAIN)
    await background.close(1.0)
    return seen


@in_virtual_time
async def test_who_presses_before_the_turn_has_ended_is_served_once_it_has() -> None:
    rows = Rows(looks=5)

    has_served, seen = await pressed(rows)

    assert (has_served, seen.woken, seen.told) == (True, [7], [])
    assert rows.pressed == [Press(Kind.PATCH)]
    assert rows.askers == [Asker("U1")]


@in_virtual_time
async def test_a_failed_turn_is_tried_again_and_reasoning_shown_however_soon_that_is_wanted() -> (
    None
):
    seen, background = Seen(), Background()

    await buttons_of(Rows(looks=5), seen, background).try_again("turn", "U1")
    await buttons_of(Rows(looks=5), seen, background).show_reasoning("turn", "U1")
    await background.close(1.0)

    assert (seen.woken, seen.shown, seen.told) == ([7], ["Hm."], [])


@in_virtual_time
async def test_a_button_stays_and_says_why_while_the_answer_is_being_written() -> None:
    rows = Rows(looks=1_000)

    has_served, seen = await pressed(rows)

    assert (has_served, seen.woken) == (False, [])
    assert seen.told == [("U1", texts.NOT_ANSWERED_YET)]
    assert rows.pressed == []


@in_virtual_time
async def test_who_wants_something_of_an_answer_that_is_gone_is_told_so() -> None:
    has_served, seen = await pressed(Rows(looks=0, is_gone=True))

    assert (has_served, seen.woken) == (True, [])
    assert seen.told == [("U1", phrases.GONE)]


@in_virtual_time
async def test_who_presses_twice_is_told_nothing_more() -> None:
    rows = Rows(looks=0)
    await pressed(rows)

    has_served, seen = await pressed(rows)

    assert (has_served, seen.woken, seen.told) == (True, [], [])


@in_virtual_time
async def test_whoever_picks_something_is_its_asker() -> None:
    rows = Rows(looks=3)

    seen = await picked(rows, "turn:2", "turn:11")

    assert rows.pressed == [Press(Kind.EXPLAIN, 2), Press(Kind.EXPLAIN, 11)]
    assert rows.askers == [Asker("U2", "T2")] * 2
    assert (seen.woken, seen.told) == ([7, 7], [])


@in_virtual_time
async def test_who_picks_what_was_picked_before_is_told_so() -> None:
    seen = await picked(Rows(looks=0), "turn:2", "turn:2")

    assert (seen.woken, seen.told) == ([7], [("U2", texts.PICKED_ALREADY)])


@in_virtual_time
async def test_nothing_is_picked_of_a_reply_that_is_still_being_written() -> None:
    rows = Rows(looks=1_000)

    seen = await picked(rows, "turn:2")

    assert (rows.pressed, seen.told) == ([], [("U2", texts.NOT_ANSWERED_YET)])


async def chosen(rows: Rows, *times: str) -> Seen:
    seen, background = Seen(), Background()
    buttons = buttons_of(rows, seen, background)
    for ts in times:
        shortcut = Shortcut(Asker("U2", "T2"), THREAD, ts, None, is_ours=ts != "4.0")
        await buttons.ask_about(shortcut, kind=Kind.REVIEW_MESSAGE)
    await background.close(1.0)
    return seen


@in_virtual_time
async def test_who_chooses_our_answer_in_its_menu_is_its_asker_and_the_next_one_is_told() -> None:
    rows = Rows(looks=0)

    seen = await chosen(rows, "2.0", "2.0")

    assert rows.pressed == [Press(Kind.REVIEW_MESSAGE)] * 2
    assert rows.askers == [Asker("U2", "T2")] * 2
    assert (seen.woken, seen.told) == ([7], [("U2", texts.ASKED_ALREADY)])


@in_virtual_time
@pytest.mark.parametrize(
    ("rows", "ts", "text"),
    [
        (Rows(looks=0), "3.0", texts.NOTHING_TO_ANSWER),
        (Rows(looks=0), "4.0", texts.NOTHING_TO_ANSWER),
        (Rows(looks=0, is_gone=True), "2.0", texts.NOTHING_TO_ANSWER),
        (Rows(looks=1_000), "2.0", texts.NOT_WRITTEN_YET),
    ],
)
async def test_what_is_no_answer_of_ours_is_not_asked_about(rows: Rows, ts: str, text: str) -> None:
    seen = await chosen(rows, ts)

    assert (rows.pressed, seen.told) == ([], [("U2", text)])
