"""How much of a day's tokens a turn may take: asked before each request, told near the end."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import date, datetime
from typing import Protocol

from kimibot import texts
from kimibot.allowance import DailyLimits, Denial, Grant, Limit, Request
from kimibot.answers import NO_TOOLS, ChatMessage, Toolbox
from kimibot.attempt import Attempt
from kimibot.errors import DatabaseUnavailable
from kimibot.spending import estimate
from kimibot.turns import Claim, Used

log = logging.getLogger(__name__)


class Denied(Exception):
    """The model may not be asked: the day's tokens are used up, or others may need the rest."""

    def __init__(self, denial: Denial) -> None:
        super().__init__(denial)
        self.denial = denial


class DailyTokens(Protocol):
    """What all turns of a day have used. All raise DatabaseUnavailable."""

    async def grant(
        self, claim: Claim, day: date, limits: DailyLimits, wanted: Request, used: Used
    ) -> Grant | Denial:
        """Whether the claim's turn may make the request. What it is granted is held for it as
        long as the claim is; `used` is what it has used before."""

    async def warning(
        self, claim: Claim, day: date, limits: DailyLimits, used: Used
    ) -> Limit | None:
        """The limit of which the turn's asker is to be warned, once a day, by this turn."""

    async def count_unfinished(self, claim: Claim, day: date, used: Used) -> None:
        """Add what was used for a turn that this claim does not end."""


class Granting:
    """Without limits, everything is granted and nobody is asked."""

    def __init__(
        self, daily_tokens: DailyTokens, limits: DailyLimits, now: Callable[[], datetime]
    ) -> None:
        self._daily_tokens = daily_tokens
        self._limits = limits
        self._now = now

    async def grant(
        self,
        attempt: Attempt,
        messages: Sequence[ChatMessage],
        completion_tokens: int,
        toolbox: Toolbox = NO_TOOLS,
    ) -> int:
        """How many tokens, of those wanted, may come back for these messages. Raises Denied."""
        if not self._limits:
            return completion_tokens
        wanted = Request(estimate(messages, toolbox), completion_tokens)
        granted = await self._daily_tokens.grant(
            attempt.claim, self._day(), self._limits, wanted, attempt.spending.used or Used()
        )
        if isinstance(granted, Denial):
            raise Denied(granted)
        attempt.cut_by = granted.cut_by
        return granted.completion_tokens

    @asynccontextmanager
    async def counting(self, attempt: Attempt) -> AsyncIterator[None]:
        """What is used counts with the end of the turn; without one, when the attempt is over."""
        try:
            yield
        except BaseException:  # cancelled too: whatever it is, the tokens are used
            await self._count(attempt)
            raise

    async def _count(self, attempt: Attempt) -> None:
        used = attempt.spending.used
        if used is None:
            return
        try:
            await self._daily_tokens.count_unfinished(attempt.claim, self._day(), used)
        except DatabaseUnavailable as error:
            log.warning("tokens not counted: %s", error, extra=attempt.ids)

    async def last_words(self, attempt: Attempt) -> list[str]:
        """What the asker is to know of the day's tokens below a whole answer."""
        answer = attempt.answer
        if attempt.cut_by and answer and answer.finish_reason == "length":
            return [texts.reached_daily_limit(attempt.cut_by, self._day())]
        limit = await self._warning(attempt)
        return [texts.nearly_used_up(limit, self._day())] if limit else []

    async def _warning(self, attempt: Attempt) -> Limit | None:
        """An answer does not wait for a database that is away: the next one warns."""
        if not self._limits:
            return None
        try:
            return await self._daily_tokens.warning(
                attempt.claim, self._day(), self._limits, attempt.spending.used or Used()
            )
        except DatabaseUnavailable as error:
            log.warning("daily tokens not looked at: %s", error, extra=attempt.ids)
            return None

    def _day(self) -> date:
        return self._now().date()
