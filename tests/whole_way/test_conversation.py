"""Mention, follow-up, direct message: over Socket Mode and over HTTP."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kimibot import texts
from kimibot.sandbox.kimi import Chunk
from kimibot.sandbox.slack import LocalSlack
from tests.whole_way.scene import DEV, body, note, open_scene

BOTH_WAYS = pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])


@BOTH_WAYS
async def test_a_mention_is_answered_and_its_follow_up_from_memory(
    tmp_path: Path, over_http: bool
) -> None:
    async with open_scene(tmp_path, over_http=over_http) as s:
        s.kimi.play(Chunk(reasoning="hm"), "It ", "copies.", delay_seconds=0.05)
        s.kimi.play("Because lists grow.")

        root = await s.ask("@kimibot why is my loop slow?")
        [first] = await s.outcome(root)
        await s.ask("and why is that?", thread=root)
        replies = await s.outcome(root, count=2)

        assert [body(reply) for reply in replies] == ["It copies.", "Because lists grow."]
        assert [note(reply) for reply in replies] == ["", ""]
        assert replies[0]["ts"] == first["ts"]
        second = s.kimi.requests[1].body["messages"]
        assert second[:2] == s.kimi.requests[0].body["messages"]
        assert second[2] == {
            "role": "assistant",
            "content": "It copies.",
            "reasoning_content": "hm",
        }
        assert second[3]["content"].endswith("UTC: and why is that?")
        assert await s.slack.complaints() == []


@BOTH_WAYS
async def test_everything_is_acknowledged_well_within_three_seconds(
    tmp_path: Path, over_http: bool
) -> None:
    async with open_scene(tmp_path, over_http=over_http) as s:
        await s.outcome(await s.ask("@kimibot hello"))
        await s.slack.say("bo", "#general", "nothing for a bot")
        await s.slack.react("bo", DEV, (await s.slack.messages(DEV))[0]["ts"], "eyes")
        await s.slack.until(lambda: _all_delivered(s.slack), 5.0)

        assert (await s.slack.counters()).unacked == 0


async def _all_delivered(slack: LocalSlack) -> bool:
    deliveries = await slack.deliveries()
    return len(deliveries) >= 4 and all(record.ack_seconds is not None for record in deliveries)


async def test_rows_hold_the_ask_the_raw_answer_and_how_the_turn_ended(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play(Chunk(reasoning="hm"), "Four.")
        root = await s.ask("@kimibot two and two?")
        [reply] = await s.outcome(root)

        [turn] = await s.rows("SELECT * FROM turns")
        assert (turn.state, turn.outcome, turn.attempt) == ("ended", "answered", 1)
        assert json.loads(turn.reply_ts) == [reply["ts"]]
        ask, answer = await s.rows("SELECT * FROM messages ORDER BY place")
        assert (ask.ts, ask.speaker) == (root, "person")
        assert (answer.ts, answer.speaker) == (reply["ts"], "us")
        assert json.loads(answer.raw)["reasoning_content"] == "hm"
        assert answer.finish_reason == "stop"
        assert answer.completion_id
        assert answer.completion_tokens is not None


async def test_a_mention_inside_a_running_thread_is_answered_with_what_was_said(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask("the deploy fails since Monday", user="bo")
        for number in range(11):
            await s.ask(f"remark {number}", user="mei", thread=root)
        await s.ask("@kimibot what do you think?", thread=root)
        await s.outcome(root)

        [request] = s.kimi.requests
        read = request.body["messages"][1]["content"]
        assert "the deploy fails since Monday" in read
        assert all(f"remark {number}" in read for number in range(11))
        assert read.index("remark 10") < read.index("what do you think?")


async def test_what_others_say_between_two_turns_is_read_with_their_names(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask("@kimibot hello")
        await s.outcome(root)
        await s.ask("I would roll back", user="bo", thread=root)
        await s.until_stored(3)
        await s.ask("@kimibot and you?", thread=root)
        await s.outcome(root, count=2)

        last = s.kimi.requests[1].body["messages"][-1]["content"]
        assert last.partition(",")[0] == "bo"
        assert "I would roll back" in last


async def test_a_direct_message_is_a_thread_of_its_own(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        direct = await s.slack.open_direct("ana")
        first = await s.slack.say("ana", direct, "hello")
        second = await s.slack.say("ana", direct, "hello again")
        for root in (first, second):
            [reply] = await s.reply(root, lambda r: bool(body(r[0])), channel=direct)
            assert reply["thread_ts"] == root

        assert len(s.kimi.requests) == 2
        assert all(len(request.body["messages"]) == 2 for request in s.kimi.requests)


async def test_a_direct_message_whose_thread_ts_is_its_own_is_a_root(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        direct = await s.slack.open_direct("ana")
        await s.slack.pause_delivery()
        ts = await s.slack.say("ana", direct, "hello")
        [event] = [e["event"] for e in await s.slack.events("message") if e["event"]["ts"] == ts]
        await s.slack.send_event(event | {"thread_ts": ts})
        await s.slack.resume_delivery()

        [reply] = await s.reply(ts, lambda r: bool(body(r[0])), channel=direct)
        assert reply["thread_ts"] == ts


async def test_pasted_code_reaches_the_model_byte_for_byte(tmp_path: Path) -> None:
    code = "if a < b && c:\n    print(\"<T>\\t|*_~`x\")\n\treturn 'C:\\\\Projects\\\\*'"
    blocks = [
        {
            "type": "rich_text",
            "elements": [
                {
                    "type": "rich_text_section",
                    "elements": [
                        {"type": "user", "user_id": "U0KIMIBOT"},
                        {"type": "text", "text": " what is wrong?"},
                    ],
                },
                {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": code}]},
            ],
        }
    ]
    async with open_scene(tmp_path) as s:
        root = await s.slack.say("ana", DEV, "shortened…", blocks=blocks)
        await s.outcome(root)

        assert f"```\n{code}\n```" in s.kimi.requests[0].body["messages"][1]["content"]


async def test_a_forwarded_mention_does_not_wake_us_and_a_forward_is_read(tmp_path: Path) -> None:
    forward = {
        "is_msg_unfurl": True,
        "is_share": True,
        "author_name": "Mei",
        "text": "<@U0KIMIBOT> the disk is full",
        "fallback": "the disk is full",
    }
    async with open_scene(tmp_path) as s:
        await s.slack.say("bo", DEV, "look at this", attachments=[forward])
        root = await s.slack.say("ana", DEV, "@kimibot what now?", attachments=[forward])
        await s.outcome(root)

        assert len(s.kimi.requests) == 1
        read = s.kimi.requests[0].body["messages"][1]["content"]
        assert "the disk is full" in read
        assert "look at this" not in read


async def test_many_asks_in_one_thread_end_as_answered_or_merged(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("one ", "answer", delay_seconds=0.6)
        root = await s.ask("@kimibot first")
        for number in range(4):
            await s.ask(f"@kimibot more {number}", thread=root)
        await s.outcome(root, count=5)

        rows = await s.rows("SELECT outcome, count(*) AS n FROM turns GROUP BY outcome")
        outcomes = Counter({row.outcome: row.n for row in rows})
        assert outcomes["answered"] == len(await s.replies(root))
        assert outcomes["answered"] + outcomes["merged"] == 5


async def test_the_model_reads_names_and_labels_and_never_an_address(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        words = "write to sam@acme.invalid, or ask <@U0BO00001> in <#C0GENERAL>"
        root = await s.slack.say("sam", "#shared", words, blocks=[])
        await s.slack.say_as_app("#shared", "the disk is full", thread_ts=root)
        await s.slack.say("ana", "#shared", "@kimibot what now?", thread_ts=root)
        await s.reply(root, lambda r: bool(body(r[-1])), channel="#shared")

        read = s.kimi.requests[0].body["messages"][1]["content"]
        assert read.startswith("external user U0STRANG1 (Acme), ")
        assert "write to [e-mail address], or ask @bo in #general" in read
        assert "monitor (app), " in read
        assert "@acme" not in str(s.kimi.requests[0].body)
        assert "people.invalid" not in str(s.kimi.requests[0].body)


async def test_a_thread_that_slack_shows_in_part_is_answered_at_once_and_that_is_told_once(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path, slack={"clamped_history": True}) as s:
        s.kimi.play("I guess.")
        s.kimi.play("Still.")
        root = await s.ask("the deploy fails since Monday", user="bo")
        for number in range(58):
            await s.ask(f"remark {number}", user="mei", thread=root)
        await s.ask("@kimibot what do you think?", thread=root)
        [first] = await s.outcome(root)
        await s.ask("@kimibot sure?", thread=root)
        replies = await s.outcome(root, count=2)

        assert (body(first), note(first)) == ("I guess.", texts.history_in_part(15, "first"))
        assert (body(replies[1]), note(replies[1])) == ("Still.", "")
        read = s.kimi.requests[0].body["messages"][1]["content"]
        assert read.startswith("[Some messages of this thread could not be read")
        assert "the deploy fails since Monday" in read
        assert read.endswith("what do you think?")


async def test_where_only_mentions_are_heard_the_thread_is_told_so_once(tmp_path: Path) -> None:
    async with open_scene(tmp_path, slack={"events": ["app_mention"]}) as s:
        s.kimi.play("One ", "moment.", delay_seconds=120.0)  # six seconds at this speed
        root = await s.ask("@kimibot think")
        [first] = await s.outcome(root)
        s.kimi.play("Fine ", "again.", delay_seconds=120.0)
        await s.ask("@kimibot and now?", thread=root)
        [_, second] = await s.outcome(root, count=2)

        assert (note(first), note(second)) == (texts.MENTION_ME, "")
