"""The bot, put together: the one module that knows every part."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from importlib import resources
from urllib.parse import urlsplit
from uuid import uuid4

from slack_bolt.async_app import AsyncApp

from kimibot import texts
from kimibot.accepting import Accepting
from kimibot.addressing import FollowUps, Policy
from kimibot.admission import Admission
from kimibot.allowance import DailyLimits
from kimibot.answering import Answering
from kimibot.asking import Limits
from kimibot.buttons import Buttons
from kimibot.conversation import Us
from kimibot.edges import Edges, open_edges, utc_now
from kimibot.editing import Editing
from kimibot.errors import StorageError
from kimibot.github.submitting import Submissions
from kimibot.granting import Granting
from kimibot.lease import LeaseTimes
from kimibot.marks import Marks
from kimibot.metrics import Sources
from kimibot.notices import Notices
from kimibot.ordering import Ordering
from kimibot.own_words import OwnWords
from kimibot.pacing import Pacing
from kimibot.reply.live_reply import LiveReply
from kimibot.reply.open_part import AsItIs
from kimibot.reply.parts import ReplyTo
from kimibot.retention import Retention
from kimibot.reviewing.posting import Posting
from kimibot.settings import Settings
from kimibot.slack.announcements import SlackAnnouncements
from kimibot.slack.app import Listeners, build_app
from kimibot.slack.long_code import LongCode
from kimibot.slack.parts import part, settled
from kimibot.slack.reactions import SlackReactions
from kimibot.slack.socket import Hearing, Socket
from kimibot.slack.whispers import SlackWhispers
from kimibot.slack.workspace import SlackWorkspace
from kimibot.stopping import Stopping
from kimibot.storage.edit_store import EditStore
from kimibot.storage.engine import Database
from kimibot.storage.stop_store import StopStore
from kimibot.storage.usage_store import UsageStore
from kimibot.turns import Kind
from kimibot.views import Button
from kimibot.worker import Worker


@dataclass(slots=True)
class Bot:
    """All parts, put together."""

    settings: Settings
    us: Us
    database: Database
    worker: Worker
    retention: Retention
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


async def build_bot(settings: Settings, pacing: Pacing, stack: AsyncExitStack) -> Bot:
    """From the outside in: the edges, then the story between them, then who is told of events.

    Raises BadSettings with a line for each thing that is wrong.
    """
    edges = await open_edges(settings, pacing, stack)
    marks = Marks(SlackReactions(edges.web_api, pacing), edges.background)
    worker = _worker(settings, edges, marks)
    app = _app(settings, edges, worker, marks)
    socket = _socket(settings, app, edges.hearing)
    scrape = partial(edges.metrics.scrape, _sources(edges, socket))
    retention = Retention(edges.store, days=settings.retention_days, now=utc_now)
    return Bot(settings, edges.us, edges.database, worker, retention, app, socket, scrape)


def _worker(settings: Settings, edges: Edges, marks: Marks) -> Worker:
    announcements = SlackAnnouncements(edges.web_api, edges.pacing)
    notices = Notices(announcements, edges.background, utc_now)
    return Worker(
        edges.store,
        _answering(settings, edges).answer,
        owner=uuid4().hex,
        times=_lease_times(settings),
        divide=edges.pacing.divide,
        on_claimed=_all_of(edges.metrics.claimed, marks.begins),
        on_ended=_all_of(edges.metrics.ended, notices.ended),
    )


def _answering(settings: Settings, edges: Edges) -> Answering:
    workspace = SlackWorkspace(
        edges.web_api,
        edges.us,
        edges.messages,
        connected_since=edges.hearing.since,
        is_deaf_in=edges.hearing.is_deaf_in,
        clock=time.monotonic,
    )
    return Answering(
        memory=edges.store,
        model=edges.kimi,
        workspace=workspace,
        files=edges.files,
        submissions=Submissions(edges.github),
        open_reply=partial(_open_reply, edges, 2 * settings.slack_timeout_seconds),
        granting=Granting(UsageStore(edges.database), _daily_limits(settings), utc_now),
        admission=Admission(_policy(settings), workspace),
        own_words=OwnWords(edges.store, _help_text(settings)),
        posting=Posting(edges.github.writing, edges.store, workspace),
        system_prompt=_system_prompt(settings),
        limits=_limits(settings),
        shows_reasoning=settings.show_reasoning == "ask",
        now=utc_now,
    )


def _app(settings: Settings, edges: Edges, worker: Worker, marks: Marks) -> AsyncApp:
    """Who is told of what Slack delivers, and what each button does."""
    stopping = _stopping(edges, worker)
    accepting = _accepting(settings, edges, worker, stopping, marks)
    editing = _editing(edges, worker, accepting)
    buttons = _buttons(settings, edges, worker)
    secret = settings.slack_signing_secret
    return build_app(
        edges.client,
        edges.us,
        listeners=Listeners(accepting.accept, editing.edited, stopping.deleted, stopping.reacted),
        shortcuts={
            "ask_about": partial(buttons.ask_about, kind=Kind.ABOUT),
            "review": partial(buttons.ask_about, kind=Kind.REVIEW_MESSAGE),
        },
        actions={
            texts.TRY_AGAIN: buttons.try_again,
            texts.CONTINUE: buttons.go_on,
            texts.SUGGEST_PATCH: buttons.suggest_patch,
            texts.POST_REVIEW: buttons.post_review,
            texts.SHOW_REASONING: buttons.show_reasoning,
            texts.ANSWER_AGAIN: editing.pressed,
            texts.STOP: stopping.pressed,
        },
        picks={
            texts.EXPLAIN: partial(buttons.pick, kind=Kind.EXPLAIN),
            texts.NOT_A_PROBLEM: partial(buttons.pick, kind=Kind.NOT_A_PROBLEM),
        },
        take_off=lambda *what: edges.background.start(edges.messages.take_button_off(*what)),
        signing_secret=secret.get_secret_value() if secret and not settings.socket_mode else None,
        on_event=edges.metrics.event_came,
        on_message=edges.hearing.message_in,
    )


def _stopping(edges: Edges, worker: Worker) -> Stopping:
    return Stopping(
        StopStore(edges.database),
        edges.us,
        stop_turn=worker.stop_turn,
        whisper=edges.messages.whisper,
        background=edges.background,
    )


def _editing(edges: Edges, worker: Worker, accepting: Accepting) -> Editing:
    return Editing(
        EditStore(edges.database),
        edges.us,
        accept=accepting.accept,
        restart=worker.stop_turn,
        wake=worker.wake,
        whisper=edges.messages.whisper,
        background=edges.background,
    )


def _buttons(settings: Settings, edges: Edges, worker: Worker) -> Buttons:
    return Buttons(
        edges.store,
        whisper=edges.messages.whisper,
        show=SlackWhispers(edges.web_api, edges.pacing).show_reasoning,
        wake=worker.wake,
        background=edges.background,
        now=utc_now,
        shows_reasoning=settings.show_reasoning == "ask",
    )


def _accepting(
    settings: Settings, edges: Edges, worker: Worker, stopping: Stopping, marks: Marks
) -> Accepting:
    return Accepting(
        edges.store,
        edges.us,
        _policy(settings),
        worker.wake,
        utc_now,
        Ordering(time.monotonic),
        stop=stopping.said,
        has_to_wait=marks.has_to_wait,
    )


def _open_reply(edges: Edges, settle_seconds: float, to: ReplyTo) -> LiveReply:
    return LiveReply(
        to,
        messages=edges.messages,
        pacing=edges.pacing,
        splitter=_Splitter(),
        folding=AsItIs if edges.uploads.are_refused else LongCode,
        uploads=edges.uploads,
        sign=texts.thinking,
        settle_seconds=settle_seconds,
        on_shown=edges.metrics.text_shown,
        stop_button=Button(texts.STOP, texts.STOP_LABEL, to.turn_id),
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


def _help_text(settings: Settings) -> str:
    host = urlsplit(settings.kimi_base_url).hostname
    return texts.help_text(
        sent_to=f"{settings.kimi_provider} ({host})",
        retention_days=settings.retention_days,
        posts_reviews=settings.posts_reviews,
    )


def _policy(settings: Settings) -> Policy:
    return Policy(
        FollowUps(settings.follow_ups),
        channels=settings.allowed_channels,
        people=settings.allowed_users,
        apps=settings.allowed_bots,
        with_external_people=settings.external_people == "on",
    )


def _limits(settings: Settings) -> Limits:
    """What is left of the context for reading when the answer has its share."""
    for_reading = settings.kimi_context_tokens - settings.kimi_max_completion_tokens
    return Limits(
        budget_tokens=max(for_reading, settings.kimi_context_tokens // 4),
        max_ask_age_seconds=settings.max_ask_age_seconds,
    )


def _daily_limits(settings: Settings) -> DailyLimits:
    return DailyLimits(settings.daily_tokens_per_person, settings.daily_tokens_per_workspace)


def _lease_times(settings: Settings) -> LeaseTimes:
    return LeaseTimes(
        lease_seconds=settings.lease_seconds,
        renew_seconds=settings.renew_seconds,
        sweep_seconds=settings.sweep_seconds,
        call_seconds=settings.slack_timeout_seconds,
    )


def _socket(settings: Settings, app: AsyncApp, hearing: Hearing) -> Socket | None:
    token = settings.slack_app_token
    if token is None:
        return None
    seconds = settings.ping_seconds
    return Socket(app, token.get_secret_value(), hearing, ping_seconds=seconds)


def _sources(edges: Edges, socket: Socket | None) -> Sources:
    return Sources(
        open_asks=edges.store.open_asks,
        live_answers=lambda: edges.pacing.live_answers,
        kimi_streams=lambda: edges.kimi.open_streams,
        is_socket_open=socket.is_open if socket is not None else None,
    )
