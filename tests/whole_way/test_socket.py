"""The socket breaks, goes silent or is refreshed: nothing is lost and nothing comes twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from kimibot.sandbox.kimi import KimiOptions, local_kimi
from kimibot.sandbox.slack import local_slack
from kimibot.service import open_bot
from tests.whole_way.scene import DEV, Scene, body, bot_settings, open_scene

SOON = {"redelivery_seconds": [0.5, 2.0, 4.0]}


async def readiness(s: Scene) -> tuple[int, str]:
    url = f"http://127.0.0.1:{s.bot.port}/readyz"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, (await answer.text()).strip()


@pytest.mark.parametrize("how", ["clean", "hard"])
async def test_after_a_broken_socket_the_bot_hears_again(tmp_path: Path, how: str) -> None:
    async with open_scene(tmp_path, slack=SOON, KIMIBOT_PING_SECONDS="0.5") as s:
        await s.slack.close_sockets(how)
        root = await s.ask("@kimibot hello")
        [reply] = await s.outcome(root, seconds=20)

        assert body(reply)


async def test_a_socket_that_lets_nothing_pass_is_noticed_and_replaced(tmp_path: Path) -> None:
    async with open_scene(tmp_path, slack=SOON, KIMIBOT_PING_SECONDS="0.5") as s:
        await s.slack.half_open_sockets()
        root = await s.ask("@kimibot hello")
        [reply] = await s.outcome(root, seconds=20)

        assert body(reply)
        assert (await s.slack.counters()).sockets_opened == 2


@pytest.mark.parametrize("reason", ["warning", "refresh_requested", "too_many_websockets"])
async def test_a_refresh_in_mid_answer_costs_nothing(tmp_path: Path, reason: str) -> None:
    async with open_scene(tmp_path, slack=SOON, KIMIBOT_PING_SECONDS="0.5") as s:
        s.kimi.play("before ", "and after", delay_seconds=20.0)
        root = await s.ask("@kimibot hello")
        await s.reply(root, lambda replies: len(replies) == 1)
        await s.slack.send_disconnect(reason)
        [reply] = await s.outcome(root, seconds=20)
        second = await s.ask("@kimibot hello again")
        await s.outcome(second, seconds=20)

        assert body(reply) == "before and after"


async def test_what_was_heard_on_the_old_socket_is_not_answered_again_on_the_new(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path, slack=SOON, KIMIBOT_PING_SECONDS="0.5") as s:
        root = await s.ask("@kimibot hello")
        await s.slack.close_sockets("hard")
        await s.outcome(root, seconds=20)
        for event in await s.slack.events("app_mention"):
            await s.slack.until(s.slack.open_sockets, 15.0)
            await s.slack.repeat_event(event["event_id"], retry_reason="timeout")
        await s.slack.at_rest()

        assert len(await s.replies(root)) == 1
        assert len(s.kimi.requests) == 1


async def test_readiness_tells_of_the_socket(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMIBOT_PING_SECONDS="0.5") as s:
        assert await readiness(s) == (200, "ready")

        await s.slack.configure(stall_handshakes=True)
        await s.slack.close_sockets("hard")
        async with asyncio.timeout(15):
            while (await readiness(s))[0] == 200:  # noqa: ASYNC110  # it tells only who asks
                await asyncio.sleep(0.1)

        assert await readiness(s) == (503, "the socket is not open")


async def test_what_was_said_while_the_bot_was_down_is_answered_when_it_is_back(
    tmp_path: Path,
) -> None:
    async with (
        local_slack(redelivery_seconds=[0.5, 5.0, 9.0]) as slack,
        local_kimi(options=KimiOptions(speed=20)) as kimi,
    ):
        settings = bot_settings(slack, kimi, tmp_path)
        async with open_bot(settings):
            pass
        root = await slack.say("ana", DEV, "@kimibot hello")
        async with open_bot(settings) as bot:
            [reply] = await Scene(slack, kimi, bot).outcome(root, seconds=20)

        assert body(reply)


async def test_what_was_missed_in_a_thread_of_ours_is_read_before_the_next_answer(
    tmp_path: Path,
) -> None:
    async with local_slack() as slack, local_kimi(options=KimiOptions(speed=20)) as kimi:
        settings = bot_settings(slack, kimi, tmp_path)
        async with open_bot(settings) as bot:
            s = Scene(slack, kimi, bot)
            root = await s.ask("@kimibot hello")
            await s.outcome(root)
        await slack.configure(events=["app_mention"])
        await slack.say("bo", DEV, "the disk is full, by the way", thread_ts=root)
        async with open_bot(settings) as bot:
            s = Scene(slack, kimi, bot)
            await s.ask("@kimibot and now?", thread=root)
            await s.outcome(root, count=2)

        assert "the disk is full" in kimi.requests[1].body["messages"][-1]["content"]
