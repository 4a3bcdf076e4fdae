"""Shows that an ask which has to wait was seen: a reaction on it, until its own reply begins.

An ask that is answered together with another one, in the other one's reply, keeps its mark.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from kimibot.background import Background
from kimibot.conversation import Message, Thread
from kimibot.errors import SlackError
from kimibot.turns import Claim

log = logging.getLogger(__name__)

SEEN = "eyes"
Change = Callable[[Thread, str, str], Awaitable[None]]
PATIENCE_SECONDS = 10.0
"""A mark that can't be made in time is not made: it would only tell of the past."""


class Reactions(Protocol):
    """Slack's reactions. Both wait for their slot and raise SlackError; neither minds when there
    is nothing left to do."""

    async def add(self, thread: Thread, ts: str, name: str) -> None: ...

    async def remove(self, thread: Thread, ts: str, name: str) -> None: ...


class Marks:
    """Returns at once, and never fails: a mark is a courtesy."""

    def __init__(self, reactions: Reactions, background: Background) -> None:
        self._reactions = reactions
        self._background = background
        self._making: dict[tuple[str, str], asyncio.Task[None]] = {}

    def has_to_wait(self, ask: Message) -> None:
        """Mark it."""
        key = (ask.thread.channel, ask.ts)
        making = self._background.start(self._try(self._reactions.add, ask.thread, ask.ts))
        self._making[key] = making
        making.add_done_callback(lambda _: self._making.pop(key, None))

    def begins(self, claim: Claim) -> None:
        """The claim's oldest ask gets its reply: take its mark away, if it has one."""
        turn = claim.turns[0]
        if turn.had_to_wait:
            self._background.start(self._unmark(claim.thread, turn.ts))

    async def _unmark(self, thread: Thread, ts: str) -> None:
        making = self._making.get((thread.channel, ts))
        if making is not None:
            await asyncio.wait({making})
        await self._try(self._reactions.remove, thread, ts)

    async def _try(self, change: Change, thread: Thread, ts: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await change(thread, ts, SEEN)
        except (SlackError, TimeoutError) as error:
            log.info("mark not changed: %r", error, extra={"channel": thread.channel})
