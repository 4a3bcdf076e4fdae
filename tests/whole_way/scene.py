"""The real bot between a local Slack and a local Kimi, over real sockets, in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import text

from kimibot.bot import Bot
from kimibot.sandbox.github import GITHUB_TOKEN
from kimibot.sandbox.kimi import LOCAL_KEY, KimiOptions, LocalKimi, local_kimi
from kimibot.sandbox.slack import (
    APP_TOKEN,
    BOT_TOKEN,
    SIGNING_SECRET,
    LocalSlack,
    local_slack,
)
from kimibot.service import open_bot
from kimibot.settings import Settings

Fields = dict[str, Any]
DEV = "#dev"
POSTING: dict[str, Any] = {
    "GITHUB_TOKEN": GITHUB_TOKEN,
    "KIMIBOT_GITHUB_REPOS": "acme/*",
    "KIMIBOT_GITHUB_POST": "1",
}
"""The settings with which reviews may be posted to the repositories of acme."""


@dataclass
class Scene:
    """What a test acts on and looks at."""

    slack: LocalSlack
    kimi: LocalKimi
    bot: Bot

    async def ask(self, text: str, *, user: str = "ana", thread: str | None = None) -> str:
        """Say it in #dev; its ts."""
        return await self.slack.say(user, DEV, text, thread_ts=thread)

    async def replies(self, root: str, channel: str = DEV) -> list[Fields]:
        """Our messages in the thread, oldest first."""
        thread = await self.slack.thread(channel, root)
        return [message for message in thread if message.get("bot_id")]

    async def reply(
        self,
        root: str,
        is_wanted: Callable[[list[Fields]], bool],
        *,
        channel: str = DEV,
        seconds: float = 15.0,
    ) -> list[Fields]:
        """Our messages in the thread, as soon as they are as wanted."""

        async def look() -> list[Fields] | None:
            found = await self.replies(root, channel)
            return found if found and is_wanted(found) else None

        return await self.slack.until(look, seconds)

    async def outcome(self, root: str, *, count: int = 1, seconds: float = 15.0) -> list[Fields]:
        """Our messages in the thread, once so many turns of it have ended."""

        async def look() -> list[Fields] | None:
            ended = await self._ended_turns(root)
            return await self.replies(root) if ended >= count else None

        return await self.until(look, seconds)

    async def until(
        self, look: Callable[[], Awaitable[list[Fields] | None]], seconds: float
    ) -> list[Fields]:
        """What `look` sees as soon as it sees something; the database tells nobody of changes."""
        async with asyncio.timeout(seconds):
            while (found := await look()) is None:  # noqa: ASYNC110  # a database tells nobody
                await asyncio.sleep(0.02)
        return found

    async def until_stored(self, messages: int) -> None:
        """Until so many messages are in the database: events may overtake each other."""

        async def look() -> list[Fields] | None:
            rows = await self.rows("SELECT count(*) FROM messages")
            return [] if rows[0][0] >= messages else None

        await self.until(look, 5.0)

    async def until_gone(self, table: str) -> None:
        """Until the table is empty."""

        async def look() -> list[Fields] | None:
            rows = await self.rows(f"SELECT count(*) FROM {table}")
            return None if rows[0][0] else []

        await self.until(look, 5.0)

    async def rows(self, statement: str, **values: Any) -> list[Any]:
        """What the database says."""

        async with self.bot.database.reading() as connection:
            return list(await connection.execute(text(statement), values))

    async def _ended_turns(self, root: str) -> int:
        rows = await self.rows(
            "SELECT count(*) FROM turns JOIN threads ON threads.id = turns.thread_id"
            " WHERE threads.root_ts = :root AND ended_at IS NOT NULL",
            root=root,
        )
        return int(rows[0][0])


@asynccontextmanager
async def open_scene(
    folder: Path,
    *,
    slack: dict[str, Any] | None = None,
    kimi: KimiOptions | None = None,
    over_http: bool = False,
    **environment: str,
) -> AsyncIterator[Scene]:
    """A bot that is connected. `slack` switches the local Slack, the rest is environment."""
    async with (
        local_slack(**(slack or {})) as local,
        local_kimi(options=kimi or KimiOptions(speed=20)) as model,
    ):
        settings = bot_settings(local, model, folder, over_http=over_http, **environment)
        async with open_bot(settings) as bot:
            if over_http:
                url = f"http://127.0.0.1:{bot.port}/slack/events"
                await local.configure(request_url=url)
            yield Scene(local, model, bot)


def bot_settings(
    slack: LocalSlack, kimi: LocalKimi, folder: Path, *, over_http: bool = False, **more: str
) -> Settings:
    return Settings.load(bot_environment(slack, kimi, folder, over_http=over_http) | more)


def bot_environment(
    slack: LocalSlack, kimi: LocalKimi, folder: Path, *, over_http: bool = False
) -> dict[str, str]:
    way = {"SLACK_SIGNING_SECRET": SIGNING_SECRET} if over_http else {"SLACK_APP_TOKEN": APP_TOKEN}
    return way | {
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "SLACK_API_URL": slack.api_url,
        "KIMI_PROVIDER": "custom",
        "KIMI_BASE_URL": kimi.base_url,
        "KIMI_API_KEY": LOCAL_KEY,
        "KIMI_MAX_RETRIES": "1",
        "DATABASE_URL": f"sqlite:///{folder}/bot.db",
        "KIMIBOT_SWEEP_SECONDS": "0.5",
        "KIMIBOT_SLACK_TIMEOUT_SECONDS": "2",
        "PORT": "0",
    }


def body(reply: Fields) -> str:
    """What the model said in a part, as it stands in its block."""
    blocks = reply.get("blocks") or []
    return "".join(block["text"] for block in blocks if block["type"] == "markdown")


def note(reply: Fields) -> str:
    """Our own words in a part."""
    blocks = reply.get("blocks") or []
    elements = [e for block in blocks if block["type"] == "context" for e in block["elements"]]
    return "\n".join(str(element["text"]) for element in elements)


def button(reply: Fields) -> str:
    """The action of a part's first button, or ""."""
    return next(iter(handles(reply)), "")


def handles(reply: Fields) -> dict[str, Fields]:
    """All that can be pressed or chosen below a part, by its action."""
    blocks = reply.get("blocks") or []
    elements = [e for block in blocks if block["type"] == "actions" for e in block["elements"]]
    return {str(element["action_id"]): element for element in elements}
