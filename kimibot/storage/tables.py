"""The tables: what Alembic compares the migrations with."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Date,
    ForeignKey,
    Index,
    Insert,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    and_,
    exists,
    false,
)
from sqlalchemy.dialects import postgresql, sqlite

from kimibot.storage.columns import AnyText, JsonText, Number, SlackTs, UtcDateTime, database_now

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

QUEUED = "queued"
RUNNING = "running"
ENDED = "ended"

threads = Table(
    "threads",
    metadata,
    Column("id", Number, primary_key=True),
    Column("team", AnyText, nullable=False),
    Column("channel", AnyText, nullable=False),
    Column("root_ts", SlackTs, nullable=False),
    Column("claim_owner", AnyText),
    Column("claim_expires_at", UtcDateTime),
    Column("fence", Number, nullable=False, server_default="0"),
    Column("muted", Boolean, nullable=False, server_default=false()),
    Column("provider", AnyText, nullable=False, server_default=""),
    Column("model", AnyText, nullable=False, server_default=""),
    Column("effort", AnyText, nullable=False, server_default=""),
    Column("complete_at", UtcDateTime),
    Column("forgotten_ts", SlackTs, nullable=False, server_default=""),
    Column("told", JsonText, nullable=False, server_default="[]"),
    UniqueConstraint("team", "channel", "root_ts"),
    # A number that is given twice would let the claim on a removed thread pass for one on the new.
    sqlite_autoincrement=True,
)

turns = Table(
    "turns",
    metadata,
    Column("id", Text, primary_key=True),
    Column("thread_id", Number, ForeignKey("threads.id", ondelete="CASCADE"), nullable=False),
    Column("team", AnyText, nullable=False),
    Column("channel", AnyText, nullable=False),
    Column("ts", SlackTs, nullable=False),
    Column("asker", AnyText, nullable=False),
    Column("event_id", AnyText, nullable=False),
    Column("kind", Text, nullable=False, server_default="ask"),
    Column("pressed", Text, nullable=False, server_default=""),
    Column("asker_team", AnyText, nullable=False, server_default=""),
    Column("is_follow_up", Boolean, nullable=False, server_default=false()),
    Column("state", Text, nullable=False),
    Column("outcome", Text),
    Column("merged_into", Text, ForeignKey("turns.id", ondelete="SET NULL")),
    Column("fence", Number),
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("takeovers", Integer, nullable=False, server_default="0"),
    Column("reply_ts", JsonText, nullable=False, server_default="[]"),
    Column("had_to_wait", Boolean, nullable=False, server_default=false()),
    Column("restart_fence", Number),
    Column("stop_requested", Text),
    Column("stop_requested_by", AnyText, nullable=False, server_default=""),
    Column("error_code", AnyText, nullable=False, server_default=""),
    Column("trace_id", AnyText, nullable=False, server_default=""),
    Column("accepted_at", UtcDateTime, nullable=False),
    Column("claimed_at", UtcDateTime),
    Column("shown_at", UtcDateTime),
    Column("first_delta_at", UtcDateTime),
    Column("last_delta_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    UniqueConstraint("team", "channel", "ts", "pressed"),
    Index(None, "thread_id", "ts"),
)
"""`pressed` is "" for the turn of the message with that `ts`. Otherwise it is what was pressed
below a reply, and `ts` is that of the reply's last part: each press has at most one turn."""

is_of_message = turns.c.pressed == ""
"""Of the turn that a message has, not of one that was asked for by a press below it."""

is_open = turns.c.ended_at.is_(None)
"""No outcome yet: queued or running."""

QUEUED_ANEW = {
    "state": QUEUED,
    "outcome": None,
    "merged_into": None,
    "error_code": "",
    "stop_requested": None,
    "stop_requested_by": "",
    "restart_fence": None,
    "had_to_wait": False,
    "takeovers": 0,
    "accepted_at": database_now(),
    "ended_at": None,
}
"""The values of a turn that is queued after it has ended; what it was asked and has shown stays."""

Index("ix_turns_open", turns.c.thread_id, sqlite_where=is_open, postgresql_where=is_open)
Index(
    "ix_turns_merged_into",
    turns.c.merged_into,
    sqlite_where=turns.c.merged_into.is_not(None),
    postgresql_where=turns.c.merged_into.is_not(None),
)

messages = Table(
    "messages",
    metadata,
    Column("id", Number, primary_key=True),
    Column("thread_id", Number, ForeignKey("threads.id", ondelete="CASCADE"), nullable=False),
    Column("team", AnyText, nullable=False),
    Column("channel", AnyText, nullable=False),
    Column("ts", SlackTs, nullable=False),
    Column("speaker", Text, nullable=False),
    Column("author", AnyText, nullable=False),
    Column("event_id", AnyText, nullable=False, server_default=""),
    Column("text", AnyText, nullable=False),
    Column("sent", AnyText),
    Column("place", Integer),
    Column("raw", JsonText),
    Column("turn_id", Text, ForeignKey("turns.id", ondelete="SET NULL")),
    Column("completion_id", AnyText),
    Column("finish_reason", AnyText),
    Column("prompt_tokens", Number),
    Column("completion_tokens", Number),
    Column("cached_tokens", Number),
    Column("review", JsonText),
    Column("steps", JsonText),
    Column("edited_at", UtcDateTime),
    Column("deleted_at", UtcDateTime),
    UniqueConstraint("team", "channel", "ts"),
    # Answers who spoke and who spoke last without a look at the texts.
    Index(None, "thread_id", "ts", "speaker", "author"),
    sqlite_autoincrement=True,
)

