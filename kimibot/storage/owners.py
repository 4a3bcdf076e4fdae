"""SQL of who else is at work: the replicas whose claims are live."""

from __future__ import annotations

from sqlalchemy import distinct, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from kimibot.storage.columns import database_now
from kimibot.storage.tables import threads

_COUNT_OWNERS = select(func.count(distinct(threads.c.claim_owner))).where(
    threads.c.claim_expires_at > database_now()
)


async def live_owners(connection: AsyncConnection) -> int:
    """How many owners hold a claim that has not lapsed."""
    return (await connection.execute(_COUNT_OWNERS)).scalar_one()
