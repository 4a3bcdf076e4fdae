"""SQL of what a thread remembers: its messages, and our answers as they go back to the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import and_, bindparam, case, delete, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.answers import Answer, ChatMessage, Usage
from kimibot.conversation import Message, Placed, Remembered, Speaker
from kimibot.storage import attachments
from kimibot.storage.columns import AnyText
from kimibot.storage.tables import (
    RUNNING,
    instead,
    is_of_message,
    messages,
    threads,
    turns,
    unless_there,
)
from kimibot.storage.tables import attachments as attachment_rows
from kimibot.turns import FOR_THE_MODEL, Claim, Ending

_MOST_TOKENS = 2**53

_ADD_MESSAGE = unless_there(messages)
_REPLIES = select(turns.c.reply_ts).where(turns.c.thread_id == bindparam("thread_id"))
_FORGOTTEN = select(threads.c.forgotten_ts).where(threads.c.id == bindparam("thread_id"))
_WORDS = select(turns.c.ts).where(
    turns.c.thread_id == bindparam("thread_id"),
    is_of_message,
    turns.c.kind.not_in([kind.value for kind in sorted(FOR_THE_MODEL)]),
)
_NEWEST_ASK = (
    select(func.max(turns.c.ts))
    .where(turns.c.thread_id == bindparam("thread_id"), turns.c.state == bindparam("running"))
    .scalar_subquery()
)
_has_files = exists().where(
    attachment_rows.c.thread_id == bindparam("thread_id"),
    attachment_rows.c.message_id == messages.c.id,
)
_RECALL = select(
    messages.c.id,
    messages.c.ts,
    messages.c.speaker,
    messages.c.author,
    messages.c.text,
    messages.c.sent,
    messages.c.place,
    messages.c.raw,
    messages.c.finish_reason,
    messages.c.steps,
).where(
    messages.c.thread_id == bindparam("thread_id"),
    messages.c.deleted_at.is_(None),
    or_(messages.c.text != "", messages.c.raw.is_not(None), _has_files),
    or_(
        messages.c.place.is_not(None),
        messages.c.speaker == bindparam("us"),
        messages.c.ts <= func.coalesce(_NEWEST_ASK, messages.c.ts),
    ),
)
_CLAIMED_AT = (
    select(func.max(turns.c.claimed_at))
    .where(turns.c.thread_id == bindparam("in_thread"), turns.c.state == RUNNING)
    .scalar_subquery()
)
"""What was edited later may have been sent as it was before."""
_PLACE = (
    update(messages)
    .where(
        messages.c.id == bindparam("message_id"),
        messages.c.thread_id == bindparam("in_thread"),
        messages.c.deleted_at.is_(None),
    )
    .values(
        place=bindparam("at_place"),
        sent=case(
            (
                and_(
                    messages.c.text
                    == func.coalesce(bindparam("made_of", type_=AnyText), messages.c.text),
                    or_(messages.c.edited_at.is_(None), messages.c.edited_at < _CLAIMED_AT),
                ),
                bindparam("as_sent", type_=AnyText),
            )
        ),
    )
)
_ANSWER_TO = (
    select(messages.c.raw)
    .where(
        messages.c.turn_id == bindparam("turn_id"),
        messages.c.speaker == bindparam("us"),
        messages.c.deleted_at.is_(None),
    )
    .order_by(messages.c.ts.desc())
    .limit(1)
)
_LAST_REVIEW = (
    select(messages.c.review)
    .where(
        messages.c.thread_id == bindparam("thread_id"),
        messages.c.review.is_not(None),
        messages.c.deleted_at.is_(None),
    )
    .order_by(messages.c.ts.desc())
    .limit(1)
)
_TURN_OF_LAST_REVIEW = _LAST_REVIEW.with_only_columns(messages.c.turn_id)
_REVIEW_OF = _ANSWER_TO.with_only_columns(messages.c.review)
_FORGET_ANSWERS = delete(messages).where(
    messages.c.team == bindparam("team"),
    messages.c.channel == bindparam("channel"),
    messages.c.speaker == bindparam("us"),
    or_(
        messages.c.ts.in_(bindparam("parts", expanding=True)),
        messages.c.turn_id.in_(bindparam("turn_ids", expanding=True)),
    ),
)
_KEEP_ANSWER = instead(
    messages,
    key=("team", "channel", "ts"),
    columns=(
        "speaker",
        "author",
        "text",
        "sent",
        "place",
        "raw",
        "turn_id",
        "completion_id",
        "finish_reason",
        "prompt_tokens",
        "completion_tokens",
        "cached_tokens",
        "review",
        "steps",
    ),
)


async def add_messages(
    connection: AsyncConnection, thread_id: int, added: Sequence[Message]
) -> None:
    """Stores those that are new; what is there stays as it is.

    In order of time: two processes that fill the same gap then wait for each other instead of
    locking each other out.
    """
    rows = [_message_row(thread_id, message) for message in sorted(added, key=lambda m: m.ts)]
    if rows:
        await connection.execute(_ADD_MESSAGE[connection.dialect.name], rows)
        await attachments.add(connection, thread_id, added)


async def without_replies(
    connection: AsyncConnection, thread_id: int, read: Sequence[Message]
) -> list[Message]:
    """Those that are not a part of one of our replies: an answer is one row, kept at its end."""
    rows = await connection.execute(_REPLIES, {"thread_id": thread_id})
    parts = {ts for row in rows for ts in row.reply_ts}
    return [message for message in read if message.ts not in parts]


async def without_forgotten(
    connection: AsyncConnection, thread_id: int, read: Sequence[Message]
) -> list[Message]:
    """Those that were said after all that the thread was told to forget."""
    forgotten_ts = (await connection.execute(_FORGOTTEN, {"thread_id": thread_id})).scalar() or ""
    return [message for message in read if message.ts > forgotten_ts]


async def recall(connection: AsyncConnection, thread_id: int) -> list[Remembered]:
    """What has its place first, in that order, then the rest by time; nothing deleted or empty.

    What people said after the newest ask that is being answered is left for the next turn: an ask
    among it would be answered here, and once more by its own turn.

    Sorted here: SQLite carries the whole rows through its sort, which takes five times as long
    as the reading where answers and reasoning are long.
    """
    values = {"thread_id": thread_id, "running": RUNNING, "us": Speaker.US.value}
    words = set(await connection.scalars(_WORDS, {"thread_id": thread_id}))
    rows = (await connection.execute(_RECALL, values)).all()
    files = await attachments.to_read(connection, thread_id)
    found = [
        Remembered(
            row[0],
            row[1],
            Speaker(row[2]),
            row[3],
            row[4],
            row[5],
            row[6],
            row[7],
            row[8],
            steps=tuple(row[9] or ()),
            attachments=files.get(row[0], ()),
            is_for_model=row[1] not in words,
        )
        for row in rows
    ]
    return sorted(found, key=_order_of_reading)


def _order_of_reading(message: Remembered) -> tuple[bool, int, str]:
    return message.place is None, message.place or 0, message.ts


async def place(connection: AsyncConnection, thread_id: int, placed: Sequence[Placed]) -> None:
    """Notes as what and where messages were sent to the model."""
    rows = [
        {
            "message_id": one.message_id,
            "in_thread": thread_id,
            "at_place": one.place,
            "as_sent": one.sent,
            "made_of": one.text,
        }
        for one in placed
    ]
    if rows:
        await connection.execute(_PLACE, rows)


async def answer_to(connection: AsyncConnection, turn_id: str) -> ChatMessage | None:
    """The model's message as it was received, None where none is kept."""
    values = {"turn_id": turn_id, "us": Speaker.US.value}
    raw: ChatMessage | None = (await connection.execute(_ANSWER_TO, values)).scalar_one_or_none()
    return raw


