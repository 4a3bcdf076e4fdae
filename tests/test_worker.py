"""Turns are claimed at once, one a thread, and handed over when the process goes down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kimibot.errors import ClaimLost, DatabaseUnavailable, StorageError
from kimibot.lease import Lease, LeaseTimes
from kimibot.stop_signal import StopRequested, StopSignal
from kimibot.turns import Claim, Ending, Outcome, Stop, StopCause, Turn, TurnToStop
from kimibot.worker import Worker
from tests.fakes import THREAD
from tests.virtual_time import in_virtual_time

ANSWERED = Ending(Outcome.ANSWERED)
STOPPED = Ending(Outcome.STOPPED)
BY_ANA = Stop(StopCause.PERSON, "U0ANA")


@dataclass
class Journal:
    """Queued asks by thread; the claim protocol of one process."""

    queued: dict[int, list[str]] = field(default_factory=dict)
    running: dict[int, list[str]] = field(default_factory=dict)
    ended: list[tuple[str, Outcome]] = field(default_factory=list)
    renewed: int = 0
    lost: set[int] = field(default_factory=set)
    down: int = 0
    dropped: list[str] = field(default_factory=list)
    owners: int = 1
    faults: list[Exception] = field(default_factory=list)
    divided: list[int] = field(default_factory=list)
    stops: list[TurnToStop] = field(default_factory=list)

    async def live_owners(self) -> int:
        return self.owners

    async def claimable(self) -> list[int]:
        if self.faults:
            raise self.faults.pop(0)
        return [thread for thread, asks in self.queued.items() if asks]

    async def claim(self, thread_id: int, owner: str, lease_seconds: float) -> Claim | None:
        asks = self.queued.pop(thread_id, [])
        if not asks:
            return None
        self.running[thread_id] = asks
        at = datetime(2026, 11, 30, tzinfo=UTC)
        turns = tuple(Turn(id_, "1.0", "U0ANA", "", 1, at) for id_ in asks)
        return Claim(THREAD, thread_id, 1, turns)

    async def renew(
        self, owner: str, fences: Mapping[int, int], lease_seconds: float
    ) -> frozenset[int]:
        self.renewed += 1
        return frozenset(fences) - self.lost

    async def stops_requested(self, fences: Mapping[int, int]) -> list[TurnToStop]:
        return [stop for stop in self.stops if stop.thread_id in fences]

    async def release(self, claim: Claim) -> None:
        asks = self.running.pop(claim.thread_id)
        self.queued[claim.thread_id] = asks + self.queued.get(claim.thread_id, [])

    async def keep(
        self, claim: Claim, ending: Ending, *, owner: str, lease_seconds: float
    ) -> Claim | None:
        if self.down:
            self.down -= 1
            raise DatabaseUnavailable
        if claim.thread_id in self.lost:
            self.dropped += [turn.id for turn in claim.turns]
            raise ClaimLost
        self.ended += [(turn.id, ending.outcome) for turn in claim.turns]
        del self.running[claim.thread_id]
        return await self.claim(claim.thread_id, owner, lease_seconds)


@dataclass
class Answers:
    """Takes its time for each claim, and notes what ran beside what."""

    seconds: float = 1.0
    started: list[tuple[str, ...]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    async def __call__(self, claim: Claim, lease: Lease, signal: StopSignal) -> Ending:
        self.started.append(tuple(turn.id for turn in claim.turns))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await signal.unless_requested(asyncio.sleep(self.seconds))
        except StopRequested:
            return STOPPED
        finally:
            self.at_once -= 1
        return ANSWERED


@asynccontextmanager
async def running(journal: Journal, answers: Answers) -> AsyncIterator[Worker]:
    worker = Worker(
        journal, answers, owner="me", times=LeaseTimes(20, 5, 2, 8), divide=journal.divided.append
    )
    task = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await task


@in_virtual_time
async def test_a_woken_thread_is_claimed_at_once() -> None:
    journal, answers = Journal(), Answers()
    async with running(journal, answers) as worker:
        await asyncio.sleep(0.5)
        journal.queued[1] = ["a"]
        worker.wake(1)
        await asyncio.sleep(0.01)

        assert answers.started == [("a",)]


@in_virtual_time
async def test_what_nobody_woke_us_for_is_found_by_the_sweep() -> None:
    journal, answers = Journal(queued={1: ["a"]}), Answers()
    async with running(journal, answers):
        await asyncio.sleep(1.5)

    assert journal.ended == [("a", Outcome.ANSWERED)]


@in_virtual_time
async def test_asks_of_one_thread_wait_for_the_running_turn_and_are_answered_together() -> None:
    journal, answers = Journal(), Answers(seconds=5)
    async with running(journal, answers) as worker:
        for ask in ("a", "b", "c"):
            journal.queued.setdefault(1, []).append(ask)
            worker.wake(1)
            await asyncio.sleep(0.1)
        await asyncio.sleep(12)

    assert answers.started == [("a",), ("b", "c")]
    assert answers.most_at_once == 1


@in_virtual_time
async def test_threads_do_not_wait_for_each_other() -> None:
    journal = Journal(queued={thread: [f"ask {thread}"] for thread in range(50)})
    answers = Answers(seconds=60)
    async with running(journal, answers):
        await asyncio.sleep(3)

        assert answers.most_at_once == 50


@in_virtual_time
async def test_a_running_claim_is_renewed() -> None:
    journal, answers = Journal(queued={1: ["a"]}), Answers(seconds=31)
    async with running(journal, answers):
        await asyncio.sleep(33)

    assert journal.renewed == 6


@in_virtual_time
async def test_a_claim_that_another_owner_has_taken_ends_our_work_on_it() -> None:
    journal, answers = Journal(queued={1: ["a"]}), Answers(seconds=60)
    async with running(journal, answers):
        await asyncio.sleep(1)
        journal.lost.add(1)
        await asyncio.sleep(5)

        assert answers.at_once == 0
    assert journal.ended == []


@in_virtual_time
async def test_an_ending_is_told_to_the_journal_also_where_the_claim_is_lost() -> None:
    """What was used for it counts all the same, and nobody else knows how much that is."""
    journal, answers = Journal(queued={1: ["a"]}, down=4), Answers()
    async with running(journal, answers):
        await asyncio.sleep(2)
        journal.lost.add(1)
        await asyncio.sleep(30)

    assert (journal.dropped, journal.ended) == (["a"], [])


@in_virtual_time
async def test_budgets_are_divided_by_the_replicas_at_work() -> None:
    journal, answers = Journal(queued={1: ["a"]}, owners=3), Answers(seconds=10)
    async with running(journal, answers):
        await asyncio.sleep(5)

    assert set(journal.divided) == {3}


@in_virtual_time
async def test_an_ending_is_kept_as_soon_as_the_database_is_back() -> None:
    journal, answers = Journal(queued={1: ["a"]}, down=4), Answers()
    async with running(journal, answers):
        await asyncio.sleep(30)

    assert journal.ended == [("a", Outcome.ANSWERED)]
    assert answers.started == [("a",)]


@in_virtual_time
async def test_no_fault_of_the_database_ends_the_sweep() -> None:
    journal, answers = Journal(), Answers()
    async with running(journal, answers):
        for fault in (StorageError("read-only"), DatabaseUnavailable(), ValueError("a bug")):
            journal.faults.append(fault)
        await asyncio.sleep(7)
        journal.queued[1] = ["a"]
        await asyncio.sleep(4)

    assert journal.ended == [("a", Outcome.ANSWERED)]


@in_virtual_time
async def test_draining_lets_a_running_turn_end_and_takes_nothing_more() -> None:
    journal, answers = Journal(queued={1: ["a"]}), Answers(seconds=3)
    async with running(journal, answers) as worker:
        await asyncio.sleep(1)
        journal.queued[1] = ["b"]
        await worker.drain(seconds=10)

        assert journal.ended == [("a", Outcome.ANSWERED)]
        assert journal.queued == {1: ["b"]}


@in_virtual_time
async def test_what_does_not_end_in_time_goes_back_to_the_queue() -> None:
    journal, answers = Journal(queued={1: ["a"]}), Answers(seconds=600)
    async with running(journal, answers) as worker:
        await asyncio.sleep(1)
        await worker.drain(seconds=5)

        assert journal.queued == {1: ["a"]}
        assert answers.at_once == 0


@in_virtual_time
async def test_an_ending_that_is_shown_is_kept_and_not_handed_over() -> None:
    journal, answers = Journal(queued={1: ["a"]}, down=1), Answers(seconds=1)
    async with running(journal, answers) as worker:
        await asyncio.sleep(0.9)
        await worker.drain(seconds=0.3)  # while it waits to try the database again

        assert journal.ended == [("a", Outcome.ANSWERED)]
        assert journal.queued == {}


@in_virtual_time
async def test_a_turn_that_runs_here_stops_at_once() -> None:
    journal, answers = Journal(queued={1: ["a"]}), Answers(seconds=60)
    async with running(journal, answers) as worker:
        await asyncio.sleep(1)
        worker.stop_turn(TurnToStop("a", 1, BY_ANA))
        await asyncio.sleep(0.01)

        assert journal.ended == [("a", Outcome.STOPPED)]


@in_virtual_time
async def test_a_stop_that_another_replica_has_heard_of_is_found_within_two_seconds() -> None:
    journal, answers = Journal(queued={1: ["a"], 2: ["b"]}), Answers(seconds=60)
    async with running(journal, answers):
        await asyncio.sleep(1)
        journal.stops.append(TurnToStop("a", 1, BY_ANA))
        await asyncio.sleep(2)

        assert journal.ended == [("a", Outcome.STOPPED)]
        assert answers.at_once == 1


@in_virtual_time
async def test_a_stop_for_a_waiting_turn_leaves_the_running_one_alone() -> None:
    journal, answers = Journal(queued={1: ["a"]}), Answers(seconds=10)
    async with running(journal, answers) as worker:
        await asyncio.sleep(1)
        worker.stop_turn(TurnToStop("b", 1, BY_ANA))
        await asyncio.sleep(12)

    assert journal.ended == [("a", Outcome.ANSWERED)]


@in_virtual_time
async def test_a_stop_for_a_turn_that_nobody_has_claimed_has_it_claimed() -> None:
    journal, answers = Journal(), Answers()
    async with running(journal, answers) as worker:
        await asyncio.sleep(0.5)
        journal.queued[1] = ["a"]
        worker.stop_turn(TurnToStop("a", 1, BY_ANA))
        await asyncio.sleep(0.01)

        assert answers.started == [("a",)]


EDITED = Stop(StopCause.ASK_EDITED)


@dataclass
class EditableAnswers(Answers):
    """Lets an edit end the work on a claim, as the real ones do."""

    async def __call__(self, claim: Claim, lease: Lease, signal: StopSignal) -> Ending:
        self.started.append(tuple(turn.id for turn in claim.turns))
        await signal.unless_requested(asyncio.sleep(self.seconds))
        return ANSWERED


@in_virtual_time
async def test_a_turn_whose_ask_was_edited_is_claimed_again_and_ends_once() -> None:
    journal, answers = Journal(queued={1: ["a", "b"]}), EditableAnswers(seconds=5)
    async with running(journal, answers) as worker:
        await asyncio.sleep(1)
        worker.stop_turn(TurnToStop("b", 1, EDITED))
        await asyncio.sleep(4.5)
        assert journal.ended == []
        await asyncio.sleep(1)

    assert answers.started == [("a", "b"), ("a", "b")]
    assert journal.ended == [("a", Outcome.ANSWERED), ("b", Outcome.ANSWERED)]


@in_virtual_time
async def test_an_edit_of_another_ask_disturbs_nothing() -> None:
    journal, answers = Journal(queued={1: ["a"]}), EditableAnswers(seconds=5)
    async with running(journal, answers) as worker:
        await asyncio.sleep(1)
        worker.stop_turn(TurnToStop("c", 1, EDITED))
        await asyncio.sleep(4.5)

    assert answers.started == [("a",)]
