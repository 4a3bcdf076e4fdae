"""SQL of the life of one turn, found by what people and logs know of it. Reads no texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Text, and_, bindparam, or_, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.answers import Usage
from kimibot.conversation import Speaker, Thread
from kimibot.storage.columns import AnyText
from kimibot.storage.engine import Database
from kimibot.storage.tables import is_of_message, messages, threads, turns

MOST_TURNS = 10
"""Ids come from outside: nobody promises that an endpoint gives each of them once."""

_STEPS = ("accepted", "claimed", "shown", "first_delta", "last_delta", "ended")

_any_id = bindparam("id", type_=AnyText)
_TURNS = (
    select(turns, threads.c.root_ts)
    .join_from(turns, threads)
    .order_by(turns.c.accepted_at.desc(), turns.c.ts.desc())
    .limit(MOST_TURNS)
)
_BY_ID = _TURNS.where(
    or_(
        turns.c.id == _any_id,
        turns.c.event_id == _any_id,
        turns.c.trace_id == _any_id,
        turns.c.id.in_(select(messages.c.turn_id).where(messages.c.completion_id == _any_id)),
    )
)
_BY_MESSAGE = _TURNS.where(
    turns.c.channel == bindparam("in_channel"),
    or_(
        and_(turns.c.ts == bindparam("message_ts"), is_of_message),
        type_coerce(turns.c.reply_ts, Text).contains(bindparam("in_list")),
    ),
)
_MERGED = select(turns.c.id).where(turns.c.merged_into == bindparam("turn_id")).order_by(turns.c.ts)
_ANSWER = (
    select(
        messages.c.completion_id,
        messages.c.finish_reason,
        messages.c.prompt_tokens,
        messages.c.completion_tokens,
        messages.c.cached_tokens,
        messages.c.review,
    )
    .where(messages.c.turn_id == bindparam("turn_id"), messages.c.speaker == Speaker.US.value)
    .order_by(messages.c.ts.desc())
    .limit(1)
)


@dataclass(frozen=True, slots=True)
class TracedAnswer:
    """What is known of an answer beside its text."""

    completion_id: str
    finish_reason: str
    usage: Usage
    review: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TracedTurn:
    """The life of a turn. `steps` has the times of those that were reached, `stop_requested` why
    it was to stop, or ""; `pressed` is what was pressed below the message with its `ts`, or ""
    where that is the ask. `merged` are the ids of the turns that were answered together with it,
    `merged_into` is that of the one that answered this."""

    id: str
    thread: Thread
    ts: str
    pressed: str
    event_id: str
    state: str
    outcome: str
    error_code: str
    trace_id: str
    attempt: int
    takeovers: int
    stop_requested: str
    reply_ts: tuple[str, ...]
    merged: tuple[str, ...]
    merged_into: str
    steps: Mapping[str, datetime]
    answer: TracedAnswer | None


async def turns_by_id(database: Database, id_: str) -> list[TracedTurn]:
    """Those with this turn id, event id, trace id or completion id; newest first, at most ten."""
    async with database.reading() as connection:
        rows = (await connection.execute(_BY_ID, {"id": id_})).all()
        return await _traced(connection, rows)


async def turns_by_message(database: Database, channel: str, ts: str) -> list[TracedTurn]:
    """Those of which the message is the ask or a part of the reply; `ts` is digits and a dot."""
    values = {"in_channel": channel, "message_ts": ts, "in_list": f'"{ts}"'}
    async with database.reading() as connection:
        rows = (await connection.execute(_BY_MESSAGE, values)).all()
        return await _traced(connection, rows)


async def _traced(connection: AsyncConnection, rows: Sequence[Any]) -> list[TracedTurn]:
    return [await _with_what_belongs_to_it(connection, row) for row in rows]


async def _with_what_belongs_to_it(connection: AsyncConnection, row: Any) -> TracedTurn:
    merged = await connection.scalars(_MERGED, {"turn_id": row.id})
    answer = (await connection.execute(_ANSWER, {"turn_id": row.id})).one_or_none()
    times = {step: getattr(row, f"{step}_at") for step in _STEPS}
    return TracedTurn(
        id=row.id,
        thread=Thread(row.team, row.channel, row.root_ts),
        ts=row.ts,
        pressed=row.pressed,
        event_id=row.event_id,
        state=row.state,
        outcome=row.outcome or "",
        error_code=row.error_code,
        trace_id=row.trace_id,
        attempt=row.attempt,
        takeovers=row.takeovers,
        stop_requested=str(row.stop_requested or ""),
        reply_ts=tuple(row.reply_ts),
        merged=tuple(merged),
        merged_into=row.merged_into or "",
        steps={step: at for step, at in times.items() if at is not None},
        answer=answer and _answer(answer),
    )


def _answer(row: Any) -> TracedAnswer:
    usage = Usage(row.prompt_tokens, row.completion_tokens, row.cached_tokens)
    return TracedAnswer(row.completion_id or "", row.finish_reason or "", usage, row.review)
