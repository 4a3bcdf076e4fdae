"""The local Slack fails when and as a test orders it."""

from __future__ import annotations

import time

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError

from tests.sandbox.slack_app import DEV, markdown, refusal, slack_and_app


async def test_a_method_fails_as_often_as_ordered() -> None:
    async with slack_and_app() as (slack, web):
        await slack.fail("chat.postMessage", "fatal_error", times=2)

        answers = [await refusal(web.chat_postMessage(channel=DEV, text="t")) for _ in range(3)]

        assert answers == ["fatal_error", "fatal_error", ""]
        assert len(await slack.messages(DEV)) == 1


async def test_a_failure_can_last_until_it_is_cleared() -> None:
    async with slack_and_app() as (slack, web):
        await slack.fail("*", "service_unavailable", times=None)
        answers = [await refusal(web.auth_test()) for _ in range(3)]
        await slack.clear_faults()

        assert answers == ["service_unavailable"] * 3
        assert await refusal(web.auth_test()) == ""


async def test_a_method_can_be_closed_for_a_while() -> None:
    async with slack_and_app() as (slack, web):
        await slack.fail("chat.update", status=429, retry_after_seconds=30)
        with pytest.raises(SlackApiError) as caught:
            await web.chat_update(channel=DEV, ts="1.000001", text="t")

        assert caught.value.response.headers["Retry-After"] == "30"
        assert caught.value.response["error"] == "ratelimited"


async def test_a_missing_scope_can_be_ordered_with_its_names() -> None:
    async with slack_and_app() as (slack, web):
        await slack.fail(
            "conversations.replies", "missing_scope", needed="channels:history", provided="chat"
        )
        with pytest.raises(SlackApiError) as caught:
            await web.conversations_replies(channel=DEV, ts="1.000001")

        assert caught.value.response["needed"] == "channels:history"


async def test_a_failure_can_spare_calls_without_blocks() -> None:
    async with slack_and_app() as (slack, web):
        await slack.fail("chat.postMessage", "invalid_blocks", times=None, only_with="blocks")
        rich = web.chat_postMessage(channel=DEV, text="t", blocks=[markdown("m")])
        plain = web.chat_postMessage(channel=DEV, text="t")

        assert await refusal(rich) == "invalid_blocks"
        assert await refusal(plain) == ""


async def test_a_call_can_fail_although_it_was_carried_out() -> None:
    async with slack_and_app() as (slack, web):
        await slack.fail("chat.postMessage", "internal_error", after_applied=True)

        assert await refusal(web.chat_postMessage(channel=DEV, text="t")) == "internal_error"
        assert len(await slack.messages(DEV)) == 1
        assert (await slack.calls("chat.postMessage"))[0].applied


async def test_a_dropped_response_leaves_the_call_applied() -> None:
    async with slack_and_app() as (slack, web):
        await slack.drop_response("chat.postMessage")

        with pytest.raises(aiohttp.ClientError):
            await web.chat_postMessage(channel=DEV, text="t")

        assert len(await slack.messages(DEV)) == 1
        assert (await slack.calls("chat.postMessage"))[0].status == 0


async def test_another_servers_page_can_stand_in_for_an_answer() -> None:
    async with slack_and_app() as (slack, _), aiohttp.ClientSession() as http:
        await slack.fail("auth.test", status=503, body="<html>bad gateway</html>")
        headers = {"Authorization": "Bearer xoxb-local-fake"}

        async with http.post(slack.api_url + "auth.test", headers=headers) as response:
            assert response.status == 503
            assert response.content_type == "text/html"
            assert await response.text() == "<html>bad gateway</html>"


@pytest.mark.parametrize("before_apply", [True, False])
async def test_a_delayed_call_is_applied_before_or_after_the_wait(before_apply: bool) -> None:
    async with slack_and_app() as (slack, web), aiohttp.ClientSession() as http:
        await slack.delay("chat.postMessage", 0.3, before_apply=before_apply)
        impatient = aiohttp.ClientTimeout(total=0.1)
        headers = {"Authorization": f"Bearer {web.token}"}

        with pytest.raises(TimeoutError):
            await http.post(
                slack.api_url + "chat.postMessage",
                json={"channel": DEV, "text": "t"},
                headers=headers,
                timeout=impatient,
            )

        assert len(await slack.messages(DEV)) == (0 if before_apply else 1)
        await slack.until(lambda: slack.calls("chat.postMessage"))
        assert len(await slack.messages(DEV)) == 1


async def test_every_call_takes_the_latency_that_was_set() -> None:
    async with slack_and_app(api_latency_seconds=0.03) as (slack, web):
        start = time.monotonic()
        await web.auth_test()

        assert time.monotonic() - start >= 0.03
        assert (await slack.calls())[0].seconds >= 0.03


async def test_an_option_that_is_none_is_refused() -> None:
    async with slack_and_app() as (slack, _):
        with pytest.raises(ValueError, match="no_such_option"):
            await slack.configure(no_such_option=True)
