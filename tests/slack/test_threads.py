"""A thread is read whole, or as much of it as Slack shows at once, and never waited for."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count

import pytest

from kimibot.conversation import Excerpt, Thread, Us
from kimibot.errors import RateLimited, SlackError
from kimibot.pacing import Pacing
from kimibot.sandbox.slack import BOT_TOKEN, TEAM_ID, LocalSlack, local_slack
from kimibot.slack.threads import CLAMPED_PAGE_SIZE, PAGE_SIZE, SlackThreads, start_of_newest
from kimibot.slack.web_api import WebApi, open_web_api

US = Us(TEAM_ID, "U0KIMIBOT", "B0KIMIBOT")


@dataclass
class Scene:
    slack: LocalSlack
    threads: SlackThreads
    thread: Thread

    async def fill(self, messages: int) -> list[str]:
        """The ts of so many messages of one thread."""
        root = await self.slack.say("ana", "#dev", "remark 0")
        self.thread = Thread(TEAM_ID, "C0DEV0001", root)
        replies = [
            await self.slack.say("bo", "#dev", f"remark {number}", thread_ts=root)
            for number in range(1, messages)
        ]
        return [root, *replies]

    async def read(self, since_ts: str = "", until_ts: str = "9999999999.000000") -> Excerpt:
        return await self.threads.read(self.thread, since_ts, until_ts)

    async def refuse_second_page(self, retry_after_seconds: int) -> None:
        await self.slack.fail(
            "conversations.replies",
            status=429,
            retry_after_seconds=retry_after_seconds,
            only_with="cursor",
        )


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    """A Slack in which a second passes from message to message."""
    seconds = count(1_764_493_900)
    async with (
        local_slack(clock=lambda: float(next(seconds))) as slack,
        open_web_api(BOT_TOKEN, base_url=slack.api_url, timeout_seconds=5) as client,
    ):
        nowhere = Thread(TEAM_ID, "C0DEV0001", "")
        yield Scene(slack, SlackThreads(WebApi(client, Pacing()), US), nowhere)


def numbers(excerpt: Excerpt) -> list[int]:
    return [int(message.text.removeprefix("remark ")) for message in excerpt.messages]


async def test_a_thread_of_several_pages_is_read_whole(scene: Scene) -> None:
    await scene.fill(PAGE_SIZE + 20)

    excerpt = await scene.read()

    assert excerpt.is_whole
    assert numbers(excerpt) == list(range(PAGE_SIZE + 20))


async def test_only_what_was_said_since_is_read_where_the_rest_is_known(scene: Scene) -> None:
    ts = await scene.fill(10)

    excerpt = await scene.read(since_ts=ts[6])

    assert excerpt.is_whole
    assert numbers(excerpt)[-3:] == [7, 8, 9]
    assert 5 not in numbers(excerpt)


async def test_a_page_that_slack_does_not_give_at_once_is_not_waited_for(scene: Scene) -> None:
    await scene.fill(40)
    await scene.slack.configure(clamped_history=True)

    began = time.monotonic()
    excerpt = await scene.read()

    assert time.monotonic() - began < 2
    assert not excerpt.is_whole
    assert (excerpt.part, excerpt.count) == ("first", CLAMPED_PAGE_SIZE)
    assert numbers(excerpt) == list(range(15))


async def test_the_next_thread_of_that_minute_is_refused_and_not_waited_for_either(
    scene: Scene,
) -> None:
    await scene.fill(40)
    await scene.slack.configure(clamped_history=True)
    await scene.read()

    began = time.monotonic()
    with pytest.raises(RateLimited):
        await scene.read()

    assert time.monotonic() - began < 2


async def test_once_the_clamp_is_known_the_newest_are_read_and_the_root(scene: Scene) -> None:
    ts = await scene.fill(100)
    await scene.slack.configure(clamped_history=True, rate_limits=False)
    await scene.refuse_second_page(1)
    await scene.read()

    excerpt = await scene.read(until_ts=ts[-1])

    assert (excerpt.is_whole, excerpt.part) == (False, "last")
    assert numbers(excerpt)[0] == 0
    assert numbers(excerpt)[-1] == 99
    assert len(excerpt.messages) > 5


async def test_a_short_thread_is_read_whole_in_spite_of_the_clamp(scene: Scene) -> None:
    await scene.fill(40)
    await scene.slack.configure(clamped_history=True, rate_limits=False)
    await scene.refuse_second_page(1)
    await scene.read()
    ts = await scene.fill(8)

    excerpt = await scene.read(until_ts=ts[-1])

    assert excerpt.is_whole
    assert numbers(excerpt) == list(range(8))


async def test_a_root_that_can_not_be_read_leaves_the_first_page(scene: Scene) -> None:
    ts = await scene.fill(40)
    await scene.slack.configure(clamped_history=True, rate_limits=False)
    await scene.refuse_second_page(1)
    await scene.read()
    await scene.slack.fail("conversations.history", "missing_scope")

    excerpt = await scene.read(until_ts=ts[-1])

    assert not excerpt.is_whole
    assert numbers(excerpt) == list(range(15))


async def test_a_thread_that_can_not_be_read_at_all_is_an_error(scene: Scene) -> None:
    await scene.fill(3)
    await scene.slack.fail("conversations.replies", "missing_scope")

    with pytest.raises(SlackError, match="missing_scope"):
        await scene.read()


async def test_the_word_that_stops_us_is_not_a_part_of_the_thread(scene: Scene) -> None:
    await scene.fill(2)
    await scene.slack.say("ana", "#dev", "stop", thread_ts=scene.thread.root_ts)

    assert numbers(await scene.read()) == [0, 1]


@pytest.mark.parametrize(
    ("root", "start"),
    [
        ({}, "1000.000000"),
        ({"ts": "1000.000000", "reply_count": 14}, "1000.000000"),
        ({"ts": "1000.000000", "reply_count": 24}, "1500.000000"),
        ({"ts": "1000.000000", "reply_count": 1200}, "1990.000000"),
        ({"ts": "3000.000000", "reply_count": 1200}, "1000.000000"),
        ({"ts": "x", "reply_count": "many"}, "1000.000000"),
    ],
)
def test_the_newest_begin_where_evenly_spread_messages_would(
    root: dict[str, object], start: str
) -> None:
    assert start_of_newest(root, "1000.000000", "2000.000000") == start
