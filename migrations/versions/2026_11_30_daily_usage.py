"""Counts the tokens of each day, holds those of running turns, and knows who was warned."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "b3d0c64f1a72"
down_revision = "54822a2000cb"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "usage",
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("prompt_tokens", NUMBER, nullable=False),
        sa.Column("completion_tokens", NUMBER, nullable=False),
        sa.Column("cached_tokens", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("team", "day", "person", "channel", name="pk_usage"),
    )
    op.create_table(
        "holds",
        sa.Column("thread_id", NUMBER, nullable=False),
        sa.Column("fence", NUMBER, nullable=False),
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("tokens", NUMBER, nullable=False),
        sa.ForeignKeyConstraint(
            ["thread_id"], ["threads.id"], name="fk_holds_thread_id_threads", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("thread_id", name="pk_holds"),
    )
    op.create_table(
        "usage_warnings",
        sa.Column("team", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("team", "day", "person", name="pk_usage_warnings"),
    )


def downgrade() -> None:
    op.drop_table("usage_warnings")
    op.drop_table("holds")
    op.drop_table("usage")
