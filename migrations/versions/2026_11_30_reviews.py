"""Adds to answers what they have found, where they are reviews."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "e48a1b70d9c3"
down_revision = "c31d7a90be52"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("messages", sa.Column("review", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("messages", "review")
