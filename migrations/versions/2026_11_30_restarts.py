"""Adds the mark of a turn that is to begin anew because its ask was edited."""

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


def downgrade() -> None:
    with op.batch_alter_table("turns") as turns:
        turns.drop_column("restart_fence")
