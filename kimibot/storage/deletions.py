"""SQL of what is deleted in Slack: it is emptied here, and never read again."""

from __future__ import annotations

from sqlalchemy import Text, bindparam, select, type_coerce, update
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.conversation import Deletion, Speaker
from kimibot.storage import attachments, feedback
from kimibot.storage.columns import database_now
from kimibot.storage.tables import messages, threads, turns, unless_there

_EMPTY = {
    "text": "",
    "sent": None,
    "raw": None,
    "review": None,
    "steps": None,
    "deleted_at": database_now(),
}
_FIND_THREAD = select(threads.c.id).where(
    threads.c.team == bindparam("team"),
    threads.c.channel == bindparam("channel"),
    threads.c.root_ts == bindparam("root_ts"),
)
_FIND_MESSAGE = select(messages.c.thread_id).where(
    messages.c.team == bindparam("team"),
    messages.c.channel == bindparam("channel"),
    messages.c.ts == bindparam("message_ts"),
)
_EMPTY_MESSAGE = (
    update(messages)
    .where(
        messages.c.team == bindparam("in_team"),
        messages.c.channel == bindparam("in_channel"),
        messages.c.ts == bindparam("deleted_ts"),
    )
    .values(_EMPTY)
)
_EMPTY_ANSWER = (
    update(messages)
    .where(
        messages.c.turn_id == bindparam("of_turn"),
        messages.c.speaker == Speaker.US.value,
    )
    .values(_EMPTY)
)
_FIND_TURN = select(turns.c.id).where(
    turns.c.thread_id == bindparam("in_thread"),
    type_coerce(turns.c.reply_ts, Text).like(bindparam("part")),
)
_GIVEN = ("thread_id", "team", "channel", "ts", "speaker", "author")
_LEAVE_EMPTY = {
    dialect: statement.values(
        {name: bindparam(name) for name in _GIVEN} | {"text": "", "deleted_at": database_now()}
    )
    for dialect, statement in unless_there(messages).items()
}


async def thread_of(connection: AsyncConnection, deletion: Deletion) -> int | None:
    """The thread of what was deleted, None if it is not ours.

    The message itself is asked where Slack does not say in which thread it was.
    """
    thread = deletion.thread
    key = {"team": thread.team, "channel": thread.channel}
    by_root = await connection.execute(_FIND_THREAD, key | {"root_ts": thread.root_ts})
    found: int | None = by_root.scalar()
    if found is None:
        by_message = await connection.execute(_FIND_MESSAGE, key | {"message_ts": deletion.ts})
        found = by_message.scalar()
    return found


async def turn_of_part(connection: AsyncConnection, thread_id: int, pattern: str) -> str | None:
    """The turn whose reply had this part."""
    values = {"in_thread": thread_id, "part": pattern}
    found: str | None = (await connection.execute(_FIND_TURN, values)).scalar()
    return found


async def empty_message(connection: AsyncConnection, team: str, channel: str, ts: str) -> bool:
    """Whether there was such a message; only who said it and when is left."""
    await attachments.remove_of_message(connection, team, channel, ts)
    values = {"in_team": team, "in_channel": channel, "deleted_ts": ts}
    return (await connection.execute(_EMPTY_MESSAGE, values)).rowcount > 0


async def empty_answer(connection: AsyncConnection, turn_id: str) -> None:
    """The answer of a turn: with one of its parts, all of it is gone."""
    await connection.execute(_EMPTY_ANSWER, {"of_turn": turn_id})
    await feedback.remove_of_turn(connection, turn_id)


async def leave_empty(connection: AsyncConnection, thread_id: int, deletion: Deletion) -> None:
    """A row without text where the message has not come yet: it will find its place taken."""
    values = {
        "thread_id": thread_id,
        "team": deletion.thread.team,
        "channel": deletion.thread.channel,
        "ts": deletion.ts,
        "speaker": deletion.message.speaker.value if deletion.message else Speaker.PERSON.value,
        "author": deletion.message.author if deletion.message else "",
    }
    await connection.execute(_LEAVE_EMPTY[connection.dialect.name], values)
