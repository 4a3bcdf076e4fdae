"""Pure: how much of the oldest is left out where not all of it fits."""

from __future__ import annotations

from collections.abc import Sequence

STEP = 0.4
"""The oldest are left out in steps of this share of what fits, so that the beginning of the request
stays the same over many turns."""


def left_out(sizes: Sequence[int], most: int) -> int:
    """How many of the first have to go, in whole steps, until the rest fits; the last stays."""
    excess = sum(sizes) - most
    if excess <= 0:
        return 0
    step = max(1, round(most * STEP))
    to_drop = -(-excess // step) * step
    count = dropped = 0
    while count < len(sizes) - 1 and dropped < to_drop:
        dropped += sizes[count]
        count += 1
    return count
