"""The local Slack refuses what Slack refuses, with Slack's codes."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError

from kimibot.sandbox.slack import APP_TOKEN
from tests.sandbox.slack_app import (
    DEV,
    actions,
    asking_back,
    button,
    markdown,
    menu,
    refusal,
    section,
    slack_and_app,
)

MRKDWN = {"type": "mrkdwn", "text": "a"}
TOO_WIDE_TABLE = {
    "type": "table",
    "rows": [[{"type": "raw_text", "text": "cell"} for _ in range(21)]],
}
EMPTY_CELL = {"type": "table", "rows": [[{"type": "raw_text", "text": ""}]]}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"text": ""}, "no_text"),
        ({"channel": "C0NOWHERE", "text": "hi"}, "channel_not_found"),
        ({"channel": "C0OLD0001", "text": "hi"}, "is_archived"),
        ({"channel": "C0WITHOUT", "text": "hi"}, "not_in_channel"),
        ({"channel": "C0NEWS001", "text": "hi"}, "restricted_action_read_only_channel"),
        ({"text": "hi", "thread_ts": ""}, "invalid_thread_ts"),
        ({"text": "hi", "thread_ts": "1.000001"}, "invalid_thread_ts"),
        ({"text": "hi", "markdown_text": "hi"}, "markdown_text_conflict"),
        ({"markdown_text": "m" * 12_001}, "msg_too_long"),
        ({"blocks": [markdown("m" * 12_001)]}, "msg_too_long"),
        ({"blocks": [markdown("m" * 6_500), markdown("m" * 6_500)]}, "msg_too_long"),
        ({"blocks": [markdown("m" * 11_000), section("s" * 2_200)]}, "msg_blocks_too_long"),
        ({"blocks": [markdown("# h\n" * 50)]}, "invalid_blocks"),
        ({"blocks": [markdown("a\n\n---\n\n" * 50)]}, "invalid_blocks"),
        ({"blocks": [{"type": "divider"}] * 51}, "invalid_blocks"),
        ({"blocks": [markdown("")]}, "invalid_blocks"),
        ({"blocks": [section("s" * 3_001)]}, "invalid_blocks"),
        ({"blocks": [section("")]}, "invalid_blocks"),
        ({"blocks": [{"type": "section"}]}, "invalid_blocks"),
        ({"blocks": [actions(button("a", "t" * 76))]}, "invalid_blocks"),
        ({"blocks": [actions(button("a", value="v" * 2_001))]}, "invalid_blocks"),
        ({"blocks": [actions(*(button(f"a{n}") for n in range(26)))]}, "invalid_blocks"),
        ({"blocks": [actions(button("a"), button("a"))]}, "invalid_blocks"),
        ({"blocks": [actions(button("a") | {"confirm": "sure?"})]}, "invalid_blocks"),
        ({"blocks": [actions(asking_back(title="t" * 101))]}, "invalid_blocks"),
        ({"blocks": [actions(asking_back(text="t" * 301))]}, "invalid_blocks"),
        ({"blocks": [actions(asking_back(confirm="t" * 31))]}, "invalid_blocks"),
        ({"blocks": [actions(asking_back(deny=""))]}, "invalid_blocks"),
        ({"blocks": [actions()]}, "invalid_blocks"),
        ({"blocks": [actions(menu("m"))]}, "invalid_blocks"),
        ({"blocks": [actions(menu("m", *[("a", "1")] * 101))]}, "invalid_blocks"),
        ({"blocks": [actions(menu("m", ("t" * 76, "1")))]}, "invalid_blocks"),
        ({"blocks": [actions(menu("m", ("", "1")))]}, "invalid_blocks"),
        ({"blocks": [actions(menu("m", ("a", "v" * 151)))]}, "invalid_blocks"),
        ({"blocks": [actions(menu("m", ("a", "")))]}, "invalid_blocks"),
        ({"blocks": [actions(menu("m", ("a", "1"), placeholder="p" * 151))]}, "invalid_blocks"),
        ({"blocks": [actions(menu("m" * 256, ("a", "1")))]}, "invalid_blocks"),
        ({"blocks": [section("s") | {"accessory": menu("m")}]}, "invalid_blocks"),
        (
            {"blocks": [actions(menu("m") | {"options": [{"text": MRKDWN, "value": "1"}]})]},
            "invalid_blocks",
        ),
        (
            {"blocks": [{"type": "header", "text": {"type": "plain_text", "text": "h" * 151}}]},
            "invalid_blocks",
        ),
        (
            {"blocks": [{"type": "context", "elements": [{"type": "mrkdwn", "text": "c"}] * 11}]},
            "invalid_blocks",
        ),
        ({"blocks": [TOO_WIDE_TABLE]}, "invalid_blocks"),
        ({"blocks": [EMPTY_CELL]}, "invalid_blocks"),
        ({"blocks": [{"type": "no_such_block"}]}, "invalid_blocks"),
        ({"blocks": "[{"}, "invalid_blocks_format"),
        ({"blocks": {"type": "divider"}}, "invalid_blocks_format"),
        ({"text": "hi", "attachments": [{"text": "a"}] * 101}, "too_many_attachments"),
        ({"text": "hi", "metadata": {"event_type": 1}}, "invalid_metadata_format"),
        ({"text": "hi", "metadata": {"event_type": "t"}}, "invalid_metadata_schema"),
    ],
)
async def test_a_post_that_slack_refuses_is_refused(arguments: dict[str, Any], code: str) -> None:
    async with slack_and_app() as (slack, web):
        call = web.api_call("chat.postMessage", json={"channel": DEV} | arguments)

        assert await refusal(call) == code
        assert await slack.messages(DEV) == []


@pytest.mark.parametrize(
    "blocks",
    [
        [markdown("m" * 12_000)],
        [markdown("# h\n" * 49)],
        [markdown("```\n" + "# no heading\n---\n" * 60 + "```")],
        [{"type": "divider"}] * 50,
        [section("s" * 3_000)],
        [actions(*(button(f"a{n}", "t" * 75, "v" * 2_000) for n in range(25)))],
        [actions(menu("m" * 255, *[("t" * 75, "v" * 150)] * 100, placeholder="p" * 150))],
        [actions(asking_back("t" * 100, "t" * 300, "t" * 30, "t" * 30))],
        [markdown("m" * 11_000), section("s" * 2_199)],
    ],
)
async def test_blocks_at_the_very_limit_are_taken(blocks: list[dict[str, Any]]) -> None:
    async with slack_and_app() as (slack, web):
        await web.chat_postMessage(channel=DEV, text="t", blocks=blocks)

        assert await slack.complaints() == []


async def test_a_reply_is_no_thread() -> None:
    async with slack_and_app() as (slack, web):
        root = await slack.say("ana", "#dev", "root")
        reply = await slack.say("bo", "#dev", "reply", thread_ts=root)

        call = web.chat_postMessage(channel=DEV, text="hi", thread_ts=reply)

        assert await refusal(call) == "invalid_thread_ts"


async def test_nobody_replies_to_a_deleted_root() -> None:
    async with slack_and_app() as (slack, web):
        root = await slack.say("ana", "#dev", "root")
        await slack.say("bo", "#dev", "reply", thread_ts=root)
        await slack.delete("ana", "#dev", root)

        call = web.chat_postMessage(channel=DEV, text="hi", thread_ts=root)

        assert await refusal(call) == "invalid_thread_ts"
        assert (await slack.thread("#dev", root))[0]["subtype"] == "tombstone"


async def test_an_update_takes_4000_characters_of_text_and_no_more() -> None:
    async with slack_and_app() as (slack, web):
        ts = (await web.chat_postMessage(channel=DEV, text="hi"))["ts"]

        await web.chat_update(channel=DEV, ts=ts, text="x" * 4_000)
        refused = await refusal(web.chat_update(channel=DEV, ts=ts, text="x" * 4_001))

        assert refused == "msg_too_long"
        assert len((await slack.messages(DEV))[0]["text"]) == 4_000


async def test_the_switch_lets_longer_text_pass() -> None:
    async with slack_and_app(text_limits=False) as (_, web):
        ts = (await web.chat_postMessage(channel=DEV, text="hi"))["ts"]

        assert await refusal(web.chat_update(channel=DEV, ts=ts, text="x" * 4_001)) == ""


async def test_messages_of_others_are_neither_updated_nor_deleted() -> None:
    async with slack_and_app() as (slack, web):
        ts = await slack.say("ana", "#dev", "mine")

        update = web.chat_update(channel=DEV, ts=ts, text="x")
        delete = web.chat_delete(channel=DEV, ts=ts)

        assert await refusal(update) == "cant_update_message"
        assert await refusal(delete) == "cant_delete_message"


async def test_a_deleted_message_is_not_found() -> None:
    async with slack_and_app() as (_, web):
        ts = (await web.chat_postMessage(channel=DEV, text="hi"))["ts"]
        await web.chat_delete(channel=DEV, ts=ts)

        assert await refusal(web.chat_update(channel=DEV, ts=ts, text="x")) == "message_not_found"
        assert await refusal(web.chat_delete(channel=DEV, ts=ts)) == "message_not_found"
        link = web.chat_getPermalink(channel=DEV, message_ts=ts)
        assert await refusal(link) == "message_not_found"


async def test_an_update_without_content_is_refused() -> None:
    async with slack_and_app() as (_, web):
        ts = (await web.chat_postMessage(channel=DEV, text="hi"))["ts"]

        empty = web.api_call("chat.update", json={"channel": DEV, "ts": ts, "text": ""})

        assert await refusal(empty) == "no_text"


async def test_an_ephemeral_message_needs_a_reader_in_the_channel() -> None:
    async with slack_and_app() as (_, web):
        call = web.chat_postEphemeral(channel=DEV, user="U0STRANG1", text="psst")

        assert await refusal(call) == "user_not_in_channel"


@pytest.mark.parametrize(
    ("token", "method", "code"),
    [
        ("", "auth.test", "not_authed"),
        ("xoxb-other-fake", "auth.test", "invalid_auth"),
        (APP_TOKEN, "chat.postMessage", "not_allowed_token_type"),
        ("xoxb-local-fake", "apps.connections.open", "not_allowed_token_type"),
    ],
)
async def test_the_token_is_checked(token: str, method: str, code: str) -> None:
    async with slack_and_app() as (slack, _), aiohttp.ClientSession() as http:
        headers = {"Authorization": f"Bearer {token}"} if token else {}

        async with http.post(slack.api_url + method, headers=headers) as response:
            answer = await response.json()

        assert answer["error"] == code


@pytest.mark.parametrize(
    "method",
    ["chat.startStream", "chat.appendStream", "chat.stopStream", "assistant.threads.setStatus"],
)
async def test_methods_that_are_not_there_are_unknown(method: str) -> None:
    async with slack_and_app() as (_, web):
        assert await refusal(web.api_call(method)) == "unknown_method"


async def test_a_missing_scope_is_named() -> None:
    async with slack_and_app(scopes=["chat:write"]) as (_, web):
        with pytest.raises(SlackApiError) as caught:
            await web.conversations_replies(channel=DEV, ts="1.000001")

        answer = caught.value.response
        assert answer["error"] == "missing_scope"
        assert answer["needed"] == "channels:history"
        assert answer["provided"] == "chat:write"
        assert answer.headers["X-OAuth-Scopes"] == "chat:write"


async def test_what_cannot_be_found_is_said_so() -> None:
    async with slack_and_app() as (slack, web):
        ts = await slack.say("ana", "#dev", "hi")

        assert await refusal(web.users_info(user="U0NOBODY")) == "user_not_found"
        assert await refusal(web.bots_info(bot="B0NOBODY")) == "bot_not_found"
        assert await refusal(web.files_info(file="F0NOTHING")) == "file_not_found"
        assert await refusal(web.conversations_info(channel="C0NO")) == "channel_not_found"
        replies = web.conversations_replies(channel=DEV, ts="1.000001")
        assert await refusal(replies) == "thread_not_found"
        paged = web.conversations_replies(channel=DEV, ts=ts, cursor="no cursor")
        assert await refusal(paged) == "invalid_cursor"
        assert await refusal(web.conversations_open(users="U0NOBODY")) == "user_not_found"


async def test_reactions_are_refused_twice_and_on_nothing() -> None:
    async with slack_and_app() as (slack, web):
        ts = await slack.say("ana", "#dev", "hi")

        await web.reactions_add(channel=DEV, timestamp=ts, name="eyes")
        again = web.reactions_add(channel=DEV, timestamp=ts, name="eyes")
        assert await refusal(again) == "already_reacted"
        await web.reactions_remove(channel=DEV, timestamp=ts, name="eyes")
        gone = web.reactions_remove(channel=DEV, timestamp=ts, name="eyes")
        assert await refusal(gone) == "no_reaction"
        nowhere = web.reactions_add(channel=DEV, timestamp="1.000001", name="eyes")
        assert await refusal(nowhere) == "message_not_found"


async def test_blocks_that_only_the_sdk_refuses_are_refused_and_complained_about() -> None:
    async with slack_and_app() as (slack, web):
        unknown = [{"type": "no_such_block"}]
        call = web.chat_postMessage(channel=DEV, text="t", blocks=unknown)

        assert await refusal(call) == "invalid_blocks"
        assert await slack.complaints() == ["unknown block type: no_such_block"]
