"""A process in small, as the claim protocol sees it: what it does, and what it believes to hold."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from kimibot.errors import ClaimLost
from kimibot.storage import Database, Store
from kimibot.storage.edit_store import EditStore
from kimibot.storage.stop_store import StopStore
from kimibot.turns import Again, Claim, Ending, Press, Renewal
from tests.storage.said import NOW, answered, failed, says, ts
from tests.storage.stepping import SteppedDatabase

LEASE_SECONDS = 20.0
THE_THREAD = 1
"""The number of the first thread in a fresh database."""


class Replica(Store):
    """The real queries, and a memory of what they have said.

    It counts on a lease from the moment on at which it asked for it, by `asked_at`. What it shows
    carries the fence of its claim, so that the rows tell whose it is.
    """

    def __init__(
        self, name: str, database: Database | SteppedDatabase, asked_at: Callable[[], float]
    ) -> None:
        numbers = iter(range(1, 1000))
        super().__init__(cast(Database, database), new_id=lambda: f"{name}-{next(numbers)}")
        self.stops = StopStore(cast(Database, database))
        self.edits = EditStore(cast(Database, database))
        self.name = name
        self.held: Claim | None = None
        self.sure_until = 0.0
        self.ended: list[str] = []
        self.queued_again: list[str] = []
        self.wake: Callable[[int], None] = _nobody
        self._asked_at = asked_at

    def inherit(self, other: Replica) -> None:
        """Go on with what the other has and has done."""
        self.held, self.sure_until = other.held, other.sure_until
        self.ended = list(other.ended)

    async def claim(self, thread_id: int, owner: str, lease_seconds: float) -> Claim | None:
        """Remember the claim."""
        self.held = await super().claim(thread_id, owner, lease_seconds)
        self.sure_until = self._asked_at() + lease_seconds
        return self.held

    async def renew(
        self, owner: str, fences: Mapping[int, int], lease_seconds: float
    ) -> frozenset[int]:
        """Remember what is no longer ours."""
        ours = await super().renew(owner, fences, lease_seconds)
        if self.held is not None and self.held.thread_id in ours:
            self.sure_until = self._asked_at() + lease_seconds
        else:
            self.held = None
        return ours

    async def release(self, claim: Claim) -> None:
        """Count on nothing any more."""
        self.held = None
        await super().release(claim)

    async def note_reply(
        self, claim: Claim, turn_id: str, reply_ts: Sequence[str], shown_at: datetime
    ) -> None:
        """Remember when the claim turns out to be lost."""
        try:
            await super().note_reply(claim, turn_id, reply_ts, shown_at)
        except ClaimLost:
            self.held = None
            raise

    async def keep(
        self, claim: Claim, ending: Ending, *, owner: str, lease_seconds: float
    ) -> Claim | None:
        """Remember what has ended by it."""
        try:
            self.held = await super().keep(claim, ending, owner=owner, lease_seconds=lease_seconds)
        except ClaimLost:
            self.held = None
            raise
        self.sure_until = self._asked_at() + lease_seconds
        self.ended.extend(turn.id for turn in claim.turns if turn.id not in ending.left_open)
        return self.held


Deed = Callable[[Replica], Awaitable[None]]
"""What a replica does. It ends quietly when the claim that it works on is lost."""


def queue(number: int) -> Deed:
    """Store an ask and leave it at that."""

    async def deed(replica: Replica) -> None:
        await replica.accept(says(number), is_ask=True, now=NOW)

    return deed


def hear(number: int) -> Deed:
    """Store an ask, and work it off if it is new."""

    async def deed(replica: Replica) -> None:
        accepted = await replica.accept(says(number), is_ask=True, now=NOW)
        assert accepted is not None
        if accepted.turn_id is not None:
            await work(replica, accepted.thread_id)

    return deed


def tell(number: int) -> Deed:
    """Store an ask, and wake the worker of the same process if it is new."""

    async def deed(replica: Replica) -> None:
        accepted = await replica.accept(says(number), is_ask=True, now=NOW)
        assert accepted is not None
        if accepted.turn_id is not None:
            replica.wake(accepted.thread_id)

    return deed


def press(turn_id: str) -> Deed:
    """Try again: queue a failed turn once more, and work it off."""

    async def deed(replica: Replica) -> None:
        thread_id = await replica.requeue(turn_id)
        if thread_id is not None:
            replica.queued_again.append(turn_id)
            await work(replica, thread_id)

    return deed


def press_below(turn_id: str, press: Press) -> Deed:
    """Press something below the reply of a turn, and work off what that queues."""

    async def deed(replica: Replica) -> None:
        thread_id = await replica.press(turn_id, press, NOW)
        if thread_id is not None:
            await work(replica, thread_id)

    return deed


def answer_again(turn_id: str) -> Deed:
    """Queue an answered turn once more, and work it off."""

    async def deed(replica: Replica) -> None:
        again, thread_id = await replica.edits.answer_again(Renewal(turn_id, 1))
        if again is Again.QUEUED:
            replica.queued_again.append(turn_id)
            await work(replica, thread_id)

    return deed


def edit(number: int, text: str) -> Deed:
    """Say something else, soon."""

    async def deed(replica: Replica) -> None:
        await replica.edits.correct(says(number, text), restarts=True)

    return deed


async def look(replica: Replica) -> None:
    """Begin anew if what is answered was edited, as often as that is so."""
    while replica.held is not None:
        held = replica.held
        if not await replica.stops_requested({held.thread_id: held.fence}):
            return
        await replica.release(held)
        await take(replica, held.thread_id)


async def work(replica: Replica, thread_id: int = THE_THREAD) -> None:
    """Claim, and answer until nothing is left."""
    await take(replica, thread_id)
    await finish(replica)


async def take(replica: Replica, thread_id: int = THE_THREAD) -> None:
    """Try the claim."""
    await replica.claim(thread_id, replica.name, LEASE_SECONDS)


async def finish(replica: Replica) -> None:
    """Answer what is claimed, and what is claimed after it."""
    while replica.held is not None:
        await _end(replica, replica.held, answer_to(replica.held))


async def fail(replica: Replica) -> None:
    """End what is claimed as failed, and answer what is claimed after it."""
    if replica.held is not None:
        await _end(replica, replica.held, failed(shown_under(replica.held.fence)))
    await finish(replica)


async def finish_one(replica: Replica) -> None:
    """Answer the oldest ask that is claimed, and then, claimed anew, the others."""
    if replica.held is not None:
        others = tuple(turn.id for turn in replica.held.turns[1:])
        await _end(replica, replica.held, replace(answer_to(replica.held), left_open=others))
    await finish(replica)


async def show(replica: Replica) -> None:
    """Note the first part of a reply."""
    if replica.held is not None:
        turn, part = replica.held.turns[0], shown_under(replica.held.fence)
        try:
            await replica.note_reply(replica.held, turn.id, [part], NOW)
        except ClaimLost:
            return


async def prolong(replica: Replica) -> None:
    """Renew the lease."""
    if replica.held is not None:
        fences = {replica.held.thread_id: replica.held.fence}
        await replica.renew(replica.name, fences, LEASE_SECONDS)


async def give_back(replica: Replica) -> None:
    """Leave the turns to whoever comes."""
    if replica.held is not None:
        await replica.release(replica.held)


async def keep_twice(replica: Replica) -> None:
    """Keep an answer without hearing that it was kept, so do it once more."""
    if replica.held is not None:
        held = replica.held
        await _end(replica, held, answer_to(held))
        replica.held = None
        await _end(replica, held, answer_to(held))


def stop(number: int) -> Deed:
    """Say that what was asked before is to stop."""

    async def deed(replica: Replica) -> None:
        word = says(number, "stop")
        if await replica.stops.remember_word(word):
            await replica.stops.mark_for_word(word)

    return deed


def answer_to(held: Claim) -> Ending:
    """An answer that tells under which claim it was given."""
    return answered(1000 + held.fence)


def shown_under(fence: int) -> str:
    """The part that whoever holds the thread under this fence shows."""
    return ts(1000 + fence)


def _nobody(thread_id: int) -> None:
    """No worker is there to be woken."""


async def _end(replica: Replica, held: Claim, ending: Ending) -> None:
    try:
        await replica.keep(held, ending, owner=replica.name, lease_seconds=LEASE_SECONDS)
    except ClaimLost:
        return
