"""SQL of the files of messages: which there are, and what was in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import bindparam, case, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.attachments import Attachment, Contents, SharedFile, Unread
from kimibot.conversation import Message
from kimibot.storage.tables import attachments, messages, unless_there

WAITING = "waiting"
READ = "read"

_ADD = unless_there(attachments)
_FIND_MESSAGE = select(messages.c.id).where(
    messages.c.thread_id == bindparam("thread_id"),
    messages.c.team == bindparam("team"),
    messages.c.channel == bindparam("channel"),
    messages.c.ts == bindparam("ts"),
    messages.c.deleted_at.is_(None),
    messages.c.edited_at.is_(None),
)
_COLUMNS = (
    attachments.c.id,
    attachments.c.message_id,
    attachments.c.file_id,
    attachments.c.name,
    attachments.c.mimetype,
    attachments.c.filetype,
    attachments.c.size_bytes,
    attachments.c.mode,
    attachments.c.url,
    attachments.c.access,
    attachments.c.state,
    attachments.c.image,
    attachments.c.image_type,
    attachments.c.is_cut,
)
_OF_THREAD = (
    select(*_COLUMNS, attachments.c.text)
    .where(attachments.c.thread_id == bindparam("thread_id"))
    .order_by(attachments.c.message_id, attachments.c.position)
)
_unsent_text = case((messages.c.sent.is_(None), attachments.c.text)).label("text")
_TO_READ = (
    select(*_COLUMNS, _unsent_text)
    .join_from(attachments, messages, attachments.c.message_id == messages.c.id)
    .where(attachments.c.thread_id == bindparam("thread_id"))
    .order_by(attachments.c.message_id, attachments.c.position)
)
_KEEP = (
    update(attachments)
    .where(
        attachments.c.id == bindparam("attachment_id"),
        attachments.c.thread_id == bindparam("in_thread"),
    )
    .values(
        name=bindparam("as_name"),
        mimetype=bindparam("as_mimetype"),
        filetype=bindparam("as_filetype"),
        size_bytes=bindparam("as_size_bytes"),
        state=bindparam("as_state"),
        text=bindparam("as_text"),
        image=bindparam("as_image"),
        image_type=bindparam("as_image_type"),
        is_cut=bindparam("as_is_cut"),
    )
)
_REMOVE = delete(attachments).where(
    attachments.c.message_id.in_(
        select(messages.c.id).where(
            messages.c.team == bindparam("in_team"),
            messages.c.channel == bindparam("in_channel"),
            messages.c.ts == bindparam("of_ts"),
        )
    )
)
_REMOVE_SOME = _REMOVE.where(attachments.c.file_id.in_(bindparam("file_ids", expanding=True)))


async def add(connection: AsyncConnection, thread_id: int, added: Sequence[Message]) -> None:
    """Stores the files of stored messages; those that are there stay as they are, and those of
    messages that were edited: what comes of these now may be a copy from before."""
    for message in added:
        if not message.files:
            continue
        key = {"thread_id": thread_id, "ts": message.ts}
        key |= {"team": message.thread.team, "channel": message.thread.channel}
        message_id = (await connection.execute(_FIND_MESSAGE, key)).scalar()
        if message_id is not None:
            rows = [
                _row(thread_id, message_id, position, file)
                for position, file in enumerate(message.files)
            ]
            await connection.execute(_ADD[connection.dialect.name], rows)


async def of_thread(connection: AsyncConnection, thread_id: int) -> list[Attachment]:
    """All files of the thread, with their whole texts, in the order in which they were stored."""
    rows = await connection.execute(_OF_THREAD, {"thread_id": thread_id})
    return [_attachment(row) for row in rows]


async def to_read(connection: AsyncConnection, thread_id: int) -> dict[int, tuple[Attachment, ...]]:
    """The files of each message; without the texts of what was sent to the model already."""
    found: dict[int, tuple[Attachment, ...]] = {}
    for row in await connection.execute(_TO_READ, {"thread_id": thread_id}):
        one = _attachment(row)
        found[one.message_id] = (*found.get(one.message_id, ()), one)
    return found


async def keep(connection: AsyncConnection, thread_id: int, read: Sequence[Attachment]) -> None:
    """Notes what was in the files; nothing for those that were removed meanwhile."""
    if read:
        await connection.execute(_KEEP, [_kept(thread_id, one) for one in read])


async def remove_of_message(connection: AsyncConnection, team: str, channel: str, ts: str) -> None:
    """Nothing is left of the files of a message."""
    await connection.execute(_REMOVE, {"in_team": team, "in_channel": channel, "of_ts": ts})


async def remove_some(
    connection: AsyncConnection, message: Message, file_ids: Collection[str]
) -> bool:
    """Whether the message had any of these."""
    where = {"in_team": message.thread.team, "in_channel": message.thread.channel}
    values = {**where, "of_ts": message.ts, "file_ids": list(file_ids)}
    return (await connection.execute(_REMOVE_SOME, values)).rowcount > 0


def _row(thread_id: int, message_id: int, position: int, file: SharedFile) -> dict[str, Any]:
    return {
        "thread_id": thread_id,
        "message_id": message_id,
        "position": position,
        "file_id": file.id,
        "name": file.name,
        "mimetype": file.mimetype,
        "filetype": file.filetype,
        "size_bytes": file.size_bytes,
        "mode": file.mode,
        "url": file.url,
        "access": file.access,
        "state": WAITING,
    }


def _kept(thread_id: int, attachment: Attachment) -> dict[str, Any]:
    contents, file = attachment.contents or Contents(), attachment.file
    return {
        "attachment_id": attachment.id,
        "in_thread": thread_id,
        "as_name": file.name,
        "as_mimetype": file.mimetype,
        "as_filetype": file.filetype,
        "as_size_bytes": file.size_bytes,
        "as_state": contents.unread.value if contents.unread else READ,
        "as_text": contents.text,
        "as_image": contents.image,
        "as_image_type": contents.image_type,
        "as_is_cut": contents.is_cut,
    }


def _attachment(row: Any) -> Attachment:
    file = SharedFile(
        id=row.file_id,
        name=row.name,
        mimetype=row.mimetype,
        filetype=row.filetype,
        size_bytes=row.size_bytes,
        mode=row.mode,
        url=row.url,
        access=row.access,
    )
    return Attachment(row.id, row.message_id, file, _contents(row))


def _contents(row: Any) -> Contents | None:
    if row.state == WAITING:
        return None
    unread = None if row.state == READ else Unread(row.state)
    return Contents(row.text, row.image, row.image_type, unread, row.is_cut)
