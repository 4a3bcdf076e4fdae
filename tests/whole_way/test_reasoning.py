"""Kimi's reasoning: by a button to the one who asked, where the operator allows it, else never."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kimibot import texts
from kimibot.sandbox.kimi import Chunk, End, KimiOptions, local_kimi
from kimibot.sandbox.slack import local_slack
from kimibot.service import open_bot
from tests.whole_way.scene import DEV, Scene, body, bot_settings, button, open_scene

QUICK = "0.5"
"""As long as a call of Slack may take here, in seconds: an answer in the place of another one
waits for twice that."""

SECRET = Chunk(reasoning="CANARY: I look at the list. ", wait_seconds=0.2)


async def leaks(s: Scene) -> list[tuple[str, Any]]:
    """Who was told any of the reasoning, and how."""
    calls = await s.slack.calls()
    return [(c.method, c.arguments.get("user")) for c in calls if "CANARY" in str(c.arguments)]


async def whispered(s: Scene, user: str, count: int = 1) -> list[str]:
    """What the person sees alone, once it is so many messages."""

    async def look() -> list[dict[str, Any]] | None:
        found = await s.slack.ephemerals(user)
        return found if len(found) >= count else None

    return [body(message) or message["text"] for message in await s.slack.until(look, 5.0)]


async def every_way_a_turn_can_end(s: Scene) -> dict[str, dict[str, Any]]:
    """The last message of each reply, by what happened to it."""
    ends: dict[str, dict[str, Any]] = {}

    async def ends_as(name: str) -> None:
        ends[name] = (await s.outcome(await s.ask("@kimibot hello")))[-1]

    s.kimi.play(SECRET, Chunk(content="<think>CANARY too</think>Fine."), SECRET)
    await ends_as("answered")
    s.kimi.play(SECRET, "Long. " * 3_000)
    await ends_as("split")
    s.kimi.play(SECRET, "Half of", end=End.ERROR)
    await ends_as("cut off")
    s.kimi.play(SECRET, "Fine again.")
    await s.slack.click("ana", DEV, ends["cut off"]["ts"], texts.TRY_AGAIN)
    root = ends["cut off"]["thread_ts"]
    await s.reply(root, lambda r: body(r[0]) == "Fine again.")
    [ends["tried again"]] = await s.outcome(root)
    s.kimi.play(SECRET, finish_reason="length", times=2)
    await ends_as("no text")
    await s.slack.fail("chat.update", "invalid_blocks", only_with="blocks")
    s.kimi.play(SECRET, "Plain.")
    await ends_as("plain")
    s.kimi.play(SECRET, "Half of", *("it " for _ in range(200)), delay_seconds=2.0)
    root = await s.ask("@kimibot hello")
    await s.reply(root, lambda r: "Half of" in body(r[0]))
    await s.ask("stop", thread=root)
    ends["stopped"] = (await s.outcome(root))[-1]
    return ends


async def test_reasoning_never_leaves_in_any_call_while_it_is_off(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMIBOT_SLACK_TIMEOUT_SECONDS=QUICK) as s:
        ends = await every_way_a_turn_can_end(s)

        assert await leaks(s) == []
        assert texts.SHOW_REASONING not in {button(end) for end in ends.values()}
        [kept] = await s.rows("SELECT count(*) FROM messages WHERE raw LIKE '%CANARY%'")
        assert kept[0] > 0


async def test_whole_answers_have_the_button_and_nothing_leaves_until_it_is_pressed(
    tmp_path: Path,
) -> None:
    async with open_scene(
        tmp_path, KIMIBOT_SHOW_REASONING="ask", KIMIBOT_SLACK_TIMEOUT_SECONDS=QUICK
    ) as s:
        ends = await every_way_a_turn_can_end(s)

        assert await leaks(s) == []
        with_button = {name for name, end in ends.items() if button(end) == texts.SHOW_REASONING}
        assert with_button == {"answered", "split", "tried again", "plain"}


async def test_only_the_asker_sees_it_and_only_alone(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMIBOT_SHOW_REASONING="ask") as s:
        s.kimi.play(SECRET, Chunk(reasoning="<!channel> <@U0BO00001>"), "Fine.")
        [reply] = await s.outcome(await s.ask("@kimibot hello"))

        assert await s.slack.click("bo", DEV, reply["ts"], texts.SHOW_REASONING)
        assert await whispered(s, "bo") == [texts.NOT_YOURS]
        assert await s.slack.click("ana", DEV, reply["ts"], texts.SHOW_REASONING)
        [shown] = await whispered(s, "ana")

        assert shown.startswith("CANARY: I look at the list. &lt;!channel>")
        assert await leaks(s) == [("chat.postEphemeral", "U0ANA0001")]
        assert await s.slack.pings() == []
        assert await s.slack.complaints() == []


async def test_an_answer_without_reasoning_has_no_button(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMIBOT_SHOW_REASONING="ask") as s:
        s.kimi.play("Fine.")
        [reply] = await s.outcome(await s.ask("@kimibot hello"))

        assert button(reply) == ""


async def test_the_button_works_after_a_restart_until_the_operator_switches_it_off(
    tmp_path: Path,
) -> None:
    async with local_slack() as slack, local_kimi(options=KimiOptions(speed=20)) as kimi:
        allowed = bot_settings(slack, kimi, tmp_path, KIMIBOT_SHOW_REASONING="ask")
        kimi.play(SECRET, "Fine.")
        async with open_bot(allowed) as bot:
            s = Scene(slack, kimi, bot)
            [reply] = await s.outcome(await s.ask("@kimibot hello"))
        async with open_bot(allowed) as bot:
            s = Scene(slack, kimi, bot)
            await slack.click("ana", DEV, reply["ts"], texts.SHOW_REASONING)
            assert (await whispered(s, "ana"))[0].startswith("CANARY")
        async with open_bot(bot_settings(slack, kimi, tmp_path)) as bot:
            s = Scene(slack, kimi, bot)
            await slack.click("ana", DEV, reply["ts"], texts.SHOW_REASONING)
            assert (await whispered(s, "ana", 2))[1] == texts.REASONING_OFF
            assert len(await leaks(s)) == 1


async def test_what_was_deleted_is_not_shown_any_more(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMIBOT_SHOW_REASONING="ask") as s:
        s.kimi.play(SECRET, "Fine.")
        [reply] = await s.outcome(await s.ask("@kimibot hello"))
        async with s.bot.database.writing() as connection:
            await connection.exec_driver_sql("UPDATE messages SET raw = NULL")
        await s.slack.click("ana", DEV, reply["ts"], texts.SHOW_REASONING)

        assert await whispered(s, "ana") == [texts.REASONING_GONE]
        assert await leaks(s) == []
