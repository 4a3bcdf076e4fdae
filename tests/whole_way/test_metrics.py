"""A look at /metrics after a scene: everything that happened is counted, once."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from kimibot.sandbox.kimi import Chunk
from tests.whole_way.scene import DEV, Scene, open_scene

Series = dict[tuple[str, str], float]
"""Values by name and labels, as `error= outcome=answered`."""


async def look(s: Scene) -> Series:
    async with httpx.AsyncClient() as client:
        response = await client.get(f"http://127.0.0.1:{s.bot.port}/metrics")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return {
        (one.name, " ".join(f"{name}={value}" for name, value in one.labels.items())): one.value
        for family in text_string_to_metric_families(response.text)
        for one in family.samples
    }


async def at_rest(s: Scene) -> Series:
    """What is told once every turn is counted: a moment after its row is kept."""

    async def is_still() -> Series | None:
        seen = await look(s)
        is_busy = seen["kimibot_open_asks", ""] or seen["kimibot_live_answers", ""]
        ended = sum(value for (name, _), value in seen.items() if name == "kimibot_turns_total")
        rows = await s.rows("SELECT count(*) FROM turns WHERE ended_at IS NOT NULL")
        return None if is_busy or ended < rows[0][0] else seen

    found: Series = await s.slack.until(is_still, 10.0)
    return found


@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_one_answer_is_counted_in_all_its_parts(tmp_path: Path, over_http: bool) -> None:
    async with open_scene(tmp_path, over_http=over_http) as s:
        s.kimi.play(Chunk(reasoning="hm"), *(f"word{n} " for n in range(40)), delay_seconds=0.5)
        root = await s.ask("@kimibot hello")
        await s.outcome(root)
        seen = await at_rest(s)

    assert seen["kimibot_turns_total", "error= outcome=answered"] == 1
    for step in ("accepted_to_claimed", "accepted_to_shown", "first_to_last_delta"):
        assert seen["kimibot_turn_step_seconds_count", f"step={step}"] == 1
    whole = seen["kimibot_turn_step_seconds_sum", "step=accepted_to_kept"]
    assert 0 < seen["kimibot_turn_step_seconds_sum", "step=first_to_last_delta"] < whole < 15
    assert seen["kimibot_tokens_total", "kind=completion"] > 0
    assert seen["kimibot_slack_calls_total", "method=chat.postMessage result=ok"] == 1
    shown = seen["kimibot_reply_texts_total", "fate=shown"]
    assert 1 <= shown <= seen["kimibot_slack_calls_total", "method=chat.update result=ok"]
    assert shown + seen["kimibot_reply_texts_total", "fate=skipped"] == 40
    assert seen["kimibot_events_total", ""] >= 1
    assert seen["kimibot_seconds_since_last_event", ""] < 15
    assert seen["kimibot_kimi_streams", ""] == 0
    assert seen.get(("kimibot_socket_open", "")) == (None if over_http else 1)


async def test_a_growing_answer_is_seen_while_it_grows(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.stall(where="slow")
        root = await s.ask("@kimibot slow")
        await s.reply(root, bool)
        await s.slack.until(partial(is_streaming, s), 5.0)
        seen = await look(s)

        assert seen["kimibot_open_asks", ""] == 1
        assert seen["kimibot_live_answers", ""] == 1
        assert seen["kimibot_turns_total", "error= outcome=answered"] == 0


async def is_streaming(s: Scene) -> bool:
    return (await look(s))["kimibot_kimi_streams", ""] == 1


async def test_what_failed_is_counted_under_its_name_and_retries_apart(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.refuse(429, '{"error": {"type": "engine_overloaded_error"}}', times=2)
        await s.outcome(await s.ask("@kimibot hello"))
        seen = await at_rest(s)

    assert seen["kimibot_kimi_errors_total", "error=busy retried=yes"] == 1
    assert seen["kimibot_kimi_errors_total", "error=busy retried=no"] == 1
    assert seen["kimibot_turns_total", "error=busy outcome=failed"] == 1
    assert seen["kimibot_turn_step_seconds_count", "step=last_delta_to_kept"] == 0


async def test_a_429_of_slack_is_counted_by_its_method(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("Four.", delay_seconds=1.0)
        await s.slack.fail("chat.update", status=429, retry_after_seconds=1, times=1)
        await s.outcome(await s.ask("@kimibot two and two?"))
        seen = await at_rest(s)

    assert seen["kimibot_slack_calls_total", "method=chat.update result=rate_limited"] == 1
    assert seen["kimibot_turns_total", "error= outcome=answered"] == 1


async def test_no_label_names_a_team_a_channel_or_a_person(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask("@kimibot hello")
        await s.outcome(root)
        labels = {labels for _, labels in await at_rest(s)}
        [turn] = await s.rows("SELECT team, channel, asker, id, ts FROM turns")

    told = " ".join(labels)
    assert [word for word in (*turn, DEV) if word in told] == []
