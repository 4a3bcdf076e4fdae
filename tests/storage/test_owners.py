"""Replicas see each other by their live claims."""

from __future__ import annotations

from dataclasses import replace

from kimibot.storage import Store
from tests.storage.said import LAPSED, THREAD, ask


async def test_only_owners_whose_claims_are_live_count(store: Store) -> None:
    threads = [replace(THREAD, channel=f"C{number}") for number in range(4)]
    ids = [(await ask(store, 1, thread=thread)).thread_id for thread in threads]

    await store.claim(ids[0], "one", 60)
    await store.claim(ids[1], "one", 60)
    await store.claim(ids[2], "two", 60)
    await store.claim(ids[3], "dead", LAPSED)

    assert await store.live_owners() == 2
