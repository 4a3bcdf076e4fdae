"""SQL of the retention: whole threads go, with all that is kept of them, once they have rested,
and so do the numbers of days that are as long ago.

A thread is looked at twice. While its row is locked nobody can add to it, since a new message or
turn needs its row too, and the second statement sees what was committed before the lock was had
(https://www.postgresql.org/docs/current/transaction-iso.html#XACT-READ-COMMITTED).
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Date, and_, bindparam, delete, exists, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.storage.columns import SlackTs, UtcDateTime, database_now
from kimibot.storage.tables import (
    is_open,
    messages,
    stops,
    threads,
    turns,
    usage,
    usage_warnings,
)

_ONE_AT_A_TIME = 6_530_284_117
"""The number of an advisory lock, the same in all replicas, and of nothing else."""

_before = bindparam("before", type_=UtcDateTime)
_before_ts = bindparam("before_ts", type_=SlackTs)
_is_at_rest = and_(
    threads.c.root_ts < _before_ts,
    or_(threads.c.claim_owner.is_(None), threads.c.claim_expires_at < database_now()),
    ~exists().where(messages.c.thread_id == threads.c.id, messages.c.ts >= _before_ts),
    ~exists().where(
        turns.c.thread_id == threads.c.id, or_(is_open, turns.c.accepted_at >= _before)
    ),
)
_TRY_LOCK = select(func.pg_try_advisory_xact_lock(_ONE_AT_A_TIME))
_LOCK_SOME = (
    select(threads.c.id)
    .where(_is_at_rest)
    .order_by(threads.c.id)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)
_REMOVE = delete(threads).where(
    threads.c.id.in_(bindparam("thread_ids", expanding=True)), _is_at_rest
)
_FORGET_STOPS = delete(stops).where(stops.c.stored_at < _before)
_before_day = bindparam("before_day", type_=Date)
_FORGET_DAYS = [delete(table).where(table.c.day < _before_day) for table in (usage, usage_warnings)]


async def remove_old(connection: AsyncConnection, before: datetime, most: int) -> int:
    """Removes at most so many threads in which nothing has happened since `before`, and what was
    used on the days (UTC) before that; how many threads.

    None while another replica is at it, and never one with an open turn or a live claim.
    """
    if not await _is_alone_at_it(connection):
        return 0
    values = {"before": before, "before_ts": f"{before.timestamp():.6f}"}
    await connection.execute(_FORGET_STOPS, {"before": before})
    for forget in _FORGET_DAYS:
        await connection.execute(forget, {"before_day": before.astimezone(UTC).date()})
    found = list(await connection.scalars(_LOCK_SOME, {**values, "most": most}))
    if not found:
        return 0
    return (await connection.execute(_REMOVE, {**values, "thread_ids": found})).rowcount


async def _is_alone_at_it(connection: AsyncConnection) -> bool:
    """SQLite is for one process."""
    if connection.dialect.name != "postgresql":
        return True
    return bool((await connection.execute(_TRY_LOCK)).scalar_one())
