"""Takes in what was said: keeps what concerns us, queues a turn for each ask, wakes the worker."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol

from kimibot.addressing import FollowUps, is_follow_up, is_for_us, is_stop
from kimibot.conversation import Accepted, Message, Thread, ThreadFacts, Us
from kimibot.errors import DatabaseUnavailable
from kimibot.ordering import Ordering

log = logging.getLogger(__name__)


class Inbox(Protocol):
    """Where messages are kept and turns are queued; both raise DatabaseUnavailable."""

    async def thread_facts(self, thread: Thread, before_ts: str) -> ThreadFacts | None: ...

    async def accept(self, message: Message, *, is_ask: bool, now: datetime) -> Accepted | None: ...


class Accepting:
    """Stores a message before Slack gets its acknowledgement, and runs nothing itself.

    `stop` is told of the word that stops us, `has_to_wait` of an ask that meets an open turn.
    """

    def __init__(
        self,
        inbox: Inbox,
        us: Us,
        follow_ups: FollowUps,
        wake: Callable[[int], None],
        now: Callable[[], datetime],
        ordering: Ordering,
        *,
        stop: Callable[[Message], Awaitable[None]],
        has_to_wait: Callable[[Message], None],
    ) -> None:
        self._inbox = inbox
        self._us = us
        self._follow_ups = follow_ups
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
        is_ask = is_for_us(message, self._us)
        if not is_ask and message.is_root:
            return None
        async with self._ordering.in_turn(message.thread):
            return await (self._ask(message) if is_ask else self._remark(message))

    async def _ask(self, message: Message) -> Accepted | None:
        try:
            accepted = await self._inbox.accept(message, is_ask=True, now=self._now())
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
        """Something said in a thread without a word to us: ours, or a follow-up, or neither."""
        facts = await self._inbox.thread_facts(message.thread, message.ts)
        if facts is None:
            if self._ordering.has_missed(message.thread):
                raise DatabaseUnavailable("the ask before it is not stored yet")
            return None
        if is_follow_up(message, facts, self._follow_ups):
            return await self._ask(message)
        return await self._inbox.accept(message, is_ask=False, now=self._now())


def _ids(message: Message, turn_id: str) -> dict[str, str]:
    return {
        "turn": turn_id,
        "channel": message.thread.channel,
        "thread_ts": message.thread.root_ts,
        "event_id": message.event_id,
    }
