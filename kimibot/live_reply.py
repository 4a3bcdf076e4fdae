"""A growing answer shown in few, well-timed edits, split into parts.

One task paints: it makes one Slack call at a time, always with the newest text, and ends with an
exact last one. What it shows is a function of the state (text, note, button); calls in between
may be skipped, the last one never is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol

from kimibot.conversation import Thread
from kimibot.errors import (
    BlocksRefused,
    FateUnknown,
    MessageGone,
    NotConnected,
    RateLimited,
    SlackError,
)
from kimibot.pacing import Pacing, Urgency, Wish, now
from kimibot.views import Button, Cut, Part, Style, View

LAST_TRIES_SECONDS = 600.0
"""So long the last text is tried, through 429s and lost responses, before we give up."""

SIGN_SECONDS = 10.0
"""How often the elapsed time is shown while there is no text yet."""


class Messages(Protocol):
    """Slack's messages, one call each. They raise SlackError and its kinds, and retry nothing."""

    async def post(self, thread: Thread, view: View, turn_id: str, part: int) -> str: ...

    async def edit(self, thread: Thread, ts: str, view: View, turn_id: str, part: int) -> None: ...

    async def delete(self, thread: Thread, ts: str) -> None: ...

    async def find(self, thread: Thread, turn_id: str) -> Mapping[int, str]: ...


