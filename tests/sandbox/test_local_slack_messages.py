"""The local Slack keeps messages as Slack does: split, edited, threaded, read in pages."""

from __future__ import annotations

import json

import aiohttp

from kimibot.sandbox.slack import BOT, BOT_TOKEN
from tests.sandbox.slack_app import DEV, markdown, refusal, section, slack_and_app


async def test_over_long_text_ends_as_several_messages_in_order() -> None:
    async with slack_and_app() as (slack, web):
        root = await slack.say("ana", "#dev", "root")
        text = "".join(f"{number:09d}," for number in range(900))

        await web.chat_postMessage(channel=DEV, thread_ts=root, text=text)

        parts = (await slack.thread("#dev", root))[1:]
        assert [len(part["text"]) for part in parts] == [4_000, 4_000, 1_000]
        assert "".join(part["text"] for part in parts) == text


async def test_text_beside_blocks_is_not_split() -> None:
    async with slack_and_app() as (slack, web):
        await web.chat_postMessage(channel=DEV, text="t" * 9_000, blocks=[markdown("short")])

        assert len(await slack.messages(DEV)) == 1


async def test_text_beyond_40000_characters_is_cut_with_a_warning() -> None:
    async with slack_and_app(split_long_text=False) as (slack, web):
        answer = await web.chat_postMessage(channel=DEV, text="t" * 40_001)

        assert answer["response_metadata"] == {"messages": ["[WARN] message_truncated"]}
        assert len((await slack.messages(DEV))[0]["text"]) == 40_000


async def test_an_update_with_text_alone_removes_the_blocks_and_shows_as_edited() -> None:
    async with slack_and_app() as (slack, web):
        ts = (await web.chat_postMessage(channel=DEV, text="t", blocks=[markdown("m")]))["ts"]

        await web.chat_update(channel=DEV, ts=ts, text="u", blocks=[markdown("n")])
        assert "edited" not in (await slack.messages(DEV))[0]

        await web.chat_update(channel=DEV, ts=ts, text="plain")
        message = (await slack.messages(DEV))[0]
        assert "blocks" not in message
        assert message["edited"]["user"] == BOT.user_id


async def test_metadata_is_kept_until_it_is_removed_and_read_only_on_request() -> None:
    async with slack_and_app() as (_, web):
        metadata = {"event_type": "turn", "event_payload": {"turn": "1"}}
        ts = (await web.chat_postMessage(channel=DEV, text="t", metadata=metadata))["ts"]
        await web.chat_update(channel=DEV, ts=ts, text="u")

        asked = await web.conversations_replies(channel=DEV, ts=ts, include_all_metadata=True)
        assert asked["messages"][0]["metadata"] == metadata
        unasked = await web.conversations_replies(channel=DEV, ts=ts)
        assert "metadata" not in unasked["messages"][0]

        await web.api_call("chat.update", json={"channel": DEV, "ts": ts, "metadata": {}})
        gone = await web.conversations_replies(channel=DEV, ts=ts, include_all_metadata=True)
        assert "metadata" not in gone["messages"][0]
        assert gone["messages"][0]["text"] == "u"


async def test_a_thread_is_read_in_pages_from_any_of_its_messages() -> None:
    async with slack_and_app() as (slack, web):
        root = await slack.say("ana", "#dev", "root")
        sent = [await slack.say("bo", "#dev", f"{n}", thread_ts=root) for n in range(5)]

        read, cursor = [], ""
        while True:
            page = await web.conversations_replies(
                channel=DEV, ts=sent[2], limit=4, cursor=cursor or None
            )
            read += [message["ts"] for message in page["messages"]]
            if not page["has_more"]:
                break
            cursor = page["response_metadata"]["next_cursor"]

        assert read == [root, *sent]


async def test_a_root_counts_its_replies() -> None:
    async with slack_and_app() as (slack, web):
        root = await slack.say("ana", "#dev", "root")
        await slack.say("bo", "#dev", "one", thread_ts=root)
        last = await slack.say("bo", "#dev", "two", thread_ts=root)

        messages = (await web.conversations_replies(channel=DEV, ts=root))["messages"]

        assert messages[0]["reply_count"] == 2
        assert messages[0]["reply_users"] == [messages[1]["user"]]
        assert messages[0]["latest_reply"] == last
        assert messages[1]["parent_user_id"] == messages[0]["user"]
        assert {message["thread_ts"] for message in messages} == {root}


