"""The bot as a process: killed, stopped, locked out of its database, and back again."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sqlite3
import sys
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kimibot import texts
from kimibot.sandbox.github import (
    GITHUB_TOKEN,
    LocalPull,
    LocalRepository,
    Order,
    local_github,
)
from kimibot.sandbox.kimi import KimiOptions, LocalKimi, local_kimi
from kimibot.sandbox.slack import LocalSlack, local_slack
from tests.whole_way.scene import Fields, body, bot_environment, button, note, open_scene

pytestmark = pytest.mark.processes
DEV = "#dev"
SHORT_LEASE = {
    "KIMIBOT_LEASE_SECONDS": "3",
    "KIMIBOT_RENEW_SECONDS": "0.5",
    "KIMIBOT_SLACK_TIMEOUT_SECONDS": "2",
    "KIMIBOT_SWEEP_SECONDS": "0.3",
}


@dataclass
class Process:
    """A running `kimibot run`, with its log."""

    process: asyncio.subprocess.Process
    lines: list[str] = field(default_factory=list)
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.lines.append(line.decode())
            self.heard.set()
        self.heard.set()

    async def says(self, words: str) -> None:
        async with asyncio.timeout(20):
            while not any(words in line for line in self.lines):
                assert self.process.returncode is None, "".join(self.lines)
                self.heard.clear()
                await self.heard.wait()

    async def end(self, number: signal.Signals) -> int:
        if self.process.returncode is None:
            self.process.send_signal(number)
        async with asyncio.timeout(40):
            return await self.process.wait()


@dataclass
class World:
    slack: LocalSlack
    kimi: LocalKimi
    folder: Path

    @asynccontextmanager
    async def bot(self, *, over_http: bool = False, **more: str) -> AsyncIterator[Process]:
        """The bot as a process of its own, connected; killed at the end if it still runs."""
        own = bot_environment(self.slack, self.kimi, self.folder, over_http=over_http)
        environment = os.environ | own | SHORT_LEASE | {"PYTHONUNBUFFERED": "1"} | more
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "kimibot",
            "run",
            env=environment,
            stderr=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
        )
        bot = Process(process)
        listening = asyncio.create_task(bot.listen())
        try:
            await bot.says("listening on" if over_http else "socket open")
            yield bot
        finally:
            await bot.end(signal.SIGKILL)
            await listening

    async def replies(self, root: str) -> list[Fields]:
        thread = await self.slack.thread(DEV, root)
        return [message for message in thread if message.get("bot_id")]

    async def is_acknowledged(self, ts: str) -> bool:
        """Whether the bot has taken in what was said then."""
        ids = {e["event_id"] for e in await self.slack.events() if e["event"].get("ts") == ts}
        records = await self.slack.deliveries()
        return any(r.id in ids and r.ack_seconds is not None for r in records)

    async def until_said(self, root: str, words: str, seconds: float = 20.0) -> list[Fields]:
        async def look() -> list[Fields] | None:
            found = await self.replies(root)
            return found if any(words in body(r) + note(r) for r in found) else None

        return await self.slack.until(look, seconds)


@asynccontextmanager
async def world(folder: Path, speed: float = 20.0) -> AsyncIterator[World]:
    async with local_slack() as slack, local_kimi(options=KimiOptions(speed=speed)) as kimi:
        yield World(slack, kimi, folder)


@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_sigterm_after_an_answer_ends_with_zero(tmp_path: Path, over_http: bool) -> None:
    async with world(tmp_path) as w:
        port = free_port()
        async with w.bot(over_http=over_http, PORT=str(port)) as bot:
            if over_http:
                await w.slack.configure(request_url=f"http://127.0.0.1:{port}/slack/events")
            w.kimi.play("Four.")
            root = await w.slack.say("ana", DEV, "@kimibot two and two?")
            await w.until_said(root, "Four.")
            assert await asyncio.to_thread(get, port, "/healthz") == 200
            assert await asyncio.to_thread(get, port, "/readyz") == 200

            assert await bot.end(signal.SIGTERM) == 0


async def test_sigterm_in_mid_answer_lets_it_end(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.bot() as bot:
        w.kimi.play(*(f"word{n} " for n in range(40)), delay_seconds=1.0)
        root = await w.slack.say("ana", DEV, "@kimibot hello")
        await w.until_said(root, "word")
        code = await bot.end(signal.SIGTERM)

        [reply] = await w.replies(root)
        assert code == 0
        assert body(reply).endswith("word39")


async def test_an_answer_longer_than_the_drain_is_handed_over_and_finished_in_place(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w:
        async with w.bot(KIMIBOT_DRAIN_SECONDS="0.5") as bot:
            w.kimi.play(*(f"word{n} " for n in range(4000)), delay_seconds=1.0)
            root = await w.slack.say("ana", DEV, "@kimibot hello")
            await w.until_said(root, "word")
            assert await bot.end(signal.SIGTERM) == 0
        [left] = await w.until_said(root, "continuing shortly")
        w.kimi.play("All of it.")
        async with w.bot():
            [reply] = await w.until_said(root, "All of it.")

        assert reply["ts"] == left["ts"]
        assert note(reply) == ""


async def test_a_kill_in_mid_answer_leaves_one_reply_that_the_next_process_finishes(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w:
        async with w.bot() as bot:
            w.kimi.play(*(f"word{n} " for n in range(400)), delay_seconds=1.0)
            root = await w.slack.say("ana", DEV, "@kimibot hello")
            [half] = await w.until_said(root, "word")
            await bot.end(signal.SIGKILL)
        w.kimi.play("All of it.")
        async with w.bot():
            [reply] = await w.until_said(root, "All of it.")

        assert (reply["ts"], body(reply)) == (half["ts"], "All of it.")


async def test_a_kill_in_mid_review_leaves_one_reply_with_the_review_done_anew(
    tmp_path: Path,
) -> None:
    found = '{"path": "snippet", "line": 1, "quote": "x = 1", "title": "%s"}\n'
    async with world(tmp_path) as w:
        async with w.bot() as bot:
            w.kimi.play(found % "The first", found % "Never said", delay_seconds=30.0)
            root = await w.slack.say("ana", DEV, "@kimibot review\n```\nx = 1\ny = 2\n```")
            [half] = await w.until_said(root, "The first")
            await bot.end(signal.SIGKILL)
        w.kimi.play('{"verdict": "All is well."}')
        async with w.bot():
            [reply] = await w.until_said(root, "All is well.")

        assert reply["ts"] == half["ts"]
        assert body(reply) == "**All is well.**\n\nRead 1 of 1 file."


async def test_a_kill_while_something_is_looked_up_leaves_one_reply_with_the_review_done_anew(
    tmp_path: Path,
) -> None:
    tree = {"a.py": b"x = 1\n", "b.py": b"y = 2\n"}
    async with world(tmp_path) as w, local_github() as github:
        change = LocalPull(tree, tree | {"a.py": b"x = y\n"})
        github.add(LocalRepository("acme/shop", {7: change}))
        access: dict[str, Any] = {"GITHUB_TOKEN": GITHUB_TOKEN, "KIMIBOT_GITHUB_REPOS": "acme/*"}
        access["GITHUB_API_URL"] = github.api_url
        look = ("read_file", {"path": "b.py", "version": "head"})
        async with w.bot(**access) as bot:
            w.kimi.call(look)
            github.orders.append(Order("git/trees", 502, delay_seconds=60.0))
            root = await w.slack.say("ana", DEV, f"@kimibot review {github.url}/acme/shop/pull/7")
            await w.slack.until(lambda: reading_in(w, root), 20.0)
            [half] = await w.replies(root)
            await bot.end(signal.SIGKILL)
        w.kimi.call(look)
        w.kimi.play('{"verdict": "All is well."}')
        async with w.bot(**access):
            [reply] = await w.until_said(root, "All is well.")

        assert reply["ts"] == half["ts"]
        assert "Also read: `b.py` (1 file)." in body(reply)
        asked = [len(one.body["messages"]) for one in w.kimi.requests]
        assert asked == [2, 2, 4]


async def reading_in(w: World, root: str) -> list[Fields] | None:
    found = await w.replies(root)
    return found if "Reading `b.py`" in str(found) else None


async def test_a_kill_before_the_first_post_was_noted_leaves_one_reply(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        async with w.bot() as bot:
            await w.slack.delay("chat.postMessage", 30.0, before_apply=False)
            root = await w.slack.say("ana", DEV, "@kimibot hello")
            await w.until_said(root, "Thinking")
            await bot.end(signal.SIGKILL)
        w.kimi.play("Once.")
        async with w.bot():
            await w.until_said(root, "Once.")

        assert [body(reply) for reply in await w.replies(root)] == ["Once."]


async def test_an_ask_that_was_queued_before_a_kill_is_answered_after_the_restart(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w:
        async with w.bot() as bot:
            w.kimi.stall(where="first")
            root = await w.slack.say("ana", DEV, "@kimibot first")
            await w.until_said(root, "Thinking")
            second = await w.slack.say("ana", DEV, "@kimibot second", thread_ts=root)
            await w.slack.until(partial(w.is_acknowledged, second), 5.0)
            await bot.end(signal.SIGKILL)
        w.kimi.forget()
        w.kimi.play("Both answered.")
        async with w.bot():
            await w.until_said(root, "Both answered.")

        last = w.kimi.requests[-1].body["messages"][-1]["content"]
        assert "first" in last
        assert "second" in last


async def test_an_ask_that_waited_too_long_gets_an_apology_with_a_button(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        async with w.bot() as bot:
            w.kimi.play(*(f"word{n} " for n in range(400)), delay_seconds=1.0)
            root = await w.slack.say("ana", DEV, "@kimibot hello")
            await w.until_said(root, "word")
            await bot.end(signal.SIGKILL)
        async with w.bot(KIMIBOT_MAX_ASK_AGE="1") as bot:
            await w.until_said(root, "I was not there when you asked this")
            await bot.says("turn ended")
            [reply] = await w.replies(root)
            assert button(reply) == texts.TRY_AGAIN
            w.kimi.play("Hello, late.")
            await w.slack.click("ana", DEV, reply["ts"], texts.TRY_AGAIN)
            [reply] = await w.until_said(root, "Hello, late.")
            assert button(reply) == ""


async def test_while_the_database_is_locked_nothing_is_acknowledged_and_then_all_is_answered(
    tmp_path: Path,
) -> None:
    redelivery = {"redelivery_seconds": [0.5, 4.0, 8.0], "ack_timeout_seconds": 3.0}
    async with open_scene(tmp_path, slack=redelivery) as s:
        s.kimi.play("After all.")
        lock = sqlite3.connect(tmp_path / "bot.db", isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        root = await s.ask("@kimibot hello")
        await asyncio.sleep(2.5)
        refused = [record for record in await s.slack.deliveries() if record.ack_seconds is None]
        assert refused
        lock.execute("ROLLBACK")
        lock.close()
        [reply] = await s.outcome(root, seconds=25)

        assert body(reply) == "After all."


async def test_a_second_process_on_the_same_file_refuses_to_start(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.bot():
        own = bot_environment(w.slack, w.kimi, w.folder)
        second = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "kimibot",
            "run",
            env=os.environ | own,
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await second.communicate()

        assert second.returncode == 2
        assert said.decode().startswith("kimibot: DATABASE_URL: ")
        assert len(said.decode().splitlines()) == 1


@pytest.mark.parametrize(
    ("setting", "value", "line"),
    [
        ("SLACK_BOT_TOKEN", "xoxb-not-known", "SLACK_BOT_TOKEN: Slack says invalid_auth"),
        ("SLACK_APP_TOKEN", "xapp-not-known", "SLACK_APP_TOKEN: Slack says invalid_auth"),
        ("SLACK_API_URL", "http://127.0.0.1:9/", "SLACK_API_URL: Slack does not answer"),
        ("KIMI_REASONING_EFFORT", "huge", "KIMI_REASONING_EFFORT"),
        ("DATABASE_URL", "sqlite:////nowhere/at/all.db", "DATABASE_URL"),
    ],
)
async def test_what_is_wrong_at_the_start_is_told_in_one_line(
    tmp_path: Path, setting: str, value: str, line: str
) -> None:
    async with world(tmp_path) as w:
        own = bot_environment(w.slack, w.kimi, w.folder) | {setting: value}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "kimibot",
            "run",
            env=os.environ | own,
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await process.communicate()

        assert process.returncode == 2
        complaints = [text for text in said.decode().splitlines() if text.startswith("kimibot: ")]
        assert len(complaints) == 1
        assert line in complaints[0]
        assert "Traceback" not in said.decode()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(port: int, path: str) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return int(answer.status)
