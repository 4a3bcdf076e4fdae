"""Edits as people see them: the reply begins anew, an ask is heard, an answer is written again."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from kimibot import texts
from kimibot.sandbox.kimi import Chunk, KimiOptions, local_kimi
from kimibot.sandbox.slack import local_slack
from kimibot.service import open_bot
from tests.whole_way.scene import DEV, Fields, Scene, body, bot_settings, open_scene
from tests.whole_way.test_stops_elsewhere import first_replica, second_hears

REAL_TIME = KimiOptions(speed=1)


async def begun(s: Scene) -> tuple[str, Fields]:
    """An ask whose answer to the wrong question has begun."""
    s.kimi.play(*(Chunk(content=f"wrong{n} ", wait_seconds=0.1) for n in range(600)))
    root = await s.ask("@kimibot why is A slow?")
    [reply] = await s.reply(root, lambda r: "wrong3" in body(r[0]))
    return root, reply


async def the_offer(s: Scene) -> Fields:
    """What its asker alone sees below an edited question."""

    async def look() -> list[Fields] | None:
        return await s.slack.ephemerals("ana") or None

    [offer] = await s.until(look, 5.0)
    return offer


async def press_twice(s: Scene, offer: Fields) -> None:
    """Faster than Slack can take the offer away."""
    click = partial(s.slack.click, "ana", DEV, offer["ts"], texts.ANSWER_AGAIN)
    assert all(await asyncio.gather(click(), click()))


async def no_offer(s: Scene) -> None:
    async def look() -> bool:
        return await s.slack.ephemerals("ana") == []

    await s.slack.until(look, 5.0)


async def test_an_edit_soon_after_the_ask_begins_the_same_reply_anew(tmp_path: Path) -> None:
    async with open_scene(tmp_path, kimi=REAL_TIME, KIMIBOT_SLACK_TIMEOUT_SECONDS="0.5") as s:
        root, growing = await begun(s)
        s.kimi.play("Because of B.")
        await s.slack.edit("ana", DEV, root, "@kimibot why is B slow?")
        [reply] = await s.outcome(root)

        assert (reply["ts"], body(reply)) == (growing["ts"], "Because of B.")
        read = [request.body["messages"][-1]["content"] for request in s.kimi.requests]
        assert [text.rpartition("why is ")[2] for text in read] == ["A slow?", "B slow?"]
        [turn] = await s.rows("SELECT outcome, attempt, takeovers FROM turns")
        assert tuple(turn) == ("answered", 2, 0)
        assert await s.slack.ephemerals("ana") == []


async def test_an_edit_that_another_replica_hears_begins_the_same_reply_anew(
    tmp_path: Path, postgres_url: str
) -> None:
    async with first_replica(tmp_path, postgres_url) as (s, settings):
        root, growing = await begun(s)
        s.kimi.play("Because of B.")
        async with second_hears(s, settings):
            await s.slack.edit("ana", DEV, root, "@kimibot why is B slow?")
            [reply] = await s.reply(root, lambda r: "Because of B." in body(r[0]), seconds=4.0)
            await s.outcome(root)

        assert reply["ts"] == growing["ts"]


async def test_an_edit_that_adds_the_mention_is_an_ask_and_one_only(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("It copies.")
        root = await s.ask("why is my loop slow?")
        await s.slack.edit("ana", DEV, root, "@kimibot why is my loop slow?")
        [reply] = await s.outcome(root)
        await s.slack.unfurl(DEV, root, {"from_url": "https://x.y", "text": "A page"})
        await s.outcome(await s.ask("@kimibot hello"))

        assert body(reply) == "It copies."
        assert len(s.kimi.requests) == 2
        assert await s.slack.ephemerals("ana") == []


async def test_an_edited_question_is_answered_again_in_place_once_and_after_a_restart(
    tmp_path: Path,
) -> None:
    async with local_slack() as slack, local_kimi(options=KimiOptions(speed=20)) as kimi:
        settings = bot_settings(slack, kimi, tmp_path)
        async with open_bot(settings) as bot:
            s = Scene(slack, kimi, bot)
            kimi.play("Because of A.")
            root = await s.ask("@kimibot why is A slow?")
            [first] = await s.outcome(root)
            await slack.edit("ana", DEV, root, "@kimibot why is B slow?")
            offer = await the_offer(s)
        async with open_bot(settings) as bot:
            s = Scene(slack, kimi, bot)
            kimi.play("Because of B.", delay_seconds=10)
            await press_twice(s, offer)
            [second] = await s.reply(root, lambda r: body(r[0]) == "Because of B.")
            await no_offer(s)
            kimi.play("Still B.")
            await s.ask("@kimibot sure?", thread=root)
            await s.reply(root, lambda r: body(r[-1]) == "Still B.", seconds=25.0)

        assert second["ts"] == first["ts"]
        assert len(kimi.requests) == 3
        read = kimi.requests[-1].body["messages"]
        assert [message["role"] for message in read] == ["system", "user", "assistant", "user"]
        assert "why is B slow?" in read[1]["content"]
        assert read[2]["content"] == "Because of B."
