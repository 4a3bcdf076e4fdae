"""SQL of the claim: who works on a thread, under which number, and how its turns end.

The order of statements is the protocol. Whoever stores an ask tries the claim afterwards; whoever
keeps an answer looks for queued turns after the release. So an ask that is stored at any moment is
seen by one of the two. On PostgreSQL that needs READ COMMITTED, where each statement sees what was
committed before it, and a claim that waits for the row first: an UPDATE skips a row that its
condition did not match at the start, even while somebody is about to commit the change that makes
it match (https://www.postgresql.org/docs/current/transaction-iso.html).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Float, bindparam, case, func, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.conversation import Thread
from kimibot.errors import ClaimLost
from kimibot.storage import memory, stops, usage
from kimibot.storage.columns import database_later, database_now
from kimibot.storage.tables import ENDED, QUEUED, RUNNING, is_open, threads, turns
from kimibot.turns import Claim, Ending, Kind, Outcome, Stop, StopCause, Turn

_lease_end = database_later(bindparam("lease_seconds", type_=Float))
_is_free = or_(threads.c.claim_owner.is_(None), threads.c.claim_expires_at < database_now())
_is_ours = (
    threads.c.id == bindparam("thread_id"),
    threads.c.fence == bindparam("our_fence"),
    threads.c.claim_owner.is_not(None),
)

_CLAIMABLE = (
    select(turns.c.thread_id)
    .join_from(turns, threads)
    .where(is_open, _is_free)
    .group_by(turns.c.thread_id)
    .order_by(func.min(turns.c.accepted_at))
)
_WAIT_FOR_ROW = (
    select(threads.c.id)
    .where(threads.c.id == bindparam("thread_id"))
    .with_for_update(key_share=True)
)
_TAKE = (
    update(threads)
    .where(threads.c.id == bindparam("thread_id"), _is_free)
    .values(
        claim_owner=bindparam("owner"),
        claim_expires_at=_lease_end,
        fence=threads.c.fence + 1,
    )
    .returning(
        threads.c.team,
        threads.c.channel,
        threads.c.root_ts,
        threads.c.fence,
        threads.c.provider,
        threads.c.model,
        threads.c.complete_at,
        threads.c.forgotten_ts,
        threads.c.told,
    )
)
_START = (
    update(turns)
    .where(turns.c.thread_id == bindparam("in_thread"), is_open)
    .values(
        state=bindparam("running"),
        fence=bindparam("our_fence"),
        attempt=turns.c.attempt + 1,
        takeovers=turns.c.takeovers + case((turns.c.state == bindparam("running"), 1), else_=0),
        claimed_at=database_now(),
    )
    .returning(
        turns.c.id,
        turns.c.ts,
        turns.c.asker,
        turns.c.event_id,
        turns.c.attempt,
        turns.c.takeovers,
        turns.c.accepted_at,
        turns.c.reply_ts,
        turns.c.stop_requested,
        turns.c.stop_requested_by,
        turns.c.had_to_wait,
        turns.c.kind,
        turns.c.pressed,
        turns.c.asker_team,
        turns.c.is_follow_up,
    )
)
_LET_GO = update(threads).where(*_is_ours).values(claim_owner=None, claim_expires_at=None)
_LET_GO_AFTER_MODEL = _LET_GO.values(
    provider=bindparam("last_provider"),
    model=bindparam("last_model"),
    effort=bindparam("last_effort"),
    complete_at=func.coalesce(
        bindparam("complete", type_=threads.c.complete_at.type), threads.c.complete_at
    ),
    told=bindparam("all_told", type_=threads.c.told.type),
)
_RENEW = (
    update(threads)
    .where(
        threads.c.claim_owner == bindparam("owner"),
        tuple_(threads.c.id, threads.c.fence).in_(bindparam("claims", expanding=True)),
    )
    .values(claim_expires_at=_lease_end)
    .returning(threads.c.id)
)
_GIVE_BACK = (
    update(turns)
    .where(
        turns.c.thread_id == bindparam("in_thread"),
        is_open,
        turns.c.fence == bindparam("our_fence"),
    )
    .values(state=bindparam("queued"))
)
_NOTE_REPLY = (
    update(turns)
    .where(
        turns.c.id == bindparam("turn_id"),
        turns.c.fence == bindparam("our_fence"),
        turns.c.state == bindparam("running"),
    )
    .values(
        reply_ts=bindparam("parts"),
        shown_at=func.coalesce(turns.c.shown_at, bindparam("shown", type_=turns.c.shown_at.type)),
    )
)
_END = (
    update(turns)
    .where(turns.c.id == bindparam("turn_id"))
    .values(
        state=bindparam("ended"),
        outcome=bindparam("how"),
        reply_ts=bindparam("parts"),
        error_code=bindparam("code"),
        trace_id=bindparam("trace"),
        shown_at=func.coalesce(bindparam("shown", type_=turns.c.shown_at.type), turns.c.shown_at),
        first_delta_at=bindparam("first"),
        last_delta_at=bindparam("last"),
        ended_at=database_now(),
    )
    .returning(turns.c.stop_requested)
)
_MERGE = (
    update(turns)
    .where(turns.c.id.in_(bindparam("turn_ids", expanding=True)))
    .values(
        state=bindparam("ended"),
        outcome=bindparam("how"),
        merged_into=bindparam("oldest"),
        ended_at=database_now(),
    )
)
_LEAVE_OPEN = (
    update(turns)
    .where(turns.c.id.in_(bindparam("turn_ids", expanding=True)))
    .values(state=bindparam("queued"), attempt=turns.c.attempt - 1)
)
"""Nobody has worked on them, so nobody has to look for what was left of that."""

_FIND_QUEUED = (
    select(turns.c.id).where(turns.c.thread_id == bindparam("in_thread"), is_open).limit(1)
)


async def claimable(connection: AsyncConnection) -> list[int]:
    """Threads with open turns that nobody works on; the one that waits longest first."""
    return list(await connection.scalars(_CLAIMABLE))


async def claim(
    connection: AsyncConnection, thread_id: int, owner: str, lease_seconds: float
) -> Claim | None:
    """The thread and all its open turns; None if somebody has it or nothing is to be done."""
    if connection.dialect.name == "postgresql":
        await connection.execute(_WAIT_FOR_ROW, {"thread_id": thread_id})
    taking = {"thread_id": thread_id, "owner": owner, "lease_seconds": lease_seconds}
    row = (await connection.execute(_TAKE, taking)).one_or_none()
    if row is None:
        return None
    await stops.mark_overtaken(connection, thread_id)
    started = await _start(connection, thread_id, row.fence)
    if not started:
        await _let_go(connection, thread_id, row.fence)
        return None
    thread = Thread(row.team, row.channel, row.root_ts)
    return Claim(
        thread,
        thread_id,
        row.fence,
        started,
        provider=row.provider,
        model=row.model,
        complete_at=row.complete_at,
        forgotten_ts=row.forgotten_ts,
        told=frozenset(row.told),
    )


async def renew(
    connection: AsyncConnection, owner: str, fences: Mapping[int, int], lease_seconds: float
) -> frozenset[int]:
    """The threads that are still the owner's, for another lease from now."""
    values = {"owner": owner, "claims": list(fences.items()), "lease_seconds": lease_seconds}
    return frozenset(await connection.scalars(_RENEW, values))


