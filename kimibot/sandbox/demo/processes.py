"""Starts the processes of the demo, tells when they are ready, and ends them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from kimibot.sandbox.github import GITHUB_TOKEN
from kimibot.sandbox.kimi import LOCAL_KEY
from kimibot.sandbox.slack import APP_TOKEN, BOT_TOKEN

READY_SECONDS = 30.0
END_SECONDS = 10.0
LAST_LINES = 8

Tell = Callable[[str], None]


@dataclass
class Process:
    """One of ours, with what it has said so far."""

    name: str
    running: asyncio.subprocess.Process
    lines: list[str] = field(default_factory=list)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False
    """It has ended, and all that it has said was heard: either may be known first."""

    @property
    def pid(self) -> int:
        return self.running.pid

    async def listen(self, tell: Tell) -> None:
        """Read its output until it ends; a pipe that nobody reads would block it."""
        assert self.running.stdout is not None
        async for raw in self.running.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            self.lines.append(line)
            tell(line)
            self.heard.set()
        await self.running.wait()
        self.is_over = True
        self.heard.set()

    async def wait_for(self, pattern: str) -> re.Match[str]:
        """The first line that matches.

        Raises RuntimeError, with the last lines, if the process ends before it or takes too long.
        """
        try:
            async with asyncio.timeout(READY_SECONDS):
                return await self._first(pattern)
        except TimeoutError:
            raise self._trouble(f"is not ready after {READY_SECONDS:g} s") from None

    async def _first(self, pattern: str) -> re.Match[str]:
        while True:
            for line in self.lines:
                if found := re.search(pattern, line):
                    return found
            if self.is_over:
                raise self._trouble("has ended early")
            self.heard.clear()
            await self.heard.wait()

    async def address(self, of: str) -> str:
        """Where it says that something is, once it does. Raises as `wait_for` does."""
        return (await self.wait_for(rf"{of} at (http://\S+)"))[1]

    def _trouble(self, what: str) -> RuntimeError:
        last_words = "".join(f"\n  {line}" for line in self.lines[-LAST_LINES:])
        return RuntimeError(f"{self.name} {what}{last_words and ':'}{last_words}")

    async def end(self) -> int:
        """SIGTERM, and SIGKILL if that is not enough; its exit code."""
        if self.running.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.running.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(END_SECONDS):
                return await self.running.wait()
        except TimeoutError:
            self.running.kill()
            return await self.running.wait()


@asynccontextmanager
async def started(
    name: str,
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    tell: Tell = lambda _: None,
) -> AsyncIterator[Process]:
    """A process of this Python while the block runs; `tell` hears each of its lines.

    It runs in `folder`, or in ours.
    """
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(os.environ if environment is None else environment),
        cwd=folder,
        start_new_session=True,  # Ctrl-C is for us: we end them in order
    )
    process = Process(name, running)
    listening = asyncio.create_task(process.listen(tell))
    try:
        yield process
    finally:
        await process.end()
        await listening


@dataclass(frozen=True, slots=True)
class Counterparts:
    """The local Slack, the local GitHub and, unless the real one is used, the local Kimi.

    `pull_url` is the address of a change that waits for a review.
    """

    slack_url: str
    page_url: str
    github_url: str
    pull_url: str
    kimi_url: str | None


_OF_SETTINGS = ("SLACK_", "KIMI_", "KIMIBOT_", "GITHUB_")


@asynccontextmanager
async def counterparts(
    *, port: int, with_local_kimi: bool, stack: AsyncExitStack, kimi_options: Sequence[str] = ()
) -> AsyncIterator[Counterparts]:
    """All of them, ready. Raises RuntimeError when one does not start, as on a taken port."""
    on_a_free_port = ["--port", "0"]
    github = await stack.enter_async_context(
        started("the local GitHub", ["-m", "kimibot.sandbox.github", *on_a_free_port])
    )
    kimi = None
    if with_local_kimi:
        arguments = ["-m", "kimibot.sandbox.kimi", *on_a_free_port, *kimi_options]
        kimi = await stack.enter_async_context(started("the local Kimi", arguments))
    pull_url = await github.address("pull request")
    page = ["-m", "kimibot.sandbox.page", "--port", str(port), "--pull-request", pull_url]
    if kimi is None:
        page.append("--real-kimi")
    slack = await stack.enter_async_context(started("the local Slack", page))
    yield Counterparts(
        slack_url=await slack.address("local Slack"),
        page_url=await slack.address("page"),
        github_url=await github.address("local GitHub"),
        pull_url=pull_url,
        kimi_url=await kimi.address("local Kimi") if kimi else None,
    )


def started_bot(
    environment: Mapping[str, str], folder: Path, tell: Tell = lambda _: None
) -> AbstractAsyncContextManager[Process]:
    """The bot while the block runs. In `folder` is no `.env`: the operator's is not for a demo."""
    command = ["-m", "kimibot", "run"]
    return started("the bot", command, environment=environment, folder=folder, tell=tell)


def bot_environment(
    parts: Counterparts, database_url: str, of_kimi: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """The bot's environment: ours without settings, then `of_kimi`, then what is local.

    `of_kimi` is what the operator has set for the real Kimi and the log; who may ask, and all else
    that is meant for the real Slack, would have the demo refuse its own people. Proxies are for the
    world outside, where neither the demo's Slack nor its GitHub is.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith(_OF_SETTINGS)}
    if parts.kimi_url is None:
        return own | dict(of_kimi) | _local(parts, database_url, of_kimi)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        own.pop(name, None)
        own.pop(name.lower(), None)
    return own | _local(parts, database_url, of_kimi) | _local_kimi(parts.kimi_url)


def _local(parts: Counterparts, database_url: str, of_kimi: Mapping[str, str]) -> dict[str, str]:
    """No token of the operator's goes to the local GitHub: what is in .env is for the real one."""
    return {
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "SLACK_APP_TOKEN": APP_TOKEN,
        "SLACK_API_URL": f"{parts.slack_url}/api/",
        "GITHUB_API_URL": parts.github_url,
        "GITHUB_TOKEN": GITHUB_TOKEN,
        "KIMIBOT_GITHUB_REPOS": "*/*",
        "KIMIBOT_GITHUB_POST": "1",
        "NO_PROXY": _unproxied(),
        "DATABASE_URL": database_url,
        "HOST": "127.0.0.1",
        "PORT": str(free_port()),
        "LOG_FORMAT": "text",
        "LOG_LEVEL": _log_level(of_kimi),
        "PYTHONUNBUFFERED": "1",
    }


def _local_kimi(url: str) -> dict[str, str]:
    return {
        "KIMI_PROVIDER": "custom",
        "KIMI_BASE_URL": url,
        "KIMI_API_KEY": LOCAL_KEY,
        "KIMI_MODEL": "kimi-k3",
        "KIMI_MAX_RETRIES": "1",  # a fault that lasts two tries is then seen, with its button
    }


def _log_level(of_kimi: Mapping[str, str]) -> str:
    """By a line of INFO the demo knows that the bot is connected."""
    return "DEBUG" if of_kimi.get("LOG_LEVEL", "").upper() == "DEBUG" else "INFO"


def _unproxied() -> str:
    own = os.environ.get("NO_PROXY") or os.environ.get("no_proxy")
    return ",".join(filter(None, (own, "127.0.0.1")))


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
