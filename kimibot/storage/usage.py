"""SQL of the tokens of each day: what is used, what is held for turns that run, who was warned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Date,
    ScalarSelect,
    bindparam,
    cast,
    delete,
    exists,
    func,
    select,
    true,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.allowance import Standing, Taken
from kimibot.storage.columns import AnyText, Number, database_now
from kimibot.storage.tables import (
    holds,
    is_open,
    threads,
    unless_there,
    usage,
    usage_warnings,
)
from kimibot.storage.tables import turns as turn_rows
from kimibot.turns import Claim, Ending, Used

_LOCK_ROOM = 1_802_396_012
"""Ours among the advisory locks of the database; the second number is the team's."""

_COUNTED = ("turns", "prompt_tokens", "completion_tokens", "cached_tokens")
_team = bindparam("of_team", type_=AnyText)
_person = bindparam("of_person", type_=AnyText)
_day = bindparam("on_day", type_=Date)


def _adding() -> dict[str, Any]:
    """An insert that adds its numbers to those that are there, by the dialect's name."""
    key = ("team", "day", "person", "channel")
    statements: dict[str, Any] = {}
    for dialect, insert in (("sqlite", sqlite.insert), ("postgresql", postgresql.insert)):
        added = insert(usage)
        sums = {name: usage.c[name] + added.excluded[name] for name in _COUNTED}
        statements[dialect] = added.on_conflict_do_update(index_elements=key, set_=sums)
    return statements


def _holding() -> dict[str, Any]:
    """An insert that takes the place of an older hold of the thread, never that of a newer."""
    statements: dict[str, Any] = {}
    for dialect, insert in (("sqlite", sqlite.insert), ("postgresql", postgresql.insert)):
        held = insert(holds)
        statements[dialect] = held.on_conflict_do_update(
            index_elements=("thread_id",),
            set_={name: held.excluded[name] for name in ("fence", "team", "person", "tokens")},
            where=holds.c.fence <= held.excluded.fence,
        )
    return statements


def _used(*more: ColumnElement[bool]) -> ScalarSelect[int]:
    tokens = func.sum(usage.c.prompt_tokens + usage.c.completion_tokens)
    where = (usage.c.team == _team, usage.c.day == _day, *more)
    return select(cast(func.coalesce(tokens, 0), Number)).where(*where).scalar_subquery()


def _held(*more: ColumnElement[bool]) -> ScalarSelect[int]:
    """By other turns than the one that asks: its own hold will be replaced."""
    is_live = (
        threads.c.fence == holds.c.fence,
        threads.c.claim_owner.is_not(None),
        threads.c.claim_expires_at >= database_now(),
    )
    return (
        select(cast(func.coalesce(func.sum(holds.c.tokens), 0), Number))
        .join_from(holds, threads)
        .where(holds.c.team == _team, holds.c.thread_id != bindparam("own_thread"), *is_live, *more)
        .scalar_subquery()
    )


_ADD = _adding()
_HOLD = _holding()
_LET_GO = delete(holds).where(
    holds.c.thread_id == bindparam("in_thread"), holds.c.fence == bindparam("our_fence")
)
_WAS_KEPT = select(
    exists().where(
        turn_rows.c.id == bindparam("turn_id"),
        turn_rows.c.fence == bindparam("our_fence"),
        ~is_open,
    )
)
# One statement, so that what a turn has held is never seen as neither held nor used.
_STANDING = select(
    _used(usage.c.person == _person).label("person_used"),
    _held(holds.c.person == _person).label("person_held"),
    _used(true()).label("team_used"),
    _held(true()).label("team_held"),
)
_LOCK = select(func.pg_advisory_xact_lock(_LOCK_ROOM, func.hashtext(_team)))
_WARN = unless_there(usage_warnings)
_WARNED_BY = select(usage_warnings.c.turn_id).where(
    usage_warnings.c.team == _team,
    usage_warnings.c.day == _day,
    usage_warnings.c.person == _person,
)
_REPORT = (
    select(
        usage.c.day,
        usage.c.team,
        usage.c.person,
        usage.c.channel,
        *(usage.c[name] for name in _COUNTED),
    )
    .where(usage.c.day >= bindparam("first_day", type_=Date))
    .order_by(usage.c.day, usage.c.team, usage.c.person, usage.c.channel)
)


