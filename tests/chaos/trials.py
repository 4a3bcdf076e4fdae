"""One conversation, tried again and again with a mishap at another moment each time."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from tests.chaos.calls import Calls, Moment
from tests.chaos.world import World, open_world

AT_ONCE = 5
"""So many worlds live at the same time in each process: they wait more than they work."""

MOST_MISSED = 1 / 3
"""How many edits and renewals there are depends on the time that all else takes."""

Mishap = Callable[[World], None]

Conversation = Callable[[World], Awaitable[list[str]]]
"""What people do, and what is wrong in the end."""


class Databases(Protocol):
    """Where each world gets a database of its own, with its tables."""

    def new_database(self) -> str: ...

    def drop(self, url: str) -> None: ...


class Files:
    """SQLite databases: copies of one file that has the tables and nothing in them."""

    def __init__(self, migrated: Path, folder: Path) -> None:
        self._migrated = migrated
        self._folder = folder

    def new_database(self) -> str:
        return f"sqlite:///{shutil.copy(self._migrated, self._folder / f'{uuid4().hex}.db')}"

    def drop(self, url: str) -> None:
        """The folder goes with the test."""


def kill(world: World) -> None:
    """The call, or its answer, goes down with the process."""
    world.replicas[0].kill()
    raise ConnectionAbortedError


def lose(world: World) -> None:
    """The call, or its answer, is lost on the way."""
    raise ConnectionAbortedError


async def ask_and_follow_up(world: World) -> list[str]:
    """A long answer at the second try, then a follow-up in its thread."""
    await world.until_connected()
    first = await world.ask("long-1")
    await world.until_ended()
    await world.ask("short-2", first.ts)
    return await world.verdict()


async def undisturbed(
    databases: Databases, conversation: Conversation = ask_and_follow_up
) -> list[Moment]:
    """The moments of all outside calls when nothing happens."""
    calls = Calls()
    async with fresh_world(databases, calls) as world:
        assert await conversation(world) == []
    return calls.seen


async def complaints_after(
    databases: Databases,
    moments: Sequence[Moment],
    mishap: Mishap,
    conversation: Conversation = ask_and_follow_up,
) -> list[str]:
    """What is wrong after the mishap at any of the moments, and with too few of them reached."""
    room = asyncio.Semaphore(AT_ONCE)

    async def trial(moment: Moment) -> tuple[bool, list[str]]:
        async with room:
            return await _trial(databases, moment, mishap, conversation)

    trials = await asyncio.gather(*(trial(moment) for moment in moments))
    missed = sum(not has_struck for has_struck, _ in trials)
    found = [line for _, lines in trials for line in lines]
    if missed > len(moments) * MOST_MISSED:
        found.append(f"{missed} of {len(moments)} moments never came")
    return found


@asynccontextmanager
async def fresh_world(databases: Databases, calls: Calls) -> AsyncIterator[World]:
    """A world with one bot and an empty database."""
    url = await asyncio.to_thread(databases.new_database)
    try:
        async with open_world(url, calls) as world:
            yield world
    finally:
        await asyncio.to_thread(databases.drop, url)


async def _trial(
    databases: Databases, moment: Moment, mishap: Mishap, conversation: Conversation
) -> tuple[bool, list[str]]:
    calls = Calls()
    async with fresh_world(databases, calls) as world:
        calls.befall(moment, lambda: mishap(world))
        found = await conversation(world)
    return calls.has_struck, [f"{mishap.__name__} {moment}: {line}" for line in found]
