"""Posts and edits against the local Slack, and what its refusals become."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from kimibot.conversation import Thread
from kimibot.errors import (
    BlocksRefused,
    FateUnknown,
    MessageGone,
    NotConnected,
    RateLimited,
    ReplyRefused,
    SlackError,
)
from kimibot.pacing import Pacing, now
from kimibot.sandbox.slack import BOT_TOKEN, TEAM_ID, LocalSlack, local_slack
from kimibot.slack.messages import SlackMessages
from kimibot.slack.web_api import WebApi, open_web_api
from kimibot.views import Button, Menu, Question, Style, View

VIEW = View("It **copies** the list.", "a note", (Button("try_again", "Try again", "turn-1"),))


@dataclass
class Scene:
    slack: LocalSlack
    web_api: WebApi
    pacing: Pacing
    messages: SlackMessages
    thread: Thread

    async def post(self, view: View = VIEW, part: int = 1) -> str:
        return await self.messages.post(self.thread, view, "turn-1", part)


@asynccontextmanager
async def scene(timeout_seconds: float = 8.0) -> AsyncIterator[Scene]:
    async with (
        local_slack() as slack,
        open_web_api(BOT_TOKEN, base_url=slack.api_url, timeout_seconds=timeout_seconds) as client,
    ):
        ts = await slack.say("ana", "#dev", "@kimibot why?")
        channel = await channel_id(slack)
        pacing = Pacing()
        web_api = WebApi(client, pacing)
        messages = SlackMessages(web_api, pacing)
        yield Scene(slack, web_api, pacing, messages, Thread(TEAM_ID, channel, ts))


async def channel_id(slack: LocalSlack) -> str:
    state = await slack.state()
    return next(str(one["id"]) for one in state["channels"] if one.get("name") == "dev")


async def test_a_part_is_posted_into_the_thread_with_its_blocks_and_a_short_text() -> None:
    async with scene() as s:
        ts = await s.post()

        message = (await s.slack.thread(s.thread.channel, s.thread.root_ts))[-1]
        assert message["ts"] == ts
        assert [block["type"] for block in message["blocks"]] == ["markdown", "context", "actions"]
        assert message["text"]
        assert await s.slack.complaints() == []


@pytest.mark.parametrize("style", Style)
async def test_several_buttons_stand_side_by_side(style: Style) -> None:
    buttons = (Button("first", "First", "turn-1"), Button("second", "Second", "turn-1"))
    async with scene() as s:
        await s.post(View("text", handles=buttons, style=style))

        message = (await s.slack.thread(s.thread.channel, s.thread.root_ts))[-1]
        elements = message["blocks"][-1]["elements"]
        assert [one["action_id"] for one in elements] == ["first", "second"]


@pytest.mark.parametrize("style", Style)
async def test_a_menu_is_within_slacks_limits_whatever_is_to_choose(style: Style) -> None:
    choices = tuple((f"{n} · " + "long <!channel> :tada: " * 9, f"turn-1:{n}") for n in range(120))
    async with scene() as s:
        await s.post(View("text", handles=(Menu("explain", "Explain…", choices),), style=style))

        message = (await s.slack.thread(s.thread.channel, s.thread.root_ts))[-1]
        [menu] = message["blocks"][-1]["elements"]
        assert menu["placeholder"]["text"] == "Explain…"
        assert [one["value"] for one in menu["options"]] == [f"turn-1:{n}" for n in range(100)]
        assert not any(one["text"]["emoji"] for one in menu["options"])
        assert await s.slack.pings() == []
        assert await s.slack.complaints() == []


async def test_no_label_turns_the_others_or_holds_what_nobody_sees() -> None:
    turned = Button("a", "\u202ehctaP\u200b", "turn-1", Question("\u2066A?", "\u202eB", "C", "D"))
    menu = Menu("explain", "\u202dExplain…", (("1 · \u202egpj.exe", "turn-1:1"),))
    async with scene() as s:
        await s.post(View("text", handles=(turned, menu)))

        message = (await s.slack.thread(s.thread.channel, s.thread.root_ts))[-1]
        shown = json.dumps(message["blocks"], ensure_ascii=False)
        assert "1 · gpj.exe" in shown
        assert not set("\u202d\u202e\u2066\u200b") & set(shown)


async def test_nothing_that_we_post_may_unfurl() -> None:
    async with scene() as s:
        await s.post(View("see https://example.com/page"))

        assert await s.slack.unfurls() == []


async def test_an_edit_shows_exactly_the_new_view() -> None:
    async with scene() as s:
        ts = await s.post()
        await s.messages.edit(s.thread, ts, View("Only this."))

        message = (await s.slack.thread(s.thread.channel, s.thread.root_ts))[-1]
        assert [block["text"] for block in message["blocks"]] == ["Only this."]


async def test_plain_text_takes_the_place_of_refused_blocks() -> None:
    async with scene() as s:
        ts = await s.post()
        view = View("a &lt; b", "a note", style=Style.PLAIN)
        await s.messages.edit(s.thread, ts, view)

        message = (await s.slack.thread(s.thread.channel, s.thread.root_ts))[-1]
        assert "blocks" not in message
        assert message["text"] == "a &lt; b\n\na note"


async def test_the_parts_of_a_turn_are_found_over_many_pages() -> None:
    async with scene() as s:
        await s.slack.configure(rate_limits=False)
        first, second = await s.post(), await s.post(part=2)
        await s.messages.post(s.thread, VIEW, "another turn", 1)
        for number in range(210):
            await s.slack.say("bo", "#dev", f"reply {number}", thread_ts=s.thread.root_ts)
        third = await s.post(part=3)

        assert await s.messages.find(s.thread, "turn-1") == [first, second, third]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("invalid_blocks", BlocksRefused),
        ("msg_too_long", BlocksRefused),
        ("is_archived", ReplyRefused),
        ("restricted_action_read_only_channel", ReplyRefused),
        ("not_in_channel", ReplyRefused),
        ("message_not_found", MessageGone),
        ("ratelimited", RateLimited),
        ("rate_limited", RateLimited),
        ("internal_error", FateUnknown),
        ("something_new", SlackError),
    ],
)
async def test_a_refusal_is_told_by_what_can_be_done(code: str, kind: type[SlackError]) -> None:
    async with scene() as s:
        await s.slack.fail("chat.postMessage", code)

        with pytest.raises(SlackError) as caught:
            await s.post()

        assert type(caught.value) is kind
        assert caught.value.method == "chat.postMessage"


async def test_a_missing_scope_is_named() -> None:
    async with scene() as s:
        await s.slack.fail("conversations.replies", "missing_scope", needed="channels:history")

        with pytest.raises(ReplyRefused) as caught:
            await s.messages.find(s.thread, "turn-1")

        assert caught.value.needed == "channels:history"


async def test_a_429_holds_the_method_for_everybody() -> None:
    async with scene() as s:
        ts = await s.post()
        await s.slack.fail("chat.update", status=429, retry_after_seconds=1)
        with pytest.raises(RateLimited) as caught:
            await s.messages.edit(s.thread, ts, VIEW)
        refused_at = now()

        await s.pacing.call("chat.update")

        assert caught.value.retry_after_seconds == 1
        assert now() - refused_at >= 0.99


async def test_a_lost_response_is_no_failure_and_no_success() -> None:
    async with scene() as s:
        await s.slack.drop_response("chat.postMessage")

        with pytest.raises(FateUnknown):
            await s.post()

        assert len(await s.messages.find(s.thread, "turn-1")) == 1


async def test_a_call_that_hangs_is_given_up_in_time() -> None:
    async with scene(timeout_seconds=1.0) as s:
        await s.slack.delay("chat.postMessage", 30.0)

        with pytest.raises(FateUnknown):
            await s.post()


async def test_a_proxys_error_page_is_of_unknown_fate() -> None:
    async with scene() as s:
        await s.slack.fail("chat.postMessage", status=502, body="<html>Bad gateway</html>")

        with pytest.raises(FateUnknown):
            await s.post()


async def test_a_slack_that_nobody_listens_for_was_certainly_not_reached() -> None:
    async with open_web_api(
        "xoxb-fake", base_url="http://127.0.0.1:9/", timeout_seconds=1
    ) as client:
        with pytest.raises(NotConnected):
            await WebApi(client, Pacing()).call("auth.test")


async def test_a_read_is_tried_again_after_a_fault() -> None:
    async with scene() as s:
        await s.slack.fail("conversations.replies", "internal_error")
        await s.slack.drop_response("conversations.replies")

        assert await s.messages.find(s.thread, "turn-1") == []


async def test_a_whisper_is_seen_by_one_person_only() -> None:
    async with scene() as s:
        state = await s.slack.state()
        bo = next(str(person["id"]) for person in state["people"] if person["name"] == "bo")
        await s.messages.whisper(s.thread, bo, "Only <you>")

        assert [m["text"] for m in await s.slack.ephemerals("bo")] == ["Only &lt;you&gt;"]
        assert len(await s.slack.thread(s.thread.channel, s.thread.root_ts)) == 1
