"""Shows a growing text in the thread: one Slack call at a time, always with the newest text.

What is shown is a function of the state (text, note, handles). Calls in between may be skipped, the
last one never is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from kimibot.budget import FEW_LIVE, Urgency, Wish
from kimibot.errors import (
    BlocksRefused,
    FateUnknown,
    MessageGone,
    NotConnected,
    RateLimited,
    ReplyRefused,
    SlackError,
)
from kimibot.pacing import Growth, Pacing, now
from kimibot.reply.open_part import OpenPart, Seen, Showing, Splitter
from kimibot.reply.parts import ReplyParts
from kimibot.views import Button, Cut, Handle, Style, View

EDIT_PATIENCE_SECONDS = 1.0
"""So long an exact text waits for an edit before it goes on in a further part instead."""

LIVE_PART_CHARACTERS = 2_500
"""When so much is unseen and edits are scarce, the answer goes on in a further part at once."""

UNKNOWN_TRIES = 3
"""So often a call is made that Slack refuses with a code that we do not know."""

SIGN_SECONDS = 10.0
"""How often the elapsed time is shown while there is no text yet."""


class Painter:
    """Follows `showing` until its last view is shown. Change it by `change`."""

    def __init__(
        self,
        parts: ReplyParts,
        pacing: Pacing,
        splitter: Splitter,
        *,
        sign: Callable[[float], str],
        on_shown: Callable[[int], None],
        stop_button: Button | None,
    ) -> None:
        self.showing = Showing()
        self._parts = parts
        self._pacing = pacing
        self._sign = sign
        self._on_shown = on_shown
        self._stop_button = stop_button
        self._open = OpenPart(splitter)
        self._part = 0
        self._shown: View | None = None
        self._shown_to = Cut()
        self._shown_number = 0
        self._shown_folds = 0
        self._is_shown_for_sure = True
        self._starts_over = False
        self._superseded_ts = ""
        self._changed = asyncio.Event()
        self._pressed = asyncio.Event()
        self._growth = Growth(set())
        self._started_at = 0.0
        self._wish = Wish(Urgency.LIVE, since=0.0, unseen=self._unseen)

    @property
    def shown_text(self) -> str:
        """As much of the text as Slack has confirmed."""
        return self.showing.text[: self._shown_to.offset]

    def change(self, showing: Showing) -> None:
        """Show this from now on."""
        self.showing = showing
        self._changed.set()
        if showing.is_last or self._unseen() >= LIVE_PART_CHARACTERS:
            self._pressed.set()
        if showing.is_last:
            self._hurry(Urgency.LAST)
        elif self._unseen() > 0 and self._wish.urgency is Urgency.SIGN:
            self._hurry(Urgency.LIVE if self._shown_to.offset else Urgency.FIRST)

    def start_over(self) -> None:
        """What is shown next does not go on from the text before, but takes its place."""
        self._starts_over = True

    def wait_as(self, sign: Callable[[float], str]) -> None:
        """Show this sign from now on while there is no text."""
        self._sign = sign
        self._changed.set()

    async def paint(self) -> None:
        """Post the sign, then follow the text until the last view of the last part is shown.

        May be called again for a last text that goes on from the one before.
        """
        self._started_at = now()
        with self._pacing.growing() as self._growth:
            await self._show()
            while not self._is_complete():
                await self._wait_for_change()
                await self._show()
        for ts in reversed(self._parts.ts[self._part + 1 :]):
            await self._parts.drop(ts)
        await self._parts.settle(replace(self._view()[0], handles=self.showing.handles))

    def _is_complete(self) -> bool:
        view, end = self._view()
        is_shown = self.showing.is_last and end is None and view == self._shown
        return is_shown and not self._starts_over

    async def _wait_for_change(self) -> None:
        """Until there is something new to show; while there is no text, at most ten seconds."""
        limit = None if self.showing.text else SIGN_SECONDS
        with suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._changed.wait()
        self._changed.clear()

    async def _show(self) -> None:
        """Bring the open part up to date; where it is full, go on with the next."""
        while True:
            self._go_to_the_top_if_wanted()
            await self._bring_up_to_date()
            await self._drop_superseded()
            if self._starts_over:
                continue
            view, end = self._view()
            if end is None:
                return
            if view == self._shown:
                self._go_on_in_next_part(end)

    def _go_to_the_top_if_wanted(self) -> None:
        """Not while a call is under way: what it shows is noted for the part that it is about."""
        if self._starts_over:
            self._starts_over = False
            self._open.start, self._part, self._shown, self._shown_to = Cut(), 0, None, Cut()

    def _view(self) -> tuple[View, Cut | None]:
        """What the open part is to show, and where it ends if it is full."""
        showing = self.showing
        part, shown_to = self._open.of(showing)
        if part.end is not None:
            return View(part.body, style=self._open.style), part.end
        note = showing.note or (showing.count if showing.is_cut_at(shown_to) else "")
        if not part.body and not note and not showing.is_last:
            note = self._sign(now() - self._started_at)
        handles = self._last_handles() if showing.is_last else self._growing_handles(part.body)
        return View(part.body, note, handles, self._open.style), None

    def _last_handles(self) -> tuple[Handle, ...]:
        """Not before the reply is settled: until then its turn runs, and can't be tried again."""
        return self.showing.handles if self._parts.is_settled else ()

    def _growing_handles(self, body: str) -> tuple[Handle, ...]:
        """Below text only while edits are plentiful: to take it away again costs one more."""
        if self._stop_button is None or (body and self._pacing.live_answers > FEW_LIVE):
            return ()
        return (self._stop_button,)

    async def _bring_up_to_date(self) -> None:
        """Make Slack show the open part's newest view, by an edit or, for a new part, a post."""
        pause_seconds, tries_left = 0.5, UNKNOWN_TRIES
        while not self._starts_over and self._view()[0] != self._shown:
            try:
                await self._send()
            except RateLimited:
                continue  # the method is held: the next slot comes when Slack allows it
            except BlocksRefused:
                self._make_plainer()
            except (ReplyRefused, MessageGone):
                raise
            except SlackError as error:
                is_passing = isinstance(error, FateUnknown | NotConnected)
                tries_left -= not is_passing
                if not is_passing and tries_left == 0:
                    raise
                await asyncio.sleep(pause_seconds)
                pause_seconds = min(pause_seconds * 2, 8.0)
            else:
                if not self._must_be_exact():
                    return

    def _make_plainer(self) -> None:
        """Slack did not take the blocks. Called while their refusal is being handled."""
        if self._open.style is Style.MARKDOWN:
            self._open.style = Style.PLAIN
        elif self.showing.handles or self._stop_button:
            self.showing, self._stop_button = replace(self.showing, handles=()), None
        else:
            raise  # plain text was refused as well

    def _must_be_exact(self) -> bool:
        """Live text may be older than the newest; a closed part and the last text may not."""
        return self.showing.is_last or self._view()[1] is not None

    async def _send(self) -> None:
        """One call with the newest view."""
        if self._part == len(self._parts.ts):
            if not await self._parts.adopt():
                await self._parts.post_slot()
                if not self._starts_over:
                    await self._post()
            return
        self._wish = self._next_wish()
        is_granted = await self._edit_is_granted()
        if is_granted and not self._starts_over:
            await self._edit()
        elif not self._starts_over:
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
            try:
                await asyncio.wait({edit, pressed}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                pressed.cancel()

    def _is_pressed(self) -> bool:
        return self._must_be_exact() or self._unseen() >= LIVE_PART_CHARACTERS

    def _may_go_on_by_post(self) -> bool:
        """Whether the open part may stay as it is, or shows nothing but a note.

        It may not while it shows code that is hidden now, or may be hidden again.
        """
        shown = self._shown
        return (
            self._is_pressed()
            and self._is_shown_for_sure
            and self._part + 1 == len(self._parts.ts)
            and shown is not None
            and not (shown.body and (shown.note or shown.handles or self._is_folded_since()))
            and self._shown_to.offset < len(self.showing.text)
            and self._shown_to.offset <= self.showing.firm_to
        )

    async def _go_on_by_post(self) -> None:
        """The rest becomes a further part; a part that shows no text is superseded by it."""
        has_text = self._shown is not None and bool(self._shown.body)
        if not has_text:
            self._superseded_ts = self._parts.ts[self._part]
        self._go_on_in_next_part(self._shown_to if has_text else self._open.start)
        await self._post()

    def _go_on_in_next_part(self, start: Cut) -> None:
        self._open.start, self._part, self._shown = start, self._part + 1, None

    async def _drop_superseded(self) -> None:
        """A sign whose text went out as a post is in the way."""
        if self._superseded_ts:
            await self._parts.drop(self._superseded_ts)
            self._superseded_ts = ""
            self._part -= 1

    async def _edit(self) -> None:
        seen = self._to_be_seen()
        self._wish.last_call_at = now()
        self._is_shown_for_sure = False
        await self._parts.edit(self._part, seen.view)
        self._confirm(seen)

    async def _post(self) -> None:
        seen = self._to_be_seen()
        await self._parts.post(seen.view)
        self._confirm(seen)

    def _to_be_seen(self) -> Seen:
        """What a call that is made now will show."""
        _, shown_to = self._open.of(self.showing)
        return Seen(self._view()[0], shown_to, self.showing.number, self.showing.folds)

    def _confirm(self, seen: Seen) -> None:
        """Slack shows this now."""
        if seen.number > self._shown_number:
            self._on_shown(seen.number - self._shown_number - 1)
            self._shown_number = seen.number
        self._shown, self._shown_to, self._is_shown_for_sure = seen.view, seen.shown_to, True
        self._shown_folds = seen.folds
        if seen.view.body:
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
        if self._unseen() <= 0:
            return Urgency.SIGN
        return Urgency.LIVE if self._shown_to.offset else Urgency.FIRST

    def _unseen(self) -> int:
        shown_to = self._open.start if self._is_folded_since() else self._shown_to
        return len(self.showing.text) - shown_to.offset

    def _is_folded_since(self) -> bool:
        """Whether what is shown has code that the text has no more."""
        return self._shown_folds != self.showing.folds

    def _hurry(self, urgency: Urgency) -> None:
        """The edit that waits for its slot has become more urgent."""
        self._wish.urgency = urgency
        self._pacing.reconsider("chat.update")
