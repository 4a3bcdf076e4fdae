"""The local Slack runs as a process of its own, with the same controls over HTTP."""

from __future__ import annotations

import asyncio
import inspect
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from kimibot.sandbox.slack import (
    BOT_TOKEN,
    LocalSlack,
    LocalSlackControls,
    Ping,
    Shown,
    Unknown,
)
from tests.sandbox.slack_app import DEV, markdown, slack_and_app


@asynccontextmanager
async def slack_process() -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """The process and its address; it is ended by SIGTERM."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "kimibot.sandbox.slack", "--port", "0", "--options", '{"rate_limits": false}'),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 20)
        yield process, line.decode().split()[-1]
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()


@pytest.mark.processes
async def test_a_process_serves_until_it_is_told_to_end() -> None:
    async with slack_process() as (process, url), LocalSlackControls(url) as slack:
        await slack.say("ana", "#dev", "hello")
        async with aiohttp.ClientSession() as session:
            web = AsyncWebClient(token=BOT_TOKEN, base_url=slack.api_url, session=session)
            await web.chat_postMessage(channel=DEV, text="hi")
        assert [m["text"] for m in await slack.messages("#dev")] == ["hello", "hi"]

        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 10) == 0


async def test_controls_over_http_give_the_same_as_in_the_process() -> None:
    async with slack_and_app() as (slack, web), LocalSlackControls(slack.url) as far:
        root = await far.say("ana", "#dev", "@kimibot hi", files=[{"name": "a", "text": "b"}])
        blocks = [markdown("hello <!channel>")]
        posted = await web.chat_postMessage(
            channel=DEV, thread_ts=root, text="hello", blocks=blocks
        )
        await far.at_rest(quiet_seconds=0.05)

        assert await far.messages("#dev") == await slack.messages("#dev")
        assert await far.calls() == await slack.calls()
        assert await far.deliveries() == await slack.deliveries()
        assert await far.counters() == await slack.counters()
        assert await far.pings() == [Ping(DEV, posted["ts"], "<!channel>")]
        seen = await far.shown("#dev", posted["ts"])
        assert isinstance(seen, Shown)
        assert seen == await slack.shown("#dev", posted["ts"])
        assert await far.state() == await slack.state()


async def test_controls_over_http_refuse_as_in_the_process() -> None:
    async with slack_and_app() as (slack, _), LocalSlackControls(slack.url) as far:
        with pytest.raises(Unknown, match="no such channel"):
            await far.messages("#nowhere")
        with pytest.raises(ValueError, match="no such option"):
            await far.configure(no_such_option=1)
        async with aiohttp.ClientSession() as http:
            response = await http.post(f"{slack.url}/control/url", json={})
            assert response.status == 404
            response = await http.post(f"{slack.url}/control/say", json={"arguments": {"x": 1}})
            assert response.status == 400


async def test_options_can_be_changed_over_http() -> None:
    async with slack_and_app() as (slack, _), LocalSlackControls(slack.url) as far:
        await far.configure(events=["message.im"], redelivery_seconds=[0.0, 1.0])

        options = slack.parts.workspace.options
        assert options.events == frozenset({"message.im"})
        assert options.redelivery_seconds == (0.0, 1.0)


async def test_a_wait_ends_with_the_next_change() -> None:
    async with slack_and_app() as (slack, _), LocalSlackControls(slack.url) as far:
        number = await far.revision()
        waiting = asyncio.ensure_future(far.wait_for_change(number, 5.0))
        await slack.say("ana", "#dev", "hello")

        assert await waiting > number
        with pytest.raises(TimeoutError):
            await far.until(lambda: far.messages("#random"), timeout_seconds=0.05)


async def test_the_state_can_be_read_with_a_plain_get() -> None:
    async with slack_and_app() as (slack, _), aiohttp.ClientSession() as http:
        await slack.say("ana", "#dev", "hello")

        async with http.get(f"{slack.url}/control/state") as response:
            state = (await response.json())["result"]

        assert state["messages"][DEV][0]["text"] == "hello"
        assert {"ana", "bo", "chidi", "mei"} <= {person["name"] for person in state["people"]}


def test_the_same_controls_are_there_on_both_sides() -> None:
    controls = [controls_of(side) for side in (LocalSlack, LocalSlackControls)]

    assert len(controls[0]) > 30
    assert controls[0] == controls[1]


def controls_of(side: type) -> set[str]:
    members = inspect.getmembers(side, inspect.isfunction)
    return {name for name, method in members if getattr(method, "is_control", False)}
