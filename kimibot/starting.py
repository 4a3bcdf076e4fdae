"""What must be right before the bot can run: database, tokens, open files; all told at once."""

from __future__ import annotations

import asyncio
import logging
import resource
from contextlib import AsyncExitStack

from slack_sdk.web.async_client import AsyncWebClient

from kimibot import __version__
from kimibot.conversation import Us
from kimibot.errors import (
    BadSettings,
    FateUnknown,
    NotConnected,
    RateLimited,
    SlackError,
    StorageError,
)
from kimibot.settings import Settings
from kimibot.slack.checkup import how_to_mend, open_socket_url
from kimibot.slack.identity import identify
from kimibot.slack.web_api import WebApi
from kimibot.storage.engine import Database, open_database
from kimibot.storage.migrate import pending, upgrade
from kimibot.storage.urls import shown

log = logging.getLogger(__name__)

FILES_BESIDE_STREAMS = 200
"""Open files that are not a stream of Kimi's: Slack, the database, sockets of the endpoints."""


async def checked(
    settings: Settings, client: AsyncWebClient, web_api: WebApi, stack: AsyncExitStack
) -> tuple[Database, Us]:
    """The database and who we are. Raises BadSettings with all that is wrong at once."""
    found = await asyncio.gather(
        _open_database(settings, stack),
        _identify(web_api),
        _check_app_token(settings, client),
        return_exceptions=True,
    )
    lines = [line for error in found if isinstance(error, BadSettings) for line in error.lines]
    for error in found:
        if isinstance(error, BaseException) and not isinstance(error, BadSettings):
            raise error
    if lines:
        raise BadSettings(lines)
    database, us, _ = found
    assert isinstance(database, Database)
    assert isinstance(us, Us)
    return database, us


async def _open_database(settings: Settings, stack: AsyncExitStack) -> Database:
    """SQLite is brought up to date by ourselves, PostgreSQL by `kimibot db upgrade`."""
    url = settings.database_url.get_secret_value()
    try:
        database = open_database(url)
        stack.push_async_callback(database.close)
        if url.startswith("sqlite"):
            await upgrade(database)
        elif await pending(database):
            raise BadSettings(["DATABASE_URL: the tables are not up to date: kimibot db upgrade"])
    except (ValueError, StorageError) as error:
        raise BadSettings([f"DATABASE_URL: {error}"]) from error
    return database


async def _identify(web_api: WebApi) -> Us:
    try:
        return await identify(web_api)
    except (NotConnected, FateUnknown, RateLimited) as error:
        line = f"SLACK_API_URL: Slack does not answer ({error.code})"
        raise BadSettings([f"{line}: {how_to_mend(error, '')}"]) from error
    except SlackError as error:
        raise _refused(error, "SLACK_BOT_TOKEN") from error


async def _check_app_token(settings: Settings, client: AsyncWebClient) -> None:
    """The SDK would try a refused token for ever, and nobody would hear of it."""
    if settings.slack_app_token is None:
        return
    try:
        await open_socket_url(client, settings.slack_app_token.get_secret_value())
    except NotConnected:
        return  # the bot token's check says so too
    except SlackError as error:
        raise _refused(error, "SLACK_APP_TOKEN") from error


def _refused(error: SlackError, variable: str) -> BadSettings:
    fix = how_to_mend(error, variable)
    return BadSettings([f"{variable}: Slack says {error.code}: {fix}"])


def log_start(settings: Settings, us: Us) -> None:
    """Who we are, and between whom: what one looks for first in a log."""
    fields = {
        "version": __version__,
        "bot": us.name,
        "workspace": us.team,
        "mode": "socket" if settings.socket_mode else "http",
        "provider": settings.kimi_provider,
        "model": settings.kimi_model,
        "database": shown(settings.database_url.get_secret_value()),
    }
    log.info("starting", extra=fields)


def allow_open_files(concurrency: int) -> None:
    """Each stream of Kimi's is an open file: take what the system allows, and say if it is few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = concurrency + FILES_BESIDE_STREAMS
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
    if hard < wanted:
        log.warning("only %s open files are allowed: lower KIMI_CONCURRENCY", hard)
