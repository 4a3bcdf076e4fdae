"""Adds what a thread was told once, and the mark of a turn that is to begin anew."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "c31d7a90be52"
down_revision = "b7d3f1a94c20"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("turns", sa.Column("restart_fence", NUMBER, nullable=True))
    told = sa.Column("told", sa.Text(), server_default="[]", nullable=False)
    op.add_column("threads", told)


def downgrade() -> None:
    op.drop_column("threads", "told")
    op.drop_column("turns", "restart_fence")
