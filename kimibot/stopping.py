"""What makes us stop: the word, the button, a reaction, and a deleted message.

Who may: the asker, and by word or button everybody who has said something in the thread. Each wish
is stored before Slack gets its acknowledgement; the turn that runs here ends at once, and one that
runs elsewhere when its owner looks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kimibot import texts
from kimibot.addressing import is_for_us
from kimibot.background import Background
from kimibot.conversation import Deletion, Message, Reaction, Thread, Us
from kimibot.turns import TurnToStop
from kimibot.whispering import Whisper, whisper_if_possible

REACTIONS = frozenset({"x", "octagonal_sign"})
"""Slack's names of the red cross and of the stop sign."""


class Wishes(Protocol):
    """Who wants what to stop, as it is stored. All raise DatabaseUnavailable."""

    async def remember_word(self, word: Message) -> bool: ...

    async def mark_for_word(self, word: Message) -> list[TurnToStop]: ...

    async def goes_on(self, word: Message) -> bool: ...

    async def mark_turn(self, turn_id: str, person: str) -> list[TurnToStop]: ...

    async def takes_part(self, turn_id: str, person: str) -> bool: ...

    async def mark_reply(self, reaction: Reaction) -> list[TurnToStop]: ...

    async def forget(self, deletion: Deletion, *, is_ask: bool) -> list[TurnToStop]: ...

    async def turn_owner(self, turn_id: str) -> tuple[Thread, str] | None: ...


class Stopping:
    """All raise DatabaseUnavailable: then Slack must not get its acknowledgement."""

    def __init__(
        self,
        wishes: Wishes,
        us: Us,
        *,
        stop_turn: Callable[[TurnToStop], None],
        whisper: Whisper,
        background: Background,
    ) -> None:
        self._wishes = wishes
        self._us = us
        self._stop_turn = stop_turn
        self._whisper = whisper
        self._background = background

    async def said(self, word: Message) -> None:
        """Somebody has said the word. It counts also for asks before it that come after it."""
        if word.is_root and not is_for_us(word, self._us):
            return
        is_new = await self._wishes.remember_word(word)
        stopped = await self._wishes.mark_for_word(word)
        self._stop(stopped)
        if is_new and not stopped:
            await self._explain(word)

    async def pressed(self, turn_id: str, person: str) -> None:
        """Somebody has pressed the button below a reply; on one that has ended it does nothing."""
        owner = await self._wishes.turn_owner(turn_id)
        if owner is None:
            return
        thread, asker = owner
        if person == asker or await self._wishes.takes_part(turn_id, person):
            self._stop(await self._wishes.mark_turn(turn_id, person))
        else:
            self._tell(thread, person, texts.NOT_YOURS_TO_STOP)

    async def reacted(self, reaction: Reaction) -> None:
        """Somebody has reacted to a message of ours: it counts if it is their own answer."""
        if reaction.name in REACTIONS:
            self._stop(await self._wishes.mark_reply(reaction))

    async def deleted(self, deletion: Deletion) -> None:
        """A message is gone: nothing of it stays with us, and nobody waits for its answer."""
        is_ask = deletion.message is not None and is_for_us(deletion.message, self._us)
        self._stop(await self._wishes.forget(deletion, is_ask=is_ask))

    def _stop(self, turns: list[TurnToStop]) -> None:
        for turn in turns:
            self._stop_turn(turn)

    async def _explain(self, word: Message) -> None:
        """Why nothing has stopped: to a stranger, and to who has spoken to us in so many words."""
        if not word.is_root and await self._wishes.goes_on(word):
            self._tell(word.thread, word.author, texts.NOT_YOURS_TO_STOP)
        elif is_for_us(word, self._us):
            self._tell(word.thread, word.author, texts.NOTHING_TO_STOP)

    def _tell(self, thread: Thread, person: str, text: str) -> None:
        self._background.start(whisper_if_possible(self._whisper, thread, person, text))
