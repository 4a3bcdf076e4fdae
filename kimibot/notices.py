"""Tells the asker when an answer took long: Slack notifies of new messages, not of edits.

https://docs.slack.dev/reference/methods/chat.update
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from kimibot import texts
from kimibot.background import Background
from kimibot.conversation import Thread
from kimibot.errors import FateUnknown, SlackError
from kimibot.turns import Claim, Ending, Outcome, Turn

log = logging.getLogger(__name__)

LONG_SECONDS = 60.0
"""Who has waited so long is likely to be looking elsewhere."""

_TEXTS = {
    Outcome.ANSWERED: texts.YOUR_ANSWER_IS_READY,
    Outcome.FAILED: texts.NO_ANSWER_YET,
}


class Announcements(Protocol):
    """Slack's messages. Both wait for their slot and raise SlackError."""

    async def announce(
        self, thread: Thread, people: Sequence[str], text: str, turn: Turn
    ) -> None: ...

    async def is_announced(self, thread: Thread, turn: Turn) -> bool: ...


class Notices:
    """One short message for each turn that took long, after its reply is whole and kept.

    So a turn that another owner takes over was not announced before. A post whose response was
    lost is looked for in the thread: nobody is told twice.
    """

    def __init__(
        self,
        announcements: Announcements,
        background: Background,
        now: Callable[[], datetime],
        *,
        long_seconds: float = LONG_SECONDS,
    ) -> None:
        self._announcements = announcements
        self._background = background
        self._now = now
        self._long_seconds = long_seconds

    def ended(self, claim: Claim, ending: Ending) -> None:
        """Tell whoever has waited long for this. Returns at once."""
        text = _TEXTS.get(ending.outcome, "")
        people = self._who_waited(claim, ending)
        if text and people and ending.reply_ts:
            self._background.start(self._tell(claim.thread, people, text, claim.turns[0]))

    def _who_waited(self, claim: Claim, ending: Ending) -> list[str]:
        now = self._now()
        waited = [
            turn.asker
            for turn in claim.turns
            if turn.id not in ending.left_open
            and (now - turn.accepted_at).total_seconds() > self._long_seconds
        ]
        return list(dict.fromkeys(waited))

    async def _tell(self, thread: Thread, people: Sequence[str], text: str, turn: Turn) -> None:
        try:
            await self._announce_once(thread, people, text, turn)
        except SlackError as error:
            log.info("asker not told: %s", error, extra={"turn": turn.id})

    async def _announce_once(
        self, thread: Thread, people: Sequence[str], text: str, turn: Turn
    ) -> None:
        try:
            await self._announcements.announce(thread, people, text, turn)
        except FateUnknown:
            if not await self._announcements.is_announced(thread, turn):
                await self._announcements.announce(thread, people, text, turn)
