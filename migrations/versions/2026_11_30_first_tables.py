"""Lays the first tables: threads, turns, messages, stops."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "54822a2000cb"
down_revision = None
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SLACK_TS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    create_threads()
    create_turns()
    create_messages()
    create_stops()


def downgrade() -> None:
    op.drop_table("stops")
    op.drop_table("messages")
    op.drop_table("turns")
    op.drop_table("threads")


def create_threads() -> None:
    op.create_table(
        "threads",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("root_ts", SLACK_TS, nullable=False),
        sa.Column("claim_owner", sa.Text(), nullable=True),
        sa.Column("claim_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fence", NUMBER, server_default="0", nullable=False),
        sa.Column("muted", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("provider", sa.Text(), server_default="", nullable=False),
        sa.Column("model", sa.Text(), server_default="", nullable=False),
        sa.Column("effort", sa.Text(), server_default="", nullable=False),
        sa.Column("complete_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_threads"),
        sa.UniqueConstraint("team", "channel", "root_ts", name="uq_threads_team_channel_root_ts"),
        sqlite_autoincrement=True,
    )


def create_turns() -> None:
    op.create_table(
        "turns",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("thread_id", NUMBER, nullable=False),
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("ts", SLACK_TS, nullable=False),
        sa.Column("asker", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("merged_into", sa.Text(), nullable=True),
        sa.Column("fence", NUMBER, nullable=True),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("takeovers", sa.Integer(), server_default="0", nullable=False),
        sa.Column("reply_ts", sa.Text(), server_default="[]", nullable=False),
        sa.Column("had_to_wait", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("stop_requested", sa.Text(), nullable=True),
        sa.Column("stop_requested_by", sa.Text(), server_default="", nullable=False),
        sa.Column("error_code", sa.Text(), server_default="", nullable=False),
        sa.Column("trace_id", sa.Text(), server_default="", nullable=False),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("shown_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("first_delta_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_delta_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["merged_into"], ["turns.id"], name="fk_turns_merged_into_turns", ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["thread_id"], ["threads.id"], name="fk_turns_thread_id_threads", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_turns"),
        sa.UniqueConstraint("team", "channel", "ts", name="uq_turns_team_channel_ts"),
    )
    op.create_index(
        "ix_turns_merged_into",
        "turns",
        ["merged_into"],
        sqlite_where=sa.text("merged_into IS NOT NULL"),
        postgresql_where=sa.text("merged_into IS NOT NULL"),
    )
    op.create_index(
        "ix_turns_open",
        "turns",
        ["thread_id"],
        sqlite_where=sa.text("ended_at IS NULL"),
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index("ix_turns_thread_id_ts", "turns", ["thread_id", "ts"])


def create_messages() -> None:
    op.create_table(
        "messages",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("thread_id", NUMBER, nullable=False),
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("ts", SLACK_TS, nullable=False),
        sa.Column("speaker", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), server_default="", nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("sent", sa.Text(), nullable=True),
        sa.Column("place", sa.Integer(), nullable=True),
        sa.Column("raw", sa.Text(), nullable=True),
        sa.Column("turn_id", sa.Text(), nullable=True),
        sa.Column("completion_id", sa.Text(), nullable=True),
        sa.Column("finish_reason", sa.Text(), nullable=True),
        sa.Column("prompt_tokens", NUMBER, nullable=True),
        sa.Column("completion_tokens", NUMBER, nullable=True),
        sa.Column("cached_tokens", NUMBER, nullable=True),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["thread_id"], ["threads.id"], name="fk_messages_thread_id_threads", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["turn_id"], ["turns.id"], name="fk_messages_turn_id_turns", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_messages"),
        sa.UniqueConstraint("team", "channel", "ts", name="uq_messages_team_channel_ts"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_messages_thread_id_ts_speaker_author",
        "messages",
        ["thread_id", "ts", "speaker", "author"],
    )
    op.create_index(
        "ix_messages_turn_id",
        "messages",
        ["turn_id"],
        sqlite_where=sa.text("turn_id IS NOT NULL"),
        postgresql_where=sa.text("turn_id IS NOT NULL"),
    )


def create_stops() -> None:
    op.create_table(
        "stops",
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("ts", SLACK_TS, nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("root_ts", SLACK_TS, nullable=True),
        sa.Column("said_by", sa.Text(), server_default="", nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("team", "channel", "ts", name="pk_stops"),
    )
