"""A test may see each call of the local Slack and Kimi, and lose it on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest

from kimibot.sandbox.kimi import LOCAL_KEY, KimiOptions, local_kimi
from tests.sandbox.slack_app import DEV, refusal, slack_and_app

BEFORE, AFTER = False, True


@dataclass
class Watch:
    """Notes all that it is told, and loses what it is to lose."""

    loses: tuple[str, bool] | None = None
    seen: list[tuple[str, bool]] = field(default_factory=list)

    def __call__(self, call: str, is_done: bool) -> None:
        self.seen.append((call, is_done))
        if self.loses == (call, is_done):
            raise ConnectionAbortedError


async def test_each_call_of_slack_is_seen_before_and_after_it_is_carried_out() -> None:
    async with slack_and_app() as (slack, web):
        watch = Watch()
        slack.watch(watch)

        await web.auth_test()
        await web.chat_postMessage(channel=DEV, text="t")

        assert watch.seen == [
            ("auth.test", BEFORE),
            ("auth.test", AFTER),
            ("chat.postMessage", BEFORE),
            ("chat.postMessage", AFTER),
        ]


@pytest.mark.parametrize(("moment", "posted"), [(BEFORE, 0), (AFTER, 1)])
async def test_a_call_of_slack_may_be_lost_or_its_answer(moment: bool, posted: int) -> None:
    async with slack_and_app() as (slack, web):
        slack.watch(Watch(loses=("chat.postMessage", moment)))

        with pytest.raises(aiohttp.ClientError):
            await web.chat_postMessage(channel=DEV, text="t")

        assert len(await slack.messages(DEV)) == posted
        [call] = await slack.calls()
        assert (call.status, call.applied) == (0, bool(posted))


async def test_a_call_that_fails_without_being_carried_out_is_not_seen() -> None:
    async with slack_and_app() as (slack, web):
        watch = Watch()
        slack.watch(watch)
        await slack.fail("auth.test", "internal_error")

        assert await refusal(web.auth_test()) == "internal_error"
        assert watch.seen == []


@asynccontextmanager
async def answer_of_kimi(watch: Watch) -> AsyncIterator[aiohttp.ClientResponse]:
    body = {
        "model": "kimi-k3",
        "messages": [{"role": "user", "content": "ping"}],
        "stream": True,
    }
    headers = {"Authorization": f"Bearer {LOCAL_KEY}"}
    async with local_kimi(options=KimiOptions(speed=1000)) as kimi, aiohttp.ClientSession() as http:
        kimi.watch(watch)
        kimi.play("Pong.")
        url = f"{kimi.base_url}/chat/completions"
        async with http.post(url, json=body, headers=headers) as response:
            yield response


async def test_each_request_of_kimi_is_seen_before_and_after_its_answer() -> None:
    watch = Watch()
    async with answer_of_kimi(watch) as response:
        assert "Pong." in await response.text()

    assert watch.seen == [("chat/completions", BEFORE), ("chat/completions", AFTER)]


async def test_a_request_of_kimi_may_be_lost() -> None:
    with pytest.raises(aiohttp.ClientError):
        async with answer_of_kimi(Watch(loses=("chat/completions", BEFORE))):
            pass


async def test_the_end_of_an_answer_of_kimi_may_be_lost() -> None:
    async with answer_of_kimi(Watch(loses=("chat/completions", AFTER))) as response:
        assert response.status == 200
        with pytest.raises(aiohttp.ClientError):
            await response.text()