async def release(connection: AsyncConnection, held: Claim) -> None:
    """Gives the turns back to the queue; a claim that is lost already gives nothing back."""
    if await _let_go(connection, held.thread_id, held.fence):
        values = {"in_thread": held.thread_id, "our_fence": held.fence, "queued": QUEUED}
        await connection.execute(_GIVE_BACK, values)


async def note_reply(
    connection: AsyncConnection,
    held: Claim,
    turn_id: str,
    reply_ts: Sequence[str],
    shown_at: datetime,
) -> None:
    """Stores the parts posted so far, or raises ClaimLost.

    A later claim gives the turns its own fence, so the turn's row alone tells whose it is.
    """
    values = {
        "turn_id": turn_id,
        "our_fence": held.fence,
        "running": RUNNING,
        "parts": list(reply_ts),
        "shown": shown_at,
    }
    if (await connection.execute(_NOTE_REPLY, values)).rowcount == 0:
        raise ClaimLost(turn_id)


async def keep(
    connection: AsyncConnection, held: Claim, ending: Ending, *, owner: str, lease_seconds: float
) -> Claim | None:
    """Ends the claim's turns; the next claim if asks came meanwhile, ClaimLost if it was taken."""
    ending = replace(ending, told=held.told | ending.told)
    if not await _let_go(connection, held.thread_id, held.fence, ending):
        raise ClaimLost(held.turns[0].id)
    await memory.place(connection, held.thread_id, ending.placed)
    stop_cause = await _end(connection, held, ending)
    if stop_cause != StopCause.REPLY_DELETED:
        await memory.keep_answer(connection, held, ending)
    await usage.count(connection, held, ending)
    # Last, so that it sees every ask whose own try to claim met our lease.
    queued = await connection.execute(_FIND_QUEUED, {"in_thread": held.thread_id})
    if queued.first() is None:
        return None
    return await claim(connection, held.thread_id, owner, lease_seconds)


