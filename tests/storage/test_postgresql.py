"""What only a server can do: be away, fall silent, drop us."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest
from sqlalchemy import insert, make_url

from kimibot.errors import DatabaseUnavailable
from kimibot.storage import Store, open_database
from kimibot.storage.tables import threads
from tests.postgres import Postgres
from tests.storage.said import NOW, SLACK_WAITS_SECONDS, a_thread, ask, says
from tests.storage.wire import wire_to

UNUSED_PORT = 9  # discard: nothing listens there on loopback


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    database = open_database(f"postgresql://kimibot:hush@127.0.0.1:{UNUSED_PORT}/kimibot")

    with pytest.raises(DatabaseUnavailable) as fault:
        await database.ping()

    await database.close()
    assert "hush" not in str(fault.value)


async def test_a_database_that_the_server_has_not_is_unavailable(postgres_url: str) -> None:
    elsewhere = make_url(postgres_url).set(database="no_such_database")
    database = open_database(elsewhere.render_as_string(hide_password=False))

    with pytest.raises(DatabaseUnavailable, match="no_such_database"):
        await database.ping()

    await database.close()


async def test_a_server_that_drops_us_is_unavailable_once_and_then_used_again(
    postgres: Postgres, postgres_url: str
) -> None:
    database = open_database(postgres_url)
    with pytest.raises(DatabaseUnavailable):
        async with database.writing() as connection:
            await connection.execute(insert(threads), a_thread("C1"))
            await asyncio.to_thread(
                postgres.administrate,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                f"WHERE datname = '{make_url(postgres_url).database}'",
            )
            await connection.execute(insert(threads), a_thread("C2"))

    accepted = await ask(Store(database), 1)

    await database.close()
    assert accepted.turn_id is not None


async def test_a_server_that_falls_silent_is_given_up_while_slack_still_waits(
    postgres_url: str,
) -> None:
    async with wire_to(postgres_url) as (wire, url):
        database = open_database(url)
        store = Store(database)
        await ask(store, 1)
        wire.silence()

        began = monotonic()
        with pytest.raises(DatabaseUnavailable):
            await store.accept(says(2), is_ask=True, now=NOW)
        seconds = monotonic() - began

        await database.close()
    assert seconds < SLACK_WAITS_SECONDS


async def test_a_row_that_another_holds_is_given_up_while_slack_still_waits(
    postgres_url: str,
) -> None:
    database = open_database(postgres_url)
    store = Store(database)
    async with database.writing() as other:
        await other.execute(insert(threads), a_thread("C1"))

        began = monotonic()
        with pytest.raises(DatabaseUnavailable):
            await store.accept(says(1), is_ask=True, now=NOW)
        seconds = monotonic() - began

    redelivered = await ask(store, 1)
    await database.close()
    assert seconds < SLACK_WAITS_SECONDS
    assert redelivered.turn_id is not None


async def test_an_ask_is_stored_while_others_hold_all_the_connections_they_get(
    postgres_url: str,
) -> None:
    database = open_database(postgres_url)
    done = asyncio.Event()

    async def hold() -> None:
        async with database.writing():
            await done.wait()

    holding = [asyncio.create_task(hold()) for _ in range(50)]
    await asyncio.sleep(0)  # all of them stand in line now

    accepted = await ask(Store(database), 1)

    done.set()
    await asyncio.gather(*holding)
    await database.close()
    assert accepted.turn_id is not None
