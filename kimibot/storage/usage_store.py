"""The tokens of each day as the rest of the bot sees them: granted, warned of, reported."""

from __future__ import annotations

from datetime import date

from kimibot.allowance import (
    DailyLimits,
    Denial,
    Grant,
    Limit,
    Request,
    decide,
    nearly_used_up,
)
from kimibot.storage import usage
from kimibot.storage.engine import Database
from kimibot.storage.usage import DayUsage
from kimibot.turns import Claim, Used


class UsageStore:
    """Every method is one transaction. All raise DatabaseUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def grant(
        self, claim: Claim, day: date, limits: DailyLimits, wanted: Request, used: Used
    ) -> Grant | Denial:
        """Decides over all replicas, one request of a workspace after the other.

        What is granted is held until the claim ends, by its turn's end or with its lease. `used`
        is what the turn has used before, which no row tells of yet.
        """
        async with self._database.writing() as connection:
            await usage.decide_alone(connection, claim.thread.team)
            standing = (await usage.standing(connection, claim, day)).plus(used.tokens)
            decision = decide(limits, standing, wanted)
            if isinstance(decision, Grant):
                coming = wanted.prompt_tokens + decision.completion_tokens
                await usage.hold(connection, claim, used.tokens + coming)
        return decision

    async def warning(
        self, claim: Claim, day: date, limits: DailyLimits, used: Used
    ) -> Limit | None:
        """The limit that is nearly used up now, if the asker was not warned today by another
        turn than this."""
        async with self._database.reading() as connection:
            standing = (await usage.standing(connection, claim, day)).plus(used.tokens)
        limit = nearly_used_up(limits, standing)
        if limit is None:
            return None
        async with self._database.writing() as connection:
            return limit if await usage.warn(connection, claim, day) else None

    async def count_unfinished(self, claim: Claim, day: date, used: Used) -> None:
        """Adds what was used for a turn that this claim does not end. What was held for it is held
        no longer."""
        async with self._database.writing() as connection:
            await usage.count_unfinished(connection, claim, day, used)

    async def report(self, first_day: date) -> list[DayUsage]:
        """What was used from this day on, by day, person and channel."""
        async with self._database.reading() as connection:
            return await usage.report(connection, first_day)
