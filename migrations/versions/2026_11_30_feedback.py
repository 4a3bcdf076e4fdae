"""Remembers which findings of reviews people have said are no problems."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "3c6e1f80b7d2"
down_revision = "a91f5d27c4b8"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "feedback",
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("thread_id", NUMBER, nullable=False),
        sa.Column("said_by", sa.Text(), nullable=False),
        sa.Column("said_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["thread_id"], ["threads.id"], name="fk_feedback_thread_id_threads", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["turn_id"], ["turns.id"], name="fk_feedback_turn_id_turns", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("team", "turn_id", "number", name="pk_feedback"),
    )
    op.create_index("ix_feedback_thread_id", "feedback", ["thread_id"])
    op.create_index("ix_feedback_turn_id", "feedback", ["turn_id"])


def downgrade() -> None:
    op.drop_table("feedback")
