"""Runs the migrations on a connection that the caller gives, or on that of `-x url=`.

The bot always gives its own. The second way is for writing a migration:

    alembic -x url=sqlite:///scratch.db upgrade head
    alembic -x url=sqlite:///scratch.db revision --autogenerate -m "add feedback"
"""

from __future__ import annotations

import asyncio
from typing import Literal

from alembic import context
from sqlalchemy import Connection, TypeDecorator

from kimibot.storage.engine import open_database
from kimibot.storage.tables import metadata


def plain_type(kind: str, thing: object, _context: object) -> str | Literal[False]:
    """Our column types as what they are in the database: a migration must outlive the class."""
    if kind == "type" and isinstance(thing, TypeDecorator):
        return f"sa.{thing.impl!r}"
    return False


def migrate(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=True,
        render_item=plain_type,
    )
    with context.begin_transaction():
        context.run_migrations()


async def migrate_at(url: str) -> None:
    database = open_database(url)
    try:
        async with database.migrating() as connection:
            await connection.run_sync(migrate)
    finally:
        await database.close()


given: Connection | None = context.config.attributes.get("connection")
if given is not None:
    migrate(given)
else:
    asyncio.run(migrate_at(context.get_x_argument(as_dictionary=True)["url"]))
