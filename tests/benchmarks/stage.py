"""The stage of a benchmark: local Slack, local Kimi and the bot, each a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from sqlalchemy import func, select

from kimibot.sandbox.demo.processes import Process, started
from kimibot.sandbox.kimi import LOCAL_KEY
from kimibot.sandbox.slack import APP_TOKEN, BOT_TOKEN, LocalSlackControls
from kimibot.storage import Database, open_database
from kimibot.storage.tables import turns as turns_table
from tests.benchmarks.usage import Usage, usage_of

API_LATENCY_SECONDS = 0.03
SLACK, KIMI, BOT = "local Slack", "local Kimi", "bot"

PACED = ("-m", "kimibot", "run")
UNPACED = ("-m", "tests.benchmarks.unpaced_bot")
"""The same bot, for a Slack without limits."""

_COUNT_ENDED = select(func.count()).where(turns_table.c.ended_at.is_not(None))


class RemoteKimi:
    """The controls of a local Kimi in another process."""

    def __init__(self, origin: str, http: aiohttp.ClientSession) -> None:
        self._origin = origin
        self._http = http

    async def play(self, chunks: Sequence[dict[str, Any]], *, where: str, times: int = 1) -> None:
        """Answer the asks that contain `where` with these chunks."""
        await self._order("play", chunks=list(chunks), where=where, times=times)

    async def open_streams(self) -> int:
        return int((await self._state())["open_streams"])

    async def requests(self) -> list[dict[str, Any]]:
        """What was received, and when its chunks went out by the monotonic clock."""
        requests: list[dict[str, Any]] = (await self._state())["requests"]
        return requests

    async def _order(self, name: str, **order: Any) -> None:
        async with self._http.post(f"{self._origin}/control/{name}", json=order) as response:
            response.raise_for_status()

    async def _state(self) -> dict[str, Any]:
        async with self._http.get(f"{self._origin}/control/state") as response:
            state: dict[str, Any] = await response.json()
        return state


@dataclass(frozen=True, slots=True)
class Stage:
    """What a benchmark acts on and looks at."""

    slack: LocalSlackControls
    kimi: RemoteKimi
    database: Database
    processes: dict[str, Process]

    def usage(self, name: str) -> Usage:
        """What a process has used since it began."""
        return usage_of(self.processes[name].pid)

    async def until_ended(self, turns: int, timeout_seconds: float) -> None:
        """Return once so many turns have an outcome. Raises TimeoutError with the bot's log."""
        try:
            async with asyncio.timeout(timeout_seconds):
                while await self._ended_turns() < turns:  # noqa: ASYNC110  # a database tells nobody
                    await asyncio.sleep(0.05)
        except TimeoutError as error:
            raise TimeoutError(await self._what_went_wrong(turns)) from error

    async def until_streaming(self, streams: int, timeout_seconds: float) -> None:
        """Return once so many answers are being streamed. Raises TimeoutError."""
        async with asyncio.timeout(timeout_seconds):
            while await self.kimi.open_streams() < streams:  # noqa: ASYNC110  # over HTTP
                await asyncio.sleep(0.5)

    async def _what_went_wrong(self, turns: int) -> str:
        counters = await self.slack.counters()
        complaints = [line for line in self.processes[BOT].lines if " INFO " not in line]
        ended = f"{await self._ended_turns()} of {turns} turns ended, {counters}"
        return "\n".join([ended, *complaints[-40:]])

    async def _ended_turns(self) -> int:
        async with self.database.reading() as connection:
            return (await connection.execute(_COUNT_ENDED)).scalar_one()


@asynccontextmanager
async def open_stage(
    *,
    bot: Sequence[str] = PACED,
    slack: dict[str, Any] | None = None,
    database_url: str | None = None,
    **environment: str,
) -> AsyncIterator[Stage]:
    """A connected bot. `slack` switches the local Slack, whose calls take 30 ms otherwise and
    are limited as Slack's are; the rest is the bot's environment."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kimibot-bench-")))
        url = database_url or f"sqlite:///{folder}/bot.db"
        switches = {"api_latency_seconds": API_LATENCY_SECONDS} | (slack or {})
        slack_url, slack_process = await _local_slack(stack, switches)
        kimi_url, kimi_process = await _local_kimi(stack)
        controls = await stack.enter_async_context(LocalSlackControls(slack_url))
        own = _environment(controls.api_url, kimi_url, url) | environment
        bot_process = await stack.enter_async_context(started(BOT, bot, environment=own))
        await bot_process.wait_for("listening on")
        await controls.until(controls.open_sockets, 20.0)
        http = await stack.enter_async_context(aiohttp.ClientSession())
        database = open_database(url, alone=False)
        stack.push_async_callback(database.close)
        yield Stage(
            controls,
            RemoteKimi(kimi_url.removesuffix("/kimi"), http),
            database,
            {BOT: bot_process, SLACK: slack_process, KIMI: kimi_process},
        )


async def _local_slack(stack: AsyncExitStack, switches: dict[str, Any]) -> tuple[str, Process]:
    arguments = ("-m", "kimibot.sandbox.slack", "--options", json.dumps(switches))
    process = await stack.enter_async_context(started(SLACK, arguments))
    return (await process.wait_for(r"ready at (http://\S+)"))[1], process


async def _local_kimi(stack: AsyncExitStack) -> tuple[str, Process]:
    arguments = ("-m", "kimibot.sandbox.kimi")
    process = await stack.enter_async_context(started(KIMI, arguments))
    return (await process.wait_for(r"local Kimi at (http://\S+)"))[1], process


def _environment(api_url: str, kimi_url: str, database_url: str) -> dict[str, str]:
    """Nothing of ours but what a program needs to start: no proxies, no real keys."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return kept | {
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "SLACK_APP_TOKEN": APP_TOKEN,
        "SLACK_API_URL": api_url,
        "KIMI_PROVIDER": "custom",
        "KIMI_BASE_URL": kimi_url,
        "KIMI_API_KEY": LOCAL_KEY,
        "KIMI_MODEL": "kimi-k3",
        "DATABASE_URL": database_url,
        "HOST": "127.0.0.1",
        "PORT": "0",
        "PYTHONUNBUFFERED": "1",
    }
