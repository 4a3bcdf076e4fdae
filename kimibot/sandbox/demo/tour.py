"""`kimibot demo`: starts everything, says what to try, brings back a bot that was killed."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import tempfile
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from kimibot.sandbox.demo.processes import (
    Process,
    bot_environment,
    counterparts,
    started,
)

Say = Callable[[str], None]
RESTART_SECONDS = 2.0
MOST_EARLY_ENDS = 3

WELCOME = """\
kimibot is running: the real bot, between a Slack and a Kimi on this machine.

  open       {url}
  try        @kimibot When do I answer 409 and when 422?   then ask on in the thread
             @kimibot How would you build a job queue?     a reply over several messages
             @kimibot Show me a flaky 500                  an error with a button
  or kill    kill -9 {pid}                      while it writes: it comes back and finishes
  end        Ctrl-C
"""


async def run_demo(
    *, port: int, opens_browser: bool, use_real_kimi: bool, is_verbose: bool, say: Say
) -> int:
    """Run until Ctrl-C or SIGTERM; 0 then, 1 when something could not be started."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with tempfile.TemporaryDirectory(prefix="kimibot-demo-") as folder:
        try:
            async with AsyncExitStack() as stack:
                both = counterparts(port=port, with_local_kimi=not use_real_kimi, stack=stack)
                parts = await stack.enter_async_context(both)
                environment = bot_environment(parts, Path(folder) / "demo.db")
                keeping = asyncio.create_task(
                    _keep_alive(environment, _Voice(say, is_verbose, parts.page_url, opens_browser))
                )
                await _until(stop, keeping)
        except (RuntimeError, TimeoutError) as error:
            say(str(error) or "something did not start in time")
            return 1
    return 0


class _Voice:
    """What the demo tells: a welcome when the bot is there, and what happens to it later."""

    def __init__(self, say: Say, is_verbose: bool, url: str, opens_browser: bool) -> None:
        self._say = say
        self._is_verbose = is_verbose
        self._url = url
        self._opens_browser = opens_browser

    def line(self, text: str) -> None:
        if self._is_verbose or " WARNING " in text or " ERROR " in text:
            self._say(text)

    def ready(self, bot: Process) -> None:
        self._say(WELCOME.format(url=self._url, pid=bot.pid))
        if self._opens_browser:
            self._opens_browser = False
            webbrowser.open(self._url)

    def ended(self, code: int) -> None:
        self._say(f"the bot has ended ({_how(code)}); starting it again")


async def _keep_alive(environment: Mapping[str, str], voice: _Voice) -> None:
    """Start the bot whenever it has ended. Raises RuntimeError when it does not come up."""
    early_ends = 0
    while True:
        async with started(
            "the bot", ["-m", "kimibot", "run"], environment=environment, tell=voice.line
        ) as bot:
            try:
                await bot.wait_for("socket open")
                early_ends = 0
                voice.ready(bot)
            except RuntimeError:
                early_ends += 1
                if early_ends == MOST_EARLY_ENDS:
                    raise
            voice.ended(await bot.running.wait())
        await asyncio.sleep(RESTART_SECONDS)


async def _until(stop: asyncio.Event, keeping: asyncio.Task[None]) -> None:
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({stopping, keeping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if keeping.done():
        keeping.result()
    keeping.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await keeping


def _how(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