Index(
    "ix_messages_turn_id",
    messages.c.turn_id,
    sqlite_where=messages.c.turn_id.is_not(None),
    postgresql_where=messages.c.turn_id.is_not(None),
)

attachments = Table(
    "attachments",
    metadata,
    Column("id", Number, primary_key=True),
    Column("thread_id", Number, ForeignKey("threads.id", ondelete="CASCADE"), nullable=False),
    Column("message_id", Number, ForeignKey("messages.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("file_id", AnyText, nullable=False),
    Column("name", AnyText, nullable=False),
    Column("mimetype", AnyText, nullable=False),
    Column("filetype", AnyText, nullable=False),
    Column("size_bytes", Number, nullable=False),
    Column("mode", AnyText, nullable=False),
    Column("url", AnyText, nullable=False),
    Column("access", AnyText, nullable=False),
    Column("state", Text, nullable=False),
    Column("text", AnyText),
    Column("image", LargeBinary),
    Column("image_type", Text, nullable=False, server_default=""),
    Column("is_cut", Boolean, nullable=False, server_default=false()),
    UniqueConstraint("message_id", "position"),
    Index(None, "thread_id"),
)
"""`state` is `waiting` until the file was fetched, then `read`, or why it was not read."""

feedback = Table(
    "feedback",
    metadata,
    Column("team", AnyText, nullable=False),
    Column("turn_id", Text, ForeignKey("turns.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("thread_id", Number, ForeignKey("threads.id", ondelete="CASCADE"), nullable=False),
    Column("said_by", AnyText, nullable=False),
    Column("said_at", UtcDateTime, nullable=False),
    PrimaryKeyConstraint("team", "turn_id", "number"),
    Index(None, "thread_id"),
    Index(None, "turn_id"),
)
"""That somebody has said that a finding is no problem: the one with this number in the review of
this turn. What it says stands there alone, and is forgotten there."""

stops = Table(
    "stops",
    metadata,
    Column("team", AnyText, nullable=False),
    Column("channel", AnyText, nullable=False),
    Column("ts", SlackTs, nullable=False),
    Column("cause", Text, nullable=False),
    Column("root_ts", SlackTs),
    Column("said_by", AnyText, nullable=False, server_default=""),
    Column("stored_at", UtcDateTime, nullable=False),
    PrimaryKeyConstraint("team", "channel", "ts"),
)
"""What may have overtaken the ask that it stops: kept for some minutes.

A person's word counts for the asks before `ts` in the thread of `root_ts`, and without one for
that person's own in the whole channel. A deletion counts for the ask with that very `ts`.
"""

usage = Table(
    "usage",
    metadata,
    Column("team", AnyText, nullable=False),
    Column("day", Date, nullable=False),
    Column("person", AnyText, nullable=False),
    Column("channel", AnyText, nullable=False),
    Column("turns", Integer, nullable=False),
    Column("prompt_tokens", Number, nullable=False),
    Column("completion_tokens", Number, nullable=False),
    Column("cached_tokens", Number, nullable=False),
    PrimaryKeyConstraint("team", "day", "person", "channel"),
)
"""What was used on a day (UTC): numbers alone, so they stay when what was said is forgotten, and
go by their own age."""

holds = Table(
    "holds",
    metadata,
    Column("thread_id", Number, ForeignKey("threads.id", ondelete="CASCADE"), primary_key=True),
    Column("fence", Number, nullable=False),
    Column("team", AnyText, nullable=False),
    Column("person", AnyText, nullable=False),
    Column("tokens", Number, nullable=False),
)
"""What running turns may still use. A hold counts while the claim with its fence is live."""

usage_warnings = Table(
    "usage_warnings",
    metadata,
    Column("team", AnyText, nullable=False),
    Column("day", Date, nullable=False),
    Column("person", AnyText, nullable=False),
    Column("turn_id", Text, nullable=False),
    PrimaryKeyConstraint("team", "day", "person"),
)
"""Who was warned on a day, and below which turn's answer: that one says so again when it is
written anew."""


def unless_there(table: Table) -> dict[str, Insert]:
    """An insert that leaves alone what is there already, by the dialect's name."""
    return {
        "sqlite": sqlite.insert(table).on_conflict_do_nothing(),
        "postgresql": postgresql.insert(table).on_conflict_do_nothing(),
    }


def instead(table: Table, key: tuple[str, ...], columns: tuple[str, ...]) -> dict[str, Insert]:
    """An insert that overwrites `columns` of the row with the same `key`, by dialect."""
    on_sqlite, on_postgresql = sqlite.insert(table), postgresql.insert(table)
    return {
        "sqlite": on_sqlite.on_conflict_do_update(
            index_elements=key, set_={name: on_sqlite.excluded[name] for name in columns}
        ),
        "postgresql": on_postgresql.on_conflict_do_update(
            index_elements=key, set_={name: on_postgresql.excluded[name] for name in columns}
        ),
    }


has_nothing_left = and_(
    messages.c.text == "", ~exists().where(attachments.c.message_id == messages.c.id)
)
"""Of a message that was emptied; one that is a file alone never had a text, but has its file."""
