"""SQL of stops: which open turns somebody wants to stop, also where the stop overtakes its ask.

The order is the protocol. Whoever stores a stop marks the open turns in a later transaction, and
whoever stores an ask claims it in a later one, which looks for stops first. So one of the two sees
the other, whichever event comes first and on whichever replica.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BindParameter,
    Float,
    Text,
    Update,
    and_,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
    tuple_,
    type_coerce,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.conversation import Message
from kimibot.storage.columns import AnyText, SlackTs, database_later, database_now
from kimibot.storage.deletions import empty_message
from kimibot.storage.tables import (
    RUNNING,
    is_of_message,
    is_open,
    messages,
    stops,
    threads,
    turns,
    unless_there,
)
from kimibot.turns import CHOSEN, Stop, StopCause, TurnToStop

KEPT_SECONDS = 900.0
"""An ask can come six minutes after its stop: so late Slack delivers an event once more, see
https://docs.slack.dev/apis/events-api/#retries"""

_GIVEN = ("team", "channel", "ts", "cause", "root_ts", "said_by")
_REMEMBER = {
    dialect: statement.values(
        {name: bindparam(name) for name in _GIVEN} | {"stored_at": database_now()}
    ).returning(stops.c.ts)
    for dialect, statement in unless_there(stops).items()
}
_FORGET_OLD = delete(stops).where(
    stops.c.stored_at < database_later(bindparam("old_seconds", type_=Float))
)

_person: BindParameter[str] = bindparam("person", type_=AnyText)
_before_ts: BindParameter[str] = bindparam("before_ts", type_=SlackTs)
_in_channel = (turns.c.team == bindparam("in_team"), turns.c.channel == bindparam("in_channel"))
_in_thread = turns.c.thread_id == (
    select(threads.c.id)
    .where(
        threads.c.team == bindparam("in_team"),
        threads.c.channel == bindparam("in_channel"),
        threads.c.root_ts == bindparam("root"),
    )
    .scalar_subquery()
)
_takes_part = exists().where(
    messages.c.thread_id == turns.c.thread_id,
    messages.c.author == _person,
    messages.c.ts < _before_ts,
)
_shows = type_coerce(turns.c.reply_ts, Text).like(bindparam("part"))


def _mark(*conditions: Any) -> Update:
    """The first wish counts: who stopped a turn stays as it was told."""
    return (
        update(turns)
        .where(is_open, turns.c.stop_requested.is_(None), *conditions)
        .values(stop_requested=bindparam("cause"), stop_requested_by=_person)
        .returning(turns.c.id, turns.c.thread_id)
    )


_MARK_IN_THREAD = _mark(
    turns.c.ts < _before_ts, _in_thread, or_(turns.c.asker == _person, _takes_part)
)
_MARK_IN_CHANNEL = _mark(turns.c.ts < _before_ts, *_in_channel, turns.c.asker == _person)
_MARK_TURN = _mark(turns.c.id == bindparam("turn_id"))
_MARK_ASK = _mark(*_in_channel, turns.c.ts == bindparam("ask_ts"), is_of_message)
_merged = turns.alias("merged")
_is_answered_there_too = exists().where(
    _merged.c.thread_id == turns.c.thread_id,
    _merged.c.fence == turns.c.fence,
    _merged.c.ended_at.is_(None),
    _merged.c.asker == _person,
)
_MARK_REPLY = _mark(*_in_channel, _shows, _is_answered_there_too)
_HAS_RUNNING_ON = select(
    exists().where(_in_thread, is_open, turns.c.stop_requested.is_(None), turns.c.ts < _before_ts)
)
_HAS_SPOKEN = select(
    exists().where(
        turns.c.id == bindparam("turn_id"),
        messages.c.thread_id == turns.c.thread_id,
        messages.c.author == _person,
    )
)
_REQUESTED = select(
    turns.c.id,
    turns.c.thread_id,
    func.coalesce(turns.c.stop_requested, StopCause.ASK_EDITED.value),
    turns.c.stop_requested_by,
).where(
    is_open,
    or_(turns.c.stop_requested.is_not(None), turns.c.restart_fence == turns.c.fence),
    turns.c.state == bindparam("running"),
    tuple_(turns.c.thread_id, turns.c.fence).in_(bindparam("claims", expanding=True)),
)
_was_in_thread = exists().where(
    messages.c.thread_id == turns.c.thread_id,
    messages.c.author == stops.c.said_by,
    messages.c.ts < stops.c.ts,
)
_is_word_for = and_(
    is_of_message,
    turns.c.kind.not_in(sorted(CHOSEN)),
    stops.c.cause == StopCause.PERSON.value,
    stops.c.ts > turns.c.ts,
    or_(stops.c.said_by == turns.c.asker, and_(stops.c.root_ts.is_not(None), _was_in_thread)),
    or_(stops.c.root_ts.is_(None), stops.c.root_ts == threads.c.root_ts),
)
_is_deletion_of = and_(
    stops.c.cause == StopCause.ASK_DELETED.value, stops.c.ts == turns.c.ts, is_of_message
)
_OVERTAKEN = (
    select(turns.c.id, turns.c.team, turns.c.channel, turns.c.ts, stops.c.cause, stops.c.said_by)
    .join_from(turns, threads)
    .join(stops, and_(stops.c.team == turns.c.team, stops.c.channel == turns.c.channel))
    .where(
        turns.c.thread_id == bindparam("in_thread"),
        is_open,
        turns.c.attempt == 0,
        turns.c.stop_requested.is_(None),
        or_(_is_word_for, _is_deletion_of),
    )
)


