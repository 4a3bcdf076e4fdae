"""Pure: what the open part of a reply shows of the text, and where it ends when it is full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kimibot.views import Button, Cut, Part, Style


class Splitter(Protocol):
    """Cuts a text into parts. Both look at the text from `start` on, and never change their mind
    about what is full or settled while the text grows."""

    def part(self, text: str, start: Cut, style: Style) -> Part:
        """The part that begins at `start`."""

    def settled(self, text: str, start: Cut, style: Style) -> Cut:
        """The last place in the text where a part may end: before it, nothing is half open."""


@dataclass(frozen=True, slots=True)
class Showing:
    """What the reply is to show now. `number` counts the texts, skipped ones too."""

    text: str = ""
    note: str = ""
    buttons: tuple[Button, ...] = ()
    is_last: bool = False
    number: int = 0


class OpenPart:
    """The part that grows. It begins at `start`, and all before it is closed."""

    def __init__(self, splitter: Splitter) -> None:
        self.start = Cut()
        self.style = Style.MARKDOWN
        self._splitter = splitter
        self._memo: tuple[tuple[Showing, Cut, Style], tuple[Part, Cut]] | None = None

    def of(self, showing: Showing) -> tuple[Part, Cut]:
        """The part, and up to where it shows the text.

        A growing text is shown up to the last place where a part may end, so that the next part
        can go on from any edit.
        """
        key = (showing, self.start, self.style)
        if self._memo is None or self._memo[0] != key:
            self._memo = (key, self._split_off(showing))
        return self._memo[1]

    def _split_off(self, showing: Showing) -> tuple[Part, Cut]:
        text, start, style = showing.text, self.start, self.style
        part = self._splitter.part(text, start, style)
        if part.end is not None or showing.is_last:
            return part, part.end or Cut(len(text))
        settled = self._splitter.settled(text, start, style)
        return self._splitter.part(text[: settled.offset], start, style), settled
