"""From what people and logs see to the life of the turn, beside the bot that runs."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from kimibot.cli import main
from kimibot.turns import Outcome
from tests.whole_way.scene import Scene, note, open_scene

BUSY = '{"error": {"type": "engine_overloaded_error", "message": "overloaded"}}'


def fields(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, Any]]:
    """The fields of all lines that say this."""
    return [vars(record) for record in caplog.records if record.getMessage() == message]


async def traced(
    sought: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, env: pytest.MonkeyPatch
) -> dict[str, str]:
    """What the command prints, by its labels."""
    env.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/bot.db")
    env.chdir(tmp_path)
    assert await asyncio.to_thread(main, ["trace", sought]) == 0
    lines = capsys.readouterr().out.splitlines()
    return {line[:15].strip(): line[15:] for line in lines if line}


async def failed(s: Scene) -> dict[str, Any]:
    """The reply that tells of a busy Kimi, after one retry."""
    s.kimi.refuse(429, BUSY, times=2)
    [reply] = await s.outcome(await s.ask("@kimibot hello"))
    return reply


async def test_the_trace_id_that_a_thread_shows_leads_to_the_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_scene(tmp_path) as s:
        reply = await failed(s)
        trace_id = note(reply).rpartition("trace: ")[2]
        told = await traced(trace_id, capsys, tmp_path, monkeypatch)

    assert told["outcome"] == "failed (busy)"
    assert told["parts"] == reply["ts"]
    assert [step in told for step in ("accepted", "claimed", "shown", "ended")] == [True] * 4


async def test_the_link_to_a_reply_leads_to_the_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask("@kimibot hello")
        [reply] = await s.outcome(root)
        [turn] = await s.rows("SELECT channel, id FROM turns")
        path = f"archives/{turn.channel}/p{reply['ts'].replace('.', '')}?thread_ts={root}"
        told = await traced(f"https://acme.slack.com/{path}", capsys, tmp_path, monkeypatch)

    assert told["turn"] == turn.id
    assert told["outcome"] == Outcome.ANSWERED
    assert told["ask"] == root
    assert told["finish reason"] == "stop"


async def test_the_line_that_ends_a_turn_has_the_ids_that_lead_to_it(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "kimibot")
    async with open_scene(tmp_path) as s:
        await s.outcome(await s.ask("@kimibot hello"))
        await s.slack.until(lambda: _said(caplog, "turn ended"), 5.0)
        [line] = fields(caplog, "turn ended")

        told = await traced(line["turn"], capsys, tmp_path, monkeypatch)
        for name in ("event_id", "trace_id", "completion_id"):
            assert await traced(line[name], capsys, tmp_path, monkeypatch) == told
    assert told["completion id"] == line["completion_id"]


async def _said(caplog: pytest.LogCaptureFixture, message: str) -> bool:
    return bool(fields(caplog, message))


async def test_what_went_wrong_with_kimi_is_logged_in_fields(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kimibot")
    async with open_scene(tmp_path) as s:
        await failed(s)
        [turn] = await s.rows("SELECT id, trace_id FROM turns")

    [retried] = fields(caplog, "kimi is tried again")
    [failure] = fields(caplog, "kimi failed")
    assert (retried["error_code"], retried["retry"], retried["of"]) == ("busy", 1, 1)
    assert (failure["error_code"], failure["status"]) == ("busy", 429)
    assert (failure["turn"], failure["trace_id"]) == (turn.id, turn.trace_id)