async def test_history_is_newest_first_without_replies() -> None:
    async with slack_and_app() as (slack, web):
        first = await slack.say("ana", "#dev", "first")
        await slack.say("bo", "#dev", "reply", thread_ts=first)
        second = await slack.say("ana", "#dev", "second")
        third = await slack.say("ana", "#dev", "third")

        found = (await web.conversations_history(channel=DEV))["messages"]
        assert [message["ts"] for message in found] == [third, second, first]

        after = await web.conversations_history(channel=DEV, oldest=first)
        assert [message["ts"] for message in after["messages"]] == [third, second]
        until = await web.conversations_history(channel=DEV, latest=second, inclusive=True)
        assert [message["ts"] for message in until["messages"]] == [second, first]


async def test_history_is_clamped_for_an_app_outside_the_marketplace() -> None:
    async with slack_and_app(clamped_history=True, rate_limits=True) as (slack, web):
        root = await slack.say("ana", "#dev", "root")
        for number in range(20):
            await slack.say("bo", "#dev", f"{number}", thread_ts=root)

        page = await web.conversations_replies(channel=DEV, ts=root, limit=200)
        again = web.conversations_replies(channel=DEV, ts=root)

        assert len(page["messages"]) == 15
        assert page["has_more"]
        assert await refusal(again) == "ratelimited"


async def test_a_person_is_written_to_by_id() -> None:
    async with slack_and_app() as (slack, web):
        direct = await slack.open_direct("mei")

        posted = await web.chat_postMessage(channel="U0MEI0001", text="hello")
        opened = await web.conversations_open(users="U0MEI0001")

        assert posted["channel"] == opened["channel"]["id"] == direct
        assert opened["already_open"]


async def test_an_ephemeral_message_is_seen_by_one_and_stored_nowhere() -> None:
    async with slack_and_app() as (slack, web):
        await web.chat_postEphemeral(channel=DEV, user="U0ANA0001", text="psst")

        assert [message["text"] for message in await slack.ephemerals("ana")] == ["psst"]
        assert await slack.ephemerals("bo") == []
        assert await slack.messages(DEV) == []


async def test_accounts_describe_people_apps_and_the_team() -> None:
    async with slack_and_app() as (_, web):
        us = await web.auth_test()
        guest = (await web.users_info(user="U0GUEST01"))["user"]
        stranger = (await web.users_info(user="U0STRANG1"))["user"]
        bot = (await web.bots_info(bot=us["bot_id"]))["bot"]

        assert us["user_id"] == bot["user_id"] == BOT.user_id
        assert guest["is_restricted"]
        assert stranger["is_stranger"]
        assert stranger["team_id"] != us["team_id"]
        assert "email" not in guest["profile"]
        assert (await web.team_info())["team"]["id"] == us["team_id"]


async def test_channels_tell_whether_the_bot_may_write() -> None:
    async with slack_and_app() as (_, web):
        dev = (await web.conversations_info(channel=DEV, include_num_members=True))["channel"]
        old = (await web.conversations_info(channel="C0OLD0001"))["channel"]
        without = (await web.conversations_info(channel="C0WITHOUT"))["channel"]

        assert dev["is_member"]
        assert dev["num_members"] == 6
        assert old["is_archived"]
        assert not without["is_member"]
        assert BOT.user_id in (await web.conversations_members(channel=DEV))["members"]


async def test_forms_and_queries_carry_the_same_arguments_as_json() -> None:
    async with slack_and_app() as (slack, _), aiohttp.ClientSession() as http:
        form = {"token": BOT_TOKEN, "channel": DEV, "blocks": json.dumps([section("s")])}
        async with http.post(slack.api_url + "chat.postMessage", data=form) as response:
            posted = await response.json()
        query = {"channel": DEV, "ts": posted["ts"]}
        headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
        url = slack.api_url + "conversations.replies"
        async with http.get(url, params=query, headers=headers) as response:
            read = await response.json()

        assert read["messages"][0]["blocks"][0]["text"]["text"] == "s"
        assert "token" not in (await slack.calls("chat.postMessage"))[0].arguments


async def test_subscribers_hear_of_every_change() -> None:
    async with slack_and_app() as (slack, web), slack.subscribe() as changes:
        ts = (await web.chat_postMessage(channel=DEV, text="hi"))["ts"]
        await web.chat_update(channel=DEV, ts=ts, text="ho")
        await web.chat_postEphemeral(channel=DEV, user="U0ANA0001", text="psst")
        await web.chat_delete(channel=DEV, ts=ts)

        heard = [await anext(changes) for _ in range(4)]

        assert [change.kind for change in heard] == ["added", "changed", "ephemeral", "deleted"]
        assert heard[1].previous["text"] == "hi"
        assert heard[1].message["text"] == "ho"
