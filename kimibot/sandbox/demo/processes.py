"""Starts the three processes of the demo, tells when they are ready, and ends them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kimibot.sandbox.kimi import LOCAL_KEY
from kimibot.sandbox.slack import APP_TOKEN, BOT_TOKEN

READY_SECONDS = 30.0
END_SECONDS = 10.0
LAST_LINES = 8


@dataclass
class Process:
    """One of ours, with what it has said so far."""

    name: str
    running: asyncio.subprocess.Process
    lines: list[str] = field(default_factory=list)
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def pid(self) -> int:
        return self.running.pid

    async def listen(self, tell: Callable[[str], None]) -> None:
        """Read its output until it ends; a pipe that nobody reads would block it."""
        assert self.running.stdout is not None
        async for raw in self.running.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            self.lines.append(line)
            tell(line)
            self.heard.set()
        await self.running.wait()  # the end of a process is told later than that of its output
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
            if self.running.returncode is not None:
                raise self._trouble("has ended early")
            self.heard.clear()
            await self.heard.wait()

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
    tell: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Process]:
    """A process of this Python while the block runs; `tell` hears each of its lines."""
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=dict(os.environ if environment is None else environment),
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
    """The local Slack and, unless the real one is used, the local Kimi."""

    slack_url: str
    page_url: str
    kimi_url: str | None


@asynccontextmanager
async def counterparts(
    *, port: int, with_local_kimi: bool, stack: AsyncExitStack, kimi_options: Sequence[str] = ()
) -> AsyncIterator[Counterparts]:
    """Both, ready. Raises RuntimeError when one does not start, for example on a taken port."""
    page = ["-m", "kimibot.sandbox.page", "--port", str(port)]
    if not with_local_kimi:
        page.append("--real-kimi")
    slack = await stack.enter_async_context(started("the local Slack", page))
    slack_url = (await slack.wait_for(r"local Slack at (http://\S+)"))[1]
    page_url = (await slack.wait_for(r"page at (http://\S+)"))[1]
    kimi_url = None
    if with_local_kimi:
        arguments = ["-m", "kimibot.sandbox.kimi", "--port", "0", *kimi_options]
        kimi = await stack.enter_async_context(started("the local Kimi", arguments))
        kimi_url = (await kimi.wait_for(r"local Kimi at (http://\S+)"))[1]
    yield Counterparts(slack_url, page_url, kimi_url)


def bot_environment(parts: Counterparts, database: Path) -> dict[str, str]:
    """The bot's environment: what the operator has set, with the local Slack instead of the real.

    Proxies are for the world outside, which the demo's Slack is not.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("SLACK_")}
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        if parts.kimi_url is not None:
            own.pop(name, None)
            own.pop(name.lower(), None)
    slack = {
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "SLACK_APP_TOKEN": APP_TOKEN,
        "SLACK_API_URL": f"{parts.slack_url}/api/",
        "DATABASE_URL": f"sqlite:///{database}",
        "HOST": "127.0.0.1",
        "PORT": str(free_port()),
        "LOG_FORMAT": "text",
        "PYTHONUNBUFFERED": "1",
    }
    if parts.kimi_url is None:
        return own | slack
    kimi = {
        "KIMI_PROVIDER": "custom",
        "KIMI_BASE_URL": parts.kimi_url,
        "KIMI_API_KEY": LOCAL_KEY,
        "KIMI_MODEL": "kimi-k3",
        "KIMI_REASONING_EFFORT": "",
        "KIMI_MAX_RETRIES": "1",  # a fault that lasts two tries is then seen, with its button
    }
    return own | slack | kimi


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