async def _start(connection: AsyncConnection, thread_id: int, fence: int) -> tuple[Turn, ...]:
    values = {"in_thread": thread_id, "our_fence": fence, "running": RUNNING}
    rows = await connection.execute(_START, values)
    started = [
        Turn(
            id=row.id,
            ts=row.ts,
            asker=row.asker,
            event_id=row.event_id,
            attempt=row.attempt,
            takeovers=row.takeovers,
            accepted_at=row.accepted_at,
            reply_ts=tuple(row.reply_ts),
            stop=_stop(row.stop_requested, row.stop_requested_by),
            had_to_wait=row.had_to_wait,
            kind=Kind(row.kind),
            pressed=row.pressed,
            asker_team=row.asker_team,
            is_follow_up=row.is_follow_up,
        )
        for row in rows
    ]
    return tuple(sorted(started, key=_order_of_answering))


def _order_of_answering(turn: Turn) -> tuple[bool, int, str, datetime, str]:
    """The oldest, unless another has begun its reply already: nobody else would finish that.

    An older ask may arrive later, and a reply that was begun right before a crash is not noted.
    What was pressed below one reply comes in the order of the presses.
    """
    return not turn.reply_ts, -turn.attempt, turn.ts, turn.accepted_at, turn.pressed


async def _let_go(
    connection: AsyncConnection, thread_id: int, fence: int, ending: Ending | None = None
) -> bool:
    """Whether the thread was ours until now; an ending without a model leaves the last one."""
    values = {"thread_id": thread_id, "our_fence": fence}
    if ending is None or not ending.provider:
        return (await connection.execute(_LET_GO, values)).rowcount == 1
    last = {
        "complete": ending.complete_at,
        "last_provider": ending.provider,
        "last_model": ending.model,
        "last_effort": ending.effort,
        "all_told": sorted(ending.told),
    }
    return (await connection.execute(_LET_GO_AFTER_MODEL, {**values, **last})).rowcount == 1


def _stop(cause: str | None, person: str) -> Stop | None:
    return None if cause is None else Stop(StopCause(cause), person)


async def _end(connection: AsyncConnection, held: Claim, ending: Ending) -> str | None:
    """Why the turn was to stop, if it was."""
    oldest, *others = held.turns
    values = {
        "turn_id": oldest.id,
        "ended": ENDED,
        "how": ending.outcome.value,
        "parts": list(ending.reply_ts),
        "code": ending.error_code,
        "trace": ending.trace_id,
        "shown": ending.shown_at,
        "first": ending.first_delta_at,
        "last": ending.last_delta_at,
    }
    stop_cause: str | None = (await connection.execute(_END, values)).scalar_one()
    merged = [turn.id for turn in others if turn.id not in ending.left_open]
    if merged:
        how = Outcome.MERGED.value
        merging = {"turn_ids": merged, "ended": ENDED, "how": how, "oldest": oldest.id}
        await connection.execute(_MERGE, merging)
    if ending.left_open:
        leaving = {"turn_ids": list(ending.left_open), "queued": QUEUED}
        await connection.execute(_LEAVE_OPEN, leaving)
    return stop_cause
