"""An answer that was cut off is continued by a button, and any message asked about by its menu."""

from __future__ import annotations

import asyncio
from pathlib import Path

from kimibot import texts
from kimibot.answers import CUT_OFF
from kimibot.turns import Kind
from tests.whole_way.scene import DEV, Fields, Scene, body, button, note, open_scene


async def told(s: Scene, count: int) -> list[str]:
    """What bo was told, once that are so many."""

    async def look() -> list[Fields] | None:
        found = await s.slack.ephemerals("bo")
        return found if len(found) == count else None

    return [whisper["text"] for whisper in await s.slack.until(look, 5.0)]


async def cut_answer(s: Scene) -> tuple[str, str]:
    """An ask whose answer reaches its length limit: the ts of ask and reply."""
    s.kimi.play("One, two, ", finish_reason="length")
    root = await s.ask("@kimibot count to four")
    [cut] = await s.outcome(root)
    assert (body(cut), note(cut), button(cut)) == (
        "One, two,",
        texts.REACHED_LIMIT,
        texts.CONTINUE,
    )
    return root, cut["ts"]


async def test_a_cut_answer_goes_on_in_a_further_message_and_is_one_to_the_model(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path) as s:
        root, cut_ts = await cut_answer(s)

        s.kimi.play("three, four.")
        assert await s.slack.click("ana", DEV, cut_ts, texts.CONTINUE)
        [cut, rest] = await s.outcome(root, count=2)
        s.kimi.play("Ten.")
        await s.ask("@kimibot and the sum?", thread=root)
        await s.outcome(root, count=3)

        assert (body(cut), body(rest)) == ("One, two,", "three, four.")
        going_on, after = (request.body["messages"] for request in s.kimi.requests[1:])
        assert going_on[2]["content"].endswith(CUT_OFF)
        assert going_on[3] == {"role": "user", "content": texts.INSTRUCTIONS[Kind.CONTINUE]}
        assert [message["role"] for message in after] == ["system", "user", "assistant", "user"]
        assert after[2]["content"].startswith("One, two,")
        assert after[2]["content"].endswith("three, four.")
        assert CUT_OFF not in after[2]["content"]


