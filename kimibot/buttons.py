"""What our buttons and shortcuts do: who may, then the row, then the worker or the person."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol

from kimibot import texts
from kimibot.answers import ChatMessage, reasoning_in
from kimibot.background import Background
from kimibot.conversation import Accepted, Asker, Message, Shortcut, Thread
from kimibot.errors import SlackError
from kimibot.review import phrases
from kimibot.turns import Kind, Press
from kimibot.whispering import Whisper, whisper_if_possible

ENDING_SECONDS, ENDING_LOOKS = 0.1, 15
"""In all half of what Slack waits for the answer to a press."""

log = logging.getLogger(__name__)


class Asks(Protocol):
    """The rows behind the buttons. All raise DatabaseUnavailable."""

    async def turn_owner(self, turn_id: str) -> tuple[Thread, str] | None: ...

    async def has_asked(self, turn_id: str, person: str) -> bool:
        """Whether the turn answers an ask of theirs, alone or with those of others."""

    async def requeue(self, turn_id: str) -> int | None: ...

    async def has_ended(self, turn_id: str) -> bool: ...

    async def answer_to(self, turn_id: str) -> ChatMessage | None:
        """The model's message as it was received, None where none is kept."""

    async def turn_of_ours(self, thread: Thread, ts: str) -> str | None:
        """The turn whose reply a message of ours is a part of, or stands below."""

    async def press(
        self, turn_id: str, press: Press, now: datetime, asker: Asker | None = None
    ) -> int | None:
        """The thread of the turn that is queued for it, None where there is nothing to do."""

    async def accept(
        self, message: Message, *, is_ask: bool, kind: Kind, asker: Asker, now: datetime
    ) -> Accepted | None: ...


Show = Callable[[Thread, str, str], Awaitable[None]]
"""Shows one person in a thread what the model wrote. Raises SlackError."""


