"""Makes of JSON's text only such text as UTF-8 can say.

JSON can escape one half of a surrogate pair alone, and endpoints written in languages that count
in UTF-16 cut an emoji in the middle: its halves then come in two chunks. Half a pair can't be
sent to Slack nor stored, so halves are joined, and a lonely one becomes U+FFFD.
"""

from __future__ import annotations

import re

_HALF = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """The text with its pairs joined and lonely halves replaced."""
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Surrogates:
    """Joins halves that came in two pieces of one text."""

    def __init__(self) -> None:
        self._first_half = ""

    def feed(self, piece: str) -> str:
        """The piece as far as it is whole; a first half at its end is held back."""
        text = self._first_half + piece
        self._first_half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._first_half = text[:-1], text[-1]
        return whole(text)

    def flush(self) -> str:
        """What was held back: its other half will not come."""
        held, self._first_half = self._first_half, ""
        return whole(held)
