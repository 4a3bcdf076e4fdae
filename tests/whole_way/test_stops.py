"""Every way of stopping an answer, seen from the channel."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from kimibot import texts
from kimibot.sandbox.kimi import Chunk, KimiOptions
from kimibot.sandbox.slack.people import BO, MEI
from kimibot.storage.tables import turns
from tests.whole_way.scene import DEV, Fields, Scene, body, button, note, open_scene

REAL_TIME = KimiOptions(speed=1)
VISIBLE_SECONDS = 1.5
"""A second is promised; this machine may be busy."""

Stopping = Callable[[Scene, str, Fields], Awaitable[object]]


async def by_word(s: Scene, root: str, reply: Fields) -> None:
    await s.ask("Stop!", thread=root)


async def by_button(s: Scene, root: str, reply: Fields) -> None:
    await s.slack.click("ana", DEV, reply["ts"], texts.STOP)


async def by_cross(s: Scene, root: str, reply: Fields) -> None:
    await s.slack.react("ana", DEV, reply["ts"], "x")


async def by_stop_sign(s: Scene, root: str, reply: Fields) -> None:
    await s.slack.react("ana", DEV, reply["ts"], "octagonal_sign")


ALL_WAYS = pytest.mark.parametrize("stopping", [by_word, by_button, by_cross, by_stop_sign])


async def begun(s: Scene, question: str = "@kimibot tell me a long story") -> tuple[str, Fields]:
    """A root and its reply, of whose minute of text some words are shown."""
    s.kimi.play(*(Chunk(content=f"word{n} ", wait_seconds=0.1) for n in range(600)))
    root = await s.ask(question)
    [reply] = await s.reply(root, lambda r: "word3" in body(r[0]))
    return root, reply


async def until_note(s: Scene, root: str, words: str) -> list[Fields]:
    return await s.reply(root, lambda r: words in note(r[-1]), seconds=VISIBLE_SECONDS)


@ALL_WAYS
async def test_a_stop_is_seen_within_a_second_and_the_text_stays(
    tmp_path: Path, stopping: Stopping
) -> None:
    async with open_scene(tmp_path, kimi=REAL_TIME) as s:
        root, growing = await begun(s)
        assert button(growing) == texts.STOP
        await stopping(s, root, growing)
        [reply] = await until_note(s, root, "Stopped by ana.")

        assert body(reply).startswith("word0 word1 ")
        assert button(reply) == texts.CONTINUE
        await s.outcome(root)
        [turn] = await s.rows("SELECT outcome, stop_requested FROM turns")
        assert tuple(turn) == ("stopped", "person")
        [answer] = await s.rows("SELECT finish_reason FROM messages WHERE speaker = 'us'")
        assert answer.finish_reason is None


async def test_a_stopped_answer_is_read_as_cut_off_and_the_word_not_at_all(tmp_path: Path) -> None:
    async with open_scene(tmp_path, kimi=REAL_TIME) as s:
        root, growing = await begun(s)
        await by_word(s, root, growing)
        await s.outcome(root)
        s.kimi.play("Shorter.")
        await s.ask("@kimibot shorter please", thread=root)
        await s.outcome(root, count=2)

        read = s.kimi.requests[-1].body["messages"]
        assert read[2]["content"].endswith("[cut off]")
        assert not any("top!" in str(message["content"]) for message in read)


async def test_a_message_that_merely_has_the_word_in_it_is_an_ask_that_waits(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("first ", Chunk(content="answer", wait_seconds=40.0))
        root = await s.ask("@kimibot hello")
        await s.reply(root, bool)
        await s.ask("@kimibot stop the deploy", thread=root)
        replies = await s.outcome(root, count=2)

        assert body(replies[0]) == "first answer"
        assert len(replies) == 2


@pytest.mark.parametrize("delay_seconds", [0.0, 0.05, 0.3])
async def test_a_stop_right_after_the_ask_counts(tmp_path: Path, delay_seconds: float) -> None:
    async with open_scene(tmp_path, kimi=REAL_TIME) as s:
        s.kimi.stall()
        root = await s.ask("@kimibot hello")
        await asyncio.sleep(delay_seconds)
        await s.ask("stop", thread=root)
        [reply] = await s.outcome(root)

        assert note(reply) == "Stopped by ana."
        assert body(reply) == ""


async def test_a_stop_that_is_delivered_before_its_ask_counts(tmp_path: Path) -> None:
    async with open_scene(tmp_path, kimi=REAL_TIME) as s:
        s.kimi.stall()
        root, word = await ask_and_stop_unheard(s)
        await deliver(s, word)
        assert await s.rows("SELECT * FROM turns") == []
        await deliver(s, root)
        [reply] = await s.outcome(root)

        assert note(reply) == "Stopped by ana."


async def ask_and_stop_unheard(s: Scene) -> tuple[str, str]:
    """A root and the word after it, of which Slack has not told us yet."""
    await s.slack.configure(events=[])
    root = await s.ask("@kimibot hello")
    return root, await s.ask("stop", thread=root)


async def deliver(s: Scene, ts: str, connection: int | None = None) -> None:
    """Let us hear now of what was said then."""
    [message] = [message for message in await s.slack.messages(DEV) if message["ts"] == ts]
    channel = s.slack.parts.workspace.channel(DEV).id
    event = message | {"channel": channel, "channel_type": "channel"}
    event_id = await s.slack.send_event(event, connection=connection)

    async def is_acknowledged() -> bool:
        records = await s.slack.deliveries(event_id)
        return any(record.ack_seconds is not None for record in records)

    await s.slack.until(is_acknowledged, 5.0)


async def test_a_waiting_ask_is_stopped_with_the_running_one(tmp_path: Path) -> None:
    async with open_scene(tmp_path, kimi=REAL_TIME) as s:
        root, growing = await begun(s)
        await s.ask("@kimibot and another one", user="bo", thread=root)
        await s.until_stored(2)
        await by_word(s, root, growing)
        replies = await s.outcome(root, count=2)

        assert [note(reply) for reply in replies] == ["Stopped by ana."] * 2
        assert len(s.kimi.requests) == 1


async def test_a_stranger_can_neither_press_nor_say_nor_react(tmp_path: Path) -> None:
    async with open_scene(tmp_path, kimi=REAL_TIME) as s:
        root, growing = await begun(s)
        await s.slack.click("mei", DEV, growing["ts"], texts.STOP)
        await s.ask("stop", user="bo", thread=root)
        await s.slack.react("bo", DEV, growing["ts"], "x")

        async def both_told() -> bool:
            whispers = await s.slack.ephemerals()
            return {whisper["to"] for whisper in whispers} == {MEI.id, BO.id}

        await s.slack.until(both_told, 5.0)
        assert {w["text"] for w in await s.slack.ephemerals()} == {texts.NOT_YOURS_TO_STOP}
        [reply] = await s.replies(root)
        assert note(reply) == ""


async def test_who_takes_part_in_the_thread_may_stop(tmp_path: Path) -> None:
    async with open_scene(tmp_path, kimi=REAL_TIME) as s:
        root, growing = await begun(s)
        await s.ask("I would roll back", user="bo", thread=root)
        await s.until_stored(2)
        await s.slack.click("bo", DEV, growing["ts"], texts.STOP)

        await until_note(s, root, "Stopped by bo.")


async def test_who_speaks_to_us_in_vain_is_told_that_nothing_runs(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask("@kimibot hello")
        await s.outcome(root)
        await s.ask("@kimibot stop", thread=root)
        [whisper] = await s.slack.until(lambda: s.slack.ephemerals("ana"), 5.0)

        assert whisper["text"] == texts.NOTHING_TO_STOP
        assert len(s.kimi.requests) == 1


async def test_in_a_direct_conversation_the_word_stops_what_runs_there(tmp_path: Path) -> None:
    async with open_scene(tmp_path, kimi=REAL_TIME) as s:
        s.kimi.stall()
        direct = await s.slack.open_direct("ana")
        root = await s.slack.say("ana", direct, "hello")
        await s.reply(root, lambda r: "Thinking" in note(r[0]), channel=direct)
        await s.slack.say("ana", direct, "stop")
        await s.reply(root, lambda r: "Stopped" in note(r[0]), channel=direct, seconds=2)

        assert len(s.kimi.requests) == 1


async def test_a_deleted_question_takes_its_reply_with_it(tmp_path: Path) -> None:
    async with open_scene(tmp_path, kimi=REAL_TIME) as s:
        root, _ = await begun(s, "@kimibot my password is CANARY")
        await s.slack.delete("ana", DEV, root)
        await s.outcome(root)
        calls = len(await s.slack.calls())
        await asyncio.sleep(1.0)

        assert await s.slack.thread(DEV, root) == []
        assert len(await s.slack.calls()) == calls
        assert "CANARY" not in str(await s.rows("SELECT * FROM messages"))
        [turn] = await s.rows("SELECT outcome FROM turns")
        assert turn.outcome == "stopped"


async def test_a_question_that_is_deleted_while_it_waits_is_not_answered(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("first ", Chunk(content="answer", wait_seconds=40.0))
        root = await s.ask("@kimibot hello")
        await s.reply(root, bool)
        second = await s.ask("@kimibot my password is CANARY", thread=root)
        await s.until_stored(2)
        await s.slack.delete("ana", DEV, second)
        replies = await s.outcome(root, count=2)

        assert [body(reply) for reply in replies] == ["first answer"]
        assert len(s.kimi.requests) == 1


async def test_what_was_deleted_is_not_sent_to_the_model(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        for _ in range(3):
            s.kimi.play("Fine.")
        root = await s.ask("@kimibot hello")
        await s.outcome(root)
        second = await s.ask("@kimibot my password is CANARY", thread=root)
        await s.outcome(root, count=2)
        await s.slack.delete("ana", DEV, second)
        await s.slack.until(lambda: _is_emptied(s, second), 5.0)
        await s.ask("@kimibot what did I say?", thread=root)
        await s.outcome(root, count=3)

        assert "CANARY" not in str(s.kimi.requests[-1].body)


async def _is_emptied(s: Scene, ts: str) -> bool:
    [row] = await s.rows("SELECT deleted_at FROM messages WHERE ts = :ts", ts=ts)
    return row.deleted_at is not None


async def test_a_deleted_reply_stops_the_answer_and_stays_away(tmp_path: Path) -> None:
    async with open_scene(tmp_path, kimi=REAL_TIME) as s:
        root, growing = await begun(s)
        began = time.monotonic()
        await s.slack.delete("ana", DEV, growing["ts"])
        await s.outcome(root)

        assert time.monotonic() - began < 2
        assert await s.replies(root) == []
        assert await s.rows("SELECT * FROM messages WHERE speaker = 'us'") == []


async def test_a_waiting_ask_is_marked_until_its_own_reply_begins(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("first ", Chunk(content="answer", wait_seconds=40.0))
        s.kimi.play("second answer")
        root = await s.ask("@kimibot first")
        await s.reply(root, bool)
        second = await s.ask("@kimibot second", thread=root)
        third = await s.ask("@kimibot third", user="bo", thread=root)
        for ts in (second, third):
            await s.slack.until(lambda ts=ts: _marks(s, ts), 5.0)  # type: ignore[misc]
        await s.outcome(root, count=3)
        await s.slack.until(lambda: _has_no_mark(s, second), 5.0)

        assert await _marks(s, root) == []
        assert await _marks(s, third) == ["eyes"]


async def test_without_the_scope_for_marks_all_is_answered_the_same(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        await s.slack.fail("reactions.add", "missing_scope", needed="reactions:write", times=None)
        s.kimi.play("first ", Chunk(content="answer", wait_seconds=40.0))
        root = await s.ask("@kimibot first")
        await s.reply(root, bool)
        await s.ask("@kimibot second", thread=root)
        await s.outcome(root, count=2)

        assert await s.slack.calls("reactions.add")


async def test_over_its_own_limit_the_bot_says_how_many_are_ahead(tmp_path: Path) -> None:
    async with open_scene(tmp_path, kimi=REAL_TIME, KIMI_CONCURRENCY="1") as s:
        s.kimi.play(Chunk(content="done", wait_seconds=3.0))
        roots = [await s.ask(f"@kimibot question {number}") for number in range(3)]
        await s.reply(roots[1], lambda r: note(r[0]).startswith("Queued, 1 ahead"))
        await s.reply(roots[2], lambda r: note(r[0]).startswith("Queued, 2 ahead"))
        for root in roots:
            [reply] = await s.outcome(root)
            assert note(reply) == ""


async def test_who_has_waited_long_is_told_in_a_message_that_wakes_nobody(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("first ", Chunk(content="answer", wait_seconds=40.0))
        s.kimi.play("second answer")
        root = await s.ask("@kimibot first")
        await s.reply(root, bool)
        await s.ask("@kimibot second", user="bo", thread=root)
        await s.until_stored(2)
        async with s.bot.database.writing() as connection:
            await connection.execute(
                update(turns).where(turns.c.asker == BO.id).values(accepted_at=a_while_ago())
            )
        await s.outcome(root, count=2)
        replies = await s.reply(root, lambda r: len(r) == 3)

        assert replies[-1]["text"] == f"<@{BO.id}> {texts.YOUR_ANSWER_IS_READY}"
        assert [ping.mention for ping in await s.slack.pings()] == [f"<@{BO.id}>"]
        assert len(s.kimi.requests) == 2


def a_while_ago() -> datetime:
    return datetime.now(UTC) - timedelta(seconds=90)


async def _marks(s: Scene, ts: str) -> list[str]:
    messages = {message["ts"]: message for message in await s.slack.messages(DEV)}
    return [reaction["name"] for reaction in messages[ts].get("reactions", [])]


async def _has_no_mark(s: Scene, ts: str) -> bool:
    return await _marks(s, ts) == []
