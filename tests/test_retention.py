"""What is too old goes soon after the start and once a day, in small steps."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from kimibot.errors import DatabaseUnavailable
from kimibot.retention import THREADS_AT_ONCE, Retention
from tests.virtual_time import in_virtual_time

START = datetime(2026, 11, 30, tzinfo=UTC)


def now() -> datetime:
    return START + timedelta(seconds=asyncio.get_running_loop().time())


@dataclass
class Rows:
    """So many old threads, and how often they could not be reached."""

    old: int = 0
    faults: int = 0
    asked_for: list[datetime] = field(default_factory=list)

    async def remove_old(self, before: datetime, most: int) -> int:
        self.asked_for.append(before)
        if self.faults:
            self.faults -= 1
            raise DatabaseUnavailable
        gone = min(self.old, most)
        self.old -= gone
        return gone


async def run(rows: Rows, days: int, for_seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(for_seconds):
            await Retention(rows, days=days, now=now).run()


@in_virtual_time
async def test_old_threads_go_soon_after_the_start_in_small_steps() -> None:
    rows = Rows(old=2 * THREADS_AT_ONCE + 1)
    began = now()

    await run(rows, days=90, for_seconds=120)

    assert rows.old == 0
    assert len(rows.asked_for) == 4
    age = began - rows.asked_for[0]
    assert timedelta(days=89) < age <= timedelta(days=90)


@in_virtual_time
async def test_they_go_once_a_day_whatever_went_wrong_the_day_before() -> None:
    rows = Rows(old=1, faults=1)

    await run(rows, days=90, for_seconds=2.5 * 86_400)

    assert rows.old == 0
    days = [(later - first).days for first, later in pairwise(rows.asked_for)]
    assert days == [1, 0, 1]


@in_virtual_time
async def test_with_no_limit_nothing_ever_goes() -> None:
    rows = Rows(old=1)

    await run(rows, days=0, for_seconds=2 * 86_400)

    assert rows.asked_for == []
