"""Pure: what the open part of a reply shows of the text, and where it ends when it is full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kimibot.views import Cut, Folded, Handle, Part, Style, View


class Folding(Protocol):
    """Folds the long code of one text. The text that `grown` gives only grows too, save for what
    is behind its `firm`."""

    def grown(self, text: str) -> Folded:
        """The text so far, which goes on from the one of the call before."""

    def ended(self, text: str) -> Folded:
        """The whole text, with the files that its long code is in."""

    def unfolded(self, folded: Folded) -> str:
        """The text that `ended` gave, and behind it the code that is in its files."""


class AsItIs:
    """Folds nothing."""

    def grown(self, text: str) -> Folded:
        return Folded(text)

    def ended(self, text: str) -> Folded:
        return Folded(text)

    def unfolded(self, folded: Folded) -> str:
        return folded.text


class Splitter(Protocol):
    """Cuts a text into parts. Both look at the text from `start` on, and never change their mind
    about what is full or settled while the text grows."""

    def part(self, text: str, start: Cut, style: Style) -> Part:
        """The part that begins at `start`."""

    def settled(self, text: str, start: Cut, style: Style) -> Cut:
        """The last place in the text where a part may end: before it, nothing is half open."""


@dataclass(frozen=True, slots=True)
class Showing:
    """What the reply is to show now. `number` counts the texts, skipped ones too.

    The text is a folded one; what its `firm`, `count` and `folds` mean is said there.
    """

    text: str = ""
    note: str = ""
    handles: tuple[Handle, ...] = ()
    is_last: bool = False
    number: int = 0
    firm: int | None = None
    count: str = ""
    folds: int = 0

    @property
    def firm_to(self) -> int:
        """Up to where a part of the text may be closed."""
        return len(self.text) if self.firm is None else self.firm

    def is_cut_at(self, shown_to: Cut) -> bool:
        """Whether what is shown stops at code of which there is more."""
        return bool(self.count) and shown_to.offset <= self.firm_to


@dataclass(frozen=True, slots=True)
class Seen:
    """What one call shows: the view, up to where in the text, and which text it is."""

    view: View
    shown_to: Cut
    number: int
    folds: int


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
        can go on from any edit. A part that would end in what may be hidden again ends before it.
        """
        key = (showing, self.start, self.style)
        if self._memo is None or self._memo[0] != key:
            self._memo = (key, self._split_off(showing))
        return self._memo[1]

    def _split_off(self, showing: Showing) -> tuple[Part, Cut]:
        text, start, style = showing.text, self.start, self.style
        part = self._splitter.part(text, start, style)
        if part.end is not None and part.end.offset > showing.firm_to:
            text = text[: showing.firm_to]
        elif part.end is not None or showing.is_last:
            return part, part.end or Cut(len(text))
        settled = self._splitter.settled(text, start, style)
        return self._splitter.part(text[: settled.offset], start, style), settled