Split = Callable[[str, Cut, Style], Part]
Posted = Callable[[Sequence[str]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Showing:
    """What the reply is to show now."""

    text: str = ""
    note: str = ""
    button: Button | None = None
    is_last: bool = False


class LiveReply:
    """The reply to one turn. Enter it and the sign is posted; `finish` returns when all is shown.

    `reply_ts` are parts that an earlier attempt has left: they are edited in place, and what is
    not needed of them is deleted. `on_posted` is told all parts as soon as a new one has its ts.
    After the painter has failed, `show` and `finish` raise what it failed with.
    """

    def __init__(
        self,
        thread: Thread,
        turn_id: str,
        *,
        messages: Messages,
        pacing: Pacing,
        split: Split,
        sign: Callable[[float], str],
        on_posted: Posted,
        reply_ts: Sequence[str] = (),
    ) -> None:
        self._thread = thread
        self._turn_id = turn_id
        self._messages = messages
        self._pacing = pacing
        self._split = split
        self._sign = sign
        self._on_posted = on_posted
        self._ts = list(reply_ts)
        self._showing = Showing()
        self._style = Style.MARKDOWN
        self._start = Cut()
        self._part = 0
        self._shown: View | None = None
        self._shown_length = 0
        self._changed = asyncio.Event()
        self._in_doubt = False
        self._started_at = 0.0
        self._split_memo: tuple[str, Cut, Style, Part] | None = None
        self._wish = Wish(Urgency.LIVE, since=0.0, unseen=self._unseen)
        self._painter: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LiveReply:
        self._started_at = now()
        self._painter = asyncio.create_task(self._paint())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._painter is not None
        self._painter.cancel()
        await asyncio.wait({self._painter})
        if error is None:
            self._raise_if_failed()
        elif not self._painter.cancelled():
            self._painter.exception()  # looked at, so that asyncio does not report it once more

    @property
    def reply_ts(self) -> tuple[str, ...]:
        """The parts that are in the thread, in order."""
        return tuple(self._ts)

    def show(self, text: str) -> None:
        """The text has grown; it is shown when the budget allows. Returns at once."""
        self._raise_if_failed()
        if text != self._showing.text:
            self._showing = Showing(text)
            self._changed.set()
            if self._wish.urgency is Urgency.SIGN:
                self._hurry(Urgency.FIRST)

    def say(self, note: str) -> None:
        """Show our own words below the text, until the text grows again. Returns at once."""
        self._raise_if_failed()
        self._showing = replace(self._showing, note=note)
        self._changed.set()

    async def finish(self, text: str, note: str = "", button: Button | None = None) -> None:
        """Show exactly this, whatever it takes; returns when Slack has confirmed all of it.

        Raises SlackError when Slack refuses it, or when ten minutes were not enough.
        """
        assert self._painter is not None
        self._showing = Showing(text, note, button, is_last=True)
        self._changed.set()
        self._hurry(Urgency.LAST)
        try:
            async with asyncio.timeout(LAST_TRIES_SECONDS):
                await asyncio.shield(self._painter)
        except TimeoutError as error:
            raise SlackError("chat.update", "not_shown_in_time") from error

    def _raise_if_failed(self) -> None:
        if self._painter is not None and self._painter.done() and not self._painter.cancelled():
            error = self._painter.exception()
            if error is not None:
                raise error

    async def _paint(self) -> None:
        """Post the sign, then follow the text until the last view of the last part is shown."""
        with self._pacing.growing():
            await self._show()
            while not self._is_complete():
                await self._wait_for_change()
                await self._show()
            await self._drop_left_over_parts()

    def _is_complete(self) -> bool:
        view, end = self._view()
        return self._showing.is_last and end is None and view == self._shown

    async def _wait_for_change(self) -> None:
        """Until there is something new to show; while there is no text, at most ten seconds."""
        limit = None if self._showing.text else SIGN_SECONDS
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._changed.wait()
        self._changed.clear()

    async def _show(self) -> None:
        """Bring the open part up to date; where it is full, go on with the next."""
        while True:
            await self._bring_up_to_date()
            view, end = self._view()
            if end is None:
                return
            if view == self._shown:
                self._start, self._part, self._shown = end, self._part + 1, None

    def _view(self) -> tuple[View, Cut | None]:
        """What the open part is to show, and where it ends if it is full."""
        showing = self._showing
        part = self._split_text(showing.text)
        if part.end is not None:
            return View(part.body, style=self._style), part.end
        note = showing.note
        if not part.body and not note and not showing.is_last:
            note = self._sign(now() - self._started_at)
        return View(part.body, note, showing.button, self._style), None

    def _split_text(self, text: str) -> Part:
        memo = self._split_memo
        if memo is None or memo[:3] != (text, self._start, self._style):
            part = self._split(text, self._start, self._style)
            self._split_memo = (text, self._start, self._style, part)
            return part
        return memo[3]

    async def _bring_up_to_date(self) -> None:
        """Make Slack show the open part's newest view, by an edit or, for a new part, a post."""
        pause_seconds = 0.5
        while self._view()[0] != self._shown:
            try:
                await self._send()
            except RateLimited:
                continue  # the method is held: the next slot comes when Slack allows it
            except BlocksRefused:
                if self._style is Style.PLAIN:
                    raise
                self._style = Style.PLAIN
            except (FateUnknown, NotConnected):
                await asyncio.sleep(pause_seconds)
                pause_seconds = min(pause_seconds * 2, 8.0)
            else:
                if not self._must_be_exact():
                    return

    def _must_be_exact(self) -> bool:
        """Live text may be older than the newest; a closed part and the last text may not."""
        return self._showing.is_last or self._view()[1] is not None

    async def _send(self) -> None:
        if self._part < len(self._ts):
            await self._edit(self._ts[self._part])
        else:
            await self._post()

    async def _edit(self, ts: str) -> None:
        self._wish = self._next_wish()
        await self._pacing.slot("chat.update", self._wish)
        view, _ = self._view()
        length = len(self._showing.text)
        self._wish.last_call_at = now()
        await self._messages.edit(self._thread, ts, view, self._turn_id, self._part + 1)
        self._shown, self._shown_length = view, length

    async def _post(self) -> None:
        if self._in_doubt and await self._adopt():
            return
        wish = Wish(Urgency.LAST, since=now())
        await self._pacing.slot("chat.postMessage", wish, self._thread.channel)
        view, _ = self._view()
        length = len(self._showing.text)
        try:
            ts = await self._messages.post(self._thread, view, self._turn_id, self._part + 1)
        except FateUnknown:
            self._in_doubt = True
            raise
        self._shown, self._shown_length = view, length
        await self._keep_ts(ts)

    async def _adopt(self) -> bool:
        """A post got no response: look for it in the thread before anything is posted again."""
        found = await self._messages.find(self._thread, self._turn_id)
        self._in_doubt = False
        if self._part + 1 not in found:
            return False
        await self._keep_ts(found[self._part + 1])
        return True

    async def _keep_ts(self, ts: str) -> None:
        self._ts.append(ts)
        await self._on_posted(self._ts)

    def _next_wish(self) -> Wish:
        return Wish(
            self._urgency(),
            since=now() if self._shown_length else self._started_at,
            last_call_at=self._wish.last_call_at,
            unseen=self._unseen,
        )

    def _urgency(self) -> Urgency:
        if self._must_be_exact():
            return Urgency.LAST
        if not self._showing.text:
            return Urgency.SIGN
        return Urgency.LIVE if self._shown_length else Urgency.FIRST

    def _unseen(self) -> int:
        return len(self._showing.text) - self._shown_length

    def _hurry(self, urgency: Urgency) -> None:
        """The edit that waits for its slot has become more urgent."""
        self._wish.urgency = urgency
        self._pacing.reconsider("chat.update")

    async def _drop_left_over_parts(self) -> None:
        """An earlier attempt may have needed more parts than this one."""
        while len(self._ts) > self._part + 1:
            await self._pacing.call("chat.delete")
            try:
                await self._messages.delete(self._thread, self._ts[-1])
            except RateLimited:
                continue
            except (FateUnknown, NotConnected):
                await asyncio.sleep(1.0)
                continue
            except MessageGone:
                pass
            self._ts.pop()
