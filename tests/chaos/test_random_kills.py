"""Killed at random times, again and again, the bot answers all that it is asked meanwhile."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.chaos.asking import ask_on_and_on
from tests.chaos.world import open_world

pytestmark = [pytest.mark.chaos, pytest.mark.processes]


@pytest.mark.parametrize("kills", [pytest.param(5, marks=pytest.mark.quick), 20])
async def test_a_bot_that_is_killed_at_random_answers_each_ask_once(
    database_url: str, kills: int
) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    async with open_world(database_url) as world:
        async with ask_on_and_on(world, random.Random(seed)):
            for _ in range(kills):
                await world.until_connected()
                await asyncio.sleep(chance.uniform(0.0, 4.0))
                world.replicas[0].kill()

        found = await world.verdict()
    assert not found, "\n".join([f"seed {seed}", *found])
