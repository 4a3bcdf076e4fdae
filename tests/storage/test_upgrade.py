"""A database that has been in use is upgraded with all that is in it, and goes on from there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import LargeBinary, bindparam, inspect, text

from kimibot.conversation import Asker
from kimibot.review.rounds import read_kept
from kimibot.storage import Database, Store, open_database, upgrade
from kimibot.storage.migrate import alembic_config
from kimibot.turns import Kind, Press
from tests.postgres import Postgres
from tests.storage.said import LEASE_SECONDS, NOW, answered, claimed

IN_USE = "e48a1b70d9c3"
"""The newest migration that somebody's database may be at."""

THEN = "'2026-11-30 12:00:00.123456+00:00'"
REVIEW = {
    "findings": [
        {
            **{"path": "a.py", "side": "RIGHT", "line": 3, "severity": 1, "is_certain": True},
            **{"title": "Wrong", "why": "It is.", "quote": "x = 1", "suggestion": "x = 2"},
        }
    ],
    "dropped": 0,
    "patch": "diff --git a/a.py b/a.py\n",
}
IMAGE = bytes(range(256))
ROWS = (
    f"""INSERT INTO threads (id, team, channel, root_ts, claim_owner, claim_expires_at, fence,
    muted, provider, model, effort, complete_at, forgotten_ts, told) VALUES
    (1, 'T1', 'C1', '1.1', NULL, NULL, 4, true, 'moonshot', 'kimi-k3', 'high', {THEN}, '0.9',
     '["deaf"]'),
    (2, 'T1', 'C1', '2.1', 'gone', {THEN}, 7, false, '', '', '', NULL, '', '[]')""",
    f"""INSERT INTO turns (id, thread_id, team, channel, ts, asker, event_id, kind, asker_team,
    is_follow_up, state, outcome, merged_into, fence, attempt, takeovers, reply_ts, had_to_wait,
    stop_requested, stop_requested_by, error_code, trace_id, accepted_at, claimed_at, shown_at,
    first_delta_at, last_delta_at, ended_at) VALUES
    ('review', 1, 'T1', 'C1', '1.1', 'U1', 'Ev1', 'review', 'T1', false, 'ended', 'answered', NULL,
     3, 1, 0, '["1.3", "1.4"]', false, NULL, '', '', 'tr-1', {THEN}, {THEN}, {THEN}, {THEN},
     {THEN}, {THEN}),
    ('merged', 1, 'T1', 'C1', '1.2', 'U2', 'Ev2', 'ask', '', true, 'ended', 'merged', 'review',
     3, 1, 0, '[]', true, 'person', 'U9', '', '', {THEN}, {THEN}, NULL, NULL, NULL, {THEN}),
    ('patch', 1, 'T1', 'C1', '1.4', 'U1', '', 'patch', 'T1', false, 'ended', 'answered', NULL,
     4, 2, 1, '["1.5"]', false, NULL, '', '', '', {THEN}, {THEN}, {THEN}, NULL, NULL, {THEN}),
    ('cut', 2, 'T1', 'C1', '2.1', 'U1', 'Ev3', 'ask', 'T1', false, 'ended', 'failed', NULL,
     6, 1, 0, '["2.2"]', false, NULL, '', 'cut_off', 'tr-2', {THEN}, {THEN}, {THEN}, {THEN},
     {THEN}, {THEN}),
    ('goes on', 2, 'T1', 'C1', '2.2', 'U1', '', 'continue', 'T1', false, 'running', NULL, NULL,
     7, 1, 0, '["2.3"]', false, NULL, '', '', '', {THEN}, {THEN}, {THEN}, NULL, NULL, NULL),
    ('about', 2, 'T1', 'C1', '2.4', 'U2', '', 'about', 'T1', false, 'queued', NULL, NULL,
     NULL, 0, 0, '[]', true, NULL, '', '', '', {THEN}, NULL, NULL, NULL, NULL, NULL)""",
    f"""INSERT INTO messages (id, thread_id, team, channel, ts, speaker, author, event_id, text,
    sent, place, raw, turn_id, completion_id, finish_reason, prompt_tokens, completion_tokens,
    cached_tokens, review, edited_at, deleted_at) VALUES
    (101, 1, 'T1', 'C1', '1.1', 'person', 'U1', 'Ev1', 'review this', 'U1: review this', 1, NULL,
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, {THEN}, NULL),
    (102, 1, 'T1', 'C1', '1.3', 'us', '', '', '1 problem', NULL, 2, '{{"role":"assistant"}}',
     'review', 'chatcmpl-1', 'stop', 9000000000, 20, 80, '{json.dumps(REVIEW)}', NULL, NULL),
    (103, 2, 'T1', 'C1', '2.1', 'person', 'U1', 'Ev3', '', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL, NULL, NULL, {THEN}),
    (104, 2, 'T1', 'C1', '2.2', 'us', '', '', 'One, two', NULL, NULL, NULL, 'cut', '', NULL, NULL,
     NULL, NULL, NULL, NULL, NULL)""",
    """INSERT INTO attachments (id, thread_id, message_id, position, file_id, name, mimetype,
    filetype, size_bytes, mode, url, access, state, text, image, image_type, is_cut) VALUES
    (1, 1, 101, 0, 'F1', 'a.py', 'text/x-python', 'python', 5000000000, 'hosted', 'https://x', 'ok',
     'read', 'x = 1', NULL, '', true),
    (2, 1, 101, 1, 'F2', 'a.png', 'image/png', 'png', 256, 'hosted', 'https://y', 'ok', 'read',
     NULL, :image, 'image/png', false)""",
    f"""INSERT INTO stops (team, channel, ts, cause, root_ts, said_by, stored_at) VALUES
    ('T1', 'C1', '1.9', 'person', '1.1', 'U1', {THEN})""",
    """INSERT INTO usage (team, day, person, channel, turns, prompt_tokens, completion_tokens,
    cached_tokens) VALUES ('T1', '2026-11-30', 'U1', 'C1', 3, 9000000000, 2, 1)""",
    "INSERT INTO holds (thread_id, fence, team, person, tokens) VALUES (2, 7, 'T1', 'U1', 500)",
    """INSERT INTO usage_warnings (team, day, person, turn_id) VALUES
    ('T1', '2026-11-30', 'U1', 'review')""",
)

