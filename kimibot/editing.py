"""What an edit does: the history is corrected, and its answer begun anew, offered, or first asked.

The correction is stored before Slack gets its acknowledgement. What runs here begins anew at once,
and what runs elsewhere when its owner looks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from kimibot import texts
from kimibot.addressing import is_for_us
from kimibot.background import Background
from kimibot.conversation import Edit, Message, Speaker, Thread, Us
from kimibot.turns import Again, Corrected, Renewal, TurnToStop
from kimibot.views import Button
from kimibot.whispering import Whisper, whisper_if_possible

RESTART_SECONDS = 15.0
"""So soon after the ask an edit mends it; later, what has been written is worth keeping."""

ON_ITS_WAY_SECONDS = 900.0
"""The ask itself can come later than its edit: so late Slack delivers an event once more, see
https://docs.slack.dev/apis/events-api/#retries"""


class Corrections(Protocol):
    """What is stored of edits. All raise DatabaseUnavailable."""

    async def correct(
        self, message: Message, *, files_gone: Collection[str], restarts: bool
    ) -> Corrected: ...

    async def add_if_ours(self, message: Message) -> None: ...

    async def answer_again(self, renewal: Renewal) -> tuple[Again, int]: ...

    async def turn_owner(self, turn_id: str) -> tuple[Thread, str] | None: ...

    async def has_asked(self, turn_id: str, person: str) -> bool:
        """Whether the turn answers an ask of theirs, alone or with those of others."""


class Editing:
    """Both raise DatabaseUnavailable: then Slack must not get its acknowledgement."""

    def __init__(
        self,
        corrections: Corrections,
        us: Us,
        *,
        accept: Callable[[Message], Awaitable[object]],
        restart: Callable[[TurnToStop], None],
        wake: Callable[[int], None],
        whisper: Whisper,
        background: Background,
    ) -> None:
        self._corrections = corrections
        self._us = us
        self._accept = accept
        self._restart = restart
        self._wake = wake
        self._whisper = whisper
        self._background = background

    async def edited(self, edit: Edit) -> None:
        """A message says something else now. One that asks us by that is an ask like any other."""
        corrected = await self._correct(edit)
        if not corrected.has_turn and self._asks_now(edit):
            await self._accept(edit.message)
            corrected = await self._correct(edit)  # it may have come itself in this moment
        elif not corrected.is_known:
            await self._corrections.add_if_ours(edit.message)
        if corrected.restart is not None:
            self._restart(corrected.restart)
        elif corrected.has_changed and corrected.renewal is not None:
            self._offer(edit.message, corrected.renewal)

    async def pressed(self, value: str, person: str) -> bool:
        """Somebody wants an answer to be written anew; True if the offer has served, or can't."""
        renewal = read_renewal(value)
        if renewal is None:
            return False
        owner = await self._corrections.turn_owner(renewal.turn_id)
        if owner is None:
            return False
        thread = owner[0]
        if not await self._corrections.has_asked(renewal.turn_id, person):
            self._tell(thread, person, texts.NOT_YOURS)
            return False
        again, thread_id = await self._corrections.answer_again(renewal)
        if again is Again.QUEUED:
            self._wake(thread_id)
        elif again in _REFUSALS:
            self._tell(thread, person, _REFUSALS[again])
        return again is not Again.STILL_RUNNING

    async def _correct(self, edit: Edit) -> Corrected:
        return await self._corrections.correct(
            edit.message, files_gone=edit.files_gone, restarts=_is_soon(edit)
        )

    def _asks_now(self, edit: Edit) -> bool:
        """Whether the edit has brought the mention, or the ask itself may not have come yet."""
        if not is_for_us(edit.message, self._us):
            return False
        asked_before = edit.before is not None and is_for_us(edit.before, self._us)
        return not asked_before or _seconds_after(edit) < ON_ITS_WAY_SECONDS

    def _offer(self, ask: Message, renewal: Renewal) -> None:
        button = Button(texts.ANSWER_AGAIN, texts.ANSWER_AGAIN_LABEL, written(renewal))
        if ask.speaker is Speaker.PERSON:
            self._tell(ask.thread, ask.author, texts.QUESTION_EDITED, [button])

    def _tell(self, thread: Thread, person: str, text: str, buttons: Sequence[Button] = ()) -> None:
        whisper = whisper_if_possible(self._whisper, thread, person, text, buttons)
        self._background.start(whisper)


_REFUSALS = {
    Again.STILL_RUNNING: texts.NOT_ANSWERED_YET,
    Again.IS_FOLLOWED: texts.IS_FOLLOWED,
}


def written(renewal: Renewal) -> str:
    """As the button's value, which comes back on any replica and after a restart."""
    return f"{renewal.turn_id}:{renewal.attempt}"


def read_renewal(value: str) -> Renewal | None:
    """What `written` has written, or None."""
    turn_id, _, attempt = value.rpartition(":")
    return Renewal(turn_id, int(attempt)) if turn_id and attempt.isdecimal() else None


def _is_soon(edit: Edit) -> bool:
    return _seconds_after(edit) <= RESTART_SECONDS


def _seconds_after(edit: Edit) -> float:
    """How long after the message it was edited; endless where Slack does not tell."""
    try:
        return float(edit.edited_ts) - float(edit.message.ts)
    except ValueError:
        return float("inf")
