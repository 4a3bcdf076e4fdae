"""Two replicas on one PostgreSQL, and one of them in trouble: each ask is answered once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest

from tests.chaos.asking import ask_on_and_on
from tests.chaos.world import World, open_world

pytestmark = [pytest.mark.chaos, pytest.mark.processes]

TROUBLE_SECONDS = 6.0
"""Twice as long as a lease lives."""

TROUBLES = 12

Trouble = Callable[[World, int], None]


def kill(world: World, replica: int) -> None:
    world.replicas[replica].kill()


def freeze(world: World, replica: int) -> None:
    world.replicas[replica].freeze()


def cut_from_the_database(world: World, replica: int) -> None:
    world.taps[replica].cut()


def end(world: World, replica: int) -> None:
    """A replica that was killed has been started again already."""
    world.replicas[replica].thaw()
    world.taps[replica].mend()


@pytest.mark.parametrize("replica", [pytest.param(0, marks=pytest.mark.quick), 1])
@pytest.mark.parametrize("trouble", [kill, freeze, cut_from_the_database])
async def test_one_of_two_replicas_may_be_in_trouble(
    postgres_url: str, trouble: Trouble, replica: int
) -> None:
    async with open_world(postgres_url, replicas=2) as world:
        await world.until_connected()
        asks = [await world.ask(f"long-{number}") for number in range(4)]
        await repeat_all_events(world)
        await world.until_growing(asks[-1])
        trouble(world, replica)
        await world.ask("short-5", asks[0].ts)
        await asyncio.sleep(TROUBLE_SECONDS)
        end(world, replica)
        await repeat_all_events(world)
        await world.ask("short-6", asks[1].ts)

        found = await world.verdict()
    assert not found, "\n".join(found)


async def test_two_replicas_may_have_one_trouble_after_the_other(postgres_url: str) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    async with open_world(postgres_url, replicas=2) as world:
        await world.until_connected()
        async with ask_on_and_on(world, random.Random(seed)):
            for _ in range(TROUBLES):
                replica = chance.randrange(2)
                chance.choice([kill, freeze, cut_from_the_database])(world, replica)
                await asyncio.sleep(chance.uniform(0.0, TROUBLE_SECONDS))
                end(world, replica)
                await asyncio.sleep(chance.uniform(0.0, 2.0))

        found = await world.verdict()
    assert not found, "\n".join([f"seed {seed}", *found])


async def repeat_all_events(world: World) -> None:
    """Both replicas get all of them, once more and at the same time."""
    for event in await world.slack.events():
        for connection in (0, 1):
            await world.slack.repeat_event(event["event_id"], connection=connection)