async def test_an_answer_is_continued_once_and_the_button_goes(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root, cut_ts = await cut_answer(s)

        clicks = [s.slack.click("ana", DEV, cut_ts, texts.CONTINUE) for _ in range(2)]
        assert await asyncio.gather(*clicks) == [True, True]
        await s.outcome(root, count=2)
        [cut, *_] = await s.reply(root, lambda found: not button(found[0]))

        assert (body(cut), note(cut)) == ("One, two,", texts.REACHED_LIMIT)
        assert len(s.kimi.requests) == 2
        assert len(await s.rows("SELECT id FROM turns")) == 2


async def test_only_who_asked_can_continue(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root, cut_ts = await cut_answer(s)

        assert await s.slack.click("bo", DEV, cut_ts, texts.CONTINUE)

        [whisper] = await s.slack.until(lambda: s.slack.ephemerals("bo"), 5.0)
        assert whisper["text"] == texts.NOT_YOURS
        [cut] = await s.replies(root)
        assert button(cut) == texts.CONTINUE


async def test_a_press_is_acknowledged_although_its_whisper_is_refused(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root, cut_ts = await cut_answer(s)
        await s.slack.fail("chat.postEphemeral", "user_not_in_channel")

        assert await s.slack.click("bo", DEV, cut_ts, texts.CONTINUE)
        assert await s.slack.shortcut("bo", DEV, root, "ask_about")


async def test_a_stopped_answer_can_be_continued(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("Half of ", "it.", delay_seconds=100.0)
        root = await s.ask("@kimibot hello")
        await s.reply(root, lambda found: body(found[0]) != "")
        await s.ask("stop", thread=root)
        [stopped] = await s.outcome(root)

        s.kimi.play("it all.")
        assert await s.slack.click("ana", DEV, stopped["ts"], texts.CONTINUE)

        [_, rest] = await s.outcome(root, count=2)
        assert body(rest) == "it all."


async def test_a_message_of_another_app_is_asked_about_by_its_menu(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        alert = await s.slack.say_as_app(DEV, "Disk 93 % full on db-2")

        s.kimi.play("Somebody should look at db-2.")
        assert await s.slack.shortcut("bo", DEV, alert, "ask_about")

        [_, reply] = await s.outcome(alert)
        assert body(reply) == "Somebody should look at db-2."
        last = s.kimi.requests[0].body["messages"][-1]["content"]
        assert "Disk 93 % full on db-2" in last
        assert last.endswith(texts.INSTRUCTIONS[Kind.ABOUT])
        [(asker, kind)] = await s.rows("SELECT asker, kind FROM turns")
        assert (asker, kind) == ("U0BO00001", "about")


async def test_a_message_is_asked_about_once(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask("@kimibot hello")
        [reply] = await s.outcome(root)
        for _ in range(2):
            assert await s.slack.shortcut("bo", DEV, reply["ts"], "ask_about")
        await s.outcome(root, count=2)

        assert await s.slack.shortcut("bo", DEV, root, "ask_about")

        assert await told(s, 2) == [texts.ASKED_ALREADY] * 2
        assert len(s.kimi.requests) == 2


async def test_an_answer_of_ours_is_asked_about_by_its_menu_also_after_others(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("A semaphore counts.")
        root = await s.ask("@kimibot what is a semaphore?")
        [first] = await s.outcome(root)
        s.kimi.play("A mutex is owned.")
        await s.ask("@kimibot and a mutex?", thread=root)
        await s.outcome(root, count=2)

        s.kimi.play("It counts how many may enter.")
        assert await s.slack.shortcut("bo", DEV, first["ts"], "ask_about")

        [*_, explained] = await s.outcome(root, count=3)
        assert body(explained) == "It counts how many may enter."
        last = s.kimi.requests[-1].body["messages"][-1]
        assert last == {"role": "user", "content": texts.about_ours("A semaphore counts.")}
        [asker] = await s.rows("SELECT asker FROM turns WHERE kind = 'about'")
        assert asker == ("U0BO00001",)


async def test_what_is_ours_and_no_answer_is_not_asked_about(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask("@kimibot help")
        [reply] = await s.outcome(root)

        assert await s.slack.shortcut("bo", DEV, reply["ts"], "ask_about")

        assert await told(s, 1) == [texts.NOTHING_TO_ANSWER]
        assert s.kimi.requests == []


async def test_where_the_bot_is_no_member_the_asker_hears_how_to_invite_it(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        said = await s.slack.say("ana", "#without-bot", "Is it up?")

        assert await s.slack.shortcut("ana", "#without-bot", said, "ask_about")

        direct = await s.slack.open_direct("ana")

        async def told() -> list[Fields] | None:
            return await s.slack.messages(direct) or None

        [message] = await s.until(told, 10.0)
        assert "Invite me there with `/invite`" in message["text"]


async def test_going_on_that_was_stopped_before_a_word_can_be_tried_again(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root, cut_ts = await cut_answer(s)
        s.kimi.play("three", delay_seconds=400.0)
        await s.slack.click("ana", DEV, cut_ts, texts.CONTINUE)
        await s.reply(root, lambda found: len(found) == 2)
        await s.ask("stop", thread=root)
        [_, stopped] = await s.outcome(root, count=2)

        assert (body(stopped), button(stopped)) == ("", texts.TRY_AGAIN)
        s.kimi.play("three, four.")
        assert await s.slack.click("ana", DEV, stopped["ts"], texts.TRY_AGAIN)
        [_, rest] = await s.reply(root, lambda found: body(found[-1]) == "three, four.")
        assert rest["ts"] == stopped["ts"]