async def remember_word(connection: AsyncConnection, word: Message) -> bool:
    """Keeps a stop for asks that are still on their way; False for a repeated delivery."""
    root_ts = None if word.is_root else word.thread.root_ts
    where = (word.thread.team, word.thread.channel, word.ts)
    return await _remember(connection, *where, Stop(StopCause.PERSON, word.author), root_ts)


async def remember_deletion(connection: AsyncConnection, team: str, channel: str, ts: str) -> None:
    """Keeps a deletion for an ask that is still on its way."""
    await _remember(connection, team, channel, ts, Stop(StopCause.ASK_DELETED), None)


async def mark_for_word(connection: AsyncConnection, word: Message) -> list[TurnToStop]:
    """The open turns before the word whose asker, or whose thread's participant, has said it.

    A root, which is in nobody's thread, counts for all that its author has asked in the channel.
    """
    values = _where(word.thread.team, word.thread.channel) | {"before_ts": word.ts}
    stop = Stop(StopCause.PERSON, word.author)
    if word.is_root:
        return await _marked(connection, _MARK_IN_CHANNEL, stop, values)
    return await _marked(connection, _MARK_IN_THREAD, stop, values | {"root": word.thread.root_ts})


async def goes_on(connection: AsyncConnection, word: Message) -> bool:
    """Whether a turn in the word's thread is open all the same."""
    values = _where(word.thread.team, word.thread.channel)
    values |= {"before_ts": word.ts, "root": word.thread.root_ts}
    return bool((await connection.execute(_HAS_RUNNING_ON, values)).scalar())


async def mark_turn(connection: AsyncConnection, turn_id: str, stop: Stop) -> list[TurnToStop]:
    """The turn, if it is open and nobody has stopped it before."""
    return await _marked(connection, _MARK_TURN, stop, {"turn_id": turn_id})


async def mark_ask(
    connection: AsyncConnection, team: str, channel: str, ts: str
) -> list[TurnToStop]:
    """The open turn whose ask was deleted."""
    values = _where(team, channel) | {"ask_ts": ts}
    return await _marked(connection, _MARK_ASK, Stop(StopCause.ASK_DELETED), values)


async def mark_reply(
    connection: AsyncConnection, team: str, channel: str, ts: str, asker: str
) -> list[TurnToStop]:
    """The open turn whose reply has that part, if the person is one of those whom it answers."""
    values = _where(team, channel) | {"part": part_pattern(ts)}
    return await _marked(connection, _MARK_REPLY, Stop(StopCause.PERSON, asker), values)


async def takes_part(connection: AsyncConnection, turn_id: str, person: str) -> bool:
    """Whether the person has said anything in the turn's thread."""
    return bool(
        (await connection.execute(_HAS_SPOKEN, {"turn_id": turn_id, "person": person})).scalar()
    )


async def requested(connection: AsyncConnection, fences: Mapping[int, int]) -> list[TurnToStop]:
    """Of the turns that run under these claims, those that are to stop or to begin anew."""
    values = {"running": RUNNING, "claims": list(fences.items())}
    rows = await connection.execute(_REQUESTED, values)
    return [TurnToStop(row[0], row[1], Stop(StopCause(row[2]), row[3])) for row in rows]


async def mark_overtaken(connection: AsyncConnection, thread_id: int) -> None:
    """Marks the thread's new turns whose stop came before them, and empties deleted asks."""
    overtaken = await connection.execute(_OVERTAKEN, {"in_thread": thread_id})
    for row in overtaken.all():
        await mark_turn(connection, row.id, Stop(StopCause(row.cause), row.said_by))
        if row.cause == StopCause.ASK_DELETED.value:
            await empty_message(connection, row.team, row.channel, row.ts)


def part_pattern(ts: str) -> str:
    """What the stored list of a reply's parts is like that holds this one."""
    return f'%"{ts}"%'


async def _remember(
    connection: AsyncConnection, team: str, channel: str, ts: str, stop: Stop, root_ts: str | None
) -> bool:
    await connection.execute(_FORGET_OLD, {"old_seconds": -KEPT_SECONDS})
    values = {
        "team": team,
        "channel": channel,
        "ts": ts,
        "cause": stop.cause.value,
        "root_ts": root_ts,
        "said_by": stop.by,
    }
    added = await connection.execute(_REMEMBER[connection.dialect.name], values)
    return added.first() is not None


async def _marked(
    connection: AsyncConnection, marking: Update, stop: Stop, values: dict[str, Any]
) -> list[TurnToStop]:
    values = {**values, "cause": stop.cause.value, "person": stop.by}
    rows = await connection.execute(marking, values)
    return [TurnToStop(row.id, row.thread_id, stop) for row in rows]


def _where(team: str, channel: str) -> dict[str, Any]:
    return {"in_team": team, "in_channel": channel}
