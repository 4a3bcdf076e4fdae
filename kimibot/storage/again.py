"""SQL of answers that are written anew: which can be, and the turns that are queued for it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.conversation import Message
from kimibot.storage.tables import (
    QUEUED,
    QUEUED_ANEW,
    RUNNING,
    has_nothing_left,
    is_of_message,
    is_open,
    messages,
    turns,
)
from kimibot.turns import Again, Kind, Outcome, Renewal

_answering = turns.alias("answering")
_newer = turns.alias("newer")
_is_followed = (
    exists()
    .where(
        _newer.c.thread_id == _answering.c.thread_id,
        _newer.c.ts > _answering.c.ts,
        func.coalesce(_newer.c.merged_into, "") != _answering.c.id,
    )
    .label("is_followed")
)
_is_gone = (
    exists()
    .where(
        messages.c.team == _answering.c.team,
        messages.c.channel == _answering.c.channel,
        messages.c.ts == _answering.c.ts,
        or_(messages.c.deleted_at.is_not(None), has_nothing_left),
    )
    .label("is_gone")
)


def _find(*conditions: ColumnElement[bool]) -> Select[Any]:
    """The turn that answers an ask: its own, or the one that it was merged into."""
    own_or_merged = func.coalesce(turns.c.merged_into, turns.c.id)
    return (
        select(
            _answering.c.id,
            _answering.c.thread_id,
            _answering.c.state,
            _answering.c.outcome,
            _answering.c.attempt,
            _answering.c.kind,
            _is_followed,
            _is_gone,
        )
        .join_from(turns, _answering, _answering.c.id == own_or_merged)
        .where(*conditions)
    )


_FIND_BY_ASK = _find(
    turns.c.team == bindparam("in_team"),
    turns.c.channel == bindparam("in_channel"),
    turns.c.ts == bindparam("ask_ts"),
    is_of_message,
)
_FIND_BY_ID = _find(turns.c.id == bindparam("turn_id"))
_QUEUE = (
    update(turns)
    .where(
        or_(turns.c.id == bindparam("turn_id"), turns.c.merged_into == bindparam("turn_id")),
        ~is_open,
    )
    .values(QUEUED_ANEW)
)


async def of_ask(connection: AsyncConnection, ask: Message) -> tuple[bool, Renewal | None]:
    """Whether the message has a turn, and what would write its answer anew, if that is possible.

    It is while the turn runs, too: then once it has ended.
    """
    thread = ask.thread
    where = {"in_team": thread.team, "in_channel": thread.channel, "ask_ts": ask.ts}
    row = (await connection.execute(_FIND_BY_ASK, where)).one_or_none()
    if row is None:
        return False, None
    has_or_gets_one = row.outcome in (None, Outcome.ANSWERED, Outcome.STOPPED)
    is_question = row.kind == Kind.ASK and has_or_gets_one
    if not is_question or row.state == QUEUED or row.is_followed:
        return True, None
    return True, Renewal(row.id, row.attempt)


async def queue(connection: AsyncConnection, renewal: Renewal) -> tuple[Again, int]:
    """Queues a turn that was answered, with those that were merged into it, and its thread.

    Only as often as it was offered: the attempt tells whether the answer is still the same.
    """
    values = {"turn_id": renewal.turn_id}
    row = (await connection.execute(_FIND_BY_ID, values)).one_or_none()
    if row is None:
        return Again.DONE_ALREADY, 0
    refusal = _refusal(row, renewal)
    if refusal is not None:
        return refusal, row.thread_id
    queued = await connection.execute(_QUEUE, values)
    return (Again.QUEUED if queued.rowcount else Again.DONE_ALREADY), row.thread_id


def _refusal(row: Any, renewal: Renewal) -> Again | None:
    is_the_same = (row.id, row.attempt) == (renewal.turn_id, renewal.attempt)
    if not is_the_same or row.is_gone or row.state == QUEUED:
        return Again.DONE_ALREADY
    if row.state == RUNNING:
        return Again.STILL_RUNNING
    return Again.IS_FOLLOWED if row.is_followed else None
