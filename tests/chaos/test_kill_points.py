"""Killed at any call that it makes outside, the bot answers all the same, and once."""

from __future__ import annotations

import pytest

from tests.chaos.trials import complaints_after, kill, undisturbed
from tests.postgres import Postgres

pytestmark = [pytest.mark.chaos, pytest.mark.processes]


@pytest.mark.parametrize("half", [pytest.param(0, marks=pytest.mark.quick), 1])
async def test_a_bot_that_is_killed_at_an_outside_call_answers_each_ask_once(
    postgres: Postgres, half: int
) -> None:
    """Both halves have a kill at every call: one before it, the other after, and next time
    the other way round."""
    moments = await undisturbed(postgres)

    tried = [moment for moment in moments if (moment.nth + moment.is_done) % 2 == half]

    found = await complaints_after(postgres, tried, kill)
    assert not found, "\n".join(found)
