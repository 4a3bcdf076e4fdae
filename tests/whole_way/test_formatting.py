"""What readers see: nothing lost, nothing pinging, nothing unfurled, always a readable text."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from pathlib import Path

import pytest

from kimibot.slack.markdown import unescape
from tests.slack.test_golden import FENCE, SAMPLES, WORD, read
from tests.whole_way.scene import DEV, body, note, open_scene

CODE = "x = a && b\nif x < y:\n    print('C:\\\\Projects\\\\*', `_~|`)  # <T> & <!channel>"


async def test_code_in_a_closed_fence_is_shown_byte_for_byte(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("Like so:\n\n", "```python\n", *CODE.splitlines(True), "\n```\n")
        [reply] = await s.outcome(await s.ask("@kimibot show me"))

        assert f"```python\n{CODE}\n```" in body(reply)
        assert await s.slack.pings() == []


async def test_a_growing_code_block_is_closed_in_every_edit(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        lines = [f"line {n}\n" for n in range(30)]
        s.kimi.play("```\n", *lines, "```\n\nDone.", delay_seconds=2.0)
        await s.outcome(await s.ask("@kimibot show me"))

        shown = [call.arguments["blocks"] for call in await s.slack.calls("chat.update")]
        growing = [blocks[0]["text"] for blocks in shown if blocks[0]["type"] == "markdown"]
        assert len(growing) > 1
        assert all(text.count("```") == 2 for text in growing)


FORMS = ["<!channel>", "<!here>", "<!everyone>", "<@U0ANA0001>", "<!subteam^S0TEAM>", "<#C0DEV>"]


@pytest.mark.parametrize("form", FORMS)
async def test_nothing_that_the_model_writes_can_ping(tmp_path: Path, form: str) -> None:
    half = len(form) // 2
    async with open_scene(tmp_path) as s:
        s.kimi.play(f"{form} a {form[:half]}", f"{form[half:]} `{form}`\n> {form}\n\n```\n{form}\n")
        s.kimi.play("```\n", f"{form}\n", "```\n", f"{form} **{form}** [{form}](https://x.example)")
        root = await s.ask("@kimibot hello")
        await s.outcome(root)
        await s.ask("again", thread=root)
        await s.outcome(root, count=2)

        assert await s.slack.pings() == []
        assert await s.slack.complaints() == []


async def test_an_error_of_kimis_can_not_ping_either(tmp_path: Path) -> None:
    answer = '{"error": {"code": "<!channel>", "message": "<!here>"}, "trace_id": "<!channel>"}'
    async with open_scene(tmp_path) as s:
        s.kimi.refuse(400, answer)
        [reply] = await s.outcome(await s.ask("@kimibot hello"))

        assert "<" not in note(reply)
        assert await s.slack.pings() == []


async def test_no_link_in_an_answer_unfurls(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("See https://example.com/a?b=1&c=2 and [this](https://example.com/x).")
        await s.outcome(await s.ask("@kimibot hello"))

        assert await s.slack.unfurls() == []


async def test_every_message_has_a_short_readable_text_for_notifications(tmp_path: Path) -> None:
    long = "Some **bold** words & more <here>. " * 400
    async with open_scene(tmp_path) as s:
        s.kimi.play(*[long[at : at + 300] for at in range(0, len(long), 300)], delay_seconds=0.5)
        await s.outcome(await s.ask("@kimibot hello"))

        calls = await s.slack.calls("chat.postMessage") + await s.slack.calls("chat.update")
        texts = [call.arguments["text"] for call in calls]
        assert all(0 < len(text) <= 300 for text in texts)


@pytest.mark.parametrize("code", ["invalid_blocks", "msg_blocks_too_long", "invalid_arguments"])
async def test_refused_blocks_lose_no_text(tmp_path: Path, code: str) -> None:
    text = "| a | b |\n|---|---|\n|  | 2 |\n\nAnd so on, with `code` & <T>. " + "More of it. " * 900
    async with open_scene(tmp_path) as s:
        await s.slack.configure(rate_limits=False)
        await s.slack.fail("chat.update", code, only_with="blocks", times=None)
        s.kimi.play(text)
        replies = await s.outcome(await s.ask("@kimibot a table, please"))

        shown = " ".join(reply["text"] for reply in replies)
        assert all("blocks" not in reply for reply in replies)
        assert all(len(reply["text"]) <= 3_900 for reply in replies)
        assert shown.count("More of it.") == 900
        assert "&lt;T&gt;" in shown


async def test_all_samples_in_one_answer_lose_no_word_to_refused_blocks(tmp_path: Path) -> None:
    text = "\n\n".join(read(name)[0] for name in SAMPLES)
    async with open_scene(tmp_path) as s:
        await s.slack.configure(rate_limits=False)
        await s.slack.fail("chat.update", "invalid_blocks", only_with="blocks", times=None)
        s.kimi.play(*(text[at : at + 700] for at in range(0, len(text), 700)), delay_seconds=0.5)
        replies = await s.outcome(await s.ask("@kimibot all of it, please"))

        shown = unescape("".join(reply["text"] for reply in replies))
        assert len(replies) > 1
        assert Counter(WORD.findall(FENCE.sub("", text))) <= Counter(WORD.findall(shown))
        assert await s.slack.pings() == []


@pytest.mark.parametrize(
    "text",
    [
        "> run `cmd`",
        '`a && b <c> "x" https://h.example/?a=1&b=2`',
        'a && b <c> "x" https://h.example/?a=1&b=2',
        "`npm i @vercel/pg`, https://x.example/@me, a@b.example",
        "这是**重点**内容，请运行`ls`命令。",
        "👩‍👩‍👧‍👦🏳️‍🌈é́",
        "# Only a heading",
        "---",
        "|",
    ],
)
async def test_odd_text_is_shown_and_never_empty(tmp_path: Path, text: str) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play(text)
        [reply] = await s.outcome(await s.ask("@kimibot hello"))

        assert body(reply).strip()
        assert await s.slack.complaints() == []
        assert await s.slack.pings() == []


async def test_no_secret_and_no_word_of_the_conversation_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="kimibot")
    async with open_scene(tmp_path) as s:
        s.kimi.play("ANSWER canary")
        s.kimi.refuse(500, '{"error": {"message": "fetch failed"}}', times=5)
        root = await s.ask("@kimibot QUESTION canary")
        await s.outcome(root)
        await s.ask("QUESTION canary too", thread=root)
        await s.outcome(root, count=2)

    said = caplog.text
    assert "turn ended" in said
    for word in ("canary", "xoxb-", "xapp-", "local-fake-key", "local-fake-secret"):
        assert word not in said


async def test_a_closed_channel_is_told_to_the_asker_in_a_direct_message(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("too late", delay_seconds=10.0)
        await s.slack.pause_delivery()
        await s.ask("@kimibot hello")
        await s.slack.change_channel(DEV, is_archived=True)
        await s.slack.resume_delivery()
        direct = await s.slack.open_direct("ana")

        async def look() -> list[dict[str, object]]:
            return await s.slack.messages(direct)

        [told] = await s.slack.until(look, 10.0)
        assert "the channel is archived" in str(told["text"])
        await asyncio.sleep(0.3)
        assert len(await s.slack.calls("chat.postMessage")) == 2
