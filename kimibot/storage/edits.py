"""SQL of edits: what is stored says what Slack shows, and what was begun for the old words ends.

A turn begins anew once: its mark is the fence of the claim that may have read the old words, and
the next claim has another one.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import bindparam, exists, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.conversation import Message
from kimibot.storage import attachments
from kimibot.storage.columns import AnyText, database_now
from kimibot.storage.memory import add_messages
from kimibot.storage.tables import (
    RUNNING,
    has_nothing_left,
    is_of_message,
    messages,
    threads,
    turns,
)
from kimibot.turns import Stop, StopCause, TurnToStop

_new_text = bindparam("new_text", type_=AnyText)
_is_it = (
    messages.c.team == bindparam("in_team"),
    messages.c.channel == bindparam("in_channel"),
    messages.c.ts == bindparam("edited_ts"),
)
_IS_KNOWN = select(exists().where(*_is_it))
_CORRECT = (
    update(messages)
    .where(
        *_is_it,
        messages.c.deleted_at.is_(None),
        messages.c.text != _new_text,
        ~has_nothing_left,  # it was to be forgotten
    )
    .values(text=_new_text, sent=None, edited_at=database_now())
)
_MAKE_ANEW = update(messages).where(*_is_it).values(sent=None, edited_at=database_now())
_NOTE_EDIT = (
    update(messages).where(*_is_it, messages.c.edited_at.is_(None)).values(edited_at=database_now())
)
"""A copy from before the edit may still come: its files are not added then."""
_FIND_THREAD = select(threads.c.id).where(
    threads.c.team == bindparam("in_team"),
    threads.c.channel == bindparam("in_channel"),
    threads.c.root_ts == bindparam("root"),
    threads.c.forgotten_ts < bindparam("edited_ts"),
)
_RESTART = (
    update(turns)
    .where(
        turns.c.team == bindparam("in_team"),
        turns.c.channel == bindparam("in_channel"),
        turns.c.ts == bindparam("edited_ts"),
        is_of_message,
        turns.c.state == bindparam("running"),
        turns.c.restart_fence.is_(None),
    )
    .values(restart_fence=turns.c.fence)
    .returning(turns.c.id, turns.c.thread_id)
)


async def is_known(connection: AsyncConnection, message: Message) -> bool:
    """Whether the message was stored, as it was or as it is."""
    return bool((await connection.execute(_IS_KNOWN, _where(message))).scalar())


async def correct(connection: AsyncConnection, message: Message) -> bool:
    """Whether the stored message said something else until now.

    It keeps its place in what the model reads; its content is made anew when it is next sent.
    """
    values = {**_where(message), "new_text": message.text}
    return (await connection.execute(_CORRECT, values)).rowcount > 0


async def take_files_out(
    connection: AsyncConnection, message: Message, file_ids: Collection[str]
) -> bool:
    """Whether any of these files of the message was kept; what was made of it is not sent again."""
    where = _where(message)
    is_less = await attachments.remove_some(connection, message, file_ids)
    await connection.execute(_MAKE_ANEW if is_less else _NOTE_EDIT, where)
    return is_less


async def add_if_ours(connection: AsyncConnection, message: Message) -> None:
    """Store the message where its thread is ours: what it said before will find its place taken."""
    values = {**_where(message), "root": message.thread.root_ts}
    thread_id: int | None = (await connection.execute(_FIND_THREAD, values)).scalar()
    if thread_id is not None:
        await add_messages(connection, thread_id, [message])
        await connection.execute(_NOTE_EDIT, _where(message))


async def restart(connection: AsyncConnection, message: Message) -> TurnToStop | None:
    """Marks the message's turn if it runs and was not marked before."""
    values = {**_where(message), "running": RUNNING}
    row = (await connection.execute(_RESTART, values)).one_or_none()
    if row is None:
        return None
    return TurnToStop(row.id, row.thread_id, Stop(StopCause.ASK_EDITED))


def _where(message: Message) -> dict[str, Any]:
    return {
        "in_team": message.thread.team,
        "in_channel": message.thread.channel,
        "edited_ts": message.ts,
    }
