"""The promise of the claim, under load: no ask is lost and none is ended twice."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
from sqlalchemy import select

from kimibot.conversation import Thread
from kimibot.errors import ClaimLost
from kimibot.storage import Database, Store, open_database
from kimibot.storage.tables import turns
from kimibot.turns import Claim
from tests.storage.said import LAPSED, LEASE_SECONDS, THREAD, answered, ask, claimed

THREADS = [replace(THREAD, channel=f"C{number}") for number in range(4)]
ASKS_A_THREAD = 15
OWNERS = 4


@pytest.fixture
async def replicas(database_url: str) -> AsyncIterator[list[Database]]:
    """Four of them on PostgreSQL; on SQLite the four share the one that there may be."""
    async with AsyncExitStack() as stack:
        opened = []
        for _ in range(1 if database_url.startswith("sqlite") else OWNERS):
            opened.append(open_database(database_url))
            stack.push_async_callback(opened[-1].close)
        yield opened * (OWNERS // len(opened))


class Owner:
    """A process in small: stores asks, tries the claim at once, and now and then dies."""

    def __init__(self, name: str, database: Database, ended: Counter[str]) -> None:
        self.name = name
        self.store = Store(database)
        self.chance = random.Random(name)
        self._ended = ended

    async def hear(self, number: int, thread: Thread) -> None:
        accepted = await ask(self.store, number, thread=thread)
        await self.work(accepted.thread_id)

    async def work(self, thread_id: int) -> None:
        lease_seconds = self.chance.choice((LEASE_SECONDS, LAPSED))
        claim = await self.store.claim(thread_id, self.name, lease_seconds)
        while claim is not None:
            if lease_seconds == LAPSED and self.chance.random() < 0.3:
                return
            claim = await self.finish(claim, lease_seconds)

    async def finish(self, claim: Claim, lease_seconds: float) -> Claim | None:
        number = self.chance.randrange(10_000, 990_000)
        try:
            following = await self.store.keep(
                claim, answered(number), owner=self.name, lease_seconds=lease_seconds
            )
        except ClaimLost:
            return None
        self._ended.update(turn.id for turn in claim.turns)
        return following


async def test_no_ask_is_lost_and_none_is_ended_twice(replicas: list[Database]) -> None:
    ended: Counter[str] = Counter()
    owners = [Owner(f"owner-{number}", one, ended) for number, one in enumerate(replicas)]
    heard = [
        owners[number % OWNERS].hear(number, thread)
        for number in range(1, ASKS_A_THREAD + 1)
        for thread in THREADS
    ]

    await asyncio.gather(*heard)
    await finish_what_the_dead_left(owners[0])

    async with replicas[0].reading() as connection:
        rows = (await connection.execute(select(turns))).all()
    assert len(rows) == ASKS_A_THREAD * len(THREADS)
    assert all(row.state == "ended" for row in rows)
    assert ended == Counter(row.id for row in rows)


async def test_without_deaths_no_thread_falls_asleep(replicas: list[Database]) -> None:
    """No sweep here: whoever stores an ask, or keeps an answer, must see that there is more."""
    ended: Counter[str] = Counter()
    owners = [Faithful(f"owner-{number}", one, ended) for number, one in enumerate(replicas)]

    await asyncio.gather(
        *(
            owners[number % OWNERS].hear(number, thread)
            for number in range(1, ASKS_A_THREAD + 1)
            for thread in THREADS
        )
    )

    assert await owners[0].store.open_asks() == 0
    assert set(ended.values()) == {1}


class Faithful(Owner):
    """An owner that never dies."""

    async def work(self, thread_id: int) -> None:
        claim = await self.store.claim(thread_id, self.name, LEASE_SECONDS)
        while claim is not None:
            claim = await self.finish(claim, LEASE_SECONDS)


async def finish_what_the_dead_left(owner: Owner) -> None:
    while left := await owner.store.claimable():
        claim: Claim | None = await claimed(owner.store, left[0], owner.name)
        while claim is not None:
            claim = await owner.finish(claim, LEASE_SECONDS)
