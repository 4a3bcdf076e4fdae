"""SQL of the turns that are asked for by a press below an answer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import and_, bindparam, exists, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.conversation import Asker, Speaker
from kimibot.storage.tables import QUEUED, is_open, messages, turns, unless_there
from kimibot.turns import CHOSEN, Kind, Outcome, Press

_PRESSED_BELOW = select(
    turns.c.thread_id,
    turns.c.team,
    turns.c.channel,
    turns.c.asker,
    turns.c.asker_team,
    turns.c.reply_ts,
).where(
    turns.c.id == bindparam("turn_id"),
    ~is_open,
    exists().where(
        messages.c.turn_id == turns.c.id,
        messages.c.speaker == Speaker.US.value,
        messages.c.text != "",
    ),
)
_TEAM_OF = (
    select(turns.c.asker_team)
    .where(
        or_(turns.c.id == bindparam("turn_id"), turns.c.merged_into == bindparam("turn_id")),
        turns.c.asker == bindparam("person"),
        turns.c.asker_team != "",
    )
    .limit(1)
)
_REPLY = select(turns.c.thread_id, turns.c.reply_ts).where(turns.c.id == bindparam("turn_id"))
_REPLIES = select(turns.c.id, turns.c.reply_ts).where(turns.c.thread_id == bindparam("in_thread"))
_GOES_ON = select(
    exists().where(
        turns.c.thread_id == bindparam("in_thread"),
        turns.c.kind == Kind.CONTINUE.value,
        turns.c.ts.in_(bindparam("parts", expanding=True)),
    )
)
_HAS_ENDED = select(exists().where(turns.c.id == bindparam("turn_id"), ~is_open))
_GIVE_WAY = (
    update(turns)
    .where(
        turns.c.team == bindparam("in_team"),
        turns.c.channel == bindparam("in_channel"),
        turns.c.ts == bindparam("part_ts"),
        turns.c.pressed == bindparam("key"),
        ~is_open,
        or_(
            turns.c.outcome == Outcome.REFUSED.value,
            and_(
                turns.c.outcome.in_([Outcome.FAILED.value, Outcome.STOPPED.value]),
                turns.c.asker != bindparam("new_asker"),
            ),
        ),
    )
    .values(pressed=turns.c.pressed + ":" + turns.c.id)
)
_ADD_TURN = {
    dialect: statement.returning(turns.c.thread_id)
    for dialect, statement in unless_there(turns).items()
}


async def add(
    connection: AsyncConnection,
    turn_id: str,
    press: Press,
    *,
    asker: Asker | None,
    now: datetime,
    new_id: Callable[[], str],
) -> int | None:
    """The thread, if a turn was queued for a press below the reply of `turn_id`, or about it.

    None where that has not ended or has no reply, where its answer was forgotten or deleted, and
    where the same was pressed before. That counts for all, unless it got no answer: then it may
    be picked by another `asker`, and after a refusal once more by the same.
    """
    above = (await connection.execute(_PRESSED_BELOW, {"turn_id": turn_id})).one_or_none()
    if above is None or not above.reply_ts:
        return None
    if asker is None:
        asker = Asker(above.asker, above.asker_team)
    else:
        asker = await _with_team(connection, turn_id, asker)
        await _make_way(connection, above, press, asker)
    turn = _turn_row(new_id(), above, press, asker, now)
    added = await connection.execute(_ADD_TURN[connection.dialect.name], turn)
    thread_id: int | None = added.scalar_one_or_none()
    return thread_id


async def _with_team(connection: AsyncConnection, turn_id: str, asker: Asker) -> Asker:
    """Not every press names the workspace of who presses, but their ask may have."""
    if asker.team:
        return asker
    team = await connection.scalar(_TEAM_OF, {"turn_id": turn_id, "person": asker.id})
    return Asker(asker.id, team or "")


async def _make_way(connection: AsyncConnection, above: Any, press: Press, asker: Asker) -> None:
    """What was refused to one person, or has failed or was stopped, is not so for all."""
    part_ts = _ts_of(above, press)
    place = {"in_team": above.team, "in_channel": above.channel, "part_ts": part_ts}
    await connection.execute(_GIVE_WAY, place | {"key": press.key, "new_asker": asker.id})


def _ts_of(above: Any, press: Press) -> str:
    """What is about the answer has the ts of its row; what goes on below it, that of its end."""
    ts: str = above.reply_ts[0 if press.kind in CHOSEN else -1]
    return ts


def _turn_row(
    turn_id: str, above: Any, press: Press, asker: Asker, now: datetime
) -> dict[str, Any]:
    return {
        "id": turn_id,
        "thread_id": above.thread_id,
        "team": above.team,
        "channel": above.channel,
        "ts": _ts_of(above, press),
        "asker": asker.id,
        "asker_team": asker.team,
        "event_id": "",
        "state": QUEUED,
        "kind": press.kind.value,
        "pressed": press.key,
        "accepted_at": now,
    }


async def turn_of_ours(connection: AsyncConnection, thread_id: int, ts: str) -> str | None:
    """The turn whose reply has the newest part up to then: nothing else of ours comes between a
    reply and what belongs to it."""
    rows = await connection.execute(_REPLIES, {"in_thread": thread_id})
    parts = [(part, row.id) for row in rows for part in row.reply_ts if part <= ts]
    return max(parts)[1] if parts else None


async def has_ended(connection: AsyncConnection, turn_id: str) -> bool:
    """Whether the turn has its outcome: its buttons are seen a moment earlier."""
    return bool((await connection.execute(_HAS_ENDED, {"turn_id": turn_id})).scalar())


async def is_continued(connection: AsyncConnection, turn_id: str) -> bool:
    """Whether somebody has had the reply of the turn continued: then it must stay as it is."""
    reply = (await connection.execute(_REPLY, {"turn_id": turn_id})).one_or_none()
    if reply is None or not reply.reply_ts:
        return False
    key = {"in_thread": reply.thread_id, "parts": list(reply.reply_ts)}
    return bool((await connection.execute(_GOES_ON, key)).scalar())
