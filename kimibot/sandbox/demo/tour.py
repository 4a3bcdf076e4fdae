"""`kimibot demo`: starts everything, says what to try, brings back a bot that was killed."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import tempfile
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from pathlib import Path

from kimibot.sandbox.demo.processes import (
    Counterparts,
    Process,
    bot_environment,
    counterparts,
    started_bot,
)

Say = Callable[[str], None]
Start = Callable[[], AbstractAsyncContextManager[Process]]
RESTART_SECONDS = 2.0
MOST_EARLY_ENDS = 3
WRONG_SETTINGS = 2
"""The bot's exit code for what another start would not mend."""

SHORT_LEASE = {
    "KIMIBOT_LEASE_SECONDS": "6",
    "KIMIBOT_RENEW_SECONDS": "1",
    "KIMIBOT_SLACK_TIMEOUT_SECONDS": "4",
    "KIMIBOT_SWEEP_SECONDS": "0.5",
}
"""So that a bot that was killed is soon seen to go on."""

WELCOME = """\
kimibot is running: the real bot, between a Slack on this machine and {kimi}.
{note}
  open       {url}
  try        @kimibot When do I answer 409 and when 422?   then ask on in the thread
             @kimibot How would you build a job queue?     a long answer
             @kimibot review {pull_url}
             a pull request on this machine; then press Suggest patch, or post it
{more}  or kill    kill -9 {pid}
             while it writes: it comes back and writes the answer anew, in the same place
  or trace   DATABASE_URL={database_url} kimibot trace ID
             with the id below an error, until the demo ends: what became of that turn
  end        Ctrl-C
"""
OF_THE_LOCAL_KIMI = """\
             @kimibot Show me a flaky 500                  an error with a button
"""
COSTS = "Every answer costs what your provider takes for it.\n"


async def run_demo(
    *,
    port: int,
    opens_browser: bool,
    real_kimi: str,
    hint: str,
    of_kimi: Mapping[str, str],
    is_verbose: bool,
    say: Say,
) -> int:
    """Run until Ctrl-C or SIGTERM; 0 then, 1 when something could not be started.

    `real_kimi` says which real model answers, such as "kimi-k3 at moonshot"; without it the local
    Kimi does, and `hint` is what to set for a real one, if there is something to say of that.
    `of_kimi` is what is set for it and for the log, by the names of the variables: nothing else
    that the operator has set counts.
    """
    with tempfile.TemporaryDirectory(prefix="kimibot-demo-") as folder:
        database_url = f"sqlite:///{folder}/demo.db"
        greet = partial(welcome, real_kimi=real_kimi, hint=hint, database_url=database_url)
        try:
            async with AsyncExitStack() as stack:
                stop = _told_to_end()
                all_of_them = counterparts(port=port, with_local_kimi=not real_kimi, stack=stack)
                parts = await stack.enter_async_context(all_of_them)
                page_to_open = parts.page_url if opens_browser else ""
                voice = _Voice(say, is_verbose, partial(greet, parts=parts), page_to_open)
                environment = bot_environment(parts, database_url, of_kimi) | SHORT_LEASE
                start = partial(started_bot, environment, Path(folder), voice.line)
                await _until(stop, asyncio.create_task(_keep_alive(start, voice)))
        except RuntimeError as error:
            say(str(error))
            return 1
    return 0


def welcome(pid: int, *, parts: Counterparts, real_kimi: str, hint: str, database_url: str) -> str:
    """What to try, for the bot of that process id; the rest as `run_demo` has it."""
    return WELCOME.format(
        kimi=f"the real Kimi ({real_kimi})" if real_kimi else "a Kimi on this machine",
        note=COSTS if real_kimi else hint and f"For the real Kimi: {hint}\n",
        url=parts.page_url,
        pull_url=parts.pull_url,
        more="" if real_kimi else OF_THE_LOCAL_KIMI,
        pid=pid,
        database_url=database_url,
    )


def _told_to_end() -> asyncio.Event:
    """Set by Ctrl-C and by SIGTERM."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


class _Voice:
    """What the demo tells: a welcome when the bot is there, and what happens to it later."""

    def __init__(
        self, say: Say, is_verbose: bool, greet: Callable[[int], str], page_to_open: str
    ) -> None:
        self._say = say
        self._is_verbose = is_verbose
        self._greet = greet
        self._page_to_open = page_to_open

    def line(self, text: str) -> None:
        if self._is_verbose or " WARNING " in text or " ERROR " in text:
            self._say(text)

    def ready(self, bot: Process) -> None:
        self._say(self._greet(bot.pid))
        if self._page_to_open:
            webbrowser.open(self._page_to_open)
            self._page_to_open = ""

    def ended(self, code: int) -> None:
        self._say(f"the bot has ended ({_how(code)}); starting it again")


async def _keep_alive(start: Start, voice: _Voice) -> None:
    """Start the bot whenever it has ended. Raises RuntimeError when it does not come up."""
    early_ends = 0
    while True:
        async with start() as bot:
            try:
                await bot.wait_for("socket open")
                early_ends = 0
                voice.ready(bot)
            except RuntimeError:
                early_ends += 1
                if early_ends == MOST_EARLY_ENDS or bot.running.returncode == WRONG_SETTINGS:
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
