"""Gives each press below a reply a turn of its own, beside that of the message."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "a91f5d27c4b8"
down_revision = "7f2c95be0a14"
branch_labels = None
depends_on = None

BEFORE = "uq_turns_team_channel_ts"
AFTER = "uq_turns_team_channel_ts_pressed"

MARK_PRESSED = "UPDATE turns SET pressed = kind WHERE kind IN ('continue', 'patch')"
SECOND_ONES = """
    SELECT turns.id FROM turns JOIN turns AS other
    ON other.team = turns.team AND other.channel = turns.channel AND other.ts = turns.ts
    AND other.pressed < turns.pressed
"""


def upgrade() -> None:
    with op.batch_alter_table("turns") as turns:
        turns.add_column(sa.Column("pressed", sa.Text(), server_default="", nullable=False))
        turns.drop_constraint(BEFORE, type_="unique")
        turns.create_unique_constraint(AFTER, ["team", "channel", "ts", "pressed"])
    op.execute(MARK_PRESSED)


def downgrade() -> None:
    op.execute(f"UPDATE messages SET turn_id = NULL WHERE turn_id IN ({SECOND_ONES})")
    op.execute(f"DELETE FROM turns WHERE id IN ({SECOND_ONES})")
    with op.batch_alter_table("turns") as turns:
        turns.drop_constraint(AFTER, type_="unique")
        turns.create_unique_constraint(BEFORE, ["team", "channel", "ts"])
        turns.drop_column("pressed")
