"""SQL of what comes in: is it ours, is it new, what was said before, who may try again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import and_, bindparam, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.conversation import Accepted, Asker, Message, Speaker, Thread, ThreadFacts
from kimibot.storage import presses
from kimibot.storage.memory import add_messages, without_forgotten
from kimibot.storage.tables import (
    ENDED,
    QUEUED,
    QUEUED_ANEW,
    has_nothing_left,
    is_of_message,
    is_open,
    messages,
    threads,
    turns,
    unless_there,
)
from kimibot.turns import Kind, Outcome

_HOUR_SECONDS = 3600

_FIND_THREAD = select(threads.c.id, threads.c.muted).where(
    threads.c.team == bindparam("team"),
    threads.c.channel == bindparam("channel"),
    threads.c.root_ts == bindparam("root_ts"),
)
_ADD_THREAD = {
    dialect: statement.returning(threads.c.id)
    for dialect, statement in unless_there(threads).items()
}
_ADD_TURN = {
    dialect: statement.returning(turns.c.id) for dialect, statement in unless_there(turns).items()
}
_SPEAKERS = (
    select(messages.c.author)
    .distinct()
    .where(
        messages.c.thread_id == bindparam("thread_id"),
        messages.c.ts < bindparam("before_ts"),
        messages.c.speaker != bindparam("us"),
    )
)
_MESSAGE_BEFORE = (
    select(messages.c.ts, messages.c.speaker)
    .where(
        messages.c.thread_id == bindparam("thread_id"),
        messages.c.ts < bindparam("before_ts"),
        messages.c.deleted_at.is_(None),
    )
    .order_by(messages.c.ts.desc())
    .limit(1)
)
_REPLIES = select(turns.c.ts, turns.c.asker, turns.c.kind, turns.c.reply_ts).where(
    turns.c.thread_id == bindparam("thread_id")
)
_REQUEUE = (
    update(turns)
    .where(
        turns.c.id == bindparam("turn_id"),
        turns.c.state == bindparam("ended"),
        or_(
            turns.c.outcome == Outcome.FAILED,
            and_(turns.c.outcome == Outcome.STOPPED, ~is_of_message),
        ),
        ~exists().where(
            messages.c.team == turns.c.team,
            messages.c.channel == turns.c.channel,
            messages.c.ts == turns.c.ts,
            or_(messages.c.deleted_at.is_not(None), has_nothing_left),
        ),
    )
    .values(QUEUED_ANEW)
    .returning(turns.c.thread_id)
)
_TURN_OWNER = (
    select(threads.c.team, threads.c.channel, threads.c.root_ts, turns.c.asker)
    .join_from(turns, threads)
    .where(turns.c.id == bindparam("turn_id"))
)
_HAS_ASKED = select(
    exists().where(
        or_(turns.c.id == bindparam("turn_id"), turns.c.merged_into == bindparam("turn_id")),
        turns.c.asker == bindparam("person"),
    )
)
_HAS_OPEN_TURN = select(exists().where(turns.c.thread_id == bindparam("thread_id"), is_open))
_COUNT_OPEN = select(func.count()).select_from(turns).where(is_open)


async def thread_facts(
    connection: AsyncConnection, thread: Thread, before_ts: str
) -> ThreadFacts | None:
    """None for a thread that is not ours."""
    row = (await connection.execute(_FIND_THREAD, _key(thread))).one_or_none()
    if row is None:
        return None
    span = {"thread_id": row.id, "before_ts": before_ts}
    speakers = await connection.scalars(_SPEAKERS, {**span, "us": Speaker.US})
    ours = (await connection.execute(_REPLIES, {"thread_id": row.id})).all()
    speaker, asker = await _who_was_before(connection, span, ours)
    return ThreadFacts(
        thread_id=row.id,
        is_begun=any(turn.ts < before_ts for turn in ours),
        muted=row.muted,
        speakers=frozenset(speakers),
        previous_speaker=speaker,
        previous_asker=asker,
        **_app_turns(ours, before_ts),
    )


async def thread_id(connection: AsyncConnection, thread: Thread) -> int | None:
    """None for a thread that is not ours."""
    found: int | None = (await connection.execute(_FIND_THREAD, _key(thread))).scalar()
    return found


async def accept(
    connection: AsyncConnection,
    message: Message,
    *,
    is_ask: bool,
    kind: Kind,
    is_follow_up: bool,
    asker: Asker | None,
    now: datetime,
    new_id: Callable[[], str],
) -> Accepted | None:
    """Stores a message, and a queued turn if it is an ask that has none yet.

    What comes so late that its thread was told to forget it is not stored, unless it is an ask.
    """
    thread_id = await _thread_id(connection, message.thread, open_it=is_ask)
    if thread_id is None:
        return None
    if not is_ask:
        kept = await without_forgotten(connection, thread_id, [message])
        await add_messages(connection, thread_id, kept)
        return Accepted(thread_id)
    await add_messages(connection, thread_id, [message])
    must_wait = await _has_open_turn(connection, thread_id, message)
    asker = asker or Asker(message.author, message.author_team)
    turn = _turn_row(new_id(), thread_id, message, asker, now)
    turn |= {"kind": kind.value, "is_follow_up": is_follow_up, "had_to_wait": must_wait}
    added = await connection.execute(_ADD_TURN[connection.dialect.name], turn)
    return Accepted(thread_id, added.scalar_one_or_none(), must_wait)


async def requeue(connection: AsyncConnection, turn_id: str) -> int | None:
    """Its thread, if the turn is queued now: it has failed, or is of a press and was stopped.

    The ask counts as accepted now: its age is that of the click.
    """
    if await presses.is_continued(connection, turn_id):
        return None
    values = {"turn_id": turn_id, "ended": ENDED}
    thread_id: int | None = (await connection.execute(_REQUEUE, values)).scalar_one_or_none()
    return thread_id


async def turn_owner(connection: AsyncConnection, turn_id: str) -> tuple[Thread, str] | None:
    """The thread that a turn belongs to and who asked."""
    row = (await connection.execute(_TURN_OWNER, {"turn_id": turn_id})).one_or_none()
    return row and (Thread(row.team, row.channel, row.root_ts), row.asker)


async def has_asked(connection: AsyncConnection, turn_id: str, person: str) -> bool:
    """Whether the turn answers an ask of that person: its own, or one that was merged into it."""
    key = {"turn_id": turn_id, "person": person}
    return bool((await connection.execute(_HAS_ASKED, key)).scalar())


async def open_asks(connection: AsyncConnection) -> int:
    """How many asks have no outcome yet."""
    return (await connection.execute(_COUNT_OPEN)).scalar_one()


async def _who_was_before(
    connection: AsyncConnection, span: dict[str, Any], ours_in_thread: Sequence[Any]
) -> tuple[Speaker | None, str]:
    """Our replies are looked up by their parts: an answer has its row only once it is whole."""
    row = (await connection.execute(_MESSAGE_BEFORE, span)).one_or_none()
    parts = [(ts, turn.asker) for turn in ours_in_thread for ts in turn.reply_ts]
    ours = max((part for part in parts if part[0] < span["before_ts"]), default=("", ""))
    if row is not None and row.ts > ours[0]:
        return Speaker(row.speaker), ""
    return (Speaker.US, ours[1]) if ours[0] else (None, "")


def _app_turns(ours_in_thread: Sequence[Any], before_ts: str) -> dict[str, Any]:
    """What apps have asked in the hour before, by Slack's own clock; the id of an app is B…"""
    since_ts = f"{float(before_ts) - _HOUR_SECONDS:.6f}"
    of_apps = [
        turn.kind
        for turn in ours_in_thread
        if since_ts <= turn.ts < before_ts and turn.asker.startswith("B")
    ]
    return {
        "app_asks": of_apps.count(Kind.ASK),
        "is_limit_told": Kind.APP_LIMIT in of_apps,
    }


async def _thread_id(connection: AsyncConnection, thread: Thread, *, open_it: bool) -> int | None:
    key, found = _key(thread), await thread_id(connection, thread)
    if found is not None or not open_it:
        return found
    added = await connection.execute(_ADD_THREAD[connection.dialect.name], key)
    # Nothing is added when another process opened the thread a moment ago.
    return added.scalar() or (await connection.execute(_FIND_THREAD, key)).scalar()


async def _has_open_turn(connection: AsyncConnection, thread_id: int, message: Message) -> bool:
    if message.is_root:
        return False
    return bool((await connection.execute(_HAS_OPEN_TURN, {"thread_id": thread_id})).scalar())


def _key(thread: Thread) -> dict[str, Any]:
    return {"team": thread.team, "channel": thread.channel, "root_ts": thread.root_ts}


def _turn_row(
    turn_id: str, thread_id: int, message: Message, asker: Asker, now: datetime
) -> dict[str, Any]:
    return {
        "id": turn_id,
        "thread_id": thread_id,
        "team": message.thread.team,
        "channel": message.thread.channel,
        "ts": message.ts,
        "asker": asker.id,
        "asker_team": asker.team,
        "event_id": message.event_id,
        "state": QUEUED,
        "accepted_at": now,
    }
