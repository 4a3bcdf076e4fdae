"""Adds to answers what led to them: the model's calls of tools, and what these gave."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "7f2c95be0a14"
down_revision = "e48a1b70d9c3"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("messages", sa.Column("steps", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("messages", "steps")
