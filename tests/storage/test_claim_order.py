"""The gap between one answer and the next ask, tried statement by statement."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, cast

import pytest
from sqlalchemy import Dialect
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.storage import Database, Store, claims, open_database
from kimibot.turns import Claim
from tests.storage.said import LEASE_SECONDS, answered, ask, claimed

STATEMENTS_OF_KEEP = 4


class Interrupted:
    """A connection that lets another process act right before its n-th statement."""

    def __init__(
        self, connection: AsyncConnection, before: int, act: Callable[[], Awaitable[None]]
    ) -> None:
        self._connection = connection
        self._act = act
        self._left = before
        self.dialect: Dialect = connection.dialect

    async def execute(self, *arguments: Any) -> Any:
        await self.pass_on()
        return await self._connection.execute(*arguments)

    async def pass_on(self) -> None:
        if self._left == 0:
            await self._act()
        self._left -= 1


@pytest.fixture
async def pair(postgres_url: str) -> AsyncIterator[list[Database]]:
    """The same database as two processes see it."""
    async with AsyncExitStack() as stack:
        opened = [open_database(postgres_url) for _ in range(2)]
        for one in opened:
            stack.push_async_callback(one.close)
        yield opened


@pytest.mark.parametrize("before", range(STATEMENTS_OF_KEEP + 1))
async def test_an_ask_at_any_moment_of_keeping_an_answer_is_seen_by_one_of_the_two(
    pair: list[Database], before: int
) -> None:
    keeper, hearer = Store(pair[0]), Store(pair[1])
    thread_id = (await ask(keeper, 1)).thread_id
    claim = await claimed(keeper, thread_id, "keeper")
    tried: list[asyncio.Task[Claim | None]] = []

    async def hear() -> None:
        await ask(hearer, 2)
        tried.append(asyncio.create_task(hearer.claim(thread_id, "hearer", LEASE_SECONDS)))
        # It either ends, or waits for the row until the keeper commits.
        await asyncio.wait(tried, timeout=0.3)

    async with pair[0].writing() as connection:
        interrupted = Interrupted(connection, before, hear)
        following = await claims.keep(
            cast(AsyncConnection, interrupted),
            claim,
            answered(3),
            owner="keeper",
            lease_seconds=LEASE_SECONDS,
        )
        if not tried:
            await interrupted.pass_on()
    heard = await tried[0]

    assert [one is not None for one in (following, heard)].count(True) == 1
