"""Never a 429 by our doing, and never a word lost to one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from kimibot.sandbox.kimi import Chunk, KimiOptions
from kimibot.slack.inline import BREAK
from tests.whole_way.scene import Scene, body, open_scene

REAL_TIME = KimiOptions(speed=1)


async def test_twelve_threads_at_slacks_limits_all_end_whole_without_a_429(tmp_path: Path) -> None:
    async with open_scene(tmp_path, kimi=REAL_TIME) as s:
        texts = {n: " ".join(f"{n}-{word}" for word in range(120)) for n in range(12)}
        for number, text in texts.items():
            words = [f"{word} " for word in text.split()]
            chunks = [Chunk(content=word, wait_seconds=0.1) for word in words]
            s.kimi.play(*chunks, where=f"thread {number} please")
        roots = {}
        for number in texts:
            channel = ("#dev", "#general", "#random")[number % 3]
            ts = await s.slack.say("ana", channel, f"@kimibot thread {number} please")
            roots[number] = (channel, ts)
        await _all_whole(s, roots, texts)

        assert (await s.slack.counters()).rate_limited == 0


async def _all_whole(s: Scene, roots: dict[int, tuple[str, str]], texts: dict[int, str]) -> None:
    async def look() -> bool:
        for number, (channel, ts) in roots.items():
            replies = await s.replies(ts, channel)
            shown = " ".join(body(reply).lstrip(BREAK) for reply in replies)
            if shown != texts[number]:
                return False
        return True

    await s.slack.until(look, 60.0)


async def test_refused_edits_delay_the_end_and_cost_no_text(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play(*(f"word{n} " for n in range(50)), delay_seconds=1.0)
        root = await s.ask("@kimibot hello")
        await s.reply(root, lambda r: bool(body(r[0])))
        await s.slack.fail("chat.update", status=429, retry_after_seconds=1, times=3)
        [reply] = await s.outcome(root)

        assert body(reply).endswith("word49")
        assert (await s.slack.counters()).rate_limited == 3


async def test_after_a_429_the_method_rests_for_all_replies(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        for number in range(3):
            s.kimi.play(*(f"w{n} " for n in range(40)), delay_seconds=1.0, where=f"ask {number}")
        roots = [await s.ask(f"@kimibot ask {number}") for number in range(3)]
        for root in roots:
            await s.reply(root, lambda r: bool(body(r[0])))
        await s.slack.fail("chat.update", status=429, retry_after_seconds=2)
        for root in roots:
            await s.outcome(root)

        calls = await s.slack.calls("chat.update")
        refused = next(call for call in calls if call.status == 429)
        others = [call.at for call in calls if refused.at < call.at < refused.at + 1.9]
        under_way = [at for at in others if at < refused.at + 0.1]
        assert others == under_way


async def test_the_last_edit_waits_for_the_one_under_way_and_wins(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        await s.slack.delay("chat.update", 1.5)
        s.kimi.play("early ", Chunk(content="late", wait_seconds=2.0))
        root = await s.ask("@kimibot hello")
        [reply] = await s.outcome(root)
        await asyncio.sleep(0.3)

        assert body(reply) == body((await s.replies(root))[0]) == "early late"
