"""Killed at any call that it makes outside, the bot answers all the same, and once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.trials import Databases, Files, complaints_after, kill, undisturbed

pytestmark = [pytest.mark.chaos, pytest.mark.processes]


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest, migrated_file: Path, tmp_path: Path) -> Databases:
    """New databases of each kind in turn; only PostgreSQL's calls can be seen, and killed at."""
    if request.param == "sqlite":
        return Files(migrated_file, tmp_path)
    server: Databases = request.getfixturevalue("postgres")
    return server


@pytest.mark.parametrize("half", [pytest.param(0, marks=pytest.mark.quick), 1])
async def test_a_bot_that_is_killed_at_an_outside_call_answers_each_ask_once(
    databases: Databases, half: int
) -> None:
    """Both halves have a kill at every call: one before it, the other after, and next time
    the other way round."""
    moments = await undisturbed(databases)

    tried = [moment for moment in moments if (moment.nth + moment.is_done) % 2 == half]

    found = await complaints_after(databases, tried, kill)
    assert not found, "\n".join(found)
