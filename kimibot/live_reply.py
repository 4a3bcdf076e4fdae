"""A growing answer shown in few, well-timed edits, split into parts.

One task paints: it makes one Slack call at a time, always with the newest text, and ends with an
exact last one. What it shows is a function of the state (text, note, button); calls in between
may be skipped, the last one never is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol

from kimibot.budget import FEW_LIVE, Urgency, Wish
from kimibot.conversation import Thread
from kimibot.errors import (
    BlocksRefused,
    FateUnknown,
    MessageGone,
    NotConnected,
    RateLimited,
    SlackError,
)
from kimibot.pacing import Pacing, now
from kimibot.reply_parts import Messages, Posted, ReplyParts, Sure
from kimibot.views import Button, Cut, Part, Style, View

__all__ = ["LiveReply", "Messages", "Posted", "Splitter"]

LAST_TRIES_SECONDS = 600.0
"""So long the last text is tried, through 429s and lost responses, before we give up."""

EDIT_PATIENCE_SECONDS = 1.0
"""So long an exact text waits for an edit before it goes on in a further part instead."""

LIVE_PART_CHARACTERS = 2_500
"""When so much is unseen and edits are scarce, the answer goes on in a further part at once."""

SIGN_SECONDS = 10.0
"""How often the elapsed time is shown while there is no text yet."""


class Splitter(Protocol):
    """Cuts a text into parts. Both look at the text from `start` on, and never change their mind
    about what is full or settled while the text grows."""

    def part(self, text: str, start: Cut, style: Style) -> Part:
        """The part that begins at `start`."""

    def settled(self, text: str, start: Cut, style: Style) -> Cut:
        """The last place in the text where a part may end: before it, nothing is half open."""


@dataclass(frozen=True, slots=True)
class Showing:
    """What the reply is to show now; `number` counts its texts."""

    text: str = ""
    note: str = ""
    button: Button | None = None
    is_last: bool = False
    number: int = 0


class LiveReply:
    """The reply to one turn. Enter it and the sign is posted; `finish` returns when all is shown.

    `reply_ts` are parts that an earlier attempt has left: they are edited in place, and what is
    not needed of them is deleted. `on_posted` is told all parts as soon as a new one has its ts,
    `sure` is awaited right before each call, and `on_shown` is told of each text that Slack
    shows how many older ones were skipped. `stop_button` is there while the reply grows.
    After the painter has failed, `show` and `finish` raise what it failed with.
    """

    def __init__(
        self,
        thread: Thread,
        turn_id: str,
        *,
        messages: Messages,
        pacing: Pacing,
        splitter: Splitter,
        sign: Callable[[float], str],
        on_posted: Posted,
        sure: Sure,
        reply_ts: Sequence[str] = (),
        on_shown: Callable[[int], None] = lambda _: None,
        stop_button: Button | None = None,
    ) -> None:
        self._parts = ReplyParts(
            thread,
            turn_id,
            messages=messages,
            pacing=pacing,
            on_posted=on_posted,
            sure=sure,
            reply_ts=reply_ts,
        )
        self._pacing = pacing
        self._splitter = splitter
        self._sign = sign
        self._on_shown = on_shown
        self._stop_button = stop_button
        self._showing = Showing()
        self._shown_number = 0
        self._style = Style.MARKDOWN
        self._start = Cut()
        self._part = 0
        self._shown: View | None = None
        self._shown_to = Cut()
        self._is_shown_for_sure = True
        self._superseded_ts = ""
        self._changed = asyncio.Event()
        self._pressed = asyncio.Event()
        self._started_at = 0.0
        self._memo: tuple[tuple[Showing, Cut, Style], tuple[Part, Cut]] | None = None
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
        return self._parts.ts

    def show(self, text: str) -> None:
        """The text has grown; it is shown when the budget allows. Returns at once."""
        self._raise_if_failed()
        if text != self._showing.text:
            self._showing = Showing(text, number=self._showing.number + 1)
            self._changed.set()
            if self._unseen() >= LIVE_PART_CHARACTERS:
                self._pressed.set()
            if self._wish.urgency is Urgency.SIGN:
                self._hurry(Urgency.FIRST)

    def say(self, note: str) -> None:
        """Show our own words below the text, until the text grows again. Returns at once."""
        self._raise_if_failed()
        self._showing = replace(self._showing, note=note)
        self._changed.set()

    def wait_as(self, sign: Callable[[float], str]) -> None:
        """Show this sign from now on while there is no text. Returns at once."""
        self._sign = sign
        self._changed.set()

    async def finish(self, text: str, note: str = "", button: Button | None = None) -> None:
        """Show exactly this, whatever it takes; returns when Slack has confirmed all of it.

        Raises SlackError when Slack refuses it, or when ten minutes were not enough.
        """
        assert self._painter is not None
        number = self._showing.number + (text != self._showing.text)
        self._showing = Showing(text, note, button, is_last=True, number=number)
        self._changed.set()
        self._pressed.set()
        self._hurry(Urgency.LAST)
        try:
            async with asyncio.timeout(LAST_TRIES_SECONDS):
                await asyncio.shield(self._painter)
        except TimeoutError as error:
            raise SlackError("chat.update", "not_shown_in_time") from error

    async def take_back(self, note: str) -> None:
        """Leave nothing of the reply in the thread; `note` stands there until it is deleted.

        Raises SlackError when Slack refuses that.
        """
        shown = self._showing.text[: self._shown_to.offset]
        with suppress(MessageGone):  # there is one part less to delete
            await self.finish(shown, note)
        for ts in reversed(self._parts.ts):
            await self._parts.delete(ts)

    def _raise_if_failed(self) -> None:
        if self._painter is not None and self._painter.done() and not self._painter.cancelled():
            error = self._painter.exception()
            if error is not None:
                raise error

    async def _paint(self) -> None:
        """Post the sign, then follow the text until the last view of the last part is shown."""
        with self._pacing.growing() as self._growth:
            await self._show()
            while not self._is_complete():
                await self._wait_for_change()
                await self._show()
        for ts in reversed(self._parts.ts[self._part + 1 :]):
            await self._parts.delete(ts)

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
            await self._drop_superseded()
            view, end = self._view()
            if end is None:
                return
            if view == self._shown:
                self._go_on_in_next_part(end)

    def _view(self) -> tuple[View, Cut | None]:
        """What the open part is to show, and where it ends if it is full."""
        showing = self._showing
        part, _ = self._open_part()
        if part.end is not None:
            return View(part.body, style=self._style), part.end
        note = showing.note
        if not part.body and not note and not showing.is_last:
            note = self._sign(now() - self._started_at)
        button = showing.button if showing.is_last else self._growing_button(part.body)
        return View(part.body, note, button, self._style), None

    def _growing_button(self, body: str) -> Button | None:
        """Below text only while edits are plentiful: to take it away again costs one more."""
        return self._stop_button if not body or self._pacing.live_answers <= FEW_LIVE else None

    def _open_part(self) -> tuple[Part, Cut]:
        """The open part, and up to where it shows the text.

        A growing text is shown up to the last place where a part may end, so that the next part
        can go on from any edit.
        """
        key = (self._showing, self._start, self._style)
        if self._memo is None or self._memo[0] != key:
            self._memo = (key, self._split_off(self._showing, self._start, self._style))
        return self._memo[1]

    def _split_off(self, showing: Showing, start: Cut, style: Style) -> tuple[Part, Cut]:
        part = self._splitter.part(showing.text, start, style)
        if part.end is not None or showing.is_last:
            return part, part.end or Cut(len(showing.text))
        settled = self._splitter.settled(showing.text, start, style)
        return self._splitter.part(showing.text[: settled.offset], start, style), settled

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
        """One call with the newest view."""
        if self._part == len(self._parts.ts):
            if not await self._parts.adopt():
                await self._parts.post_slot()
                await self._post()
            return
        self._wish = self._next_wish()
        if await self._edit_is_granted():
            await self._edit()
        else:
            await self._go_on_by_post()

    async def _edit_is_granted(self) -> bool:
        """Wait for an edit. False: the rest goes out as one further part, which may be posted now.

        Edits are scarce when many answers grow, and posts have a budget of their own. So what must
        be exact and does not get its edit soon takes whichever comes first.
        """
        edit = asyncio.create_task(self._parts.edit_slot(self._wish))
        waiting = {edit}
        try:
            await self._until_pressed(edit)
            self._wish.may_post = self._may_go_on_by_post()
            await asyncio.wait(waiting, timeout=EDIT_PATIENCE_SECONDS)
            if not edit.done() and self._may_go_on_by_post():
                waiting.add(asyncio.create_task(self._parts.post_slot()))
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            return edit.done()
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)

    async def _until_pressed(self, edit: asyncio.Task[None]) -> None:
        """Until the edit is granted, or so much is unseen that it may not wait for one."""
        if not self._is_pressed():
            pressed = asyncio.create_task(self._pressed.wait())
            await asyncio.wait({edit, pressed}, return_when=asyncio.FIRST_COMPLETED)
            pressed.cancel()

    def _is_pressed(self) -> bool:
        return self._must_be_exact() or self._unseen() >= LIVE_PART_CHARACTERS

    def _may_go_on_by_post(self) -> bool:
        """Whether the open part may stay as it is, or shows nothing but a note."""
        shown = self._shown
        return (
            self._is_pressed()
            and self._is_shown_for_sure
            and self._part + 1 == len(self._parts.ts)
            and shown is not None
            and not (shown.body and (shown.note or shown.button))
            and self._shown_to.offset < len(self._showing.text)
        )

    async def _go_on_by_post(self) -> None:
        """The rest becomes a further part; a part that shows no text is superseded by it."""
        has_text = self._shown is not None and bool(self._shown.body)
        if not has_text:
            self._superseded_ts = self._parts.ts[self._part]
        self._go_on_in_next_part(self._shown_to if has_text else self._start)
        await self._post()

    def _go_on_in_next_part(self, start: Cut) -> None:
        self._start, self._part, self._shown = start, self._part + 1, None

    async def _drop_superseded(self) -> None:
        """A sign whose text went out as a post is in the way."""
        if self._superseded_ts:
            await self._parts.delete(self._superseded_ts)
            self._superseded_ts = ""
            self._part -= 1

    async def _edit(self) -> None:
        (view, _), (_, shown_to), number = self._view(), self._open_part(), self._showing.number
        self._wish.last_call_at = now()
        self._is_shown_for_sure = False
        await self._parts.edit(self._part, view)
        self._confirm(view, shown_to, number)

    async def _post(self) -> None:
        (view, _), (_, shown_to), number = self._view(), self._open_part(), self._showing.number
        await self._parts.post(view)
        self._confirm(view, shown_to, number)

    def _confirm(self, view: View, shown_to: Cut, number: int) -> None:
        """Slack shows this now."""
        if number > self._shown_number:
            self._on_shown(number - self._shown_number - 1)
            self._shown_number = number
        self._shown, self._shown_to, self._is_shown_for_sure = view, shown_to, True
        if view.body:
            self._growth.has_shown_words()
        if not self._is_pressed():
            self._pressed.clear()

    def _next_wish(self) -> Wish:
        return Wish(
            self._urgency(),
            since=now() if self._shown_to.offset else self._started_at,
            last_call_at=self._wish.last_call_at,
            unseen=self._unseen,
        )

    def _urgency(self) -> Urgency:
        if self._must_be_exact():
            return Urgency.LAST
        if not self._showing.text:
            return Urgency.SIGN
        return Urgency.LIVE if self._shown_to.offset else Urgency.FIRST

    def _unseen(self) -> int:
        return len(self._showing.text) - self._shown_to.offset

    def _hurry(self, urgency: Urgency) -> None:
        """The edit that waits for its slot has become more urgent."""
        self._wish.urgency = urgency
        self._pacing.reconsider("chat.update")
