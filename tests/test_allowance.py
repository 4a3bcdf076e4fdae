"""How much of a day's tokens the next request may take."""

from __future__ import annotations

import pytest

from kimibot.allowance import (
    DailyLimits,
    Denial,
    Grant,
    Limit,
    Request,
    Standing,
    Taken,
    Whose,
    decide,
    nearly_used_up,
)

WANTED = Request(prompt_tokens=2_000, completion_tokens=30_000)


def standing(person: tuple[int, int] = (0, 0), workspace: tuple[int, int] = (0, 0)) -> Standing:
    """What is used and held of the person's and of the workspace's tokens."""
    return Standing(Taken(*person), Taken(*workspace))


def test_without_limits_everything_is_granted() -> None:
    taken = standing((10**12, 10**12), (10**12, 10**12))

    assert decide(DailyLimits(), taken, WANTED) == Grant(30_000)
    assert nearly_used_up(DailyLimits(), taken) is None


@pytest.mark.parametrize(
    ("used", "held", "completion_tokens"),
    [
        (0, 0, 30_000),
        (68_000, 0, 30_000),  # with the 2,000 that are sent, to the last one
        (68_001, 0, 29_999),
        (90_000, 0, 8_000),
        (98_999, 0, 1_000),
        (99_999, 0, 1_000),  # whoever has one token left gets an answer
        (60_000, 30_000, 8_000),
        (0, 99_000, 1_000),
    ],
)
def test_what_is_left_is_what_may_come_back_and_never_too_little_to_say_anything(
    used: int, held: int, completion_tokens: int
) -> None:
    decision = decide(DailyLimits(100_000), standing((used, held)), WANTED)

    assert isinstance(decision, Grant)
    assert decision.completion_tokens == completion_tokens
    assert (decision.cut_by is None) == (completion_tokens == 30_000)


@pytest.mark.parametrize(
    ("used", "held", "is_for_now"),
    [(100_000, 0, False), (250_000, 0, False), (99_999, 1, True), (0, 99_001, True)],
)
def test_nothing_is_granted_of_what_is_used_up_or_held(
    used: int, held: int, is_for_now: bool
) -> None:
    decision = decide(DailyLimits(100_000), standing((used, held)), WANTED)

    assert decision == Denial(Limit(Whose.PERSON, 100_000, Taken(used, held)))
    assert decision.is_for_now is is_for_now


def test_of_two_limits_the_one_with_less_left_decides() -> None:
    limits = DailyLimits(per_person=100_000, per_workspace=1_000_000)

    by_workspace = decide(limits, standing((0, 0), (999_000, 0)), WANTED)
    by_person = decide(limits, standing((95_000, 0), (500_000, 0)), WANTED)

    assert isinstance(by_workspace, Grant)
    assert isinstance(by_person, Grant)
    assert [d.cut_by and d.cut_by.whose for d in (by_workspace, by_person)] == [
        Whose.WORKSPACE,
        Whose.PERSON,
    ]


def test_a_limit_is_nearly_used_up_at_four_fifths_and_what_is_held_does_not_count() -> None:
    limits = DailyLimits(per_person=10_000, per_workspace=20_000)

    assert nearly_used_up(limits, standing((7_999, 2_000), (15_999, 0))) is None
    person, workspace = (
        nearly_used_up(limits, standing((8_000, 0), (16_000, 0))),
        nearly_used_up(limits, standing((7_999, 0), (16_000, 0))),
    )
    assert person is not None
    assert workspace is not None
    assert (person.whose, workspace.whose) == (Whose.PERSON, Whose.WORKSPACE)
