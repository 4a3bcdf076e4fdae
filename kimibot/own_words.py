"""Answers the asks that are not for the model: help, mute and unmute, forget."""

from __future__ import annotations

from typing import Protocol

from kimibot import texts
from kimibot.addressing import MOST_APP_ASKS
from kimibot.attempt import Attempt
from kimibot.reply.live_reply import LiveReply
from kimibot.turns import Claim, Kind


class Orders(Protocol):
    """What is done to a thread. Both raise DatabaseUnavailable, and ClaimLost when the thread is
    not ours any more."""

    async def mute(self, claim: Claim, *, muted: bool) -> None:
        """Leave its follow-ups alone, or no longer."""

    async def forget_thread(self, claim: Claim, ts: str) -> int:
        """Empty what was said in it up to `ts`; how many messages that were."""


class OwnWords:
    """One word, one receipt: done first and then told, and done again after a crash in between."""

    def __init__(self, orders: Orders, help_text: str) -> None:
        self._orders = orders
        self._help_text = help_text

    async def answer(self, attempt: Attempt, reply: LiveReply) -> None:
        """Do it and say so. Raises SlackError and StorageError."""
        attempt.earlier = None  # nothing that such a reply has shown is the model's
        text = await self._text(attempt)
        attempt.tell()
        await reply.finish(text)

    async def _text(self, attempt: Attempt) -> str:
        match attempt.turn.kind:
            case Kind.MUTE | Kind.UNMUTE as kind:
                await self._orders.mute(attempt.claim, muted=kind is Kind.MUTE)
                return texts.MUTED if kind is Kind.MUTE else texts.UNMUTED
            case Kind.FORGET:
                emptied = await self._orders.forget_thread(attempt.claim, attempt.turn.ts)
                return texts.forgotten(emptied)
            case Kind.GREETING:
                return texts.GREETING
            case Kind.APP_LIMIT:
                return texts.app_limit(MOST_APP_ASKS)
            case _:
                return self._help_text
