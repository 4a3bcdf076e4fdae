"""`kimibot usage`: what was used by day, person and channel, beside a bot that runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from kimibot.cli import main
from kimibot.reporting import lines
from kimibot.settings import variables
from kimibot.storage import Database, Store, open_database
from kimibot.storage.usage import DayUsage
from kimibot.turns import Used
from tests.storage.said import answered, ask, claimed, keep

DAY = date(2026, 11, 30)


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in variables():
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def running(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """The database that a bot has open for itself while somebody looks."""
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    database = open_database(sqlite_url)
    yield database
    await database.close()


async def used(database: Database, number: int, day: date) -> None:
    store = Store(database)
    claim = await claimed(store, (await ask(store, number)).thread_id)
    ending = replace(answered(number + 10), used=Used(1_000, 200, 800), day=day)
    await keep(store, claim, ending)


async def command(*arguments: str) -> int:
    return await asyncio.to_thread(main, ["usage", *arguments])


def test_each_day_has_its_table_with_a_sum() -> None:
    rows = [
        DayUsage(DAY, "T1", "U0ANA0001", "C0DEV0001", 12, 103_000, 20_500, 90_000),
        DayUsage(DAY, "T1", "U0BO00001", "D0BO00001", 1, 500, 20, 0),
        DayUsage(DAY + timedelta(days=1), "T1", "U0BO00001", "C0DEV0001", 1, 10, 2, 0),
    ]

    assert list(lines(rows)) == [
        "2026-11-30 (UTC)",
        "  person     channel    turns   prompt  completion  cached",
        "  U0ANA0001  C0DEV0001     12  103,000      20,500  90,000",
        "  U0BO00001  D0BO00001      1      500          20       0",
        "  all                      13  103,500      20,520  90,000",
        "",
        "2026-12-01 (UTC)",
        "  person     channel    turns  prompt  completion  cached",
        "  U0BO00001  C0DEV0001      1      10           2       0",
        "  all                       1      10           2       0",
        "",
    ]


def test_where_nothing_was_used_that_is_said() -> None:
    assert list(lines([])) == ["Nothing was used."]


async def test_the_command_tells_of_as_many_days_as_are_wanted_beside_the_running_bot(
    running: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    today = datetime.now(UTC).date()
    await used(running, 1, today)
    await used(running, 2, today - timedelta(days=2))

    assert await command("--days", "2") == 0
    table = capsys.readouterr().out
    assert await command("--days", "4", "--json") == 0
    document = json.loads(capsys.readouterr().out)

    assert table.count("(UTC)") == 1
    assert [row["day"] for row in document] == [str(today - timedelta(days=2)), str(today)]
    assert document[0] == {
        "day": str(today - timedelta(days=2)),
        "team": "T1",
        "person": "U1",
        "channel": "C1",
        "turns": 1,
        "prompt_tokens": 1_000,
        "completion_tokens": 200,
        "cached_tokens": 800,
    }


async def test_a_database_without_tables_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.db").touch()
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/empty.db")

    assert await command() == 1
    assert "kimibot db upgrade" in capsys.readouterr().err