class Buttons:
    """The buttons' value is the turn's id, so they work on any replica and after a restart.

    `whisper` says our own words, `show` what the model wrote, however long.
    """

    def __init__(
        self,
        asks: Asks,
        *,
        whisper: Whisper,
        show: Show,
        wake: Callable[[int], None],
        background: Background,
        now: Callable[[], datetime],
        shows_reasoning: bool,
    ) -> None:
        self._asks = asks
        self._whisper = whisper
        self._show = show
        self._wake = wake
        self._background = background
        self._now = now
        self._shows_reasoning = shows_reasoning

    async def try_again(self, turn_id: str, user: str) -> None:
        """Queue a turn that failed or was stopped once more, for the one who asked; a second press
        does nothing."""
        if await self._thread_for_asker(turn_id, user) is not None:
            await self._has_ended(turn_id)
            self._wake_if_queued(await self._asks.requeue(turn_id))

    async def go_on(self, turn_id: str, user: str) -> bool:
        """Queue a turn that goes on where a reply was cut off, for the one who asked; True if the
        button has served, now or before."""
        return await self._follow(
            turn_id, user, Press(Kind.CONTINUE), gone=texts.NOTHING_TO_CONTINUE
        )

    async def suggest_patch(self, turn_id: str, user: str) -> bool:
        """Queue a turn that gives the patch of a review. The same as for `go_on`."""
        return await self._follow(turn_id, user, Press(Kind.PATCH), gone=phrases.GONE)

    async def post_review(self, turn_id: str, user: str) -> bool:
        """Queue a turn that posts a review to its pull request. The same as for `go_on`."""
        return await self._follow(turn_id, user, Press(Kind.POST), gone=phrases.GONE)

    async def _follow(self, turn_id: str, user: str, press: Press, *, gone: str) -> bool:
        thread = await self._thread_for_asker(turn_id, user)
        if thread is None:
            return False
        if not await self._has_ended(turn_id):
            self._tell(thread, user, texts.NOT_ANSWERED_YET)
            return False
        thread_id = await self._asks.press(turn_id, press, self._now(), Asker(user))
        self._wake_if_queued(thread_id)
        if thread_id is None and await self._asks.answer_to(turn_id) is None:
            self._tell(thread, user, gone)
        return True

    async def pick(self, value: str, asker: Asker, *, kind: Kind) -> None:
        """Queue a turn of a kind about one of the things that a reply lists, for whoever picks it;
        what was picked before is told to who picks it again."""
        turn_id, _, number = value.partition(":")
        press = Press(kind, int(number) if number.isdecimal() else 0)
        owner = await self._asks.turn_owner(turn_id)
        if owner is None:
            return
        if not await self._has_ended(turn_id):
            self._tell(owner[0], asker.id, texts.NOT_ANSWERED_YET)
        elif not await self._is_queued(turn_id, press, asker):
            self._tell(owner[0], asker.id, texts.PICKED_ALREADY)

    async def _is_queued(self, turn_id: str, press: Press, asker: Asker) -> bool:
        thread_id = await self._asks.press(turn_id, press, self._now(), asker)
        self._wake_if_queued(thread_id)
        return thread_id is not None

    async def _has_ended(self, turn_id: str) -> bool:
        """The last edit of a reply shows its buttons, a moment before our rows say that it has
        ended. Who is so fast waits for that."""
        for _ in range(ENDING_LOOKS):
            if await self._asks.has_ended(turn_id):
                return True
            await asyncio.sleep(ENDING_SECONDS)
        return False

    async def ask_about(self, shortcut: Shortcut, *, kind: Kind) -> None:
        """Queue an ask of a kind about a message, whoever wrote it, in the message's thread."""
        message, asker = shortcut.message, shortcut.asker
        if message is None:
            await self._ask_about_ours(shortcut, kind)
            return
        accepted = await self._asks.accept(
            message, is_ask=True, kind=kind, asker=asker, now=self._now()
        )
        if accepted is None or accepted.turn_id is None:
            self._tell(shortcut.thread, asker.id, texts.ASKED_ALREADY)
        else:
            self._wake(accepted.thread_id)

    async def _ask_about_ours(self, shortcut: Shortcut, kind: Kind) -> None:
        """An answer of ours is kept as a whole, whichever part or file of it was chosen."""
        thread, asker, turn_id = shortcut.thread, shortcut.asker, None
        if shortcut.is_ours:
            turn_id = await self._asks.turn_of_ours(thread, shortcut.ts)
        if turn_id is not None and not await self._has_ended(turn_id):
            self._tell(thread, asker.id, texts.NOT_WRITTEN_YET)
        elif turn_id is None or await self._asks.answer_to(turn_id) is None:
            self._tell(thread, asker.id, texts.NOTHING_TO_ANSWER)
        elif not await self._is_queued(turn_id, Press(kind), asker):
            self._tell(thread, asker.id, texts.ASKED_ALREADY)

    async def show_reasoning(self, turn_id: str, user: str) -> None:
        """Show the reasoning behind an answer to the one who asked, if the operator allows it."""
        thread = await self._thread_for_asker(turn_id, user)
        if thread is None:
            return
        if not self._shows_reasoning:
            self._tell(thread, user, texts.REASONING_OFF)
            return
        await self._has_ended(turn_id)
        reasoning = reasoning_in(await self._asks.answer_to(turn_id) or {})
        if reasoning:
            self._background.start(self._show_if_possible(thread, user, reasoning))
        else:
            self._tell(thread, user, texts.REASONING_GONE)

    async def _thread_for_asker(self, turn_id: str, user: str) -> Thread | None:
        """The turn's thread, if one whose ask it answers has pressed; others are told."""
        owner = await self._asks.turn_owner(turn_id)
        if owner is None:
            return None
        thread = owner[0]
        if not await self._asks.has_asked(turn_id, user):
            self._tell(thread, user, texts.NOT_YOURS)
            return None
        return thread

    def _tell(self, thread: Thread, user: str, text: str) -> None:
        """In the background: a whisper that Slack refuses must not cost the press its answer."""
        self._background.start(whisper_if_possible(self._whisper, thread, user, text))

    def _wake_if_queued(self, thread_id: int | None) -> None:
        if thread_id is not None:
            self._wake(thread_id)

    async def _show_if_possible(self, thread: Thread, user: str, text: str) -> None:
        """In the background: Slack wants the press acknowledged before long texts are shown."""
        try:
            await self._show(thread, user, text)
        except SlackError as error:
            log.info("reasoning not shown: %s", error, extra={"channel": thread.channel})
