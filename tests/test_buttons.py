"""A press below a reply is acted on, however soon it comes, or is told why not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from kimibot import texts
from kimibot.background import Background
from kimibot.buttons import Buttons
from kimibot.conversation import Thread
from kimibot.turns import Kind, Press
from kimibot.views import Button
from tests.virtual_time import in_virtual_time

THREAD = Thread("T1", "C1", "1.0")


class Rows:
    """The rows of a turn that ends after it was looked at so many times."""

    def __init__(self, looks: int) -> None:
        self._looks = looks
        self.pressed: list[Press] = []

    async def turn_owner(self, turn_id: str) -> tuple[Thread, str] | None:
        return THREAD, "U1"

    async def has_ended(self, turn_id: str) -> bool:
        self._looks -= 1
        return self._looks < 0

    async def press(self, turn_id: str, press: Press, now: datetime) -> int | None:
        self.pressed.append(press)
        return 7

    async def requeue(self, turn_id: str) -> int | None:
        return None

    async def answer_to(self, turn_id: str) -> Any:
        return None

    async def accept(self, message: Any, **how: Any) -> None:
        return None


class Seen:
    """What the press has led to."""

    def __init__(self) -> None:
        self.woken: list[int] = []
        self.told: list[tuple[str, str]] = []

    async def whisper(
        self, thread: Thread, user: str, text: str, buttons: Sequence[Button] = ()
    ) -> None:
        self.told.append((user, text))

    async def show(self, thread: Thread, user: str, text: str) -> None:
        raise AssertionError("nothing is to be shown")


async def pressed(rows: Rows) -> tuple[bool, Seen]:
    seen, background = Seen(), Background()
    buttons = Buttons(
        rows,
        whisper=seen.whisper,
        show=seen.show,
        wake=seen.woken.append,
        background=background,
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        shows_reasoning=False,
    )
    has_served = await buttons.suggest_patch("turn", "U1")
    await background.close(1.0)
    return has_served, seen


@in_virtual_time
async def test_who_presses_before_the_turn_has_ended_is_served_once_it_has() -> None:
    rows = Rows(looks=5)

    has_served, seen = await pressed(rows)

    assert (has_served, seen.woken, seen.told) == (True, [7], [])
    assert rows.pressed == [Press(Kind.PATCH)]


@in_virtual_time
async def test_a_button_stays_and_says_why_while_the_answer_is_being_written() -> None:
    rows = Rows(looks=1_000)

    has_served, seen = await pressed(rows)

    assert (has_served, seen.woken) == (False, [])
    assert seen.told == [("U1", texts.NOT_ANSWERED_YET)]
    assert rows.pressed == []
