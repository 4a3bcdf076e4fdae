"""The Slack messages of one reply: posted once, found again, edited and deleted, one at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from kimibot.budget import Urgency, Wish
from kimibot.conversation import Thread
from kimibot.errors import FateUnknown, MessageGone, NotConnected, RateLimited, SlackError
from kimibot.pacing import Pacing, now
from kimibot.views import View

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
EMPTY = "…"
"""What stands in a message that is no part of the reply any more and can't be deleted."""

Found = TypeVar("Found")


class Messages(Protocol):
    """Slack's messages, one call each. They raise SlackError and its kinds, and retry nothing."""

    async def post(self, thread: Thread, view: View, turn_id: str, part: int) -> str: ...

    async def edit(self, thread: Thread, ts: str, view: View) -> None: ...

    async def delete(self, thread: Thread, ts: str) -> None: ...

    async def find(self, thread: Thread, turn_id: str) -> Sequence[str]:
        """The ts of all messages of the turn's reply that are in the thread, oldest first."""


OnPosted = Callable[[Sequence[str]], Awaitable[None]]
Sure = Callable[[], Awaitable[None]]
"""Returns when a call may be made: when our claim on the thread will outlast it."""


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """The turn that a reply is to, and how that stands.

    `reply_ts` are parts that an earlier attempt has left, and with `is_taken_over` a call of its
    may still be under way. `on_posted` is told all parts whenever there is one more or one less,
    and `sure` is awaited right before each call.
    """

    thread: Thread
    turn_id: str
    on_posted: OnPosted
    sure: Sure
    reply_ts: Sequence[str] = ()
    is_taken_over: bool = False


class ReplyParts:
    """The parts of a reply that are in the thread, in order."""

    def __init__(
        self, to: ReplyTo, messages: Messages, pacing: Pacing, *, settle_seconds: float
    ) -> None:
        self._thread = to.thread
        self._turn_id = to.turn_id
        self._messages = messages
        self._pacing = pacing
        self._on_posted = to.on_posted
        self._sure = to.sure
        self._ts = list(to.reply_ts)
        self._is_in_doubt = False
        self._settle_seconds = settle_seconds
        self._unsettled_since = now() if to.is_taken_over else None
        self._views: dict[str, View] = {}

    @property
    def ts(self) -> tuple[str, ...]:
        return tuple(self._ts)

    @property
    def is_settled(self) -> bool:
        """Whether nothing that got no response can still change what the thread shows."""
        return self._unsettled_since is None

    async def edit_slot(self, wish: Wish) -> None:
        """Return when an edit may be made, right now."""
        await self._pacing.slot("chat.update", wish)

    async def post_slot(self) -> None:
        """Return when one more part may be posted, right now."""
        wish = Wish(Urgency.LAST, since=now())
        await self._pacing.slot("chat.postMessage", wish, self._thread.channel)

    async def edit(self, part: int, view: View) -> None:
        """Make a part show this. The caller has the slot."""
        await self._sure()
        ts = self._ts[part]
        try:
            await self._messages.edit(self._thread, ts, view)
        except FateUnknown:
            self._unsettled_since = now()
            raise
        self._views[ts] = view

    async def post(self, view: View) -> None:
        """Post one more part. The caller has the slot.

        Raises FateUnknown when no response came: then look with `adopt` before the next try.
        """
        await self._sure()
        try:
            ts = await self._messages.post(self._thread, view, self._turn_id, len(self._ts) + 1)
        except FateUnknown:
            self._is_in_doubt, self._unsettled_since = True, now()
            raise
        self._is_in_doubt, self._views[ts] = False, view
        await self._add(ts)

    async def adopt(self) -> bool:
        """If a post got no response, look for it in the thread: True when it was there.

        An older one than the newest part is the late twin of another post, to be taken out at the
        end.
        """
        if not self._is_in_doubt:
            return False
        found = await self._find()
        self._is_in_doubt = False
        newest = self._ts[-1] if self._ts else ""
        unknown = [ts for ts in found if ts not in self._ts and ts > newest]
        if unknown:
            await self._add(unknown[0])
        return bool(unknown)

    async def delete(self, ts: str) -> None:
        """Take a part out of the thread; it may be gone already. Raises SlackError.

        It counts as none from now on, so that our own deletion is not taken for somebody else's.
        """
        await self._count_out(ts)
        with suppress(MessageGone):
            await until_answered(partial(self._delete, ts))

    async def drop(self, ts: str) -> None:
        """Take a part out that is in the way, or empty it where Slack lets nobody delete it."""
        await self._count_out(ts)
        await self._take_out(ts)

    async def settle(self, last: View) -> None:
        """See to it that the thread shows these parts, exactly and nothing else.

        If anything had to be settled, the last part shows `last` from then on.

        A call without a response, ours or that of an owner whose turn we took over, may be applied
        late, and then undo a newer one. So when it can't be applied any more, what is too much is
        taken out, and what should be shown is sent once again.
        """
        if self._unsettled_since is None:
            return
        await asyncio.sleep(self._unsettled_since + self._settle_seconds - now())
        if self._ts:
            self._views[self._ts[-1]] = last
        try:
            await self._put_right()
        except SlackError as error:  # all that we have to show was confirmed before
            log.warning("reply not settled: %s", error, extra={"turn": self._turn_id})
        self._unsettled_since = None

    async def _put_right(self) -> None:
        """First what should be there: it does not depend on what Slack lets us delete."""
        for ts in self._ts:
            with suppress(MessageGone):  # somebody did not want it
                await until_answered(partial(self._show_again, ts))
        for ts in await until_answered(self._find):
            if ts not in self._ts:
                await self._take_out(ts)

    async def _find(self) -> Sequence[str]:
        return await self._messages.find(self._thread, self._turn_id)

    async def _show_again(self, ts: str) -> None:
        await self._pacing.call("chat.update")
        await self._sure()
        await self._messages.edit(self._thread, ts, self._views[ts])

    async def _count_out(self, ts: str) -> None:
        if ts in self._ts:
            self._ts.remove(ts)
            await self._on_posted(self._ts)

    async def _take_out(self, ts: str) -> None:
        """Delete it, or empty it where the workspace keeps everything."""
        try:
            await until_answered(partial(self._delete, ts))
        except MessageGone:
            return
        except SlackError as error:
            log.info("part not deleted: %s", error, extra={"turn": self._turn_id})
            with suppress(SlackError):  # it is no part of the reply any more
                await until_answered(partial(self._empty, ts))

    async def _empty(self, ts: str) -> None:
        await self._pacing.call("chat.update")
        await self._sure()
        await self._messages.edit(self._thread, ts, View(note=EMPTY))

    async def _delete(self, ts: str) -> None:
        await self._pacing.call("chat.delete")
        await self._sure()
        await self._messages.delete(self._thread, ts)

    async def _add(self, ts: str) -> None:
        self._ts.append(ts)
        await self._on_posted(self._ts)


async def until_answered(call: Callable[[], Awaitable[Found]]) -> Found:
    """Try what may be done twice until Slack has answered."""
    while True:
        try:
            return await call()
        except RateLimited:
            continue  # the method is held: the next slot comes when Slack allows it
        except (FateUnknown, NotConnected):
            await asyncio.sleep(PAUSE_SECONDS)
