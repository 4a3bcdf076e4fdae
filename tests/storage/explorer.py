"""Tries every order in which the statements of several processes can reach one PostgreSQL.

It goes depth first. What is in flight can't be copied, so each branch is run anew from the start
along the choices that lead to it. Two ways to the same state are followed on once: a state is
what is committed, the clock, and what each process has been told and is about to do.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.storage import Database
from tests.storage.order import Order, Scenario
from tests.storage.replica import Replica
from tests.storage.stage import Stage
from tests.storage.stepping import Rewire

_MOST_TRIES = 2_000
"""On a busy machine one of those who wait for a row may come first once in hundreds of runs."""


@dataclass(frozen=True)
class Report:
    """How much was seen: different states, runs from the start, and orders of statements."""

    states: int
    runs: int
    orders: int


def as_it_is(connection: AsyncConnection) -> AsyncConnection:
    """The real queries."""
    return connection


@dataclass(frozen=True)
class _Branch:
    start: int
    way: tuple[str, ...]
    choice: str
    tries: int = 1


class Explorer:
    """Explores one scenario; `rewire` may put other queries in the place of the real ones."""

    def __init__(
        self, scenario: Scenario, database: Database, stage: Stage, rewire: Rewire = as_it_is
    ) -> None:
        self._scenario = scenario
        self._database = database
        self._stage = stage
        self._rewire = rewire
        self._numbers: dict[str, int] = {}
        self._following: list[list[int]] = []
        self._branches: list[_Branch] = []
        self._runs = 0

    async def explore(self) -> Report:
        """Try all; RuleBroken at the first order that breaks a rule."""
        heirs = await self._prepare()
        async with self._order(heirs) as order:
            await self._arrive(order)
        while self._branches:
            branch = self._branches.pop()
            async with self._order(heirs) as order:
                if await self._lead(order, branch):
                    await self._follow(order, branch)
        return Report(len(self._numbers), self._runs, _count_ways(self._following))

    async def _prepare(self) -> list[Replica]:
        """Do what comes before, for each run to begin with."""
        await self._stage.clear()
        replicas = [
            Replica(name, self._database, self._stage.clock) for name in self._scenario.deeds
        ]
        for replica in replicas:
            for deed in self._scenario.before.get(replica.name, ()):
                await deed(replica)
        await self._stage.save()
        return replicas

    @asynccontextmanager
    async def _order(self, heirs: Sequence[Replica]) -> AsyncIterator[Order]:
        self._runs += 1
        await self._stage.restore()
        order = Order(self._scenario, self._database, self._stage, self._rewire, heirs)
        try:
            await order.begin()
            yield order
        finally:
            await order.abandon()

    async def _lead(self, order: Order, branch: _Branch) -> bool:
        """Go to where the branch begins; False if the way has led elsewhere, to be tried again.

        Which of two that wait for one row gets it is PostgreSQL's choice.
        """
        for choice in branch.way:
            if choice not in order.choices():
                break
            await order.take(choice)
        if await self._arrive(order) == branch.start:
            return True
        if branch.tries == _MOST_TRIES:
            raise AssertionError(f"this way leads there no more: {branch.way}")
        self._branches.insert(0, replace(branch, tries=branch.tries + 1))
        return False

    async def _follow(self, order: Order, branch: _Branch) -> None:
        """Go down a branch until it meets what is known, or comes to rest."""
        state, choice = branch.start, branch.choice
        while True:
            await order.take(choice)
            known = len(self._numbers)
            following = await self._arrive(order)
            self._following[state].append(following)
            if following < known or not order.choices():
                return
            # The choice that was put off last is the one to go on with.
            choice = self._branches.pop().choice
            state = following

    async def _arrive(self, order: Order) -> int:
        """Judge the state; if it is new, all its choices are branches to be followed."""
        state = await order.state()
        order.check()
        number = self._numbers.setdefault(state, len(self._numbers))
        if number == len(self._following):
            self._following.append([])
            way, choices = tuple(order.taken), order.choices()
            self._branches += [_Branch(number, way, choice) for choice in choices]
            if not choices:
                await order.rest()
        return number


def _count_ways(following: Sequence[Sequence[int]]) -> int:
    """From the first state to the last ones."""
    ways: dict[int, int] = {}
    stack = [0]
    while stack:
        missing = [one for one in following[stack[-1]] if one not in ways]
        if missing:
            stack += missing
        else:
            state = stack.pop()
            ways[state] = sum(ways[one] for one in following[state]) or 1
    return ways[0]
