"""Puts the bot together, runs it, drains it: the one module that knows every part."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import resources
from uuid import uuid4

from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from kimibot import endpoints, texts
from kimibot.accepting import Accepting
from kimibot.addressing import FollowUps
from kimibot.answering import Answering, Limits
from kimibot.background import Background
from kimibot.buttons import Buttons
from kimibot.conversation import Thread, Us
from kimibot.errors import StorageError
from kimibot.kimi.client import Kimi, OnError, open_kimi
from kimibot.kimi.reading import Limits as KimiLimits
from kimibot.lease import LeaseTimes
from kimibot.live_reply import LiveReply
from kimibot.marks import Marks
from kimibot.metrics import Metrics, Sources
from kimibot.notices import Notices
from kimibot.ordering import Ordering
from kimibot.pacing import Pacing
from kimibot.reply_parts import Posted, Sure
from kimibot.settings import Settings
from kimibot.slack.announcements import SlackAnnouncements
from kimibot.slack.app import Listeners, Press, build_app
from kimibot.slack.http import events_endpoint
from kimibot.slack.messages import SlackMessages
from kimibot.slack.parts import part, settled
from kimibot.slack.reactions import SlackReactions
from kimibot.slack.socket import Hearing, Socket
from kimibot.slack.web_api import WebApi, open_web_api
from kimibot.slack.workspace import SlackWorkspace
from kimibot.starting import allow_open_files, checked, log_start
from kimibot.stopping import Stopping
from kimibot.storage.engine import Database
from kimibot.storage.stop_store import StopStore
from kimibot.storage.store import Store
from kimibot.views import Button
from kimibot.worker import Worker

log = logging.getLogger(__name__)

LAST_CALLS_SECONDS = 2.0
"""For marks and notices that are still under way when we go."""


@dataclass(slots=True)
class Bot:
    """All parts, put together."""

    settings: Settings
    us: Us
    database: Database
    worker: Worker
    app: AsyncApp
    socket: Socket | None
    metrics: Callable[[], Awaitable[bytes]]
    port: int = 0
    is_draining: bool = False

    async def what_is_missing(self) -> str:
        """Why we are not ready for events, or ""."""
        if self.is_draining:
            return "draining"
        try:
            await self.database.ping()
        except StorageError:
            return "the database does not answer"
        if self.socket is not None and not await self.socket.is_open():
            return "the socket is not open"
        return ""


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
        bot = await _assemble(settings, pacing or Pacing(), stack)
        log_start(settings, bot.us)
        running = asyncio.create_task(bot.worker.run())
        stack.push_async_callback(_stop, bot.worker, running)
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


async def _assemble(settings: Settings, pacing: Pacing, stack: AsyncExitStack) -> Bot:
    """From the outside in: the edges, then the story between them, then who is told of events."""
    hearing, metrics = Hearing(time.time), Metrics(_now)
    client = await stack.enter_async_context(_open_web_api(settings))
    web_api = WebApi(client, pacing, metrics.slack_called)
    database, us = await checked(settings, client, web_api, stack)
    store = Store(database)
    kimi = await stack.enter_async_context(_open_kimi(settings, metrics.kimi_failed))
    messages, background = SlackMessages(web_api, pacing), Background()
    stack.push_async_callback(background.close, LAST_CALLS_SECONDS)
    marks = Marks(SlackReactions(web_api, pacing), background)
    notices = Notices(SlackAnnouncements(web_api, pacing), background, _now)
    workspace = SlackWorkspace(
        web_api, pacing, us, messages, connected_since=hearing.since, clock=time.monotonic
    )
    answering = Answering(
        memory=store,
        model=kimi,
        workspace=workspace,
        replies=partial(
            _open_reply, messages, pacing, metrics.text_shown, 2 * settings.slack_timeout_seconds
        ),
        system_prompt=_system_prompt(settings),
        limits=_limits(settings),
        now=_now,
    )
    worker = Worker(
        store,
        answering.answer,
        owner=uuid4().hex,
        times=_lease_times(settings),
        divide=pacing.divide,
        on_claimed=_all_of(metrics.claimed, marks.begins),
        on_ended=_all_of(metrics.ended, notices.ended),
    )
    stopping = Stopping(
        StopStore(database),
        us,
        stop_turn=worker.stop_turn,
        whisper=messages.whisper,
        background=background,
    )
    accepting = Accepting(
        store,
        us,
        FollowUps(settings.follow_ups),
        worker.wake,
        _now,
        Ordering(time.monotonic),
        stop=stopping.said,
        has_to_wait=marks.has_to_wait,
    )
    buttons = Buttons(store, messages.whisper, worker.wake)
    listeners = Listeners(accepting.accept, stopping.deleted, stopping.reacted)
    actions = {texts.TRY_AGAIN: buttons.try_again, texts.STOP: stopping.pressed}
    app = _build_app(settings, client, us, listeners, actions, metrics.event_came)
    socket = _socket(settings, app, hearing)
    scrape = partial(metrics.scrape, _sources(store, pacing, kimi, socket))
    return Bot(settings, us, database, worker, app, socket, scrape)


def _open_web_api(settings: Settings) -> AbstractAsyncContextManager[AsyncWebClient]:
    return open_web_api(
        settings.slack_bot_token.get_secret_value(),
        base_url=settings.slack_api_url,
        timeout_seconds=settings.slack_timeout_seconds,
    )


def _open_kimi(settings: Settings, on_error: OnError) -> AbstractAsyncContextManager[Kimi]:
    return open_kimi(
        provider=settings.kimi_provider,
        api_key=settings.kimi_api_key.get_secret_value(),
        base_url=settings.kimi_base_url,
        model=settings.kimi_model,
        effort=settings.kimi_reasoning_effort or "",
        max_completion_tokens=settings.kimi_max_completion_tokens,
        concurrency=settings.kimi_concurrency,
        max_retries=settings.kimi_max_retries,
        limits=KimiLimits(
            connect_seconds=settings.kimi_connect_timeout_seconds,
            first_event_seconds=settings.kimi_first_event_timeout_seconds,
            idle_seconds=settings.kimi_idle_timeout_seconds,
            answer_seconds=settings.kimi_answer_timeout_seconds,
        ),
        on_error=on_error,
    )


def _open_reply(
    messages: SlackMessages,
    pacing: Pacing,
    on_shown: Callable[[int], None],
    settle_seconds: float,
    thread: Thread,
    turn_id: str,
    *,
    reply_ts: Sequence[str],
    on_posted: Posted,
    sure: Sure,
    is_taken_over: bool,
) -> LiveReply:
    return LiveReply(
        thread,
        turn_id,
        messages=messages,
        pacing=pacing,
        splitter=_Splitter(),
        sign=texts.thinking,
        on_posted=on_posted,
        sure=sure,
        reply_ts=reply_ts,
        is_taken_over=is_taken_over,
        settle_seconds=settle_seconds,
        on_shown=on_shown,
        stop_button=Button(texts.STOP, texts.STOP_LABEL, turn_id),
    )


def _all_of(*told: Callable[..., None]) -> Callable[..., None]:
    """One who is told is enough for the worker: each of these hears it."""

    def tell(*what: object) -> None:
        for one in told:
            one(*what)

    return tell


class _Splitter:
    """The edge's two functions, as the live reply wants them."""

    part = staticmethod(part)
    settled = staticmethod(settled)


