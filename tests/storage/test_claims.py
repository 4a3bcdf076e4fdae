"""Who works on a thread, and how its turns end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from kimibot.errors import ClaimLost
from kimibot.storage import Database, Store
from kimibot.storage.tables import turns
from kimibot.turns import Ending, Outcome
from tests.storage.said import (
    LAPSED,
    LEASE_SECONDS,
    NOW,
    THREAD,
    answered,
    ask,
    claimed,
    failed,
    keep,
    says,
    ts,
)


async def turn_rows(database: Database) -> dict[str, Any]:
    """The turns by Slack's time of their ask."""
    async with database.reading() as connection:
        return {row.ts: row for row in await connection.execute(select(turns))}


async def test_a_claim_holds_all_open_turns_oldest_first(store: Store) -> None:
    accepted = [await ask(store, number) for number in (3, 1, 2)]

    claim = await claimed(store, accepted[0].thread_id)

    assert claim.thread == THREAD
    assert [turn.ts for turn in claim.turns] == [ts(1), ts(2), ts(3)]
    assert {turn.attempt for turn in claim.turns} == {1}


@pytest.mark.parametrize("parts", [(ts(6),), ()], ids=["noted", "not noted"])
async def test_a_reply_that_was_begun_goes_before_an_older_ask_that_arrives_late(
    store: Store, parts: tuple[str, ...]
) -> None:
    thread_id = (await ask(store, 5)).thread_id
    begun = await claimed(store, thread_id, "killed", LAPSED)
    await store.note_reply(begun, begun.turns[0].id, parts, NOW)
    for number in (2, 3):
        await ask(store, number)
        claim = await claimed(store, thread_id, "killed", LAPSED)

    assert [turn.ts for turn in claim.turns] == [ts(5), ts(2), ts(3)]


