"""What people tell us to do with a thread: leave it alone, or forget it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select

from kimibot.conversation import Accepted, Thread
from kimibot.errors import ClaimLost
from kimibot.storage import Database, Store
from kimibot.storage.tables import messages
from kimibot.turns import Claim, Ending, Kind, Outcome
from tests.storage.said import (
    LAPSED,
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

OTHER = Thread("T1", "C1", ts(50))


async def order(store: Store, number: int, kind: Kind, *, author: str = "U1") -> Accepted:
    """A word that is stored with its turn."""
    message = says(number, f"<@U9> {kind}", author=author)
    accepted = await store.accept(message, is_ask=True, kind=kind, now=NOW)
    assert accepted is not None
    return accepted


async def talk(store: Store) -> int:
    """An ask with its answer and a remark; the thread."""
    accepted = await ask(store, 1)
    await keep(store, await claimed(store, accepted.thread_id), answered(2, place=2))
    await store.accept(says(3, "a remark", author="U2"), is_ask=False, now=NOW)
    return accepted.thread_id


async def forget(store: Store, number: int) -> tuple[Claim, int]:
    """The claim under which it was forgotten, and how many messages."""
    claim = await claimed(store, (await order(store, number, Kind.FORGET)).thread_id)
    return claim, await store.forget_thread(claim, ts(number))


async def everything_kept(database: Database) -> list[object]:
    """All that the rows of messages hold beside who said them and when."""
    columns = (messages.c.text, messages.c.sent, messages.c.raw)
    async with database.reading() as connection:
        rows = await connection.execute(select(*columns))
        return [value for row in rows for value in row if value]


async def test_a_turn_knows_what_is_wanted_and_by_whom(store: Store) -> None:
    message = replace(says(1, "mute"), author_team="T2")
    accepted = await store.accept(message, is_ask=True, kind=Kind.MUTE, is_follow_up=True, now=NOW)

    assert accepted is not None
    (turn,) = (await claimed(store, accepted.thread_id)).turns
    assert (turn.kind, turn.asker_team, turn.is_follow_up) == (Kind.MUTE, "T2", True)


async def test_an_ordinary_ask_is_one_unless_it_is_said(store: Store) -> None:
    (turn,) = (await claimed(store, (await ask(store, 1)).thread_id)).turns

    assert (turn.kind, turn.asker_team, turn.is_follow_up) == (Kind.ASK, "", False)


async def test_a_thread_is_muted_until_it_is_unmuted(store: Store) -> None:
    claim = await claimed(store, (await order(store, 1, Kind.MUTE)).thread_id)
    muted = []
    for wanted in (True, False):
        await store.mute(claim, muted=wanted)
        facts = await store.thread_facts(THREAD, ts(2))
        muted.append(facts is not None and facts.muted)

    assert muted == [True, False]


async def test_forgetting_empties_what_was_said_and_counts_it(
    store: Store, database: Database
) -> None:
    thread_id = await talk(store)

    claim, emptied = await forget(store, 4)

    assert emptied == 3
    assert claim.forgotten_ts == ""
    assert await store.recall(thread_id) == []
    assert await everything_kept(database) == []


async def test_what_is_forgotten_already_is_not_counted_again(store: Store) -> None:
    await talk(store)
    claim, _ = await forget(store, 4)

    assert await store.forget_thread(claim, ts(4)) == 0


async def test_what_is_said_afterwards_is_remembered(store: Store) -> None:
    thread_id = await talk(store)
    claim, _ = await forget(store, 4)
    await keep(store, claim, Ending(Outcome.ANSWERED, reply_ts=(ts(5),)))
    await ask(store, 6)

    following = await claimed(store, thread_id)

    assert following.forgotten_ts == ts(4)
    assert [one.text for one in await store.recall(thread_id)] == ["question 6"]


async def test_what_is_forgotten_does_not_come_back_from_slack_nor_late(
    store: Store, database: Database
) -> None:
    thread_id = await talk(store)
    await forget(store, 4)

    await store.add_messages(thread_id, [says(1, "question 1"), says(2, "what we missed")])
    late = await store.accept(says(3, "a late remark", author="U3"), is_ask=False, now=NOW)

    assert late == Accepted(thread_id)
    assert await everything_kept(database) == []


async def test_an_ask_that_has_no_answer_yet_is_not_forgotten(store: Store) -> None:
    thread_id = await talk(store)
    await ask(store, 4)

    _, emptied = await forget(store, 6)
    late = await ask(store, 5)

    assert emptied == 3
    assert late.turn_id is not None
    assert [one.text for one in await store.recall(thread_id)] == ["question 4", "question 5"]


async def test_another_thread_is_not_forgotten_with_it(store: Store) -> None:
    await talk(store)
    other = await ask(store, 60, thread=OTHER)

    await forget(store, 70)

    assert [one.text for one in await store.recall(other.thread_id)] == ["question 60"]


async def test_a_forgotten_ask_is_not_tried_again(store: Store) -> None:
    accepted = await ask(store, 1)
    assert accepted.turn_id is not None
    await keep(store, await claimed(store, accepted.thread_id), failed(ts(2)))

    await forget(store, 3)

    assert await store.requeue(accepted.turn_id) is None


async def test_only_the_owner_of_a_thread_changes_it(store: Store) -> None:
    await talk(store)
    accepted = await order(store, 4, Kind.FORGET)
    first = await claimed(store, accepted.thread_id, "first", LAPSED)
    await claimed(store, accepted.thread_id, "second")

    with pytest.raises(ClaimLost):
        await store.forget_thread(first, ts(4))
    with pytest.raises(ClaimLost):
        await store.mute(first, muted=True)

    facts = await store.thread_facts(THREAD, ts(5))
    assert facts is not None
    assert not facts.muted
    assert len(await store.recall(accepted.thread_id)) == 4


async def test_words_to_the_bot_are_marked_for_the_model_to_leave_out(store: Store) -> None:
    await order(store, 1, Kind.HELP)
    await order(store, 2, Kind.SUMMARISE)
    thread_id = (await ask(store, 3)).thread_id

    assert [one.is_for_model for one in await store.recall(thread_id)] == [False, True, True]


async def test_a_turn_that_was_left_open_is_as_new_as_before(store: Store) -> None:
    await ask(store, 1)
    second = await order(store, 2, Kind.HELP)
    assert second.turn_id is not None
    claim = await claimed(store, second.thread_id)

    following = await keep(store, claim, replace(answered(3), left_open=(second.turn_id,)))

    assert following is not None
    assert [(turn.kind, turn.attempt) for turn in following.turns] == [(Kind.HELP, 1)]


async def test_facts_count_what_apps_have_asked_in_the_hour_before(store: Store) -> None:
    at = [f"17000{number:05d}.000100" for number in (100, 3800, 3900, 4000)]
    for number, (when, kind) in enumerate(zip(at, [Kind.ASK] * 3 + [Kind.APP_LIMIT], strict=True)):
        asked = replace(says(number, author="B1", app=True), ts=when)
        await store.accept(asked, is_ask=True, kind=kind, now=NOW)
    await store.accept(replace(says(5), ts="1700004050.000100"), is_ask=True, now=NOW)

    before = await store.thread_facts(THREAD, "1700003950.000100")
    after = await store.thread_facts(THREAD, "1700004100.000100")
    much_later = await store.thread_facts(THREAD, "1700008000.000100")

    assert [(f.app_asks, f.is_limit_told) for f in (before, after, much_later) if f] == [
        (2, False),
        (2, True),
        (0, False),
    ]
