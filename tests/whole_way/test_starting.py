"""The bot at its start and end: what it says of itself, and of what keeps it from running."""

from __future__ import annotations

import gc
import logging
import socket
from pathlib import Path

import pytest

from kimibot.errors import BadSettings
from kimibot.sandbox.kimi import KimiOptions, local_kimi
from kimibot.sandbox.slack import local_slack
from kimibot.service import drain, open_bot
from kimibot.settings import Settings
from tests.whole_way.scene import body, bot_environment, open_scene

SLOW = KimiOptions(speed=0.5)


async def refused(folder: Path, **environment: str) -> list[str]:
    """What a bot says that can't start with these settings."""
    async with local_slack() as slack, local_kimi() as kimi:
        with pytest.raises(BadSettings) as told:
            settings = Settings.load(bot_environment(slack, kimi, folder) | environment)
            async with open_bot(settings):
                pass
    return told.value.lines


async def test_a_port_in_use_is_told_and_leaves_nothing_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        lines = await refused(tmp_path, PORT=str(port))
    gc.collect()  # what was left open would complain now

    assert lines == [f"PORT: can't listen on 127.0.0.1:{port}: Address already in use"]
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_host_that_is_not_ours_is_told(tmp_path: Path) -> None:
    (line,) = await refused(tmp_path, HOST="no such host")

    assert line.startswith("HOST: no such host is no address of ours: ")


async def test_refused_tokens_come_with_what_to_do(tmp_path: Path) -> None:
    lines = await refused(tmp_path, SLACK_BOT_TOKEN="xoxb-other", SLACK_APP_TOKEN="xapp-other")

    assert lines == [
        f"{name}: Slack says invalid_auth: copy {name} anew from the app's page"
        for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN")
    ]


async def test_one_line_says_who_starts_between_whom(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kimibot")
    async with open_scene(tmp_path):
        pass

    (start,) = [vars(one) for one in caplog.records if one.message == "starting"]
    assert {name: start[name] for name in ("bot", "workspace", "mode", "provider", "model")} == {
        "bot": "kimibot",
        "workspace": "T0LOCAL01",
        "mode": "socket",
        "provider": "custom",
        "model": "kimi-k3",
    }
    assert start["database"] == f"SQLite file {tmp_path}/bot.db"


async def test_a_drain_says_how_many_answers_run_and_when_it_is_done(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kimibot")
    async with open_scene(tmp_path, kimi=SLOW, KIMIBOT_DRAIN_SECONDS="0.2") as s:
        root = await s.ask("@kimibot How would you build a job queue on PostgreSQL?")
        await s.reply(root, lambda replies: bool(body(replies[0])))
        await drain(s.bot)

    told = [(one.message, vars(one).get("running")) for one in caplog.records]
    assert [one for one in told if one[0].startswith("drain")] == [
        ("draining, for at most 0.2 s", 1),
        ("drained", 0),
    ]
