"""The outside, opened and checked: Slack, Kimi, the database, and what all parts share."""

from __future__ import annotations

import time
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime

from slack_sdk.web.async_client import AsyncWebClient

from kimibot.background import Background
from kimibot.conversation import Us
from kimibot.github.client import GitHub, open_github
from kimibot.kimi.client import Kimi, OnError, open_kimi
from kimibot.kimi.reading import Limits as KimiLimits
from kimibot.metrics import Metrics
from kimibot.pacing import Pacing
from kimibot.settings import Settings
from kimibot.slack.files import SlackFiles, open_files
from kimibot.slack.messages import SlackMessages
from kimibot.slack.socket import Hearing
from kimibot.slack.uploads import SlackUploads
from kimibot.slack.web_api import WebApi, open_web_api
from kimibot.starting import checked
from kimibot.storage.engine import Database
from kimibot.storage.store import Store

LAST_CALLS_SECONDS = 2.0
"""For marks and notices that are still under way when we go."""


@dataclass(frozen=True, slots=True)
class Edges:
    """What the parts between them need of the outside, opened and checked."""

    us: Us
    client: AsyncWebClient
    web_api: WebApi
    messages: SlackMessages
    files: SlackFiles
    uploads: SlackUploads
    github: GitHub
    pacing: Pacing
    database: Database
    store: Store
    kimi: Kimi
    hearing: Hearing
    metrics: Metrics
    background: Background


async def open_edges(settings: Settings, pacing: Pacing, stack: AsyncExitStack) -> Edges:
    """Raises BadSettings with a line for each thing that is wrong."""
    metrics = Metrics(utc_now)
    client = await stack.enter_async_context(_open_web_api(settings))
    web_api = WebApi(client, pacing, metrics.slack_called)
    database, us = await checked(settings, client, web_api, stack)
    kimi = await stack.enter_async_context(_open_kimi(settings, metrics.kimi_failed))
    files = await stack.enter_async_context(_open_files(settings, web_api))
    github = await stack.enter_async_context(_open_github(settings))
    background = Background()
    stack.push_async_callback(background.close, LAST_CALLS_SECONDS)
    return Edges(
        us=us,
        client=client,
        web_api=web_api,
        messages=SlackMessages(web_api, pacing),
        files=files,
        uploads=SlackUploads(web_api, pacing, us.user_id),
        github=github,
        pacing=pacing,
        database=database,
        store=Store(database),
        kimi=kimi,
        hearing=Hearing(time.time, is_alone=database.is_for_one_process),
        metrics=metrics,
        background=background,
    )


def _open_web_api(settings: Settings) -> AbstractAsyncContextManager[AsyncWebClient]:
    return open_web_api(
        settings.slack_bot_token.get_secret_value(),
        base_url=settings.slack_api_url,
        timeout_seconds=settings.slack_timeout_seconds,
    )


def _open_files(settings: Settings, web_api: WebApi) -> AbstractAsyncContextManager[SlackFiles]:
    return open_files(
        web_api,
        settings.slack_bot_token.get_secret_value(),
        api_url=settings.slack_api_url,
        silence_seconds=settings.slack_timeout_seconds,
    )


def _open_github(settings: Settings) -> AbstractAsyncContextManager[GitHub]:
    token = settings.github_token
    return open_github(
        api_url=settings.github_api_url,
        token=token.get_secret_value() if token else "",
        patterns=settings.github_repos,
        posts=settings.github_post,
    )


def _open_kimi(settings: Settings, on_error: OnError) -> AbstractAsyncContextManager[Kimi]:
    return open_kimi(
        provider=settings.kimi_provider,
        api_key=settings.kimi_api_key.get_secret_value(),
        base_url=settings.kimi_base_url,
        model=settings.kimi_model,
        effort=settings.kimi_reasoning_effort or "",
        takes_images=settings.takes_images,
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


def utc_now() -> datetime:
    return datetime.now(UTC)