async def test_a_claimed_thread_is_nobody_elses(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    await claimed(store, thread_id, "first")

    assert await store.claim(thread_id, "second", LEASE_SECONDS) is None
    assert await store.claim(thread_id, "first", LEASE_SECONDS) is None
    assert await store.claimable() == []


async def test_of_many_claims_at_once_one_succeeds(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id

    claims = await asyncio.gather(
        *(store.claim(thread_id, f"owner-{number}", LEASE_SECONDS) for number in range(8))
    )

    assert len([claim for claim in claims if claim]) == 1


async def test_a_lapsed_claim_passes_to_the_next_with_a_higher_fence(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    lapsed = await claimed(store, thread_id, "dead", LAPSED)
    claimable = await store.claimable()

    claim = await claimed(store, thread_id, "second")

    assert claimable == [thread_id]
    assert claim.fence > lapsed.fence
    assert claim.turns[0].attempt == 2
    assert claim.turns[0].takeovers == 1


async def test_a_crashed_owners_reply_is_handed_on(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    lapsed = await claimed(store, thread_id, "dead", LAPSED)
    await store.note_reply(lapsed, lapsed.turns[0].id, [ts(2), ts(3)], NOW)

    claim = await claimed(store, thread_id, "second")

    assert claim.turns[0].reply_ts == (ts(2), ts(3))


async def test_a_thread_with_nothing_to_do_stays_free(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    await keep(store, await claimed(store, thread_id), answered(2))

    assert await store.claim(thread_id, "second", LEASE_SECONDS) is None
    await ask(store, 3)
    assert await store.claim(thread_id, "third", LEASE_SECONDS) is not None


async def test_a_thread_that_does_not_exist_cannot_be_claimed(store: Store) -> None:
    assert await store.claim(77, "first", LEASE_SECONDS) is None


async def test_the_thread_that_waits_longest_comes_first(store: Store) -> None:
    younger = says(1, thread=replace(THREAD, channel="C1"))
    older = says(2, thread=replace(THREAD, channel="C2"))
    later = await store.accept(younger, is_ask=True, now=NOW.replace(minute=5))
    sooner = await store.accept(older, is_ask=True, now=NOW.replace(minute=1))

    assert later is not None
    assert sooner is not None
    assert await store.claimable() == [sooner.thread_id, later.thread_id]


async def test_renewing_keeps_what_is_ours_and_tells_what_is_not(store: Store) -> None:
    ids = [
        (await ask(store, 1, thread=replace(THREAD, channel=channel))).thread_id
        for channel in ("C1", "C2", "C3")
    ]
    held = [await claimed(store, thread_id, "first", LAPSED) for thread_id in ids]
    await claimed(store, ids[1], "second")
    await keep(store, held[2], answered(2))

    ours = await store.renew("first", {one.thread_id: one.fence for one in held}, LEASE_SECONDS)

    assert ours == {ids[0]}
    assert await store.claim(ids[0], "second", LEASE_SECONDS) is None


async def test_renewing_nothing_renews_nothing(store: Store) -> None:
    assert await store.renew("first", {}, LEASE_SECONDS) == frozenset()


async def test_an_earlier_claim_of_the_same_owner_is_not_renewed(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    earlier = await claimed(store, thread_id, "first", LAPSED)
    await claimed(store, thread_id, "first", LAPSED)

    assert await store.renew("first", {thread_id: earlier.fence}, LEASE_SECONDS) == frozenset()
    assert await store.claimable() == [thread_id]


async def test_released_turns_are_queued_and_counted_once_a_claim(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    claim = await claimed(store, thread_id, "first")

    await store.release(claim)

    assert await store.claimable() == [thread_id]
    [turn] = (await claimed(store, thread_id, "second")).turns
    assert (turn.attempt, turn.takeovers) == (2, 0)


async def test_a_lost_claim_gives_nothing_back(store: Store, database: Database) -> None:
    thread_id = (await ask(store, 1)).thread_id
    lost = await claimed(store, thread_id, "first", LAPSED)
    await claimed(store, thread_id, "second")

    await store.release(lost)

    assert await store.claimable() == []
    assert (await turn_rows(database))[ts(1)].state == "running"


async def test_a_lost_claim_notes_no_reply(store: Store, database: Database) -> None:
    thread_id = (await ask(store, 1)).thread_id
    lost = await claimed(store, thread_id, "first", LAPSED)
    await claimed(store, thread_id, "second")

    with pytest.raises(ClaimLost):
        await store.note_reply(lost, lost.turns[0].id, [ts(2)], NOW)

    assert (await turn_rows(database))[ts(1)].reply_ts == []


@pytest.mark.parametrize("how", ["claimed by another", "released", "kept"])
async def test_keeping_what_is_lost_writes_nothing(
    store: Store, database: Database, how: str
) -> None:
    thread_id = (await ask(store, 1)).thread_id
    lost = await claimed(store, thread_id, "first", LAPSED)
    if how == "claimed by another":
        await claimed(store, thread_id, "second")
    elif how == "released":
        await store.release(lost)
    else:
        await keep(store, lost, failed())
    before = await turn_rows(database)

    with pytest.raises(ClaimLost):
        await keep(store, lost, answered(2))

    assert await turn_rows(database) == before
    assert [one.text for one in await store.recall(thread_id)] == ["question 1"]


async def test_a_lease_that_lapsed_unnoticed_still_counts(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    lapsed = await claimed(store, thread_id, "first", LAPSED)

    await keep(store, lapsed, answered(2))

    assert await store.open_asks() == 0


async def test_the_oldest_turn_gets_the_outcome_and_the_others_are_merged(
    store: Store, database: Database
) -> None:
    for number in (1, 2, 3):
        accepted = await ask(store, number)
    claim = await claimed(store, accepted.thread_id)

    following = await keep(store, claim, answered(4))

    rows = await turn_rows(database)
    assert following is None
    assert [rows[ts(n)].outcome for n in (1, 2, 3)] == ["answered", "merged", "merged"]
    assert {rows[ts(n)].merged_into for n in (2, 3)} == {claim.turns[0].id}
    assert all(row.ended_at for row in rows.values())
    assert await store.open_asks() == 0


async def test_a_turn_answers_the_asks_of_all_that_were_merged_into_it(store: Store) -> None:
    for number, author in enumerate(("U1", "U2"), 1):
        accepted = await ask(store, number, author=author)
    claim = await claimed(store, accepted.thread_id)
    await keep(store, claim, answered(3))

    oldest, other = (turn.id for turn in claim.turns)
    assert [await store.has_asked(oldest, person) for person in ("U1", "U2", "U3")] == [
        True,
        True,
        False,
    ]
    assert not await store.has_asked(other, "U1")


async def test_an_ask_that_came_meanwhile_is_claimed_at_once(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    claim = await claimed(store, thread_id, "first")
    await ask(store, 2)

    following = await keep(store, claim, answered(3))

    assert following is not None
    assert [turn.ts for turn in following.turns] == [ts(2)]
    assert following.fence == claim.fence + 1
    assert (following.provider, following.model) == ("moonshot", "kimi-k3")
    assert await store.claim(thread_id, "second", LEASE_SECONDS) is None


async def test_everything_of_an_ending_is_kept(store: Store, database: Database) -> None:
    thread_id = (await ask(store, 1)).thread_id
    first, last = (datetime(2026, 11, 30, 13, second, tzinfo=UTC) for second in (1, 2))
    ending = Ending(
        Outcome.STOPPED,
        reply_ts=(ts(2), ts(3)),
        error_code="busy",
        trace_id="trace-1",
        shown_at=NOW,
        first_delta_at=first,
        last_delta_at=last,
    )

    await keep(store, await claimed(store, thread_id), ending)

    row = (await turn_rows(database))[ts(1)]
    assert (row.state, row.outcome, row.reply_ts) == ("ended", "stopped", [ts(2), ts(3)])
    assert (row.error_code, row.trace_id) == ("busy", "trace-1")
    assert (row.shown_at, row.first_delta_at, row.last_delta_at) == (NOW, first, last)


async def test_when_a_reply_was_first_shown_is_not_overwritten(
    store: Store, database: Database
) -> None:
    thread_id = (await ask(store, 1)).thread_id
    claim = await claimed(store, thread_id)
    for minute in (1, 2):
        await store.note_reply(claim, claim.turns[0].id, [ts(2)], NOW.replace(minute=minute))

    await keep(store, claim, failed(ts(2)))

    assert (await turn_rows(database))[ts(1)].shown_at == NOW.replace(minute=1)


async def test_an_ending_without_the_model_leaves_the_last_model_known(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    await keep(store, await claimed(store, thread_id), answered(2))
    await ask(store, 3)
    await keep(store, await claimed(store, thread_id), failed())
    await ask(store, 4)

    claim = await claimed(store, thread_id)

    assert (claim.provider, claim.model) == ("moonshot", "kimi-k3")


async def test_what_a_thread_was_told_once_is_known_to_each_later_claim(store: Store) -> None:
    thread_id = (await ask(store, 1)).thread_id
    first = await claimed(store, thread_id)
    await keep(store, first, replace(answered(2), told=frozenset({"unread"})))
    await ask(store, 3)
    second = await claimed(store, thread_id)
    await keep(store, second, replace(answered(4), told=frozenset({"left_out"})))
    await ask(store, 5)
    third = await claimed(store, thread_id)

    assert first.told == frozenset()
    assert second.told == {"unread"}
    assert third.told == {"unread", "left_out"}
