"""Places are given in the order of asking, and who waits knows how many must end first."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from kimibot.kimi.places import Places


@dataclass
class Asker:
    """Somebody who wants a place, and what they are told meanwhile."""

    places: Places
    told: list[int] = field(default_factory=list)
    has_begun: bool = False
    may_end: asyncio.Event = field(default_factory=asyncio.Event)

    def ask(self) -> asyncio.Task[None]:
        return asyncio.create_task(self._hold())

    async def _hold(self) -> None:
        async with self.places.taken(self.told.append):
            self.has_begun = True
            await self.may_end.wait()


async def settle() -> None:
    """Until all that can go on has gone on."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_finds_a_free_place_is_told_nothing() -> None:
    asker = Asker(Places(1))
    task = asker.ask()
    await settle()

    assert (asker.has_begun, asker.told) == (True, [])
    asker.may_end.set()
    await task


async def test_who_waits_is_told_how_many_must_end_first() -> None:
    places = Places(1)
    askers = [Asker(places) for _ in range(3)]
    tasks = [asker.ask() for asker in askers]
    await settle()
    assert places.ahead == 3

    for asker, task in zip(askers, tasks, strict=True):
        asker.may_end.set()
        await task
        await settle()

    assert [asker.told for asker in askers] == [[], [1, 0], [2, 1, 0]]
    assert places.ahead == 0


async def test_who_gives_up_waiting_leaves_the_others_one_nearer() -> None:
    places = Places(1)
    askers = [Asker(places) for _ in range(3)]
    tasks = [asker.ask() for asker in askers]
    await settle()

    tasks[1].cancel()
    await asyncio.wait({tasks[1]})

    assert askers[2].told == [2, 1]
    askers[0].may_end.set()
    askers[2].may_end.set()
    await asyncio.gather(tasks[0], tasks[2])


async def test_a_place_given_to_one_who_is_just_going_away_is_not_lost() -> None:
    places = Places(1)
    first, second = askers = [Asker(places) for _ in range(2)]
    tasks = [asker.ask() for asker in askers]
    await settle()

    def on_wait(ahead: int) -> None:
        if ahead == 1:  # the second has just been given the place
            tasks[1].cancel()

    async def third() -> None:
        async with places.taken(on_wait):
            pass

    tasks.append(asyncio.create_task(third()))
    await settle()
    first.may_end.set()
    await asyncio.wait(tasks)

    assert not second.has_begun
    assert places.ahead == 0


async def test_a_place_is_not_given_to_one_who_has_just_gone_away() -> None:
    places = Places(1)
    first, second, third = askers = [Asker(places) for _ in range(3)]
    tasks = [asker.ask() for asker in askers]
    await settle()

    tasks[1].cancel()
    first.may_end.set()
    await settle()

    assert (second.has_begun, third.has_begun) == (False, True)
    third.may_end.set()
    await asyncio.wait(tasks)
    assert places.ahead == 0
