"""Many answers at once at Slack's limits, simulated: the pacing as a whole, on a jumping clock."""

from __future__ import annotations

import pytest

from tests.benchmarks.pacing import simulate

RESTED_OR_NOT = pytest.mark.parametrize("rested_seconds", [60.0, 0.0])


@RESTED_OR_NOT
@pytest.mark.parametrize(("answers", "channels"), [(1, 1), (3, 1), (12, 3), (20, 5), (50, 10)])
def test_no_crowd_makes_slack_refuse_a_call(
    answers: int, channels: int, rested_seconds: float
) -> None:
    assert simulate(answers, channels, rested_seconds).refused == 0


@RESTED_OR_NOT
def test_the_end_of_a_few_answers_waits_for_nothing(rested_seconds: float) -> None:
    assert simulate(3, 1, rested_seconds).lag_p95_seconds <= 0.15


@RESTED_OR_NOT
@pytest.mark.parametrize(("answers", "channels"), [(20, 5), (50, 10)])
def test_the_end_of_an_answer_in_a_crowd_is_seen_within_two_seconds(
    answers: int, channels: int, rested_seconds: float
) -> None:
    assert simulate(answers, channels, rested_seconds).lag_p95_seconds <= 2.0


@RESTED_OR_NOT
@pytest.mark.parametrize(("answers", "channels"), [(20, 5), (50, 10)])
def test_readers_in_a_crowd_are_never_far_behind(
    answers: int, channels: int, rested_seconds: float
) -> None:
    crowd = simulate(answers, channels, rested_seconds)

    assert crowd.unseen_words <= 260
    assert crowd.parts <= 3
