"""One local Slack, one local Kimi, one database and the bot's replicas between them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import select

from kimibot.sandbox.github import LocalGitHub, local_github
from kimibot.sandbox.kimi import KimiOptions, LocalKimi, local_kimi
from kimibot.sandbox.slack import LocalSlack, local_slack
from kimibot.storage import Database, open_database
from kimibot.storage.tables import turns as turns_table
from tests.chaos.calls import Calls
from tests.chaos.judge import Ask, Turn, complaints
from tests.chaos.replica import Replica, running
from tests.chaos.script import script
from tests.chaos.tap import Tap, tap_on
from tests.whole_way.scene import DEV, POSTING, body, bot_environment

REST_SECONDS = 60.0
"""So long after the last fault all must be well."""

QUIET_SECONDS = 2.0
CONNECT_SECONDS = 60.0
SHORT_LEASE = {
    "KIMIBOT_LEASE_SECONDS": "1",
    "KIMIBOT_RENEW_SECONDS": "0.2",
    "KIMIBOT_SLACK_TIMEOUT_SECONDS": "0.7",
    "KIMIBOT_SWEEP_SECONDS": "0.2",
}
OFTEN = (0.0, 1.0, 2.0, *[4.0] * 90)
"""Slack delivers again after a minute and after five; nobody wants to wait for that here. For six
minutes in all, as there: what it has given up is lost to any bot."""


@dataclass
class World:
    """What a test acts on. `taps` has each replica's way to the database, if that is PostgreSQL."""

    slack: LocalSlack
    kimi: LocalKimi
    github: LocalGitHub
    calls: Calls
    database: Database
    replicas: list[Replica] = field(default_factory=list)
    taps: list[Tap] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)

    async def ask(self, name: str, root: str | None = None, *, user: str = "ana") -> Ask:
        """Somebody asks this, in a thread of its own or in the thread of `root`."""
        ts = await self.slack.say(user, DEV, f"@kimibot {name}", thread_ts=root)
        self.asks.append(Ask(ts, name))
        return self.asks[-1]

    async def until_connected(self) -> None:
        """Return once all replicas have their socket. Raises TimeoutError."""

        async def look() -> bool:
            return await self.slack.open_sockets() >= len(self.replicas)

        await self.slack.until(look, CONNECT_SECONDS)

    async def until_growing(self, ask: Ask) -> None:
        """Return once the reply to the ask shows something that the model says."""

        async def look() -> bool:
            thread = await self.slack.thread(DEV, ask.ts)
            return any(ask.name in body(message) for message in thread if message.get("bot_id"))

        await self.slack.until(look, REST_SECONDS)

    async def until_ended(self) -> bool:
        """Whether every ask has its outcome, as soon as it has, or in a minute."""
        with suppress(TimeoutError):
            async with asyncio.timeout(REST_SECONDS):
                while not await self._is_all_over():  # noqa: ASYNC110  # a database tells nobody
                    await asyncio.sleep(0.1)
                return True
        return False

    async def verdict(self) -> list[str]:
        """What is wrong with the channel once it has come to rest, or with its not doing so."""
        try:
            async with asyncio.timeout(REST_SECONDS):
                await self._at_rest()
        except TimeoutError:
            restless = [f"not at rest after {REST_SECONDS} s"]
        else:
            restless = []
        found = restless + complaints(
            self.asks, await self._turns(), await self.slack.messages(DEV)
        )
        return [*found, *self.last_words()] if found else []

    async def _at_rest(self) -> None:
        while True:
            await self.slack.at_rest(QUIET_SECONDS, REST_SECONDS)
            if await self._is_all_over():
                return

    async def _is_all_over(self) -> bool:
        ended = {turn.ts for turn in await self._turns() if turn.outcome}
        return {ask.ts for ask in self.asks} <= ended

    async def _turns(self) -> list[Turn]:
        columns = turns_table.c
        wanted = (columns.id, columns.ts, columns.state, columns.outcome)
        async with self.database.reading() as connection:
            rows = await connection.execute(select(*wanted, columns.merged_into, columns.reply_ts))
            return [
                Turn(id_, ts, state, outcome or "", merged_into or "", tuple(reply_ts))
                for id_, ts, state, outcome, merged_into, reply_ts in rows
            ]

    def last_words(self) -> list[str]:
        """What the replicas have logged lately."""
        return [f"    {line}" for replica in self.replicas for line in replica.lines]


@asynccontextmanager
async def open_world(
    database_url: str, calls: Calls | None = None, *, replicas: int = 1
) -> AsyncIterator[World]:
    """All of it. The `calls` are told of whatever the bot does outside, from its start on."""
    calls = calls or Calls()
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(
            local_slack(redelivery_seconds=OFTEN, ack_timeout_seconds=2.0)
        )
        kimi = await stack.enter_async_context(local_kimi(options=KimiOptions(script=script)))
        github = await stack.enter_async_context(local_github())
        slack.watch(calls.watch)
        kimi.watch(calls.watch)
        github.watcher = calls.watch
        database = open_database(database_url, alone=False)
        stack.push_async_callback(database.close)
        world = World(slack, kimi, github, calls, database)
        for _ in range(replicas):
            await _start_replica(world, database_url, stack)
        yield world


async def _start_replica(world: World, database_url: str, stack: AsyncExitStack) -> None:
    if database_url.startswith("postgresql"):
        tapped = tap_on(database_url, world.calls.watch)
        tap, database_url = await stack.enter_async_context(tapped)
        world.taps.append(tap)
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    own = bot_environment(world.slack, world.kimi, Path()) | SHORT_LEASE | POSTING
    own |= {"GITHUB_API_URL": world.github.api_url, "DATABASE_URL": database_url}
    environment = kept | own | {"PYTHONUNBUFFERED": "1"}
    world.replicas.append(await stack.enter_async_context(running(environment)))
