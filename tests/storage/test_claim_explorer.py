"""The promises of the claim, in every order in which the statements of processes can come.

EXPLORER_DEPTH=2 adds one more process to each scenario, which hears an ask: minutes, not seconds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from math import comb, isqrt

import pytest

from kimibot.storage import Database, open_database
from kimibot.turns import Kind, Press
from tests.storage.broken_queries import (
    CountingFirst,
    NotingWithoutFence,
    Rewired,
    SeeingTheBeginning,
    WithoutFence,
    WithoutLookingForStops,
    WithoutWaiting,
)
from tests.storage.explorer import Explorer
from tests.storage.order import RuleBroken, Scenario
from tests.storage.replica import (
    answer_again,
    edit,
    fail,
    finish,
    finish_one,
    give_back,
    hear,
    keep_twice,
    look,
    press,
    press_below,
    prolong,
    queue,
    show,
    stop,
    take,
    tell,
    work,
)
from tests.storage.stage import Stage, stage_of

QUEUED = {"first": (queue(1),)}
HELD = {"first": (queue(1), take)}
FAILED = {"first": (queue(1), take, fail)}
FAILED_AND_HELD = {"first": (queue(1), take, fail, queue(2), take)}
ANSWERED = {"first": (queue(1), take, finish)}
TRY_AGAIN = (press("first-1"),)
EXPLAIN = press_below("first-1", Press(Kind.EXPLAIN, 2))
PATCH = press_below("first-1", Press(Kind.PATCH))
ANSWER_AGAIN = (answer_again("first-1"),)

AN_ASK_WHILE_AN_ANSWER_IS_KEPT = Scenario({"first": (finish,), "second": (hear(2),)}, HELD)
A_STALE_OWNER_GOES_ON = Scenario(
    {"first": (show, finish), "second": (take, show, finish)}, HELD, lapses=1
)
A_STALE_OWNER_RELEASES = Scenario(
    {"first": (give_back,), "second": (take, show, finish)}, HELD, lapses=1, swept=True
)
TWO_FIRST_ASKS = Scenario({"first": (hear(1),), "second": (hear(2),)})
TRY_AGAIN_WHILE_AN_ANSWER_IS_KEPT = Scenario(
    {"first": (finish,), "second": TRY_AGAIN}, FAILED_AND_HELD
)

A_STOP_THAT_CROSSES_ITS_ASK = Scenario(
    {"first": (queue(1), take), "second": (stop(2),)}, swept=True
)

SCENARIOS = {
    "an ask while an answer is kept": (AN_ASK_WHILE_AN_ANSWER_IS_KEPT, 90),
    "an ask and a sweep while an answer is kept": (
        Scenario({"first": (finish,), "second": (hear(2),), "third": (work,)}, HELD),
        450,
    ),
    "two first asks of a thread": (TWO_FIRST_ASKS, 700),
    "one ask that is delivered twice": (
        Scenario({"first": (hear(1),), "second": (hear(1),)}),
        240,
    ),
    "three claimers": (
        Scenario({"first": (work,), "second": (work,), "third": (work,)}, QUEUED),
        300,
    ),
    "a claim, a renewal and a lapse": (
        Scenario({"first": (prolong, finish), "second": (work,)}, HELD, lapses=1),
        200,
    ),
    "a stale owner goes on": (A_STALE_OWNER_GOES_ON, 200),
    "a stale owner releases": (A_STALE_OWNER_RELEASES, 150),
    "a release while somebody asks": (
        Scenario({"first": (show, give_back), "second": (hear(2),)}, HELD, swept=True),
        50,
    ),
    "an answer that is kept twice": (
        Scenario({"first": (keep_twice,), "second": (hear(2),)}, HELD, swept=True),
        100,
    ),
    "an answer that leaves an ask open": (
        Scenario(
            {"first": (finish_one,), "second": (work,)},
            {"first": (queue(1), queue(2), take)},
            lapses=1,
        ),
        300,
    ),
    "an owner that may die": (
        Scenario(
            {"first": (show, finish), "second": (hear(2),)},
            HELD,
            mortal=frozenset({"first"}),
            swept=True,
        ),
        180,
    ),
    "try again, pressed twice": (
        Scenario({"first": TRY_AGAIN, "second": TRY_AGAIN}, FAILED),
        60,
    ),
    "try again while an answer is kept": (TRY_AGAIN_WHILE_AN_ANSWER_IS_KEPT, 65),
    "try again and an ask": (
        Scenario({"first": TRY_AGAIN, "second": (hear(2),)}, FAILED),
        400,
    ),
    "answer again, pressed twice": (
        Scenario({"first": ANSWER_AGAIN, "second": ANSWER_AGAIN}, ANSWERED),
        170,
    ),
    "answer again and an ask": (
        Scenario({"first": ANSWER_AGAIN, "second": (hear(2),)}, ANSWERED),
        430,
    ),
    "a press below a reply that comes twice": (
        Scenario({"first": (), "second": (EXPLAIN,), "third": (EXPLAIN,)}, ANSWERED),
        85,
    ),
    "two presses below one reply": (
        Scenario({"first": (), "second": (EXPLAIN,), "third": (PATCH,)}, ANSWERED),
        230,
    ),
    "an edit while an answer is kept": (
        Scenario({"first": (look, finish), "second": (edit(1, "no, this"),)}, HELD),
        40,
    ),
    "a stop that crosses its ask": (A_STOP_THAT_CROSSES_ITS_ASK, 75),
    "the worker is told of an ask": (
        Scenario({"first": (tell(2),)}, QUEUED, has_worker=True),
        55,
    ),
    "the worker is told of an ask, and somebody else claims": (
        Scenario({"first": (tell(2),), "second": (work,)}, QUEUED, has_worker=True),
        380,
    ),
}
"""Each with about four fifths of the states that it had when this was written, so that a change
that explores less is noticed."""

BROKEN = [
    (AN_ASK_WHILE_AN_ANSWER_IS_KEPT, CountingFirst, "second-1 is queued, and nobody looks"),
    (AN_ASK_WHILE_AN_ANSWER_IS_KEPT, WithoutWaiting, "second-1 is queued, and nobody looks"),
    (AN_ASK_WHILE_AN_ANSWER_IS_KEPT, SeeingTheBeginning, "could not serialize access"),
    (TWO_FIRST_ASKS, WithoutWaiting, "is queued, and nobody looks"),
    (TRY_AGAIN_WHILE_AN_ANSWER_IS_KEPT, CountingFirst, "first-1 is queued, and nobody looks"),
    (A_STALE_OWNER_GOES_ON, WithoutFence, "from somebody who does not own it"),
    (A_STALE_OWNER_GOES_ON, NotingWithoutFence, "a part from somebody who does not own it"),
    (A_STALE_OWNER_RELEASES, WithoutFence, "second believes to own the thread"),
    (A_STOP_THAT_CROSSES_ITS_ASK, WithoutLookingForStops, "does not know that it is to stop"),
]


@pytest.fixture
async def stage(postgres_url: str) -> AsyncIterator[Stage]:
    """A fresh database that is looked at from outside."""
    async with stage_of(postgres_url) as stage:
        yield stage


@pytest.fixture
async def on_stage(stage: Stage, postgres_url: str) -> AsyncIterator[Database]:
    """The same database as the processes see it."""
    database = open_database(postgres_url)
    yield database
    await database.close()


@pytest.mark.parametrize("name", SCENARIOS)
async def test_no_order_of_statements_breaks_a_promise(
    name: str, stage: Stage, on_stage: Database
) -> None:
    scenario, fewest_states = SCENARIOS[name]

    report = await Explorer(deeper(scenario), on_stage, stage).explore()

    sys.stdout.write(
        f"{name}: {report.orders} orders, {report.states} states, {report.runs} runs\n"
    )
    assert report.states >= fewest_states


@pytest.mark.parametrize(("scenario", "queries", "rule"), BROKEN)
async def test_queries_that_are_wrong_are_found_out(
    scenario: Scenario, queries: type[Rewired], rule: str, stage: Stage, on_stage: Database
) -> None:
    with pytest.raises(RuleBroken, match=rule):
        await Explorer(scenario, on_stage, stage, queries.of).explore()


async def test_queries_that_pass_through_other_hands_unchanged_break_nothing(
    stage: Stage, on_stage: Database
) -> None:
    await Explorer(AN_ASK_WHILE_AN_ANSWER_IS_KEPT, on_stage, stage, Rewired.of).explore()


async def test_two_that_have_nothing_to_do_with_each_other_are_tried_in_every_order(
    stage: Stage, on_stage: Database
) -> None:
    apart = Scenario({"first": (queue(2),), "second": (queue(3),)}, QUEUED, swept=True)

    report = await Explorer(apart, on_stage, stage).explore()

    steps = isqrt(report.states) - 1
    assert steps > 3
    assert report.states == (steps + 1) ** 2
    assert report.orders == comb(2 * steps, steps)


def deeper(scenario: Scenario) -> Scenario:
    """The scenario with as many more processes as the environment asks for."""
    more = range(1, int(os.environ.get("EXPLORER_DEPTH", "1")))
    hearers = {f"hearer {number}": (hear(10 + number),) for number in more}
    return replace(scenario, deeds={**scenario.deeds, **hearers})
