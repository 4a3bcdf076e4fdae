"""A growing answer as the thread sees it: the reply to one turn, from its sign to its last word.

Long code is folded on the way, and attached as files once all of the text is shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import TracebackType

from kimibot.errors import MessageGone, SlackError
from kimibot.pacing import Pacing
from kimibot.reply.open_part import AsItIs, Folding, Showing, Splitter
from kimibot.reply.painting import Painter
from kimibot.reply.parts import Messages, ReplyParts, ReplyTo
from kimibot.reply.sharing import Sharing, Uploads
from kimibot.views import Button, CodeFile, Folded, Handle

LAST_TRIES_SECONDS = 600.0
"""So long the last text is tried, through 429s and lost responses, before we give up."""


class LiveReply:
    """The reply to one turn. Enter it and the sign is posted; `finish` returns when all is shown.

    Parts that are there already are edited in place, and what is not needed of them is deleted.
    What got no response may still be applied for `settle_seconds`. `on_shown` is told of each text
    that Slack shows how many older ones were skipped. `stop_button` is there while the reply grows.
    Each text has a `folding` of its own, whose files go to `uploads`.
    After the painter has failed, `show` and `finish` raise what it failed with.
    """

    def __init__(
        self,
        to: ReplyTo,
        *,
        messages: Messages,
        pacing: Pacing,
        splitter: Splitter,
        folding: Callable[[], Folding] = AsItIs,
        uploads: Uploads | None = None,
        sign: Callable[[float], str],
        settle_seconds: float = 0.0,
        on_shown: Callable[[int], None] = lambda _: None,
        stop_button: Button | None = None,
    ) -> None:
        self._parts = ReplyParts(to, messages, pacing, settle_seconds=settle_seconds)
        self._painter = Painter(
            self._parts, pacing, splitter, sign=sign, on_shown=on_shown, stop_button=stop_button
        )
        self._sharing = Sharing(to, uploads, settle_seconds=settle_seconds)
        self._new_folding = folding
        self._folding = folding()
        self._opening = ""
        self._text = ""
        self._painting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LiveReply:
        self._painting = asyncio.create_task(self._painter.paint())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._painting is not None
        self._painting.cancel()
        await asyncio.wait({self._painting})
        if error is None:
            self._raise_if_failed()
        elif not self._painting.cancelled():
            self._painting.exception()  # looked at, so that asyncio does not report it once more

    @property
    def reply_ts(self) -> tuple[str, ...]:
        """The parts that are in the thread, in order."""
        return self._parts.ts

    def open_with(self, line: str) -> None:
        """Show this line of our own above all text there is from now on; alone it is not shown."""
        self._opening = line

    def show(self, text: str) -> None:
        """The text has grown; it is shown when the budget allows. Returns at once."""
        self._raise_if_failed()
        if text != self._text:
            self._change(text, self._folding.grown(self._opened(text)), Showing())

    def say(self, note: str) -> None:
        """Show our own words below the text, until the text grows again. Returns at once."""
        self._raise_if_failed()
        self._painter.change(replace(self._painter.showing, note=note))

    def wait_as(self, sign: Callable[[float], str]) -> None:
        """Show this sign from now on while there is no text. Returns at once."""
        self._painter.wait_as(sign)

    async def finish(
        self, text: str, note: str = "", *handles: Handle, is_new_text: bool = False
    ) -> None:
        """Show exactly this, whatever it takes; returns when Slack has confirmed all of it, and
        its long code is in the thread as files, or in further parts where files are not taken.

        `is_new_text` says that it does not go on from what was shown, but takes its place.
        Raises SlackError when Slack refuses it, or when ten minutes were not enough.
        """
        if is_new_text:
            self._painter.start_over()
        folding = self._new_folding()
        folded = folding.ended(self._opened(text))
        last = Showing(note=note, handles=handles, is_last=True)
        # A button may be pressed when it is shown: not before the files are there.
        await self._paint(text, folded, replace(last, handles=()) if folded.files else last)
        if not await self._sharing.share(folded.files, self._parts.ts[-1]):
            whole = Folded(folding.unfolded(folded), folds=folded.folds)
            await self._paint(text, whole, last)
        elif folded.files and handles:
            await self._paint(text, folded, last)

    async def hand_over(self, text: str, file: CodeFile, *, otherwise: str) -> None:
        """Show the text and put the file below it; where files are not taken, show `otherwise`.
        Raises as `finish` does."""
        last = Showing(is_last=True)
        self._painter.start_over()
        await self._paint(text, Folded(text), last)
        if not await self._sharing.share((file,), self._parts.ts[-1]):
            self._painter.start_over()
            await self._paint(otherwise, Folded(otherwise), last)

    async def leave(self, text: str, note: str) -> None:
        """Show this as the last words before somebody else goes on. Raises as `finish` does."""
        folded = self._new_folding().grown(self._opened(text))
        note = "\n".join(line for line in (folded.count, note) if line)
        await self._paint(text, replace(folded, firm=None), Showing(note=note, is_last=True))

    async def take_back(self, note: str) -> None:
        """Leave nothing of the reply in the thread; `note` stands there until it is deleted.

        Raises SlackError when Slack refuses that.
        """
        with suppress(MessageGone):  # there is one part less to delete
            await self.finish(self._painter.shown_text, note)
        for ts in reversed(self._parts.ts):
            await self._parts.delete(ts)

    def _opened(self, text: str) -> str:
        return f"{self._opening}\n\n{text}" if self._opening and text else text

    async def _paint(self, text: str, folded: Folded, showing: Showing) -> None:
        self._change(text, folded, showing)
        if self._has_painted():
            self._painting = asyncio.create_task(self._painter.paint())
        assert self._painting is not None
        try:
            async with asyncio.timeout(LAST_TRIES_SECONDS):
                await asyncio.shield(self._painting)
        except TimeoutError as error:
            raise SlackError("chat.update", "not_shown_in_time") from error

    def _change(self, text: str, folded: Folded, showing: Showing) -> None:
        """Show this text from now on, with whatever else is to be shown."""
        number = self._painter.showing.number + (text != self._text)
        self._text = text
        self._painter.change(
            replace(
                showing,
                text=folded.text,
                number=number,
                firm=folded.firm,
                count=folded.count,
                folds=folded.folds,
            )
        )

    def _has_painted(self) -> bool:
        """Whether all was shown that there was to show. What has failed stays so."""
        painting = self._painting
        if painting is None or not painting.done() or painting.cancelled():
            return False
        return painting.exception() is None

    def _raise_if_failed(self) -> None:
        painting = self._painting
        if painting is not None and painting.done() and not painting.cancelled():
            error = painting.exception()
            if error is not None:
                raise error
