"""How often Slack is called: never more than it allows, last texts first."""

from __future__ import annotations

import asyncio

from kimibot.budget import (
    EDITS,
    SLOW_SECONDS,
    SLOWED_BY,
    Bucket,
    Budget,
    Crowd,
    Urgency,
    Wish,
    choose,
    due_at,
    gap_seconds,
)
from kimibot.pacing import Pacing, now
from tests.virtual_time import in_virtual_time

ONE_A_SECOND = Budget(rate_per_second=1.0, burst=5, start=5)


def test_a_bucket_refills_up_to_its_burst_and_no_further() -> None:
    bucket = Bucket(ONE_A_SECOND, level=0, at=0.0)

    assert bucket.free(3.0) == 3
    assert bucket.free(100.0) == 5


def test_a_held_bucket_gives_nothing_until_slack_allows_it_and_then_one() -> None:
    bucket = Bucket(ONE_A_SECOND, level=5, at=0.0)

    bucket.hold(0.0, seconds=30)

    assert bucket.free(29.9) == 0
    assert bucket.free(30.0) == 1
    assert bucket.free_at(2, now=10.0) == 30.0 + 1 / SLOWED_BY


def test_after_a_429_the_rate_is_lower_for_some_minutes() -> None:
    bucket = Bucket(ONE_A_SECOND, level=5, at=0.0)

    bucket.hold(0.0, seconds=10)

    assert bucket.rate_per_second(11.0) == SLOWED_BY
    assert bucket.rate_per_second(10.0 + SLOW_SECONDS) == 1.0


def test_a_second_429_lowers_the_rate_further() -> None:
    bucket = Bucket(ONE_A_SECOND, level=5, at=0.0)

    bucket.hold(0.0, seconds=10)
    bucket.hold(20.0, seconds=10)

    assert bucket.rate_per_second(31.0) == SLOWED_BY**2


def test_calls_that_were_under_way_together_and_are_refused_lower_the_rate_once() -> None:
    bucket = Bucket(ONE_A_SECOND, level=5, at=0.0)

    for answered_at in (0.0, 0.1, 0.2):
        bucket.hold(answered_at, seconds=10)

    assert bucket.free(10.1) == 0
    assert bucket.rate_per_second(11.0) == SLOWED_BY


def test_of_two_replicas_each_takes_half_of_the_budget() -> None:
    bucket = Bucket(Budget(rate_per_second=1.0, burst=20, start=20), level=20, at=0.0)

    bucket.divide(0.0, owners=2)

    assert bucket.free(0.0) == 10
    assert bucket.rate_per_second(0.0) == 0.5


def test_a_bucket_that_is_divided_among_many_still_lets_a_call_pass() -> None:
    bucket = Bucket(Budget(rate_per_second=1.0, burst=3, start=3), level=3, at=0.0)

    bucket.divide(0.0, owners=10)

    assert bucket.free(0.0) == 1


def test_a_last_text_goes_before_all_others_and_the_oldest_last_text_first() -> None:
    bucket = Bucket(ONE_A_SECOND, level=5, at=100.0)
    live = Wish(Urgency.LIVE, since=0.0, unseen=lambda: 900)
    younger = Wish(Urgency.LAST, since=51.0)
    older = Wish(Urgency.LAST, since=50.0)

    assert choose([live, younger, older], bucket, Crowd(live=3), now=100.0) is older


def test_among_live_texts_the_one_with_most_unseen_words_goes_first() -> None:
    bucket = Bucket(ONE_A_SECOND, level=5, at=100.0)
    few = Wish(Urgency.LIVE, since=0.0, unseen=lambda: 10)
    many = Wish(Urgency.LIVE, since=1.0, unseen=lambda: 400)

    assert choose([few, many], bucket, Crowd(live=2), now=100.0) is many


def test_a_reserve_is_kept_for_last_texts() -> None:
    bucket = Bucket(ONE_A_SECOND, level=3, at=100.0)
    live = Wish(Urgency.LIVE, since=0.0)
    last = Wish(Urgency.LAST, since=0.0)

    assert choose([live], bucket, Crowd(live=4), now=100.0) is None
    assert choose([live, last], bucket, Crowd(live=4), now=100.0) is last


