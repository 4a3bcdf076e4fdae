"""Runs the bot and drains it: from the checks at the start to the last word at the end."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from kimibot import endpoints
from kimibot.bot import Bot, build_bot
from kimibot.pacing import Pacing
from kimibot.settings import Settings
from kimibot.slack.http import events_endpoint
from kimibot.starting import allow_open_files, log_start
from kimibot.worker import Worker

log = logging.getLogger(__name__)


async def run(settings: Settings, pacing: Pacing | None = None) -> int:
    """Run until SIGTERM or SIGINT; 0 then. Raises BadSettings for what is wrong at the start.

    `pacing` is for a Slack with other limits than Slack's own.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with open_bot(settings, pacing) as bot:
        _spare_what_stays()
        await stop.wait()
        await drain(bot)
    log.info("stopped")
    return 0


@asynccontextmanager
async def open_bot(settings: Settings, pacing: Pacing | None = None) -> AsyncIterator[Bot]:
    """The running bot. Raises BadSettings with a line for each thing that is wrong."""
    async with AsyncExitStack() as stack:
        allow_open_files(settings.kimi_concurrency)
        bot = await build_bot(settings, pacing or Pacing(), stack)
        log_start(settings, bot.us)
        running = asyncio.create_task(bot.worker.run())
        stack.push_async_callback(_stop, bot.worker, running)
        stack.push_async_callback(_cancel, asyncio.create_task(bot.retention.run()))
        await _listen(bot, stack)
        yield bot


async def drain(bot: Bot) -> None:
    """Stop taking, let what runs end, hand the rest over."""
    seconds = bot.settings.drain_seconds
    log.info("draining, for at most %g s", seconds, extra={"running": bot.worker.running})
    bot.is_draining = True
    if bot.socket is not None:
        await bot.socket.close()
    await bot.worker.drain(seconds)
    log.info("drained", extra={"running": bot.worker.running})


async def _listen(bot: Bot, stack: AsyncExitStack) -> None:
    """The endpoints first, so that a look at them tells how far we are; then the socket."""
    settings = bot.settings
    slack_events = None if settings.socket_mode else events_endpoint(bot.app)
    serving = endpoints.serve(
        settings.host,
        settings.port,
        is_ready=bot.what_is_missing,
        metrics=bot.metrics,
        slack_events=slack_events,
    )
    if bot.socket is not None:
        stack.push_async_callback(bot.socket.close)
    bot.port = await stack.enter_async_context(serving)
    log.info("listening on %s:%s", settings.host, bot.port)
    if bot.socket is not None:
        await bot.socket.open()


async def _stop(worker: Worker, running: asyncio.Task[None]) -> None:
    """Hand over what still runs, then let the sweep end."""
    await worker.drain(seconds=0)
    worker.stop()
    await running


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


def _spare_what_stays() -> None:
    """Modules and parts are there till the end: leave them out of all later garbage collections.

    With them a full one stops every answer for about 80 ms, without them for 4
    (docs.python.org/3/library/gc.html#gc.freeze).
    """
    gc.collect()
    gc.freeze()
