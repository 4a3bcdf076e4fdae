"""What is left out goes in whole steps from the oldest on, so that it changes seldom."""

from __future__ import annotations

import pytest

from kimibot.trimming import left_out


@pytest.mark.parametrize(
    ("count", "expected"), [(0, 0), (10, 0), (11, 4), (14, 4), (15, 8), (18, 8), (19, 12)]
)
def test_the_oldest_are_left_out_in_steps_of_what_fits(count: int, expected: int) -> None:
    assert left_out([1] * count, 10) == expected


def test_the_last_stays_however_large_it_is() -> None:
    assert left_out([1, 1, 500], 10) == 2
    assert left_out([500], 10) == 0