async def last_review(connection: AsyncConnection, thread_id: int) -> Mapping[str, Any] | None:
    """What the newest review of a thread has found, None where there is none."""
    values = {"thread_id": thread_id}
    found: Mapping[str, Any] | None = (await connection.execute(_LAST_REVIEW, values)).scalar()
    return found


async def turn_of_last_review(connection: AsyncConnection, thread_id: int) -> str | None:
    """The turn that has given it."""
    found: str | None = (
        await connection.execute(_TURN_OF_LAST_REVIEW, {"thread_id": thread_id})
    ).scalar()
    return found


async def review_of(connection: AsyncConnection, turn_id: str) -> Mapping[str, Any] | None:
    """The same for one turn."""
    values = {"turn_id": turn_id, "us": Speaker.US.value}
    found: Mapping[str, Any] | None = (await connection.execute(_REVIEW_OF, values)).scalar()
    return found


async def keep_answer(connection: AsyncConnection, claim: Claim, ending: Ending) -> None:
    """One row for the whole answer, in the stead of what an earlier try left.

    Its time is that of the reply's first part. What never got a part was never said in the
    thread, so it is not kept.
    """
    if any(turn.attempt > 1 for turn in claim.turns):
        await _forget_answers(connection, claim, ending)
    answer = ending.answer
    if answer is None or not ending.reply_ts or not (answer.content or answer.tool_calls):
        return
    row = _answer_row(claim, answer, ending)
    await connection.execute(_KEEP_ANSWER[connection.dialect.name], row)


async def _forget_answers(connection: AsyncConnection, claim: Claim, ending: Ending) -> None:
    """An earlier try may also have left parts that were later read back from Slack."""
    values = {
        "team": claim.thread.team,
        "channel": claim.thread.channel,
        "us": Speaker.US.value,
        "parts": ending.reply_ts,
        "turn_ids": [turn.id for turn in claim.turns],
    }
    await connection.execute(_FORGET_ANSWERS, values)


def _answer_row(claim: Claim, answer: Answer, ending: Ending) -> dict[str, Any]:
    usage = answer.usage or Usage()
    return {
        "thread_id": claim.thread_id,
        "team": claim.thread.team,
        "channel": claim.thread.channel,
        "ts": ending.reply_ts[0],
        "speaker": Speaker.US.value,
        "author": "",
        "text": answer.content,
        "sent": None,
        "place": ending.answer_place,
        "raw": answer.raw,
        "turn_id": claim.turns[0].id,
        "completion_id": answer.completion_id,
        "finish_reason": answer.finish_reason,
        "prompt_tokens": _storable(usage.prompt_tokens),
        "completion_tokens": _storable(usage.completion_tokens),
        "cached_tokens": _storable(usage.cached_tokens),
        "review": answer.review,
        "steps": answer.steps or None,
    }


def _storable(tokens: int | None) -> int | None:
    """A count that any endpoint may have made up must not keep an answer from being stored."""
    return None if tokens is None else max(0, min(tokens, _MOST_TOKENS))


def _message_row(thread_id: int, message: Message) -> dict[str, Any]:
    return {
        "thread_id": thread_id,
        "team": message.thread.team,
        "channel": message.thread.channel,
        "ts": message.ts,
        "speaker": message.speaker.value,
        "author": message.author,
        "event_id": message.event_id,
        "text": message.text,
    }
