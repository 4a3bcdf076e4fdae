"""Pure: how many tokens a text or a picture will count for, pessimistically."""

from __future__ import annotations

IMAGE_TOKENS = 5_200
"""A picture of 2,000 by 2,000 pixels, at one token for each square of 28 by 28 as Kimi's vision
encoder makes them (huggingface.co/moonshotai, patches of 14 merged in twos)."""


def tokens(text: str) -> int:
    """A token for 3 characters of ASCII, and for 1.5 of any other."""
    ascii_count = len(text.encode("ascii", "ignore"))
    return round(ascii_count / 3 + (len(text) - ascii_count) / 1.5) + 4
