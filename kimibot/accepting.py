"""Takes in what was said: keeps what concerns us, queues a turn for each ask, wakes the worker."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol

from kimibot.addressing import Policy, Wanted, depends_on_thread, verdict
from kimibot.conversation import Accepted, Message, Thread, ThreadFacts, Us
from kimibot.errors import DatabaseUnavailable
from kimibot.ordering import Ordering
from kimibot.turns import Kind
from kimibot.wording import is_stop

log = logging.getLogger(__name__)


class Inbox(Protocol):
    """Where messages are kept and turns are queued; both raise DatabaseUnavailable."""

    async def thread_facts(self, thread: Thread, before_ts: str) -> ThreadFacts | None: ...

    async def accept(
        self,
        message: Message,
        *,
        is_ask: bool,
        kind: Kind = Kind.ASK,
        is_follow_up: bool = False,
        now: datetime,
    ) -> Accepted | None: ...


class Accepting:
    """Stores a message before Slack gets its acknowledgement, and runs nothing itself.

    `stop` is told of the word that stops us, `has_to_wait` of an ask that meets an open turn.
    """

    def __init__(
        self,
        inbox: Inbox,
        us: Us,
        policy: Policy,
        wake: Callable[[int], None],
        now: Callable[[], datetime],
        ordering: Ordering,
        *,
        stop: Callable[[Message], Awaitable[None]],
        has_to_wait: Callable[[Message], None],
    ) -> None:
        self._inbox = inbox
        self._us = us
        self._policy = policy
        self._wake = wake
        self._now = now
        self._ordering = ordering
        self._stop = stop
        self._has_to_wait = has_to_wait

    async def accept(self, message: Message) -> Accepted | None:
        """Keep the message if it is an ask or its thread is ours; None when it is neither.

        The word that stops us is neither: it goes before all that waits to be stored.
        Returns after the commit. Raises DatabaseUnavailable when that can't be had within two
        seconds: then Slack must not get its acknowledgement, so that it delivers again.
        """
        if is_stop(message, self._us):
            await self._stop(message)
            return None
        if message.is_root and self._verdict(message, None) is None:
            return None
        async with self._ordering.in_turn(message.thread):
            return await self._take(message)

    async def _take(self, message: Message) -> Accepted | None:
        kept = await self._keep(message)
        if kept is None and self._ordering.has_missed(message.thread):
            raise DatabaseUnavailable("the ask before it is not stored yet")
        return kept

    async def _keep(self, message: Message) -> Accepted | None:
        is_of_thread = depends_on_thread(message, self._us)
        facts = await self._facts(message) if is_of_thread else None
        wanted = self._verdict(message, facts)
        if wanted is not None:
            return await self._ask(message, wanted)
        return None if is_of_thread and facts is None else await self._remark(message)

    async def _facts(self, message: Message) -> ThreadFacts | None:
        return await self._inbox.thread_facts(message.thread, message.ts)

    def _verdict(self, message: Message, facts: ThreadFacts | None) -> Wanted | None:
        return verdict(message, self._us, facts, self._policy)

    async def _ask(self, message: Message, wanted: Wanted) -> Accepted | None:
        try:
            accepted = await self._inbox.accept(
                message,
                is_ask=True,
                kind=wanted.kind,
                is_follow_up=wanted.is_follow_up,
                now=self._now(),
            )
        except DatabaseUnavailable:
            self._ordering.missed(message.thread)
            raise
        self._ordering.stored(message.thread)
        if accepted is not None and accepted.turn_id is not None:
            log.info("ask accepted", extra=_ids(message, accepted.turn_id))
            self._wake(accepted.thread_id)
            if accepted.must_wait:
                self._has_to_wait(message)
        return accepted

    async def _remark(self, message: Message) -> Accepted | None:
        """What is said in a thread of ours to the others; nothing where we are not to be."""
        if not self._policy.has_channel(message.thread.channel):
            return None
        return await self._inbox.accept(message, is_ask=False, now=self._now())


def _ids(message: Message, turn_id: str) -> dict[str, str]:
    return {
        "turn": turn_id,
        "channel": message.thread.channel,
        "thread_ts": message.thread.root_ts,
        "event_id": message.event_id,
    }