@dataclass(frozen=True, slots=True)
class DayUsage:
    """What a person has used in a channel on a day."""

    day: date
    team: str
    person: str
    channel: str
    turns: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int


async def count(connection: AsyncConnection, claim: Claim, ending: Ending) -> None:
    """Adds what the turn has used to its asker's day.

    Part of the transaction that ends the turn and the claim: so each turn is counted once, and
    what was held for it counts no more from the same moment on.
    """
    if ending.used is not None and ending.day is not None:
        await _add(connection, claim, ending.day, ending.used, turns=1)


async def count_unfinished(
    connection: AsyncConnection, claim: Claim, day: date, used: Used
) -> None:
    """The same for a turn that another claim ends: the turn itself is counted there."""
    await _add(connection, claim, day, used, turns=0)
    await connection.execute(_LET_GO, {"in_thread": claim.thread_id, "our_fence": claim.fence})


async def count_lost(connection: AsyncConnection, claim: Claim, ending: Ending) -> None:
    """The same for an ending that could not be kept, unless that is because it was kept before:
    a commit may go through of which only the response is lost."""
    if ending.used is None or ending.day is None:
        return
    key = {"turn_id": claim.turns[0].id, "our_fence": claim.fence}
    if not (await connection.execute(_WAS_KEPT, key)).scalar():
        await count_unfinished(connection, claim, ending.day, ending.used)


async def _add(
    connection: AsyncConnection, claim: Claim, day: date, used: Used, *, turns: int
) -> None:
    row = {
        "team": claim.thread.team,
        "day": day,
        "person": claim.turns[0].asker,
        "channel": claim.thread.channel,
        "turns": turns,
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "cached_tokens": used.cached_tokens,
    }
    await connection.execute(_ADD[connection.dialect.name], row)


async def decide_alone(connection: AsyncConnection, team: str) -> None:
    """Until the transaction ends, nobody else decides for this team. SQLite has one writer."""
    if connection.dialect.name == "postgresql":
        await connection.execute(_LOCK, {"of_team": team})


async def standing(connection: AsyncConnection, claim: Claim, day: date) -> Standing:
    """What is taken of the day's tokens of the claim's asker and workspace by all other turns."""
    values = _of(claim, day) | {"own_thread": claim.thread_id}
    row = (await connection.execute(_STANDING, values)).one()
    return Standing(
        person=Taken(row.person_used, row.person_held),
        workspace=Taken(row.team_used, row.team_held),
    )


async def hold(connection: AsyncConnection, claim: Claim, tokens: int) -> None:
    """Keeps so many tokens for the claim's turn, in place of what was kept for it before."""
    row = {
        "thread_id": claim.thread_id,
        "fence": claim.fence,
        "team": claim.thread.team,
        "person": claim.turns[0].asker,
        "tokens": tokens,
    }
    await connection.execute(_HOLD[connection.dialect.name], row)


async def warn(connection: AsyncConnection, claim: Claim, day: date) -> bool:
    """Whether the day's warning of the asker is this turn's."""
    turn, team = claim.turns[0], claim.thread.team
    row = {"team": team, "day": day, "person": turn.asker, "turn_id": turn.id}
    await connection.execute(_WARN[connection.dialect.name], row)
    warned_by = (await connection.execute(_WARNED_BY, _of(claim, day))).scalar_one()
    return bool(warned_by == turn.id)


async def report(connection: AsyncConnection, first_day: date) -> list[DayUsage]:
    """From this day on, in order of day, person and channel."""
    rows = await connection.execute(_REPORT, {"first_day": first_day})
    return [DayUsage(*row) for row in rows]


def _of(claim: Claim, day: date) -> dict[str, Any]:
    return {"of_team": claim.thread.team, "of_person": claim.turns[0].asker, "on_day": day}