Contents = dict[str, tuple[Sequence[str], set[tuple[Any, ...]]]]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.processes)])
def bare_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without a table, of each kind in turn."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/kimibot.db"
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    url = postgres.new_database(migrated=False)
    yield url
    postgres.drop(url)


@pytest.fixture
async def in_use(bare_url: str) -> AsyncIterator[Database]:
    """A database of before, with something in each of its tables."""
    database = open_database(bare_url)
    async with database.migrating() as connection:
        await connection.run_sync(lambda inner: command.upgrade(alembic_config(inner), IN_USE))
        for row in ROWS:
            statement = text(row)
            if ":image" in row:
                statement = statement.bindparams(bindparam("image", IMAGE, LargeBinary))
            await connection.execute(statement)
    yield database
    await database.close()


async def contents(database: Database, columns_of: dict[str, Sequence[str]]) -> Contents:
    async with database.reading() as connection:
        return {
            table: (
                columns,
                {
                    tuple(row)
                    for row in await connection.execute(
                        text(f"SELECT {', '.join(columns)} FROM {table}")
                    )
                },
            )
            for table, columns in columns_of.items()
        }


async def columns(database: Database) -> dict[str, Sequence[str]]:
    """Those of each table, but for that of the migrations."""
    async with database.reading() as connection:
        found = await connection.run_sync(lambda inner: inspect(inner).get_multi_columns())
    return {
        table: [one["name"] for one in those]
        for (_, table), those in found.items()
        if table != "alembic_version"
    }


async def counts(database: Database, *tables: str) -> list[int]:
    async with database.reading() as connection:
        return [
            (await connection.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one()
            for table in tables
        ]


async def test_what_a_database_in_use_holds_is_there_after_an_upgrade(in_use: Database) -> None:
    named = await columns(in_use)
    before = await contents(in_use, named)
    assert all(rows for _, rows in before.values())

    await upgrade(in_use)

    assert await contents(in_use, named) == before


async def test_a_database_in_use_gets_the_same_tables_as_a_new_one(in_use: Database) -> None:
    await upgrade(in_use)

    async with in_use.migrating() as connection:
        await connection.run_sync(lambda inner: command.check(alembic_config(inner)))


async def test_rows_of_before_still_belong_together(in_use: Database) -> None:
    """SQLite makes a table anew to change it, and others point to that."""
    await upgrade(in_use)

    async with in_use.writing() as connection:
        await connection.execute(text("DELETE FROM turns WHERE id = 'review'"))
        answer = await connection.execute(text("SELECT turn_id FROM messages WHERE id = 102"))
        merged = await connection.execute(text("SELECT merged_into FROM turns WHERE id = 'merged'"))
        assert (answer.scalar_one(), merged.scalar_one()) == (None, None)
        await connection.execute(text("DELETE FROM threads"))

    assert await counts(in_use, "turns", "messages", "attachments", "holds") == [0, 0, 0, 0]
    assert await counts(in_use, "stops", "usage", "usage_warnings") == [1, 1, 1]


async def test_what_was_open_before_is_claimed_in_its_order_and_ends(in_use: Database) -> None:
    await upgrade(in_use)
    store = Store(in_use)
    assert await store.claimable() == [2]

    first = await claimed(store, 2)
    second = await store.keep(first, answered(30), owner="first", lease_seconds=LEASE_SECONDS)

    assert [(turn.id, turn.kind, turn.pressed) for turn in first.turns] == [
        ("goes on", Kind.CONTINUE, "continue"),
        ("about", Kind.ABOUT, ""),
    ]
    assert first.turns[0].takeovers == 1
    assert second is None
    assert await store.open_asks() == 0


async def test_a_review_of_before_can_be_talked_about(in_use: Database) -> None:
    await upgrade(in_use)
    store = Store(in_use)
    review = await store.review_of_part(1, "1.4")
    assert review == REVIEW
    assert [one.title for one in read_kept(review)] == ["Wrong"]

    again = await store.press("review", Press(Kind.PATCH), NOW)
    queued = await store.press("review", Press(Kind.NOT_A_PROBLEM, 1), NOW, Asker("U2", "T1"))

    assert (again, queued) == (None, 1)
    claim = await claimed(store, 1)
    assert await store.note_no_problem(claim, "1.4", 1) is True
    assert await store.no_problems(1) == REVIEW["findings"]
