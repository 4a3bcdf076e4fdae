"""What the commands print, and how they end."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kimibot import __version__
from kimibot.cli import main
from kimibot.settings import variables
from kimibot.slack.manifest import manifest
from kimibot.storage import open_database


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every command runs where there is no `.env`, in an environment that sets nothing."""
    monkeypatch.chdir(tmp_path)
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run_refused(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_refused("--help") == 0

    printed = capsys.readouterr().out
    for command in ("run", "demo", "manifest", "doctor", "db", "trace", "usage"):
        assert f"\n    {command} " in printed


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["sing"],
        ["db"],
        ["manifest", "--http"],
        ["demo", "--port", "70000"],
        ["usage", "--days", "0"],
    ],
)
def test_arguments_that_make_no_command_are_refused(arguments: list[str]) -> None:
    assert run_refused(*arguments) == 2


def test_a_bot_without_settings_says_what_to_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"]) == 2

    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" is missing: ")[0] for line in lines] == [
        f"kimibot: {name}" for name in ("SLACK_BOT_TOKEN", "KIMI_API_KEY", "SLACK_APP_TOKEN")
    ]


def test_the_manifest_is_yaml_for_socket_mode(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifest"]) == 0

    assert yaml.safe_load(capsys.readouterr().out) == manifest()


def test_the_manifest_is_json_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifest", "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == manifest()


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("https://bot.example.com", "https://bot.example.com/slack/events"),
        ("https://bot.example.com/", "https://bot.example.com/slack/events"),
        ("https://example.com/bot/slack/events", "https://example.com/bot/slack/events"),
    ],
)
def test_the_manifest_for_http_has_the_address(
    capsys: pytest.CaptureFixture[str], given: str, used: str
) -> None:
    assert main(["manifest", "--json", "--http", given]) == 0

    assert json.loads(capsys.readouterr().out) == manifest(request_url=used)


@pytest.mark.parametrize("url", ["http://bot.example.com", "bot.example.com", "https://", ""])
def test_an_address_that_slack_would_not_take_is_refused(
    capsys: pytest.CaptureFixture[str], url: str
) -> None:
    assert run_refused("manifest", "--http", url) == 2

    assert "https://bot.example.com" in capsys.readouterr().err


def test_the_database_is_brought_up_as_often_as_one_likes(
    capsys: pytest.CaptureFixture[str], empty_folder: Path
) -> None:
    assert main(["db", "upgrade"]) == 0
    assert main(["db", "upgrade"]) == 0

    assert (empty_folder / "kimibot.db").exists()
    file = f"SQLite file {empty_folder}/kimibot.db"
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{file}: made, at migration ")
    assert second.startswith(f"{file}: was at the newest migration already")


def test_the_database_is_found_in_the_dotenv_file(empty_folder: Path) -> None:
    (empty_folder / ".env").write_text("DATABASE_URL=sqlite:///other.db\n")

    assert main(["db", "upgrade"]) == 0

    assert (empty_folder / "other.db").exists()


@pytest.mark.parametrize(
    "url", ["mysql://me:hunter2@db/kimibot", "hunter2", "postgresql+odd://me:hunter2@db/kimibot"]
)
def test_a_wrong_database_is_named_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)

    assert main(["db", "upgrade"]) == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("kimibot: DATABASE_URL")
    assert "hunter2" not in line


async def test_a_database_in_use_is_named_in_one_line(
    capsys: pytest.CaptureFixture[str], empty_folder: Path
) -> None:
    in_use = open_database(f"sqlite:///{empty_folder}/kimibot.db")

    code = await asyncio.to_thread(main, ["db", "upgrade"])
    await in_use.close()

    (line,) = capsys.readouterr().err.splitlines()
    assert code == 1
    assert line.startswith("kimibot: database: ")
    assert "in use" in line


def test_the_doctor_names_every_wrong_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 1

    dotenv, *lines = capsys.readouterr().out.splitlines()
    assert dotenv.startswith("note     .env: there is no file ")
    assert [line.split()[:3] for line in lines] == [
        ["failed", "settings:", name]
        for name in ("SLACK_BOT_TOKEN", "KIMI_API_KEY", "SLACK_APP_TOKEN")
    ]


def test_a_misspelt_setting_is_warned_of_also_where_another_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIMIBOT_FOLLOWUPS", "always")
    warning = "KIMIBOT_FOLLOWUPS is not a setting of this version: did you mean KIMIBOT_FOLLOW_UPS?"

    assert main(["doctor"]) == 1
    assert main(["run"]) == 2

    told = capsys.readouterr()
    assert told.out.splitlines()[1] == f"warning  settings: {warning}"
    assert told.err.splitlines()[0] == f"kimibot: {warning}"
    assert "SLACK_BOT_TOKEN is missing" in told.out
    assert "SLACK_BOT_TOKEN is missing" in told.err


def test_the_doctor_names_the_dotenv_file_that_it_has_read(
    capsys: pytest.CaptureFixture[str], empty_folder: Path
) -> None:
    (empty_folder / ".env").write_text("SLACK_BOT_TOKEN xoxb-fake\n")

    assert main(["doctor"]) == 1

    assert capsys.readouterr().out.splitlines() == [
        f"ok       .env: {empty_folder}/.env is read, below the environment",
        "failed   settings: .env line 1: expected NAME=value",
    ]


def test_a_demo_with_a_wrong_provider_says_so_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIMI_API_KEY", "fake-key")
    monkeypatch.setenv("KIMI_PROVIDER", "nope")

    assert main(["demo", "--no-browser"]) == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("kimibot: KIMI_PROVIDER should be one of ")


@pytest.mark.processes
def test_it_also_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "kimibot", "--version"]
    checkout = Path(__file__).parent.parent

    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stdout, done.stderr) == (0, f"kimibot {__version__}\n", "")


@pytest.mark.processes
def test_a_reader_that_has_seen_enough_ends_it_quietly() -> None:
    checkout = Path(__file__).parent.parent
    read_end, write_end = os.pipe()
    os.close(read_end)

    done = subprocess.run(
        [sys.executable, "-m", "kimibot", "manifest"],
        cwd=checkout,
        stdout=write_end,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(write_end)

    assert (done.returncode, done.stderr) == (0, b"")
