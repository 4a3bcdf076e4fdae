"""No Slack call begins that could end after the lease."""

from __future__ import annotations

import asyncio

from kimibot.lease import Lease
from kimibot.pacing import now
from tests.virtual_time import in_virtual_time


@in_virtual_time
async def test_a_call_that_fits_into_the_lease_waits_for_nothing() -> None:
    started_at = now()

    await Lease(call_seconds=8, held_until=now() + 20).sure()

    assert now() == started_at


@in_virtual_time
async def test_a_call_that_might_outlast_the_lease_waits_for_its_renewal() -> None:
    lease = Lease(call_seconds=8, held_until=now() + 7)
    waiting = asyncio.create_task(lease.sure())
    await asyncio.sleep(100)
    assert not waiting.done()

    lease.prolong(now() + 20)
    await waiting


@in_virtual_time
async def test_a_renewal_that_came_too_late_is_not_enough() -> None:
    lease = Lease(call_seconds=8, held_until=now())
    waiting = asyncio.create_task(lease.sure())
    await asyncio.sleep(0)

    lease.prolong(now() + 3)
    await asyncio.sleep(1)

    assert not waiting.done()
    waiting.cancel()
