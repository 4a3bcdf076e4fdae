"""The tokens of each day: counted once, granted to no two turns, warned of once a day."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import date, timedelta

import pytest

from kimibot.allowance import DailyLimits, Denial, Grant, Limit, Request, Taken, Whose
from kimibot.conversation import Thread
from kimibot.errors import ClaimLost
from kimibot.storage import Database, Store
from kimibot.storage.usage import DayUsage
from kimibot.storage.usage_store import UsageStore
from kimibot.turns import Claim, Ending, Outcome, Used
from tests.storage.said import LAPSED, THREAD, answered, ask, claimed, failed, keep

DAY = date(2026, 11, 30)
LIMITS = DailyLimits(per_person=10_000)
WANTED = Request(prompt_tokens=1_000, completion_tokens=4_000)
NOTHING = Used()


@pytest.fixture
def daily_tokens(database: Database) -> UsageStore:
    return UsageStore(database)


def thread(number: int, channel: str = "C1", team: str = "T1") -> Thread:
    return Thread(team, channel, f"17000001{number:02d}.000100")


async def turn(store: Store, number: int, *, author: str = "U1", where: Thread = THREAD) -> Claim:
    """A turn that runs."""
    accepted = await ask(store, number, author=author, thread=where)
    return await claimed(store, accepted.thread_id)


def using(tokens: int, ending: Ending | None = None, day: date = DAY) -> Ending:
    """An ending that has used so many tokens, a tenth of them to say something."""
    used = Used(tokens - tokens // 10, tokens // 10, tokens // 2)
    return replace(ending or answered(99), used=used, day=day)


async def grant(
    daily_tokens: UsageStore,
    claim: Claim,
    used: Used = NOTHING,
    limits: DailyLimits = LIMITS,
    day: date = DAY,
) -> Grant | Denial:
    return await daily_tokens.grant(claim, day, limits, WANTED, used)


async def test_a_turn_is_counted_for_its_asker_in_its_channel_on_its_day(
    store: Store, daily_tokens: UsageStore
) -> None:
    elsewhere = thread(1, "C2")
    await keep(store, await turn(store, 1), using(1_000, answered(11)))
    await keep(store, await turn(store, 2), using(500, answered(12)))
    await keep(store, await turn(store, 3, author="U2"), using(200, answered(13)))
    await keep(store, await turn(store, 4, where=elsewhere), using(100, answered(14)))
    tomorrow = DAY + timedelta(days=1)
    await keep(store, await turn(store, 5), using(10, answered(15), tomorrow))

    assert await daily_tokens.report(DAY) == [
        DayUsage(DAY, "T1", "U1", "C1", 2, 1_350, 150, 750),
        DayUsage(DAY, "T1", "U1", "C2", 1, 90, 10, 50),
        DayUsage(DAY, "T1", "U2", "C1", 1, 180, 20, 100),
        DayUsage(tomorrow, "T1", "U1", "C1", 1, 9, 1, 5),
    ]
    assert [row.turns for row in await daily_tokens.report(tomorrow)] == [1]


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.STOPPED, Outcome.REFUSED])
async def test_what_a_turn_without_an_answer_has_used_counts_too(
    store: Store, daily_tokens: UsageStore, outcome: Outcome
) -> None:
    claim = await turn(store, 1)
    await keep(store, claim, using(1_000, replace(failed(), outcome=outcome)))

    [row] = await daily_tokens.report(DAY)
    assert (row.turns, row.prompt_tokens + row.completion_tokens) == (1, 1_000)


async def test_a_turn_for_which_the_model_did_not_work_is_not_counted(
    store: Store, daily_tokens: UsageStore
) -> None:
    await keep(store, await turn(store, 1), replace(failed(), day=DAY))

    assert await daily_tokens.report(DAY) == []


async def test_asks_that_are_answered_together_count_for_the_one_who_is_answered(
    store: Store, daily_tokens: UsageStore
) -> None:
    await ask(store, 1, author="U1")
    claim = await turn(store, 2, author="U2")
    await keep(store, claim, using(1_000, answered(11)))

    [row] = await daily_tokens.report(DAY)
    assert (row.person, row.turns) == ("U1", 1)


async def test_a_turn_of_two_owners_is_counted_once_with_what_both_have_used(
    store: Store, daily_tokens: UsageStore
) -> None:
    accepted = await ask(store, 1)
    lost = await claimed(store, accepted.thread_id, "first", LAPSED)
    taken_over = await claimed(store, accepted.thread_id, "second")
    await keep(store, taken_over, using(1_000, answered(11)), "second")
    with pytest.raises(ClaimLost):
        await keep(store, lost, using(500, answered(12)))

    [row] = await daily_tokens.report(DAY)
    assert (row.turns, row.prompt_tokens + row.completion_tokens) == (1, 1_500)


async def test_what_was_kept_without_our_knowing_is_not_counted_once_more(
    store: Store, daily_tokens: UsageStore
) -> None:
    claim = await turn(store, 1)
    await keep(store, claim, using(1_000, answered(11)))
    with pytest.raises(ClaimLost):  # its first commit went through, and its response was lost
        await keep(store, claim, using(1_000, answered(11)))

    [row] = await daily_tokens.report(DAY)
    assert (row.turns, row.prompt_tokens + row.completion_tokens) == (1, 1_000)


async def test_a_turn_that_begins_anew_is_counted_once_with_what_was_used_before(
    store: Store, daily_tokens: UsageStore
) -> None:
    claim = await turn(store, 1)
    await daily_tokens.count_unfinished(claim, DAY, Used(90, 10, 50))
    await store.release(claim)
    again = await claimed(store, claim.thread_id)
    await keep(store, again, using(1_000, answered(11)))

    assert await daily_tokens.report(DAY) == [DayUsage(DAY, "T1", "U1", "C1", 1, 990, 110, 550)]


async def test_what_was_counted_is_not_held_as_well(store: Store, daily_tokens: UsageStore) -> None:
    claim, other = await turn(store, 1), await turn(store, 2, where=thread(1))
    await grant(daily_tokens, claim)

    await daily_tokens.count_unfinished(claim, DAY, Used(900, 100))

    granted = await grant(daily_tokens, other, limits=DailyLimits(per_person=6_000))
    assert granted == Grant(WANTED.completion_tokens)


async def test_many_turns_that_end_at_once_are_all_counted(
    store: Store, daily_tokens: UsageStore
) -> None:
    claims = [await turn(store, number, where=thread(number)) for number in range(8)]

    await asyncio.gather(
        *(keep(store, claim, using(100, answered(20 + n))) for n, claim in enumerate(claims))
    )

    [row] = await daily_tokens.report(DAY)
    assert (row.turns, row.prompt_tokens, row.completion_tokens) == (8, 720, 80)


async def test_what_is_used_is_not_granted_again_on_that_day(
    store: Store, daily_tokens: UsageStore
) -> None:
    await keep(store, await turn(store, 1), using(7_000, answered(11)))
    claim = await turn(store, 2)

    today = await grant(daily_tokens, claim)
    tomorrow = await grant(daily_tokens, claim, day=DAY + timedelta(days=1))

    assert isinstance(today, Grant)
    assert today.completion_tokens == 2_000
    assert tomorrow == Grant(4_000)


async def test_nothing_is_granted_when_all_is_used(store: Store, daily_tokens: UsageStore) -> None:
    await keep(store, await turn(store, 1), using(10_000, answered(11)))

    denial = await grant(daily_tokens, await turn(store, 2))

    assert isinstance(denial, Denial)
    assert (denial.limit.taken.used, denial.is_for_now) == (10_000, False)
    others = await grant(daily_tokens, await turn(store, 3, author="U2", where=thread(3)))
    assert others == Grant(4_000)


async def test_what_the_turn_itself_has_used_before_counts(
    store: Store, daily_tokens: UsageStore
) -> None:
    claim = await turn(store, 1)
    await grant(daily_tokens, claim)

    second = await grant(daily_tokens, claim, Used(1_000, 7_000))

    assert isinstance(second, Grant)
    assert second.completion_tokens == 1_000


async def test_the_workspaces_limit_counts_all_people_of_the_team_and_nobody_elses(
    store: Store, daily_tokens: UsageStore
) -> None:
    limits = DailyLimits(per_workspace=10_000)
    await keep(store, await turn(store, 1), using(6_000, answered(11)))
    await keep(store, await turn(store, 2, author="U2"), using(4_000, answered(12)))
    stranger = await turn(store, 3, where=thread(3, team="T2"))

    ours = await grant(daily_tokens, await turn(store, 4, author="U3"), limits=limits)

    assert isinstance(ours, Denial)
    assert (ours.limit.whose, ours.limit.taken.used) == (Whose.WORKSPACE, 10_000)
    assert await grant(daily_tokens, stranger, limits=limits) == Grant(4_000)


async def test_turns_that_run_at_once_share_what_is_left(
    store: Store, daily_tokens: UsageStore
) -> None:
    claims = [await turn(store, number, where=thread(number)) for number in range(5)]

    granted = await asyncio.gather(*(grant(daily_tokens, claim) for claim in claims))

    tokens = sorted(g.completion_tokens for g in granted if isinstance(g, Grant))
    assert tokens == [4_000, 4_000]
    denied = [g for g in granted if isinstance(g, Denial)]
    assert [denial.is_for_now for denial in denied] == [True, True, True]


async def test_what_a_turn_has_held_is_free_when_it_ends(
    store: Store, daily_tokens: UsageStore
) -> None:
    claims = [await turn(store, number, where=thread(number)) for number in range(3)]
    for claim in claims[:2]:
        await grant(daily_tokens, claim)
    await keep(store, claims[0], using(500, answered(11)))

    granted = await grant(daily_tokens, claims[2])

    assert isinstance(granted, Grant)
    assert granted.completion_tokens == 3_500  # 10,000 less 500 used, 5,000 held, 1,000 to send


async def test_what_a_turn_has_held_is_free_when_its_owner_is_gone(
    store: Store, daily_tokens: UsageStore
) -> None:
    accepted = await ask(store, 1, thread=thread(1))
    await grant(daily_tokens, await claimed(store, accepted.thread_id, "killed", LAPSED))
    handed_over = await turn(store, 2, where=thread(2))
    await grant(daily_tokens, handed_over)
    await store.release(handed_over)
    claims = [await turn(store, number, where=thread(number)) for number in (3, 4)]

    assert [await grant(daily_tokens, claim) for claim in claims] == [Grant(4_000)] * 2


async def test_who_takes_a_turn_over_holds_in_place_of_the_one_before(
    store: Store, daily_tokens: UsageStore
) -> None:
    accepted = await ask(store, 1, thread=thread(1))
    killed = await claimed(store, accepted.thread_id, "killed", LAPSED)
    await grant(daily_tokens, killed)
    await grant(daily_tokens, await claimed(store, accepted.thread_id, "second"))
    await grant(daily_tokens, killed)  # it does not know yet

    other = await grant(daily_tokens, await turn(store, 2, where=thread(2)))

    assert other == Grant(4_000)
    last = await grant(daily_tokens, await turn(store, 3, where=thread(3)))
    assert isinstance(last, Denial)


async def test_the_warning_comes_once_a_day_and_person_however_many_turns_end_at_once(
    store: Store, daily_tokens: UsageStore
) -> None:
    claims = [await turn(store, number, where=thread(number)) for number in range(6)]

    warned = await asyncio.gather(
        *(daily_tokens.warning(claim, DAY, LIMITS, Used(8_000, 500)) for claim in claims)
    )

    assert [limit for limit in warned if limit] == [_limit(8_500)]
    tomorrow = DAY + timedelta(days=1)
    assert await daily_tokens.warning(claims[0], tomorrow, LIMITS, Used(8_000)) is not None
    other = await turn(store, 9, author="U2", where=thread(9))
    assert await daily_tokens.warning(other, DAY, LIMITS, Used(8_000)) is not None


async def test_a_turn_that_is_answered_anew_after_a_crash_warns_again(
    store: Store, daily_tokens: UsageStore
) -> None:
    accepted = await ask(store, 1)
    for owner in ("killed", "second"):
        claim = await claimed(store, accepted.thread_id, owner, LAPSED)
        assert await daily_tokens.warning(claim, DAY, LIMITS, Used(9_000)) is not None


async def test_below_four_fifths_nobody_is_warned(store: Store, daily_tokens: UsageStore) -> None:
    await keep(store, await turn(store, 1), using(4_000, answered(11)))
    claim = await turn(store, 2)

    assert await daily_tokens.warning(claim, DAY, LIMITS, Used(3_999)) is None
    assert await daily_tokens.warning(claim, DAY, LIMITS, Used(4_000)) == _limit(8_000)


def _limit(used: int) -> Limit:
    return Limit(Whose.PERSON, 10_000, Taken(used, 0))
