"""Takes in what was said: keeps what concerns us, queues a turn for each ask, wakes the worker."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from kimibot.addressing import FollowUps, is_follow_up, is_for_us
from kimibot.conversation import Accepted, Message, Thread, ThreadFacts, Us


class Inbox(Protocol):
    """Where messages are kept and turns are queued; both raise DatabaseUnavailable."""

    async def thread_facts(self, thread: Thread, before_ts: str) -> ThreadFacts | None: ...

    async def accept(self, message: Message, *, is_ask: bool, now: datetime) -> Accepted | None: ...


class Accepting:
    """Stores a message before Slack gets its acknowledgement, and runs nothing itself."""

    def __init__(
        self,
        inbox: Inbox,
        us: Us,
        follow_ups: FollowUps,
        wake: Callable[[int], None],
        now: Callable[[], datetime],
    ) -> None:
        self._inbox = inbox
        self._us = us
        self._follow_ups = follow_ups
        self._wake = wake
        self._now = now

    async def accept(self, message: Message) -> Accepted | None:
        """Keep the message if it is an ask or its thread is ours; None when it is neither.

        Returns after the commit. Raises DatabaseUnavailable when that can't be had within two
        seconds: then Slack must not get its acknowledgement, so that it delivers again.
        """
        is_ask = is_for_us(message, self._us)
        if not is_ask:
            if message.is_root:
                return None
            facts = await self._inbox.thread_facts(message.thread, message.ts)
            if facts is None:
                return None
            is_ask = is_follow_up(message, facts, self._follow_ups)
        accepted = await self._inbox.accept(message, is_ask=is_ask, now=self._now())
        if accepted is not None and accepted.turn_id is not None:
            self._wake(accepted.thread_id)
        return accepted
