"""A day's tokens, from the first answer to the refusal, as the people of a workspace see them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kimibot.sandbox.kimi import Counted, End
from kimibot.storage.usage import DayUsage
from kimibot.storage.usage_store import UsageStore
from tests.whole_way.scene import Scene, body, note, open_scene


async def told(s: Scene, user: str = "ana") -> tuple[str, str]:
    """The text and the note of the reply to one ask in a thread of its own."""
    [reply] = await s.outcome(await s.ask("@kimibot hello", user=user))
    return body(reply), note(reply)


async def used(s: Scene) -> list[DayUsage]:
    return await UsageStore(s.bot.database).report(datetime(2026, 1, 1, tzinfo=UTC).date())


async def test_a_person_is_warned_once_and_then_refused_while_others_go_on(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path, KIMIBOT_DAILY_TOKENS_PER_PERSON="10000") as s:
        for completion_tokens in (4_000, 3_500, 1_000, 500, 1_000):
            s.kimi.play("Fine.", usage=Counted(500, completion_tokens))

        assert await told(s) == ("Fine.", "")  # 4,500
        warned = await told(s)  # 8,500
        assert warned[0] == "Fine."
        assert "You have used 8,500 of 10,000 tokens for today." in warned[1]
        assert await told(s) == ("Fine.", "")  # 10,000

        refused = await told(s)
        assert refused[0] == ""
        assert refused[1].startswith("You have used your 10,000 tokens for today, so")
        assert "|at 00:00 UTC>." in refused[1]
        assert await told(s, "bo") == ("Fine.", "")
        assert len(s.kimi.requests) == 4
        outcomes = await s.rows("SELECT outcome FROM turns ORDER BY ts")
        assert [row.outcome for row in outcomes] == ["answered"] * 3 + ["refused", "answered"]


async def test_one_answer_can_not_run_far_over_what_is_left(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMIBOT_DAILY_TOKENS_PER_PERSON="10000") as s:
        s.kimi.play("Fine.", usage=Counted(500, 7_000))
        s.kimi.play("As far as it", finish_reason="length")
        await told(s)

        _, ended = await told(s)

        assert "it has reached the end of your 10,000 tokens for today" in ended
        budgets = [request.body["max_completion_tokens"] for request in s.kimi.requests]
        assert 7_500 < budgets[0] < 10_000
        assert 1_000 <= budgets[1] < 2_500


@pytest.mark.parametrize("end", [End.EOF, End.CUT])
async def test_what_a_broken_answer_has_taken_counts(tmp_path: Path, end: End) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("x" * 300, end=end)
        await told(s)

        [row] = await used(s)
        assert (row.person, row.turns) == ("U0ANA0001", 1)
        assert row.prompt_tokens > 0
        assert row.completion_tokens >= 100
