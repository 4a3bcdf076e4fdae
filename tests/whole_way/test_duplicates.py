"""One ask, one reply: whatever Slack delivers twice, late, in any order, or not at all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kimibot.sandbox.kimi import Chunk
from kimibot.sandbox.slack import LocalSlack
from tests.whole_way.scene import DEV, body, open_scene


async def test_a_delivery_that_slack_repeats_is_answered_once(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play(Chunk(content="Once.", wait_seconds=1.0))
        root = await s.ask("@kimibot how often?")
        for event in [*await s.slack.events("app_mention"), *await s.slack.events("message")]:
            for retry in (1, 2, 3):
                await s.slack.repeat_event(event["event_id"], retry_num=retry)
        await s.outcome(root)

        assert [body(reply) for reply in await s.replies(root)] == ["Once."]
        assert len(s.kimi.requests) == 1


async def test_a_repetition_after_the_answer_changes_nothing(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask("@kimibot hello")
        before = await s.outcome(root)
        for event in await s.slack.events("app_mention"):
            await s.slack.repeat_event(event["event_id"], retry_num=2)
        await asyncio.sleep(0.5)

        assert await s.replies(root) == before
        assert len(s.kimi.requests) == 1


@pytest.mark.parametrize("mention_first", [True, False])
@pytest.mark.parametrize("gap_seconds", [0.0, 0.001, 0.2])
async def test_a_mention_and_its_twin_are_one_ask_in_either_order(
    tmp_path: Path, mention_first: bool, gap_seconds: float
) -> None:
    switches = {"mention_first": mention_first, "twin_gap_seconds": gap_seconds}
    async with open_scene(tmp_path, slack=switches) as s:
        root = await s.ask("@kimibot hello")
        await s.outcome(root)
        await asyncio.sleep(gap_seconds + 0.2)

        assert len(await s.replies(root)) == 1
        assert len(s.kimi.requests) == 1


@pytest.mark.parametrize("subscribed", ["app_mention", "message.channels"])
async def test_one_of_the_twins_is_enough(tmp_path: Path, subscribed: str) -> None:
    async with open_scene(tmp_path, slack={"events": [subscribed]}) as s:
        root = await s.ask("@kimibot hello")

        assert len(await s.outcome(root)) == 1


async def test_a_copy_that_is_no_ask_does_not_keep_its_twin_from_being_answered(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path, KIMIBOT_FOLLOW_UPS="mention") as s:
        root = await s.ask("@kimibot hello")
        await s.outcome(root)
        await s.slack.pause_delivery()
        ts = await s.ask("@kimibot and this?", thread=root)
        await s.slack.resume_delivery()
        mentions = [e for e in await s.slack.events("app_mention") if e["event"]["ts"] == ts]
        stripped = mentions[0]["event"] | {"type": "message", "text": "and this?", "blocks": []}
        await s.slack.send_event(stripped)
        await s.slack.repeat_event(mentions[0]["event_id"])

        assert len(await s.outcome(root, count=2)) == 2


async def test_an_answer_that_is_faster_than_its_first_post_is_one_message(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        await s.slack.delay("chat.postMessage", 0.8)
        s.kimi.play("Quick.")
        root = await s.ask("@kimibot quick?")
        await s.outcome(root)

        assert [body(reply) for reply in await s.replies(root)] == ["Quick."]
        assert len(await s.slack.calls("chat.postMessage")) == 1


async def test_a_lost_response_to_the_first_post_gives_one_message(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        await s.slack.drop_response("chat.postMessage")
        s.kimi.play("Once.")
        root = await s.ask("@kimibot how often?")
        await s.outcome(root)

        assert [body(reply) for reply in await s.replies(root)] == ["Once."]


async def test_a_long_answer_is_never_split_by_slack_itself(tmp_path: Path) -> None:
    text = "\n\n".join(f"Paragraph {n}. " + "All work and no play. " * 20 for n in range(20))
    async with open_scene(tmp_path) as s:
        s.kimi.play(*[text[at : at + 500] for at in range(0, len(text), 500)])
        root = await s.ask("@kimibot at length, please")
        replies = await s.outcome(root)

        assert len(replies) == 2
        assert words("".join(body(reply) + "\n" for reply in replies)) == words(text)
        posts = await s.slack.calls("chat.postMessage")
        assert len(posts) == len(replies)


async def test_echoes_of_our_own_edits_never_reach_the_database(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask("@kimibot hello")
        [reply] = await s.outcome(root)
        changed = {
            "type": "message",
            "subtype": "message_changed",
            "channel": reply.get("channel")
            or (await s.slack.events("message"))[0]["event"]["channel"],
            "message": reply,
            "previous_message": reply,
            "ts": "1.0",
        }
        await s.bot.database.close()  # whoever looks there now fails, and is not acknowledged
        for _ in range(200):
            await s.slack.send_event(changed)
        await s.slack.until(lambda: _delivered(s.slack, 200), 10.0)

        assert (await s.slack.counters()).unacked == 0


def words(text: str) -> list[str]:
    return text.split()


async def _delivered(slack: LocalSlack, count: int) -> bool:
    records = await slack.deliveries()
    return len([record for record in records if record.ack_seconds is not None]) >= count


async def test_what_we_post_never_triggers_us(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("<@U0KIMIBOT> hi, @kimibot, do answer me")
        root = await s.ask("@kimibot hello")
        await s.outcome(root)
        await asyncio.sleep(0.5)

        assert len(s.kimi.requests) == 1


async def test_another_bot_that_mentions_us_is_not_answered(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask("@kimibot hello")
        await s.outcome(root)
        for is_bot_message in (True, False):
            await s.slack.say_as_app(
                DEV, "<@U0KIMIBOT> ping", thread_ts=root, is_bot_message=is_bot_message
            )
        await asyncio.sleep(0.5)

        assert len(s.kimi.requests) == 1