def test_a_wish_for_the_elapsed_seconds_is_served_last_of_all() -> None:
    bucket = Bucket(ONE_A_SECOND, level=5, at=100.0)
    sign = Wish(Urgency.SIGN, since=0.0)
    first = Wish(Urgency.FIRST, since=90.0, unseen=lambda: 1)

    assert choose([sign, first], bucket, Crowd(live=1), now=100.0) is first


def test_the_first_words_of_few_answers_wait_for_nothing() -> None:
    bucket = Bucket(EDITS, level=EDITS.start, at=0.0)
    first = Wish(Urgency.FIRST, since=0.0, last_call_at=0.0)

    assert due_at(first, bucket, Crowd(live=3), now=0.0) == 0.0


def test_more_live_answers_mean_wider_gaps() -> None:
    gaps = [gap_seconds(free=10, rate_per_second=50 / 60, live=live) for live in (1, 5, 20, 50)]

    assert gaps == sorted(gaps)
    assert gaps[0] < 1 < 5 < gaps[-1] < 15


@in_virtual_time
async def test_no_more_calls_pass_than_the_budget_allows() -> None:
    pacing = Pacing({"chat.update": ONE_A_SECOND})
    started_at = now()

    for _ in range(15):
        await pacing.call("chat.update")

    assert 10.0 <= now() - started_at < 10.1


@in_virtual_time
async def test_a_429_seen_by_one_task_holds_the_method_for_all() -> None:
    pacing = Pacing({"chat.update": ONE_A_SECOND})
    started_at = now()
    pacing.hold("chat.update", seconds=30)

    await asyncio.gather(pacing.call("chat.update"), pacing.call("chat.update"))

    assert now() - started_at >= 31.0


@in_virtual_time
async def test_a_429_while_somebody_waits_makes_him_wait_longer() -> None:
    pacing = Pacing({"chat.update": Budget(rate_per_second=1.0, burst=1, start=0)})
    started_at = now()
    waiting = asyncio.create_task(pacing.call("chat.update"))
    await asyncio.sleep(0.5)

    pacing.hold("chat.update", seconds=20)
    await waiting

    assert now() - started_at >= 20.5


@in_virtual_time
async def test_posts_have_a_budget_for_each_channel() -> None:
    pacing = Pacing({"chat.postMessage": Budget(rate_per_second=1.0, burst=1, start=1)})
    started_at = now()

    await asyncio.gather(*(pacing.call("chat.postMessage", f"C{n}") for n in range(20)))

    assert now() == started_at


@in_virtual_time
async def test_all_channels_together_have_a_budget_too() -> None:
    pacing = Pacing()
    started_at = now()

    await asyncio.gather(*(pacing.call("chat.postMessage", f"C{n}") for n in range(130)))

    assert now() - started_at >= 20


@in_virtual_time
async def test_a_share_holds_for_lanes_that_are_opened_later_too() -> None:
    pacing = Pacing({"chat.update": ONE_A_SECOND})
    pacing.divide(5)
    started_at = now()

    for _ in range(3):
        await pacing.call("chat.update")

    assert now() - started_at >= 9.9


@in_virtual_time
async def test_who_gives_up_waiting_takes_nothing_from_the_others() -> None:
    pacing = Pacing({"chat.update": Budget(rate_per_second=1.0, burst=1, start=0)})
    started_at = now()
    given_up = asyncio.create_task(pacing.call("chat.update"))
    waiting = asyncio.create_task(pacing.call("chat.update"))
    await asyncio.sleep(0.1)

    given_up.cancel()
    await waiting

    assert now() - started_at < 1.1


@in_virtual_time
async def test_a_live_edit_that_became_the_last_one_stops_waiting_for_its_gap() -> None:
    pacing = Pacing({"chat.update": Budget(rate_per_second=0.01, burst=5, start=2)})
    wish = Wish(Urgency.LIVE, since=now(), last_call_at=now())
    with pacing.growing():
        waiting = asyncio.create_task(pacing.slot("chat.update", wish))
        await asyncio.sleep(1.0)
        assert not waiting.done()

        wish.urgency = Urgency.LAST
        pacing.reconsider("chat.update")
        await asyncio.sleep(0)

        assert waiting.done()
