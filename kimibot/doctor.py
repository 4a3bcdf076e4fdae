"""Examines an installation: one line a finding, each trouble with its fix."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from slack_sdk.web.async_client import AsyncWebClient

from kimibot import errors
from kimibot.answers import ChatMessage
from kimibot.errors import BadSettings, KimiError, NoText, SlackError, StorageError
from kimibot.kimi.client import open_kimi
from kimibot.kimi.reading import Limits
from kimibot.settings import Settings
from kimibot.slack.checkup import await_hello, check_bot_token, how_to_mend, open_socket_url
from kimibot.slack.manifest import EVENTS, SCOPES
from kimibot.slack.web_api import open_web_api
from kimibot.storage import open_database, pending

MODEL_SECONDS = 60.0
_TOKENS_OF_A_TRY = 16
_GREETING: tuple[ChatMessage, ...] = ({"role": "user", "content": "Say hi."},)


class State(StrEnum):
    """How much a finding matters; NOTE is for what can't be examined from here."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, and what to do about it. No field holds a secret."""

    state: State
    subject: str
    words: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.state:<8} {self.subject}: {self.words}" + (self.fix and f" → {self.fix}")


def of_dotenv(path: Path) -> Finding:
    """Which file the settings come from, beside the environment."""
    if path.is_file():
        return Finding(State.OK, ".env", f"{path.absolute()} is read, below the environment")
    return Finding(State.NOTE, ".env", f"there is no file {path.absolute()}, only the environment")


async def examine(settings: Settings, tell: Callable[[Finding], None]) -> int:
    """Tell each finding as soon as it is known. Returns 1 if anything failed, else 0.

    It asks the model for a few tokens, which cost what they cost, and changes nothing.
    """
    failed = False
    async with aclosing(_findings(settings)) as findings:
        async for finding in findings:
            tell(finding)
            failed = failed or finding.state is State.FAILED
    return 1 if failed else 0


async def _findings(settings: Settings) -> AsyncGenerator[Finding, None]:
    for warning in settings.warnings:
        yield Finding(State.WARNING, "settings", warning)
    way = "Socket Mode" if settings.socket_mode else "HTTP"
    yield Finding(State.OK, "settings", f"complete, for {way}")
    async with open_web_api(
        settings.slack_bot_token.get_secret_value(),
        base_url=settings.slack_api_url,
        timeout_seconds=settings.slack_timeout_seconds,
    ) as client:
        async for finding in _of_slack(settings, client):
            yield finding
    yield await _of_database(settings.database_url.get_secret_value())
    yield await _of_kimi(settings)
    yield _of_posting(settings)
    yield _of_port(settings.host, settings.port)


async def _of_slack(settings: Settings, client: AsyncWebClient) -> AsyncIterator[Finding]:
    async for finding in _of_bot_token(client):
        yield finding
    if settings.slack_app_token is not None:
        app_token = settings.slack_app_token.get_secret_value()
        async for finding in _of_socket(client, app_token, settings.slack_timeout_seconds):
            yield finding
    events = ", ".join(EVENTS)
    yield Finding(
        State.NOTE, "events", f"no token can ask for them; the app must subscribe to {events}"
    )


async def _of_bot_token(client: AsyncWebClient) -> AsyncIterator[Finding]:
    try:
        token = await check_bot_token(client)
    except SlackError as error:
        yield _slack_trouble("bot token", error, "SLACK_BOT_TOKEN")
        return
    if not token.is_bot:
        fix = "set SLACK_BOT_TOKEN to the Bot User OAuth Token"
        yield Finding(State.FAILED, "bot token", "it is not a bot's", fix)
        return
    yield Finding(State.OK, "bot token", f"{token.bot} in {token.workspace}")
    yield _of_scopes(token.scopes)


def _of_scopes(scopes: frozenset[str] | None) -> Finding:
    if scopes is None:
        return Finding(State.NOTE, "scopes", "Slack did not list them")
    if missing := [scope for scope in SCOPES if scope not in scopes]:
        lacks = "; ".join(f"{scope} is missing, to {SCOPES[scope]}" for scope in missing)
        fix = "add under OAuth & Permissions, then reinstall the app"
        return Finding(State.FAILED, "scopes", lacks, fix)
    if unused := sorted(scopes - SCOPES.keys()):
        fix = "the bot does without"
        return Finding(State.WARNING, "scopes", f"more than needed: {', '.join(unused)}", fix)
    return Finding(State.OK, "scopes", "exactly those that are needed")


async def _of_socket(
    client: AsyncWebClient, app_token: str, hello_seconds: float
) -> AsyncIterator[Finding]:
    """The Web API and the WebSocket apart: a proxy often lets only one of them through."""
    try:
        url = await open_socket_url(client, app_token)
    except SlackError as error:
        yield _slack_trouble("app token", error, "SLACK_APP_TOKEN")
        return
    yield Finding(State.OK, "app token", "Slack opens a socket for it")
    try:
        sockets = await await_hello(client, url, hello_seconds)
    except SlackError as error:
        fix = "let WebSockets to *.slack.com through the firewall or proxy"
        yield Finding(State.FAILED, "websocket", f"no hello from Slack ({error.code})", fix)
        return
    yield _of_sockets(sockets)


