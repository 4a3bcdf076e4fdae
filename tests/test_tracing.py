"""`kimibot trace`: a turn found by any of its names, and told without a word that was said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from kimibot.answers import Usage
from kimibot.cli import main
from kimibot.conversation import Thread
from kimibot.settings import variables
from kimibot.storage import Database, Store, open_database
from kimibot.storage.trace import TracedAnswer, TracedTurn
from kimibot.tracing import lines
from tests.storage.said import NOW, answered, ask, claimed, keep, ts

TURN = TracedTurn(
    id="turn-1",
    thread=Thread("T1", "C0123ABCD", "1700000000.000100"),
    ts="1700000001.000100",
    pressed="",
    event_id="Ev1",
    state="ended",
    outcome="answered",
    error_code="",
    trace_id="trace-77",
    attempt=2,
    takeovers=1,
    stop_requested="",
    reply_ts=("1700000002.000100", "1700000003.000100"),
    merged=("turn-2", "turn-3"),
    merged_into="",
    steps={
        "accepted": NOW,
        "claimed": NOW + timedelta(milliseconds=40),
        "shown": NOW + timedelta(seconds=1),
        "ended": NOW + timedelta(seconds=91.5),
    },
    answer=TracedAnswer("chatcmpl-1", "stop", Usage(100, 20, None)),
)


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


async def an_answer(database: Database) -> str:
    """One turn, answered; its id."""
    store = Store(database)
    accepted = await ask(store, 1, thread=Thread("T1", "C0123ABCD", ts(1)))
    ending = replace(answered(2), trace_id="trace-77")
    await keep(store, await claimed(store, accepted.thread_id), ending)
    return str(accepted.turn_id)


async def traced(capsys: pytest.CaptureFixture[str], sought: str) -> str:
    """What is printed of something that is there; the command runs on a loop of its own."""
    assert await asyncio.to_thread(main, ["trace", sought]) == 0
    return capsys.readouterr().out


async def test_a_turn_is_told_by_each_of_its_names_beside_a_bot_that_runs(
    running: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    turn_id = await an_answer(running)
    link = "https://acme.slack.com/archives/C0123ABCD/p{}?thread_ts={}&cid=C0123ABCD"
    links = [link.format(ts(number).replace(".", ""), ts(1)) for number in (1, 2)]

    told = [
        await traced(capsys, name)
        for name in (turn_id, "Ev1", "trace-77", "chatcmpl-1", " trace-77\n", *links)
    ]
    assert f"turn           {turn_id}\n" in told[0]
    assert "tokens         prompt 100, completion 20, cached 80\n" in told[0]
    assert told == [told[0]] * len(told)


async def test_it_is_told_after_the_bot_has_ended(
    running: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    await an_answer(running)
    await running.close()

    assert "outcome        answered\n" in await traced(capsys, "trace-77")


async def test_no_word_that_was_said_is_printed(
    running: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    await an_answer(running)

    told = await traced(capsys, "trace-77")
    assert [words for words in ("question", "Because", "Hm.") if words in told] == []


async def test_what_is_not_known_is_said_in_one_line(
    running: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    await an_answer(running)

    code = await asyncio.to_thread(main, ["trace", "trace-78"])
    printed = capsys.readouterr()
    assert (code, printed.out, printed.err) == (1, "", "kimibot: no turn is known by trace-78\n")


@pytest.mark.parametrize("sought", ["", " ", "https://acme.slack.com/archives/C0123ABCD"])
def test_what_can_name_no_turn_is_refused(sought: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["trace", sought])

    assert ended.value.code == 2
    assert "link to a message" in capsys.readouterr().err


def test_a_look_at_a_database_that_is_not_there_makes_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "trace-77"]) == 1

    assert "there is no file" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_tables_of_another_version_are_named_with_the_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kimibot.db").touch()

    assert main(["trace", "trace-77"]) == 1
    assert "kimibot db upgrade" in capsys.readouterr().err


def test_of_a_press_it_is_told_what_was_pressed_below_which_message() -> None:
    told = list(lines(replace(TURN, pressed="explain:2")))

    assert "ask            1700000001.000100, pressed: explain:2" in told


def test_a_life_is_told_with_its_ids_and_the_seconds_between_its_steps() -> None:
    assert list(lines(TURN)) == [
        "turn           turn-1",
        "outcome        answered",
        "thread         T1 C0123ABCD 1700000000.000100",
        "ask            1700000001.000100",
        "event id       Ev1",
        "trace id       trace-77",
        "attempts       2, takeovers: 1",
        "parts          1700000002.000100 1700000003.000100",
        "merged turns   turn-2 turn-3",
        "completion id  chatcmpl-1",
        "finish reason  stop",
        "tokens         prompt 100, completion 20",
        "accepted       2026-11-30 12:00:00.123 UTC      +0.000 s",
        "claimed        2026-11-30 12:00:00.163 UTC      +0.040 s",
        "shown          2026-11-30 12:00:01.123 UTC      +0.960 s",
        "ended          2026-11-30 12:01:31.623 UTC     +90.500 s",
    ]


def test_steps_stand_in_the_order_of_their_times() -> None:
    shown_by_the_first_try = {"accepted": NOW, "shown": NOW - timedelta(minutes=1)}

    *_, first, second = lines(replace(TURN, steps=shown_by_the_first_try))
    assert first.startswith("shown")
    assert second.endswith("+60.000 s")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"outcome": "failed", "error_code": "busy"}, "outcome        failed (busy)"),
        ({"outcome": "", "state": "queued"}, "outcome        none yet, queued"),
        ({"outcome": "merged", "merged_into": "t-9"}, "outcome        merged into t-9"),
        ({"stop_requested": "person"}, "stop requested person"),
        ({"trace_id": "a\nb\x1b[2J\u202e"}, r"trace id       a\nb\x1b[2J\u202e"),
    ],
)
def test_an_end_of_another_kind_has_its_own_line(changes: dict[str, object], line: str) -> None:
    assert line in list(lines(replace(TURN, **changes)))  # type: ignore[arg-type]
