"""Claims queued turns and runs them: woken at once by the accepting process, and by a sweep."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Protocol

from kimibot.answering import DRAINING
from kimibot.answers import Usage
from kimibot.errors import ClaimLost, DatabaseUnavailable, SlackError, StorageError
from kimibot.lease import Lease, LeaseTimes
from kimibot.stop_signal import StopRequested, StopSignal
from kimibot.turns import Claim, Ending, Outcome, TurnToStop

log = logging.getLogger(__name__)

CLAIM_LOST = "claim lost"
HAND_OVER_SECONDS = 10.0
"""So long a turn has to say its last words and to go back to the queue; then its lease lapses."""


class Journal(Protocol):
    """The queue: turns, and the leases on their threads. All raise DatabaseUnavailable."""

    async def claimable(self) -> list[int]: ...

    async def live_owners(self) -> int: ...

    async def claim(self, thread_id: int, owner: str, lease_seconds: float) -> Claim | None: ...

    async def renew(
        self, owner: str, fences: Mapping[int, int], lease_seconds: float
    ) -> frozenset[int]: ...

    async def stops_requested(self, fences: Mapping[int, int]) -> list[TurnToStop]: ...

    async def release(self, claim: Claim) -> None: ...

    async def keep(
        self, claim: Claim, ending: Ending, *, owner: str, lease_seconds: float
    ) -> Claim | None: ...


class Worker:
    """Runs one turn a thread at a time, and as many threads at once as have something queued.

    `divide` is told how many replicas are at work, `on_claimed` of each claim, and `on_ended` of
    each ending that is kept.
    """

    def __init__(
        self,
        journal: Journal,
        answer: Callable[[Claim, Lease, StopSignal], Awaitable[Ending]],
        *,
        owner: str,
        times: LeaseTimes,
        divide: Callable[[int], None],
        on_claimed: Callable[[Claim], None] = lambda _: None,
        on_ended: Callable[[Claim, Ending], None] = lambda *_: None,
    ) -> None:
        self._journal = journal
        self._answer = answer
        self._owner = owner
        self._times = times
        self._divide = divide
        self._on_claimed = on_claimed
        self._on_ended = on_ended
        self._threads: dict[int, asyncio.Task[None]] = {}
        self._woken: set[int] = set()
        self._fences: dict[int, int] = {}
        self._leases: dict[int, Lease] = {}
        self._signals: dict[int, StopSignal] = {}
        self._keeping: set[int] = set()
        self._is_draining = False
        self._stopped = asyncio.Event()

    def wake(self, thread_id: int) -> None:
        """Something was queued in this thread: claim it now, or right after what runs there."""
        if self._is_draining:
            return
        if thread_id in self._threads:
            self._woken.add(thread_id)
            return
        task = asyncio.create_task(self._run_thread(thread_id), name=f"thread {thread_id}")
        self._threads[thread_id] = task

    def stop_turn(self, wanted: TurnToStop) -> None:
        """Stop the turn if it is the one that runs here, or let it begin anew; if it waits, claim
        it, so that it ends."""
        signal = self._signals.get(wanted.thread_id)
        if signal is not None and signal.is_for(wanted):
            signal.request(wanted.stop)
        else:
            self.wake(wanted.thread_id)

    @property
    def running(self) -> int:
        """How many turns are being answered here."""
        return len(self._fences)

    async def run(self) -> None:
        """Sweep, renew and look for stops until `stop`."""
        times = self._times
        async with asyncio.TaskGroup() as group:
            group.create_task(self._repeat(self._sweep, times.sweep_seconds))
            group.create_task(self._repeat(self._look_for_stops, times.stop_seconds))
            group.create_task(self._repeat(self._renew, times.renew_seconds))

    def stop(self) -> None:
        """Let `run` end, after what it is asking the database just now."""
        self._stopped.set()

    async def drain(self, seconds: float) -> None:
        """Take nothing more; let what runs end, and after `seconds` hand the rest over.

        Keep `run` going meanwhile: the claims of what still runs must be renewed.
        """
        self._is_draining = True
        await self._wait_for_threads(seconds)
        self._hand_over(self._threads.keys() - self._keeping)  # what is shown is only to be kept
        await self._wait_for_threads(HAND_OVER_SECONDS)
        self._hand_over(self._threads.keys())

    def _hand_over(self, threads: Iterable[int]) -> None:
        for thread_id in threads:
            self._threads[thread_id].cancel(DRAINING)

    async def _wait_for_threads(self, seconds: float | None) -> None:
        if self._threads:
            await asyncio.wait(list(self._threads.values()), timeout=seconds)

    async def _repeat(self, look: Callable[[], Awaitable[None]], seconds: float) -> None:
        """Look now and again. One that ended would leave turns without an owner, unnoticed."""
        while not self._stopped.is_set():
            try:
                await look()
            except StorageError as error:
                log.warning("%s: %s", look.__name__.strip("_"), error)
            except Exception:  # whatever it is, the next look may succeed
                log.exception("%s failed", look.__name__.strip("_"))
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._stopped.wait()

    async def _sweep(self) -> None:
        for thread_id in await self._journal.claimable():
            self.wake(thread_id)
        if self._fences:  # Slack's limits are the workspace's: those who work there divide them
            self._divide(await self._journal.live_owners())

    async def _look_for_stops(self) -> None:
        """Stops that another replica has heard of, for turns that run here."""
        for turn in await self._journal.stops_requested(dict(self._fences)):
            self.stop_turn(turn)

    async def _renew(self) -> None:
        fences = dict(self._fences)
        if not fences:
            return
        held_until = self._held_until()
        held = await self._journal.renew(self._owner, fences, self._times.lease_seconds)
        for thread_id, fence in fences.items():
            if self._fences.get(thread_id) != fence:
                continue
            if thread_id in held:
                self._leases[thread_id].prolong(held_until)
            elif thread_id in self._threads and thread_id not in self._keeping:
                self._threads[thread_id].cancel(CLAIM_LOST)

    async def _run_thread(self, thread_id: int) -> None:
        """Work off a thread; a wake-up that comes meanwhile makes it look once more."""
        try:
            while True:
                self._woken.discard(thread_id)
                await self._work_off(thread_id)
                if thread_id not in self._woken:
                    return
        except (DatabaseUnavailable, SlackError) as error:
            log.warning("turn left until its lease lapses: %s", error)
        except ClaimLost as error:
            log.warning("turn dropped: %s", error)
        except Exception:  # the top of the task: nobody else would hear of it
            log.exception("thread %s failed", thread_id)
        finally:
            self._woken.discard(thread_id)
            del self._threads[thread_id]

    async def _work_off(self, thread_id: int) -> None:
        held_until = self._held_until()
        claim = await self._journal.claim(thread_id, self._owner, self._times.lease_seconds)
        while claim is not None:
            if self._is_draining:
                await self._journal.release(claim)
                return
            self._on_claimed(claim)
            lease = Lease(self._times.call_seconds, held_until)
            claim, held_until = await self._run_turn(claim, lease)

    def _held_until(self) -> float:
        """Until when a lease holds that is asked for now. Taken before the database is asked."""
        return asyncio.get_running_loop().time() + self._times.lease_seconds

    async def _run_turn(self, claim: Claim, lease: Lease) -> tuple[Claim | None, float]:
        """Answer and keep; the next claim, if more was queued meanwhile, and how long it holds."""
        self._fences[claim.thread_id] = claim.fence
        self._leases[claim.thread_id] = lease
        first, *merged = (turn.id for turn in claim.turns)
        self._signals[claim.thread_id] = signal = StopSignal(first, merged)
        try:
            ending = await self._answer(claim, lease, signal)
            following = await self._keep(claim, ending)
        except StopRequested:  # its ask was edited: the next claim reads what it says now
            return await self._claim_again(claim)
        except asyncio.CancelledError as error:
            if DRAINING in error.args:
                await self._journal.release(claim)
            raise
        finally:
            self._forget(claim)
        _log(claim, ending)
        self._on_ended(claim, ending)
        return following

    async def _claim_again(self, claim: Claim) -> tuple[Claim | None, float]:
        """Give the turns back and take them again; whoever is faster answers them."""
        self._forget(claim)  # or the next renewal would miss it
        await self._journal.release(claim)
        held_until = self._held_until()
        lease_seconds = self._times.lease_seconds
        return await self._journal.claim(claim.thread_id, self._owner, lease_seconds), held_until

    def _forget(self, claim: Claim) -> None:
        self._fences.pop(claim.thread_id, None)
        self._leases.pop(claim.thread_id, None)
        self._signals.pop(claim.thread_id, None)
        self._keeping.discard(claim.thread_id)

    async def _keep(self, claim: Claim, ending: Ending) -> tuple[Claim | None, float]:
        """The thread shows the ending already: the row must say the same, however long it takes.

        Where the claim is lost meanwhile, the journal says so, and counts what was used.
        """
        self._keeping.add(claim.thread_id)
        wait_seconds = 0.5
        while True:
            held_until = self._held_until()
            try:
                following = await self._journal.keep(
                    claim, ending, owner=self._owner, lease_seconds=self._times.lease_seconds
                )
                return following, held_until
            except DatabaseUnavailable as error:
                log.warning("keep: %s", error, extra={"turn": claim.turns[0].id})
                await asyncio.sleep(wait_seconds)
                wait_seconds = min(wait_seconds * 2, 8.0)


def _log(claim: Claim, ending: Ending) -> None:
    """One line a turn, with all the ids under which it can be looked for."""
    turn, thread, answer = claim.turns[0], claim.thread, ending.answer
    usage = (answer and answer.usage) or Usage()
    log.log(
        logging.WARNING if ending.outcome is Outcome.FAILED else logging.INFO,
        "turn ended",
        extra={
            "turn": turn.id,
            "channel": thread.channel,
            "thread_ts": thread.root_ts,
            "event_id": turn.event_id,
            "trace_id": ending.trace_id,
            "completion_id": answer.completion_id if answer else "",
            "outcome": ending.outcome.value,
            "error_code": ending.error_code,
            "finish_reason": answer.finish_reason if answer else None,
            "attempt": turn.attempt,
            "merged": len(claim.turns) - 1 - len(ending.left_open),
            "parts": len(ending.reply_ts),
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cached_tokens": usage.cached_tokens,
        },
    )
