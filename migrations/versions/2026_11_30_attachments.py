"""Adds the files that people attach to messages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "b7d3f1a94c20"
down_revision = "7d3b90c41e5f"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "attachments",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("thread_id", NUMBER, nullable=False),
        sa.Column("message_id", NUMBER, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("file_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("mimetype", sa.Text(), nullable=False),
        sa.Column("filetype", sa.Text(), nullable=False),
        sa.Column("size_bytes", NUMBER, nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("access", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("image", sa.LargeBinary(), nullable=True),
        sa.Column("image_type", sa.Text(), server_default="", nullable=False),
        sa.Column("is_cut", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"],
            ["messages.id"],
            name="fk_attachments_message_id_messages",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["thread_id"],
            ["threads.id"],
            name="fk_attachments_thread_id_threads",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_attachments"),
        sa.UniqueConstraint("message_id", "position", name="uq_attachments_message_id_position"),
    )
    op.create_index("ix_attachments_thread_id", "attachments", ["thread_id"])


def downgrade() -> None:
    op.drop_table("attachments")
