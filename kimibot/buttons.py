"""What a press of our buttons does: who may, then the row, then the worker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from kimibot import texts
from kimibot.conversation import Thread


class Asks(Protocol):
    """The rows behind the buttons. Both raise DatabaseUnavailable."""

    async def turn_owner(self, turn_id: str) -> tuple[Thread, str] | None: ...

    async def requeue(self, turn_id: str) -> int | None: ...


Whisper = Callable[[Thread, str, str], Awaitable[None]]
"""Tells one person something in a thread that the others do not see."""


class Buttons:
    """The buttons' value is the turn's id, so they work on any replica and after a restart."""

    def __init__(
        self,
        asks: Asks,
        whisper: Whisper,
        wake: Callable[[int], None],
    ) -> None:
        self._asks = asks
        self._whisper = whisper
        self._wake = wake

    async def try_again(self, turn_id: str, user: str) -> None:
        """Queue a failed turn once more, for the one who asked; a second press does nothing."""
        owner = await self._asks.turn_owner(turn_id)
        if owner is None:
            return
        thread, asker = owner
        if user != asker:
            await self._whisper(thread, user, texts.NOT_YOURS)
            return
        thread_id = await self._asks.requeue(turn_id)
        if thread_id is not None:
            self._wake(thread_id)