def _of_sockets(sockets: int) -> Finding:
    """Slack gives each event to one of the sockets that are open:
    https://docs.slack.dev/apis/events-api/using-socket-mode
    """
    if sockets <= 1:
        return Finding(State.OK, "websocket", "Slack says hello")
    words = f"Slack says hello; {sockets - 1} more open for this app share its events"
    return Finding(State.NOTE, "websocket", words, "right if those are the bot itself")


def _slack_trouble(subject: str, error: SlackError, variable: str) -> Finding:
    return Finding(State.FAILED, subject, str(error), how_to_mend(error, variable))


async def _of_database(url: str) -> Finding:
    if file := _file_to_be_made(url):
        return _of_new_file(file)
    try:
        database = open_database(url, alone=False)
    except ValueError as error:
        return Finding(State.FAILED, "database", str(error), "set DATABASE_URL")
    try:
        await database.ping()
        is_behind = await pending(database)
    except StorageError as error:
        return Finding(State.FAILED, "database", str(error), "see that DATABASE_URL is right")
    finally:
        await database.close()
    if is_behind:
        return Finding(State.WARNING, "database", "migrations are missing", "kimibot db upgrade")
    return Finding(State.OK, "database", "reachable, at the newest migration")


def _file_to_be_made(url: str) -> Path | None:
    """Only to look must not make it."""
    file = url.partition(":///")[2]
    if not url.startswith("sqlite") or file in ("", ":memory:") or Path(file).exists():
        return None
    return Path(file)


def _of_new_file(file: Path) -> Finding:
    if not file.absolute().parent.is_dir():
        words = f"{file.absolute().parent} is not a folder"
        return Finding(State.FAILED, "database", words, "make it, or set DATABASE_URL")
    return Finding(State.OK, "database", f"{file} will be made at the first start")


async def _of_kimi(settings: Settings) -> Finding:
    subject = f"{settings.kimi_model} at {settings.kimi_provider}"
    try:
        await _try_model(settings)
    except BadSettings as error:
        return Finding(State.FAILED, subject, str(error))
    except NoText:  # so few tokens may all go into thinking
        pass
    except KimiError as error:
        trace = f" (trace: {error.trace_id})" if error.trace_id else ""
        return Finding(State.FAILED, subject, f"{error.name}: {error}{trace}", _kimi_fix(error))
    return Finding(State.OK, subject, "the model answers")


async def _try_model(settings: Settings) -> None:
    opening = open_kimi(
        provider=settings.kimi_provider,
        api_key=settings.kimi_api_key.get_secret_value(),
        base_url=settings.kimi_base_url,
        model=settings.kimi_model,
        effort=settings.kimi_reasoning_effort,
        max_retries=0,
        limits=Limits(
            connect_seconds=settings.kimi_connect_timeout_seconds,
            first_event_seconds=min(MODEL_SECONDS, settings.kimi_first_event_timeout_seconds),
            idle_seconds=min(MODEL_SECONDS, settings.kimi_idle_timeout_seconds),
        ),
    )
    async with (
        opening as kimi,
        kimi.stream(_GREETING, max_completion_tokens=_TOKENS_OF_A_TRY) as deltas,
    ):
        async for _ in deltas:
            pass


def _kimi_fix(error: KimiError) -> str:
    fixes = {
        errors.KeyRefused: "set KIMI_API_KEY to a key of KIMI_PROVIDER",
        errors.AccountExhausted: "top up the account at the provider",
        errors.Busy: "try again later",
        errors.ModelNotFound: "set KIMI_MODEL to a model that the provider has",
        errors.Unreachable: "see that this machine reaches KIMI_BASE_URL",
    }
    return fixes.get(type(error), "ask the provider, with the trace id if there is one")


def _of_posting(settings: Settings) -> Finding:
    """GitHub tells of no token what it may write, so it is not asked."""
    if not settings.github_post:
        return Finding(State.OK, "posting", "off: reviews stay in Slack")
    if settings.github_token is None:
        fix = "set GITHUB_TOKEN to one that may write to pull requests"
        return Finding(State.WARNING, "posting", "on, but there is no GITHUB_TOKEN", fix)
    if not settings.github_repos:
        fix = "set KIMIBOT_GITHUB_REPOS, such as acme/*"
        return Finding(State.WARNING, "posting", "on, but no repository is named", fix)
    where = ", ".join(settings.github_repos)
    words = f"who asked for a review may post it to {where} with GITHUB_TOKEN"
    return Finding(State.OK, "posting", words)


def _of_port(host: str, port: int) -> Finding:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.create_server((host, port), family=family):
            return Finding(State.OK, "port", f"{host}:{port} is free")
    except OSError as error:
        fix = "right if the bot is running; else set HOST and PORT"
        return Finding(State.WARNING, "port", f"{host}:{port}: {error.strerror}", fix)
