"""One order of the statements of several processes, taken step by step as it is chosen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kimibot.lease import LeaseTimes
from kimibot.storage import Database
from kimibot.turns import Claim, Ending
from kimibot.worker import Worker
from tests.storage import claim_rules
from tests.storage.claim_rules import Rows
from tests.storage.replica import LEASE_SECONDS, THE_THREAD, Deed, Replica, answer_to, work
from tests.storage.stage import Stage
from tests.storage.stepping import Lane, Rewire, SteppedDatabase

LAPSE = "all leases lapse"
WORKER = "worker"

_LAPSE_SECONDS = 21
_POLL_SECONDS = 0.002


class RuleBroken(AssertionError):
    """An order of statements that leads to what must not be; its words tell the whole way."""


@dataclass(frozen=True)
class Scenario:
    """What the processes do, each its deeds in order, and all of them at once.

    `before` is done beforehand, by one after the other. `has_worker` adds the bot's real worker,
    which looks at the thread at once and shares its process with whoever wakes it. `lapses` is
    how often all leases run out, at any moment. Who is `mortal` may die at any moment. `swept`
    says that at rest a sweep may have to find what is left; without it, nothing may be left.
    """

    deeds: Mapping[str, tuple[Deed, ...]]
    before: Mapping[str, tuple[Deed, ...]] = field(default_factory=dict)
    has_worker: bool = False
    lapses: int = 0
    mortal: frozenset[str] = frozenset()
    swept: bool = False


class Order:
    """Processes that stand at their gates until one of `choices` is taken."""

    def __init__(
        self,
        scenario: Scenario,
        database: Database,
        stage: Stage,
        rewire: Rewire,
        heirs: Sequence[Replica],
    ) -> None:
        self.taken: list[str] = []
        self._scenario = scenario
        self._database = database
        self._stage = stage
        self._rewire = rewire
        self._story: list[str] = []
        self._rows: Rows = {"threads": [], "turns": [], "messages": [], "stops": []}
        self._rows_before: Rows = self._rows
        self._blocked: list[str] = []
        self._lanes: dict[str, Lane] = {}
        self._replicas: dict[str, Replica] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        for heir in heirs:
            self._enter(heir.name, self._task_of(heir.name)).inherit(heir)

    async def begin(self) -> None:
        """Bring all to their first gate."""
        if self._scenario.has_worker:
            self._employ()
        for name, deeds in self._scenario.deeds.items():
            self._tasks[name] = asyncio.create_task(_do(self._replicas[name], deeds))
        await self._settle()

    def choices(self) -> list[str]:
        """What can happen next."""
        ready = [name for name, lane in self._lanes.items() if lane.step]
        deaths = [_death_of(name) for name in ready if name in self._scenario.mortal]
        is_to_lapse = bool(ready) and self.taken.count(LAPSE) < self._scenario.lapses
        return ready + deaths + [LAPSE] * is_to_lapse

    async def take(self, choice: str) -> None:
        """Let it happen, and all that follows from it without another choice."""
        self.taken.append(choice)
        if choice in self._lanes:
            lane = self._lanes[choice]
            self._story.append(f"{choice}: {lane.step}")
            lane.go()
        else:
            self._story.append(choice)
            await self._suffer(choice)
        await self._settle()

    async def state(self) -> str:
        """All on which the rest of the way depends, as text."""
        committed = await self._stage.committed()
        self._rows_before, self._rows = self._rows, json.loads(committed)
        known = [[lane.is_dead, lane.step, lane.history] for lane in self._lanes.values()]
        beliefs = [[one.sure_until, lane.asked_at] for one, lane in self._walkers()]
        return json.dumps([committed, self._stage.clock(), self._blocked, known, beliefs])

    def check(self) -> None:
        """RuleBroken unless the last step was right."""
        living = [one for one, lane in self._walkers() if not lane.is_dead]
        for broken in (
            *claim_rules.broken_by_a_step(self._rows_before, self._rows),
            *claim_rules.broken_beliefs(living, self._rows, self._stage.clock()),
        ):
            self._break(broken)

    async def rest(self) -> None:
        """RuleBroken unless all has come to a good end."""
        for broken in claim_rules.broken_stops(self._rows):
            self._break(broken)
        replicas = list(self._replicas.values())
        if self._scenario.swept:
            replicas.append(await self._sweep())
            await self.state()
        for broken in claim_rules.broken_at_rest(replicas, self._rows):
            self._break(broken)

    async def abandon(self) -> None:
        """Roll back whatever is open."""
        for lane in self._lanes.values():
            lane.die()
        tasks = [*self._tasks.values(), *_worker_tasks()]
        if tasks:
            await asyncio.wait(tasks)

    def _enter(self, name: str, tasks: Callable[[], Sequence[asyncio.Task[Any]]]) -> Replica:
        lane = self._lanes[name] = Lane(self._stage.clock, tasks)
        stepped = SteppedDatabase(self._database, lane, self._rewire)
        replica = self._replicas[name] = Replica(name, stepped, lambda: lane.asked_at)
        return replica

    def _employ(self) -> None:
        journal = self._enter(WORKER, _worker_tasks)
        worker = Worker(
            journal,
            _answer,
            owner=WORKER,
            times=LeaseTimes(LEASE_SECONDS),
            divide=lambda _: None,
        )
        for replica in self._replicas.values():
            replica.wake = worker.wake
        worker.wake(THE_THREAD)

    async def _suffer(self, fate: str) -> None:
        if fate == LAPSE:
            await self._stage.pass_time(_LAPSE_SECONDS)
        for name, lane in self._lanes.items():
            if fate == _death_of(name):
                lane.die()

    async def _settle(self) -> None:
        """Wait until each is at a gate, at its end, or waits for a row that another holds."""
        ended = self._transactions()
        while free := self._under_way() - set(self._blocked):
            for name in free:
                await self._settle_one(name, self._lanes[name])
        # Only the end of a transaction gives up its rows; who gets them may end its own.
        while self._transactions() > ended:
            ended = self._transactions()
            for name in list(self._blocked):
                await self._settle_one(name, self._lanes[name])
        self._blocked = [name for name in self._blocked if name in self._under_way()]
        for task in self._tasks.values():
            if task.done() and not task.cancelled() and task.exception():
                self._break(repr(task.exception()))
        if self._blocked and not any(lane.step for lane in self._lanes.values()):
            self._break("all wait for each other")

    async def _settle_one(self, name: str, lane: Lane) -> None:
        while lane.is_under_way:
            if name not in self._blocked:
                await lane.settle(_POLL_SECONDS)
            is_blocked = lane.is_under_way and await self._stage.is_blocked(lane.server_pid)
            if is_blocked != (name in self._blocked):
                (self._blocked.append if is_blocked else self._blocked.remove)(name)
            if is_blocked:
                return

    async def _sweep(self) -> Replica:
        """Do what a sweep would, once all leases have run out."""
        await self._stage.pass_time(_LAPSE_SECONDS)
        sweeper = Replica("sweeper", self._database, self._stage.clock)
        for thread_id in await sweeper.claimable():
            await work(sweeper, thread_id)
        return sweeper

    def _under_way(self) -> set[str]:
        return {name for name, lane in self._lanes.items() if lane.is_under_way}

    def _transactions(self) -> int:
        return sum(lane.transactions for lane in self._lanes.values())

    def _walkers(self) -> list[tuple[Replica, Lane]]:
        return [(replica, self._lanes[name]) for name, replica in self._replicas.items()]

    def _task_of(self, name: str) -> Callable[[], list[asyncio.Task[None]]]:
        return lambda: [self._tasks[name]]

    def _break(self, rule: str) -> None:
        raise RuleBroken("\n".join([rule, "after:", *self._story]))


async def _do(replica: Replica, deeds: tuple[Deed, ...]) -> None:
    for deed in deeds:
        await deed(replica)


async def _answer(held: Claim, *_: object) -> Ending:
    return answer_to(held)


def _worker_tasks() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if task.get_name() == f"thread {THE_THREAD}"]


def _death_of(name: str) -> str:
    return f"{name} dies"
