"""The bot's memory as the rest of it sees it: one short transaction for each thing it asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from kimibot.answers import ChatMessage
from kimibot.attachments import Attachment
from kimibot.conversation import Accepted, Asker, Message, Remembered, Thread, ThreadFacts
from kimibot.errors import ClaimLost
from kimibot.storage import (
    asks,
    attachments,
    claims,
    deletions,
    expiry,
    feedback,
    memory,
    orders,
    owners,
    presses,
    stops,
    usage,
)
from kimibot.storage.engine import Database
from kimibot.turns import Claim, Ending, Kind, Press, TurnToStop

ACCEPT_SECONDS = 2.0
"""Slack wants its answer within three: https://docs.slack.dev/apis/events-api/#responding"""


def _new_id() -> str:
    return uuid4().hex


class Store:
    """Every method is one transaction: whole or not at all.

    All raise DatabaseUnavailable when the database can't be reached or is locked for too long.
    """

    def __init__(self, database: Database, *, new_id: Callable[[], str] = _new_id) -> None:
        self._database = database
        self._new_id = new_id

    async def thread_facts(self, thread: Thread, before_ts: str) -> ThreadFacts | None:
        """What the thread looked like right before `before_ts`; None if it is not ours."""
        async with self._database.reading(ACCEPT_SECONDS) as connection:
            return await asks.thread_facts(connection, thread, before_ts)

    async def accept(
        self,
        message: Message,
        *,
        is_ask: bool,
        kind: Kind = Kind.ASK,
        is_follow_up: bool = False,
        asker: Asker | None = None,
        now: datetime,
    ) -> Accepted | None:
        """Stores a message, and if it is an ask, its thread and a queued turn. Once returned, it
        survives a crash. The author is who asks, unless `asker` says otherwise.

        None, and nothing stored, when the thread is not ours and the message does not open it:
        only an ask does. A repeated delivery finds its thread but queues nothing, and
        a copy that came first as no ask is no hindrance. Gives up after two seconds.
        """
        async with self._database.writing(ACCEPT_SECONDS) as connection:
            return await asks.accept(
                connection,
                message,
                is_ask=is_ask,
                kind=kind,
                is_follow_up=is_follow_up,
                asker=asker,
                now=now,
                new_id=self._new_id,
            )

    async def add_messages(self, thread_id: int, messages: Sequence[Message]) -> None:
        """Fills gaps with what was read from Slack; leaves out what is there, our replies, and
        what is to stay forgotten."""
        async with self._database.writing() as connection:
            missing = await memory.without_replies(connection, thread_id, messages)
            missing = await memory.without_forgotten(connection, thread_id, missing)
            await memory.add_messages(connection, thread_id, missing)

    async def claimable(self) -> list[int]:
        """Threads with open turns and no live lease, the one that waits longest first."""
        async with self._database.reading() as connection:
            return await claims.claimable(connection)

    async def live_owners(self) -> int:
        """How many owners work on threads just now."""
        async with self._database.reading() as connection:
            return await owners.live_owners(connection)

    async def claim(self, thread_id: int, owner: str, lease_seconds: float) -> Claim | None:
        """Makes `owner` the one who works on the thread, until the lease ends by the database's
        clock; None when another's lease is live or no turn is open."""
        async with self._database.writing() as connection:
            return await claims.claim(connection, thread_id, owner, lease_seconds)

    async def renew(
        self, owner: str, fences: Mapping[int, int], lease_seconds: float
    ) -> frozenset[int]:
        """Prolongs the claims, given as thread ids with their fences; the ids that are still the
        owner's."""
        if not fences:
            return frozenset()
        async with self._database.writing() as connection:
            return await claims.renew(connection, owner, fences, lease_seconds)

    async def stops_requested(self, fences: Mapping[int, int]) -> list[TurnToStop]:
        """Of what runs under these claims, given as for `renew`: the turns that are to stop."""
        if not fences:
            return []
        async with self._database.reading() as connection:
            return await stops.requested(connection, fences)

    async def release(self, claim: Claim) -> None:
        """Gives the claim's turns back to the queue; does nothing if the claim is lost."""
        async with self._database.writing() as connection:
            await claims.release(connection, claim)

    async def note_reply(
        self, claim: Claim, turn_id: str, reply_ts: Sequence[str], shown_at: datetime
    ) -> None:
        """Stores the parts posted so far, and when the first was; ClaimLost when it was taken."""
        async with self._database.writing() as connection:
            await claims.note_reply(connection, claim, turn_id, reply_ts, shown_at)

    async def recall(self, thread_id: int) -> list[Remembered]:
        """The thread's messages: those with a place in its order, then the others by time."""
        async with self._database.reading() as connection:
            return await memory.recall(connection, thread_id)

    async def last_review(self, thread_id: int) -> Mapping[str, Any] | None:
        """What the newest review of the thread has found; None where there is none."""
        async with self._database.reading() as connection:
            return await memory.last_review(connection, thread_id)

    async def review_of_part(self, thread_id: int, ts: str) -> Mapping[str, Any] | None:
        """The same for the review whose reply has this part."""
        async with self._database.reading() as connection:
            turn_id = await deletions.turn_of_part(connection, thread_id, stops.part_pattern(ts))
            return await memory.review_of(connection, turn_id or "")

    async def no_problems(self, thread_id: int) -> list[Mapping[str, Any]]:
        """The findings of the thread's reviews of which somebody has said that they are none."""
        async with self._database.reading() as connection:
            return await feedback.no_problems(connection, thread_id)

    async def note_no_problem(self, claim: Claim, part_ts: str, number: int) -> bool:
        """Notes that the asker has said so of a finding, and whether there is one: of the review
        whose reply has this part, or of the newest for "". ClaimLost when the thread is not ours.
        """
        async with self._database.writing() as connection:
            if part_ts:
                pattern = stops.part_pattern(part_ts)
                turn_id = await deletions.turn_of_part(connection, claim.thread_id, pattern)
            else:
                turn_id = await memory.turn_of_last_review(connection, claim.thread_id)
            return await orders.note_no_problem(connection, claim, turn_id, number)

    async def take_back_no_problem(self, claim: Claim, number: int) -> Mapping[str, Any] | None:
        """The finding of which it is not noted any more, None where it was not: of the newest
        review, or of one before if that has fewer. ClaimLost when the thread is not ours."""
        async with self._database.writing() as connection:
            return await orders.take_back_no_problem(connection, claim, number)

    async def mute(self, claim: Claim, *, muted: bool) -> None:
        """Whether the thread's follow-ups are left alone; ClaimLost when it is not ours."""
        async with self._database.writing() as connection:
            await orders.mute(connection, claim, muted=muted)

    async def forget_thread(self, claim: Claim, ts: str) -> int:
        """Empties what was said in the thread up to `ts`, for good, with all that we have
        answered; how many messages that were. ClaimLost when the thread is not ours."""
        async with self._database.writing() as connection:
            return await orders.forget(connection, claim, ts)

    async def attachments(self, thread_id: int) -> list[Attachment]:
        """All files of the thread that were not taken out of it, each text as it was decoded."""
        async with self._database.reading() as connection:
            return await attachments.of_thread(connection, thread_id)

    async def keep_contents(self, thread_id: int, read: Sequence[Attachment]) -> None:
        """Stores what was in files; leaves out those that are gone meanwhile."""
        async with self._database.writing() as connection:
            await attachments.keep(connection, thread_id, read)

    async def keep(
        self, claim: Claim, ending: Ending, *, owner: str, lease_seconds: float
    ) -> Claim | None:
        """Ends the claim and all its turns: the oldest as `ending` says, the others merged into it.

        Returns the next claim when asks came in meanwhile. Raises ClaimLost, with nothing written
        but what was used, when somebody else has the thread or it was released.
        """
        try:
            async with self._database.writing() as connection:
                return await claims.keep(
                    connection, claim, ending, owner=owner, lease_seconds=lease_seconds
                )
        except ClaimLost:
            async with self._database.writing() as connection:
                await usage.count_lost(connection, claim, ending)
            raise

    async def requeue(self, turn_id: str) -> int | None:
        """Queues a failed turn once more and returns its thread; None for any other turn."""
        async with self._database.writing(ACCEPT_SECONDS) as connection:
            return await asks.requeue(connection, turn_id)

    async def turn_of_ours(self, thread: Thread, ts: str) -> str | None:
        """The turn whose reply a message of ours is a part of, or stands below, as its files do."""
        async with self._database.reading(ACCEPT_SECONDS) as connection:
            thread_id = await asks.thread_id(connection, thread)
            if thread_id is None:
                return None
            return await presses.turn_of_ours(connection, thread_id, ts)

    async def press(
        self, turn_id: str, press: Press, now: datetime, asker: Asker | None = None
    ) -> int | None:
        """Queues a turn for what was pressed below the reply of `turn_id`, and returns its thread.
        Who asked before is who asks, unless `asker` says otherwise.

        None where no answer is left to which that could belong, and where it was pressed before:
        each press has one turn. Gives up after two seconds.
        """
        async with self._database.writing(ACCEPT_SECONDS) as connection:
            return await presses.add(
                connection, turn_id, press, asker=asker, now=now, new_id=self._new_id
            )

    async def has_ended(self, turn_id: str) -> bool:
        """Whether there is such a turn that has its outcome."""
        async with self._database.reading(ACCEPT_SECONDS) as connection:
            return await presses.has_ended(connection, turn_id)

    async def turn_owner(self, turn_id: str) -> tuple[Thread, str] | None:
        """The turn's thread and asker; None if there is no such turn."""
        async with self._database.reading(ACCEPT_SECONDS) as connection:
            return await asks.turn_owner(connection, turn_id)

    async def has_asked(self, turn_id: str, person: str) -> bool:
        """Whether the turn answers an ask of that person, alone or with others."""
        async with self._database.reading(ACCEPT_SECONDS) as connection:
            return await asks.has_asked(connection, turn_id, person)

    async def answer_to(self, turn_id: str) -> ChatMessage | None:
        """The model's message for a turn as it was received; None where none is kept."""
        async with self._database.reading(ACCEPT_SECONDS) as connection:
            return await memory.answer_to(connection, turn_id)

    async def remove_old(self, before: datetime, most: int) -> int:
        """Removes at most so many threads in which nothing has happened since `before`, with all
        that is kept of them; how many. None with an open turn or a live claim. The numbers of the
        days before that go as well."""
        async with self._database.writing() as connection:
            return await expiry.remove_old(connection, before, most)

    async def open_asks(self) -> int:
        """How many asks have no outcome yet, waiting or running. Gives up after two seconds."""
        async with self._database.reading(ACCEPT_SECONDS) as connection:
            return await asks.open_asks(connection)
