"""The local Slack limits calls as Slack does, by a clock that the test turns."""

from __future__ import annotations

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.sandbox.slack_app import DEV, refusal, slack_and_app


class TurnedClock:
    """A monotonic clock that only moves when it is turned."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def accepted(web: AsyncWebClient, method: str, calls: int, **arguments: str) -> int:
    """How many of so many calls in a row are not limited."""
    answers = [await refusal(web.api_call(method, json=arguments)) for _ in range(calls)]
    return sum(answer != "ratelimited" for answer in answers)


async def test_posts_are_one_a_second_in_a_channel_with_a_burst_of_four() -> None:
    clock = TurnedClock()
    async with slack_and_app(rate_limits=True, monotonic=clock) as (_, web):
        assert await accepted(web, "chat.postMessage", 6, channel=DEV, text="t") == 4
        assert await accepted(web, "chat.postMessage", 6, channel="C0GENERAL", text="t") == 4

        clock.seconds = 2.0
        assert await accepted(web, "chat.postMessage", 4, channel=DEV, text="t") == 2


async def test_a_channel_has_one_limit_by_id_and_by_name() -> None:
    clock = TurnedClock()
    async with slack_and_app(rate_limits=True, monotonic=clock) as (_, web):
        await accepted(web, "chat.postMessage", 4, channel=DEV, text="t")

        assert await accepted(web, "chat.postMessage", 1, channel="#dev", text="t") == 0


async def test_edits_are_fifty_a_minute_over_all_channels_with_a_burst_of_25() -> None:
    clock = TurnedClock()
    async with slack_and_app(rate_limits=True, monotonic=clock) as (_, web):
        ts = (await web.chat_postMessage(channel=DEV, text="t"))["ts"]
        edit = {"channel": DEV, "ts": ts, "text": "u"}

        assert await accepted(web, "chat.update", 27, **edit) == 25
        clock.seconds = 12.0
        assert await accepted(web, "chat.update", 12, **edit) == 10


async def test_tiers_differ_and_methods_do_not_share() -> None:
    clock = TurnedClock()
    async with slack_and_app(rate_limits=True, monotonic=clock) as (_, web):
        assert await accepted(web, "reactions.remove", 12, channel=DEV) == 10
        assert await accepted(web, "reactions.add", 27, channel=DEV) == 25
        assert await accepted(web, "users.info", 52, user="U0ANA0001") == 50


async def test_a_limited_call_says_how_long_to_wait_and_is_counted() -> None:
    clock = TurnedClock()
    async with slack_and_app(rate_limits=True, monotonic=clock) as (slack, web):
        await accepted(web, "reactions.remove", 10, channel=DEV)
        with pytest.raises(SlackApiError) as caught:
            await web.api_call("reactions.remove")

        response = caught.value.response
        assert response.status_code == 429
        assert response.headers["Retry-After"] == "3"
        assert (await slack.counters()).rate_limited == 1

        clock.seconds = 3.0
        assert await accepted(web, "reactions.remove", 1, channel=DEV) == 1


async def test_a_refill_makes_the_bursts_whole() -> None:
    clock = TurnedClock()
    async with slack_and_app(rate_limits=True, monotonic=clock) as (slack, web):
        await accepted(web, "chat.postMessage", 4, channel=DEV, text="t")
        await slack.refill_rate_limits()

        assert await accepted(web, "chat.postMessage", 4, channel=DEV, text="t") == 4
