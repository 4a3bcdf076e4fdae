"""Notices and reactions against the local Slack: who is pinged, and what is found again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kimibot.conversation import Thread
from kimibot.errors import ReplyRefused
from kimibot.pacing import Pacing
from kimibot.sandbox.slack import BOT_TOKEN, LocalSlack, local_slack
from kimibot.slack.announcements import SlackAnnouncements
from kimibot.slack.reactions import SlackReactions
from kimibot.slack.web_api import WebApi, open_web_api
from kimibot.turns import Turn

TURN = Turn("turn-1", "1.0", "U0ANA", "", 1, datetime(2026, 11, 30, tzinfo=UTC))


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[LocalSlack, WebApi, Pacing, Thread]]:
    """A local Slack with one question of Ana's in it."""
    async with (
        local_slack() as slack,
        open_web_api(BOT_TOKEN, base_url=slack.api_url, timeout_seconds=5) as client,
    ):
        pacing = Pacing()
        root = await slack.say("ana", "#dev", "hello")
        [channel] = {m["channel"] for e in await slack.events("message") if (m := e["event"])}
        yield slack, WebApi(client, pacing), pacing, Thread("T0", channel, root)


async def test_a_notice_pings_those_it_is_for_and_nobody_else() -> None:
    async with connected() as (slack, web_api, pacing, thread):
        announcements = SlackAnnouncements(web_api, pacing)
        people = ["U0ANA", "!channel", "U0BO> <!here"]
        await announcements.announce(thread, people, "ready <!channel> <@U0BO>", TURN)

        [_, notice] = await slack.thread("#dev", thread.root_ts)
        assert notice["text"].startswith("<@U0ANA> ready ")
        assert [ping.mention for ping in await slack.pings()] == ["<@U0ANA>"]
        assert await slack.unfurls() == []


async def test_a_notice_is_found_again_by_its_turn_and_attempt() -> None:
    async with connected() as (_, web_api, pacing, thread):
        announcements = SlackAnnouncements(web_api, pacing)
        assert not await announcements.is_announced(thread, TURN)
        await announcements.announce(thread, ["U0ANA"], "ready", TURN)

        assert await announcements.is_announced(thread, TURN)
        assert not await announcements.is_announced(thread, replace(TURN, attempt=2))
        assert not await announcements.is_announced(thread, replace(TURN, id="turn-2"))


async def test_a_reaction_comes_and_goes_however_often_it_is_asked_for() -> None:
    async with connected() as (slack, web_api, pacing, thread):
        reactions = SlackReactions(web_api, pacing)
        for _ in range(2):
            await reactions.add(thread, thread.root_ts, "eyes")
        [root] = await slack.thread("#dev", thread.root_ts)
        assert [reaction["name"] for reaction in root["reactions"]] == ["eyes"]

        for _ in range(2):
            await reactions.remove(thread, thread.root_ts, "eyes")
        [root] = await slack.thread("#dev", thread.root_ts)
        assert "reactions" not in root


async def test_a_reaction_to_what_is_gone_is_no_fault_and_a_missing_scope_is() -> None:
    async with connected() as (slack, web_api, pacing, thread):
        reactions = SlackReactions(web_api, pacing)
        await reactions.add(thread, "1.000001", "eyes")

        await slack.configure(scopes=["chat:write"])
        with pytest.raises(ReplyRefused) as refused:
            await reactions.add(thread, thread.root_ts, "eyes")
        assert refused.value.needed == "reactions:write"
