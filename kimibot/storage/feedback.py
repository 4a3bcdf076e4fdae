"""SQL of what people say about the findings of reviews: that one is no problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import bindparam, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.storage.columns import database_now
from kimibot.storage.tables import feedback, messages, unless_there
from kimibot.turns import Claim

_GIVEN = ("team", "turn_id", "number", "thread_id", "said_by")
_ADD = {
    dialect: statement.values(
        {name: bindparam(name) for name in _GIVEN} | {"said_at": database_now()}
    )
    for dialect, statement in unless_there(feedback).items()
}
_REVIEWS = (
    select(feedback.c.number, messages.c.review)
    .join_from(feedback, messages, messages.c.turn_id == feedback.c.turn_id)
    .where(feedback.c.thread_id == bindparam("in_thread"), messages.c.review.is_not(None))
    .order_by(feedback.c.said_at, feedback.c.number)
)
_OF_NUMBER = (
    select(feedback.c.turn_id, messages.c.review)
    .join_from(feedback, messages, messages.c.turn_id == feedback.c.turn_id)
    .where(
        feedback.c.thread_id == bindparam("in_thread"),
        feedback.c.number == bindparam("of_number"),
        messages.c.review.is_not(None),
    )
    .order_by(feedback.c.said_at.desc())
)
_REMOVE = delete(feedback).where(
    feedback.c.turn_id == bindparam("of_turn"), feedback.c.number == bindparam("of_number")
)
_REMOVE_IN_THREAD = delete(feedback).where(feedback.c.thread_id == bindparam("in_thread"))
_REMOVE_OF_TURN = delete(feedback).where(feedback.c.turn_id == bindparam("of_turn"))


async def add(connection: AsyncConnection, claim: Claim, turn_id: str, number: int) -> None:
    """Notes that the claim's asker has said so; who says it first has said it."""
    values = {
        "team": claim.thread.team,
        "turn_id": turn_id,
        "number": number,
        "thread_id": claim.thread_id,
        "said_by": claim.turns[0].asker,
    }
    await connection.execute(_ADD[connection.dialect.name], values)


async def take_back(
    connection: AsyncConnection, thread_id: int, number: int, turn_id: str | None
) -> Mapping[str, Any] | None:
    """Forgets that it was said of the finding with this number in the review of the turn, for None
    of that of which it was said last; the finding, None where it was not said."""
    where = {"in_thread": thread_id, "of_number": number}
    rows = (await connection.execute(_OF_NUMBER, where)).all()
    row = next((one for one in rows if turn_id in (None, one.turn_id)), None)
    if row is None:
        return None
    await connection.execute(_REMOVE, {"of_turn": row.turn_id, "of_number": number})
    return finding(row.review, number)


async def no_problems(connection: AsyncConnection, thread_id: int) -> list[Mapping[str, Any]]:
    """The findings of the thread's reviews that were said to be no problems, as they are stored."""
    rows = (await connection.execute(_REVIEWS, {"in_thread": thread_id})).all()
    return [found for row in rows if (found := finding(row.review, row.number)) is not None]


def finding(review: Mapping[str, Any] | None, number: int) -> Mapping[str, Any] | None:
    """The finding with this number in a stored review."""
    findings: list[Mapping[str, Any]] = (review or {}).get("findings") or []
    return findings[number - 1] if 1 <= number <= len(findings) else None


async def remove_in_thread(connection: AsyncConnection, thread_id: int) -> None:
    """When the thread is to be forgotten."""
    await connection.execute(_REMOVE_IN_THREAD, {"in_thread": thread_id})


async def remove_of_turn(connection: AsyncConnection, turn_id: str) -> None:
    """When the review is deleted."""
    await connection.execute(_REMOVE_OF_TURN, {"of_turn": turn_id})
