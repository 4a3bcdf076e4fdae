"""Adds what an ask wants and how it came to us, and up to when a thread is forgotten."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "7d3b90c41e5f"
down_revision = "b3d0c64f1a72"
branch_labels = None
depends_on = None

SLACK_TS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("threads", sa.Column("forgotten_ts", SLACK_TS, server_default="", nullable=False))
    op.add_column("turns", sa.Column("kind", sa.Text(), server_default="ask", nullable=False))
    op.add_column("turns", sa.Column("asker_team", sa.Text(), server_default="", nullable=False))
    op.add_column(
        "turns",
        sa.Column("is_follow_up", sa.Boolean(), server_default=sa.false(), nullable=False),
    )


def downgrade() -> None:
    op.drop_column("turns", "is_follow_up")
    op.drop_column("turns", "asker_team")
    op.drop_column("turns", "kind")
    op.drop_column("threads", "forgotten_ts")
