"""People who ask on and on, whatever happens to the bot meanwhile."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.chaos.script import LONG, SHORT
from tests.chaos.world import World

THREADS = 5


@asynccontextmanager
async def ask_on_and_on(world: World, chance: random.Random) -> AsyncIterator[None]:
    """While the block runs: in several threads, now short asks and now long ones."""
    asking = asyncio.create_task(_ask(world, chance))
    try:
        yield
    finally:
        asking.cancel()
        await asyncio.wait({asking})


async def _ask(world: World, chance: random.Random) -> None:
    roots: list[str] = []
    number = 0
    while True:
        number += 1
        root = chance.choice(roots) if len(roots) >= THREADS else None
        ask = await world.ask(f"{chance.choice([LONG, SHORT])}-{number}", root)
        if root is None:
            roots.append(ask.ts)
        await asyncio.sleep(chance.uniform(0.2, 3.0))
