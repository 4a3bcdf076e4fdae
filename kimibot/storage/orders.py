"""SQL of what people tell us to do with a thread: leave it or a finding alone, or forget it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Update, and_, bindparam, delete, exists, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.conversation import Speaker
from kimibot.errors import ClaimLost
from kimibot.storage import feedback, memory
from kimibot.storage.tables import (
    attachments,
    is_of_message,
    is_open,
    messages,
    threads,
    turns,
)
from kimibot.turns import Claim

_IN_OUR_THREAD = update(threads).where(
    threads.c.id == bindparam("thread_id"),
    threads.c.fence == bindparam("our_fence"),
    threads.c.claim_owner.is_not(None),
)
_TOUCH = _IN_OUR_THREAD.values(fence=threads.c.fence)
_MUTE = _IN_OUR_THREAD.values(muted=bindparam("is_muted"))
_FORGET_UP_TO = _IN_OUR_THREAD.values(forgotten_ts=bindparam("up_to_ts"))
_is_open_ask = exists().where(
    turns.c.thread_id == messages.c.thread_id,
    turns.c.ts == messages.c.ts,
    is_of_message,
    is_open,
)
_EMPTY = (
    update(messages)
    .where(
        messages.c.thread_id == bindparam("in_thread"),
        or_(messages.c.text != "", messages.c.raw.is_not(None), messages.c.sent.is_not(None)),
        or_(
            messages.c.speaker == Speaker.US.value,
            and_(messages.c.ts < bindparam("up_to_ts"), ~_is_open_ask),
        ),
    )
    .values(text="", sent=None, raw=None, review=None, steps=None, place=None)
)
_EMPTY_ORDER = (
    update(messages)
    .where(messages.c.thread_id == bindparam("in_thread"), messages.c.ts == bindparam("up_to_ts"))
    .values(text="", sent=None, place=None)
)
_REMOVE_FILES = delete(attachments).where(
    attachments.c.message_id.in_(
        select(messages.c.id).where(
            messages.c.thread_id == bindparam("in_thread"),
            messages.c.ts <= bindparam("up_to_ts"),
            or_(messages.c.ts == bindparam("up_to_ts"), ~_is_open_ask),
        )
    )
)


async def mute(connection: AsyncConnection, claim: Claim, *, muted: bool) -> None:
    """Notes it on the thread; ClaimLost when that is not ours any more."""
    await _write(connection, _MUTE, claim, is_muted=muted)


async def forget(connection: AsyncConnection, claim: Claim, ts: str) -> int:
    """How many messages were emptied; who said them and when is left.

    What is asked, and not answered yet, stays: its turn comes. Our own are all answers to what
    was said before, as nothing else is answered while the thread is claimed for this.
    """
    await _write(connection, _FORGET_UP_TO, claim, up_to_ts=ts)
    where = {"in_thread": claim.thread_id, "up_to_ts": ts}
    emptied = (await connection.execute(_EMPTY, where)).rowcount
    await connection.execute(_EMPTY_ORDER, where)
    await connection.execute(_REMOVE_FILES, where)
    await feedback.remove_in_thread(connection, claim.thread_id)
    return emptied


async def note_no_problem(
    connection: AsyncConnection, claim: Claim, turn_id: str | None, number: int
) -> bool:
    """Whether the turn has a review with such a finding; ClaimLost when the thread is not ours."""
    await _write(connection, _TOUCH, claim)
    review = await memory.review_of(connection, turn_id or "")
    if turn_id is None or feedback.finding(review, number) is None:
        return False
    await feedback.add(connection, claim, turn_id, number)
    return True


async def take_back_no_problem(
    connection: AsyncConnection, claim: Claim, number: int
) -> Mapping[str, Any] | None:
    """The finding that counts again, None where none was left out; ClaimLost when the thread is
    not ours. The number is one of the newest review if that has so many findings."""
    await _write(connection, _TOUCH, claim)
    newest = await memory.turn_of_last_review(connection, claim.thread_id)
    review = await memory.review_of(connection, newest or "")
    meant = newest if feedback.finding(review, number) is not None else None
    return await feedback.take_back(connection, claim.thread_id, number, meant)


async def _write(
    connection: AsyncConnection, writing: Update, claim: Claim, **values: str | bool
) -> None:
    key = {"thread_id": claim.thread_id, "our_fence": claim.fence}
    if (await connection.execute(writing, key | values)).rowcount != 1:
        raise ClaimLost(claim.turns[0].id)