def _system_prompt(settings: Settings) -> str:
    """Our own prompt, then the operator's."""
    own = resources.files("kimibot").joinpath("system_prompt.md").read_text(encoding="utf-8")
    return f"{own.strip()}\n\n{settings.instructions}".strip()


def _limits(settings: Settings) -> Limits:
    """What is left of the context for reading when the answer has its share."""
    for_reading = settings.kimi_context_tokens - settings.kimi_max_completion_tokens
    return Limits(
        budget_tokens=max(for_reading, settings.kimi_context_tokens // 4),
        max_ask_age_seconds=settings.max_ask_age_seconds,
    )


def _lease_times(settings: Settings) -> LeaseTimes:
    return LeaseTimes(
        lease_seconds=settings.lease_seconds,
        renew_seconds=settings.renew_seconds,
        sweep_seconds=settings.sweep_seconds,
        call_seconds=settings.slack_timeout_seconds,
    )


def _build_app(
    settings: Settings,
    client: AsyncWebClient,
    us: Us,
    listeners: Listeners,
    actions: Mapping[str, Press],
    on_event: Callable[[], None],
) -> AsyncApp:
    secret = settings.slack_signing_secret
    return build_app(
        client,
        us,
        listeners=listeners,
        actions=actions,
        signing_secret=None
        if settings.socket_mode or secret is None
        else secret.get_secret_value(),
        on_event=on_event,
    )


def _socket(settings: Settings, app: AsyncApp, hearing: Hearing) -> Socket | None:
    token = settings.slack_app_token
    if token is None:
        return None
    seconds = settings.ping_seconds
    return Socket(app, token.get_secret_value(), hearing, ping_seconds=seconds)


def _sources(store: Store, pacing: Pacing, kimi: Kimi, socket: Socket | None) -> Sources:
    return Sources(
        open_asks=store.open_asks,
        live_answers=lambda: pacing.live_answers,
        kimi_streams=lambda: kimi.open_streams,
        is_socket_open=socket.is_open if socket is not None else None,
    )


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


def _spare_what_stays() -> None:
    """Modules and parts are there till the end: leave them out of all later garbage collections.

    With them a full one stops every answer for about 80 ms, without them for 4
    (docs.python.org/3/library/gc.html#gc.freeze).
    """
    gc.collect()
    gc.freeze()


def _now() -> datetime:
    return datetime.now(UTC)
