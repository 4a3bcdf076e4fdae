"""What people see when Kimi fails: a friendly text with the trace id, and what there was."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from kimibot import texts
from kimibot.sandbox.kimi import Chunk, Counted, End, KimiOptions, local_kimi
from kimibot.sandbox.slack import local_slack
from kimibot.service import open_bot
from tests.whole_way.scene import DEV, Scene, body, bot_settings, button, note, open_scene


def ace(code: str, message: str = "no") -> str:
    error = {"code": code, "message": message}
    return json.dumps({"success": False, "error": error, "trace_id": "trace-77"})


def moonshot(type_: str, message: str) -> str:
    return json.dumps({"error": {"type": type_, "message": message}})


async def failed(s: Scene, *, replies: int = 1) -> tuple[str, str]:
    """The note and the button of the last reply to one ask."""
    root = await s.ask("@kimibot hello")
    found = await s.outcome(root)
    assert len(found) == replies
    return note(found[-1]), button(found[-1])


TABLE = [
    (401, ace("invalid_token"), "My key for Kimi was not accepted", ""),
    (403, ace("used_up"), "run out of quota", ""),
    (429, moonshot("exceeded_current_quota_error", "suspended"), "run out of quota", ""),
    (403, moonshot("permission_denied_error", "insufficient balance"), "run out of quota", ""),
    (429, ace("too_many_requests"), "Kimi is busy right now", "try_again"),
    (429, moonshot("engine_overloaded_error", "overloaded"), "Kimi is busy", "try_again"),
    (500, ace("api_error", "fetch failed"), "Kimi had a fault on its side", "try_again"),
    (502, "<html><h1>Bad gateway</h1></html>", "Kimi had a fault on its side", "try_again"),
    (400, ace("token_mismatched"), "Kimi refused the request", ""),
    (400, ace("api_not_implemented"), "Kimi refused the request", ""),
    (400, moonshot("invalid_request_error", "bad field"), "Kimi refused the request", ""),
    (404, moonshot("resource_not_found_error", "no such model"), "model is not available", ""),
    (500, "", "Kimi had a fault on its side", "try_again"),
    (418, "not json at all", "Kimi refused the request", ""),
]


@pytest.mark.parametrize(("status", "answer", "text", "action"), TABLE)
async def test_each_refusal_has_its_sentence_its_trace_id_and_its_button(
    tmp_path: Path, status: int, answer: str, text: str, action: str
) -> None:
    async with open_scene(tmp_path, KIMI_MAX_RETRIES="0") as s:
        kind = "text/html" if answer.startswith("<") else "application/json"
        s.kimi.refuse(status, answer, content_type=kind)

        said, pressed = await failed(s)

        assert text in said
        assert "\ntrace: " in said
        assert ("trace-77" in said) == ("trace-77" in answer)
        assert "<" not in said
        assert pressed == action


async def test_a_busy_kimi_is_told_while_it_is_tried_again(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.refuse(429, ace("too_many_requests"), headers={"Retry-After": "1"})
        root = await s.ask("@kimibot hello")
        await s.reply(root, lambda r: note(r[0]) == "Kimi is busy; retrying (1 of 1)…")
        [reply] = await s.outcome(root)

        assert body(reply)
        assert note(reply) == ""


@pytest.mark.parametrize("end", [End.EOF, End.RESET, End.CUT, End.ERROR])
async def test_partial_text_stays_and_the_error_stands_below_it(tmp_path: Path, end: End) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("Half ", "of it", delay_seconds=0.1, end=end)
        root = await s.ask("@kimibot hello")
        [reply] = await s.outcome(root)

        assert body(reply).startswith("Half of it")
        assert note(reply).startswith("The answer was cut off here.")
        assert button(reply) == texts.TRY_AGAIN
        [turn] = await s.rows("SELECT outcome, error_code FROM turns")
        assert tuple(turn) == ("failed", "cut_off")


async def test_a_cut_answer_is_not_remembered_as_a_whole_one(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play(Chunk(reasoning="hm"), "Half of it", delay_seconds=0.1, end=End.EOF)
        root = await s.ask("@kimibot hello")
        await s.outcome(root)
        await s.ask("go on", thread=root)
        await s.outcome(root, count=2)

        sent = s.kimi.requests[1].body["messages"][2]
        assert sent == {"role": "assistant", "content": "Half of it\n[cut off]"}


async def test_silence_before_the_first_word_ends_with_its_limit_named(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMI_FIRST_EVENT_TIMEOUT="0.6") as s:
        s.kimi.stall()

        said, pressed = await failed(s)

        assert "did not begin to answer within 0.6 s" in said
        assert pressed == texts.TRY_AGAIN


async def test_silence_in_mid_answer_keeps_the_text_and_frees_the_thread(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMI_IDLE_TIMEOUT="0.6") as s:
        s.kimi.play("Two ", "words", end=End.STALL)
        root = await s.ask("@kimibot hello")
        [reply] = await s.outcome(root)
        await s.ask("still there?", thread=root)
        await s.outcome(root, count=2)

        assert body(reply) == "Two words"
        assert "cut off here" in note(reply)
        [thread] = await s.rows("SELECT claim_owner FROM threads")
        assert thread.claim_owner is None


async def test_no_limit_ends_an_answer_while_its_text_flows(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMI_IDLE_TIMEOUT="0.5", KIMI_FIRST_EVENT_TIMEOUT="0.5") as s:
        s.kimi.play(*(f"{n} " for n in range(12)), delay_seconds=4.0)  # 0.2 s at this speed
        root = await s.ask("@kimibot hello")
        [reply] = await s.outcome(root)

        assert body(reply) == " ".join(str(n) for n in range(12))


async def test_long_thinking_counts_as_activity(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMI_IDLE_TIMEOUT="0.5", KIMI_FIRST_EVENT_TIMEOUT="0.5") as s:
        thinking = [Chunk(reasoning="hm ", wait_seconds=4.0) for _ in range(8)]
        s.kimi.play(*thinking, Chunk(content="Done."))
        root = await s.ask("@kimibot hello")
        [reply] = await s.outcome(root)

        assert body(reply) == "Done."


async def test_thinking_that_used_up_the_budget_gets_a_larger_one_once(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMI_MAX_COMPLETION_TOKENS="500") as s:
        s.kimi.reasoning_only("length")
        root = await s.ask("@kimibot hello")
        [reply] = await s.outcome(root)

        assert body(reply)
        budgets = [request.body["max_completion_tokens"] for request in s.kimi.requests]
        assert budgets == [500, 1000]


@pytest.mark.parametrize("reason", ["length", "stop"])
async def test_no_text_at_all_ends_in_a_clear_note_and_never_an_empty_message(
    tmp_path: Path, reason: str
) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.reasoning_only(reason, times=2)

        said, pressed = await failed(s)

        assert ("spent its whole budget" in said) == (reason == "length")
        assert pressed == texts.TRY_AGAIN


async def test_an_answer_at_its_limit_says_that_it_ends_there(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("As far as it goes", finish_reason="length")
        root = await s.ask("@kimibot hello")
        [reply] = await s.outcome(root)

        assert note(reply) == texts.REACHED_LIMIT


async def test_try_again_answers_in_place_once_even_on_a_double_click(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMI_MAX_RETRIES="0") as s:
        s.kimi.refuse(500, ace("api_error"))
        s.kimi.play("Here it is.", usage=Counted(10, 5))
        root = await s.ask("@kimibot hello")
        [bad] = await s.outcome(root)
        first = await s.slack.click("ana", DEV, bad["ts"], texts.TRY_AGAIN)
        assert first
        [good] = await s.reply(root, lambda r: body(r[0]) == "Here it is.")
        await s.outcome(root)

        assert (good["ts"], note(good), button(good)) == (bad["ts"], "", "")
        assert len(s.kimi.requests) == 2
        [turn] = await s.rows("SELECT outcome, attempt FROM turns")
        assert tuple(turn) == ("answered", 2)


async def test_two_quick_clicks_run_once(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMI_MAX_RETRIES="0") as s:
        s.kimi.refuse(500, ace("api_error"))
        root = await s.ask("@kimibot hello")
        [bad] = await s.outcome(root)
        clicks = [s.slack.click("ana", DEV, bad["ts"], texts.TRY_AGAIN) for _ in range(2)]
        assert await asyncio.gather(*clicks) == [True, True]
        await s.reply(root, lambda r: bool(body(r[0])))
        await s.outcome(root)

        assert len(s.kimi.requests) == 2


async def test_whoever_asked_together_may_try_again(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMI_MAX_RETRIES="0") as s:
        s.kimi.play("first ", Chunk(content="answer", wait_seconds=20.0))  # one second here
        s.kimi.refuse(500, ace("api_error"))
        root = await s.ask("@kimibot one")
        await s.ask("@kimibot two", thread=root)
        await s.ask("@kimibot three", user="bo", thread=root)
        *_, bad = await s.outcome(root, count=3)
        assert button(bad) == texts.TRY_AGAIN
        s.kimi.play("To both.")
        assert await s.slack.click("bo", DEV, bad["ts"], texts.TRY_AGAIN)

        await s.reply(root, lambda r: body(r[-1]) == "To both.")


async def test_a_stranger_who_clicks_is_told_kindly_and_changes_nothing(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMI_MAX_RETRIES="0") as s:
        s.kimi.refuse(500, ace("api_error"))
        root = await s.ask("@kimibot hello")
        [bad] = await s.outcome(root)
        await s.slack.click("bo", DEV, bad["ts"], texts.TRY_AGAIN)

        [whisper] = await s.slack.until(lambda: s.slack.ephemerals("bo"), 5.0)
        assert whisper["text"] == texts.NOT_YOURS
        assert len(s.kimi.requests) == 1


async def test_try_again_works_after_a_restart(tmp_path: Path) -> None:
    async with local_slack() as slack, local_kimi(options=KimiOptions(speed=20)) as kimi:
        settings = bot_settings(slack, kimi, tmp_path, KIMI_MAX_RETRIES="0")
        kimi.refuse(500, ace("api_error"))
        async with open_bot(settings) as bot:
            s = Scene(slack, kimi, bot)
            root = await s.ask("@kimibot hello")
            [bad] = await s.outcome(root)
        async with open_bot(settings) as bot:
            s = Scene(slack, kimi, bot)
            await slack.click("ana", DEV, bad["ts"], texts.TRY_AGAIN)
            [good] = await s.reply(root, lambda r: bool(body(r[0])))

            assert good["ts"] == bad["ts"]
