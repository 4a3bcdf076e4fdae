"""Calls that get lost, fail once, or are in vain for a while cost nobody an answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.chaos.calls import Calls, first_of_each_call
from tests.chaos.trials import complaints_after, fresh_world, lose, undisturbed
from tests.chaos.world import World
from tests.postgres import Postgres
from tests.whole_way.scene import DEV

pytestmark = [pytest.mark.chaos, pytest.mark.processes]

METHODS = ("chat.postMessage", "chat.update", "users.info", "conversations.replies")
DATABASE_AWAY_SECONDS = 4.0


@pytest.mark.quick
async def test_the_first_call_of_each_kind_may_get_lost_or_its_answer(postgres: Postgres) -> None:
    moments = await undisturbed(postgres)

    found = await complaints_after(postgres, first_of_each_call(moments), lose)
    assert not found, "\n".join(found)


async def test_any_later_call_may_get_lost_or_its_answer(postgres: Postgres) -> None:
    moments = await undisturbed(postgres)
    later = [moment for moment in moments if moment.nth > 1]

    found = await complaints_after(postgres, later, lose)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "fault",
    [
        {"error": "internal_error"},
        pytest.param({"status": 429, "retry_after_seconds": 2}, marks=pytest.mark.quick),
        {"status": 503, "body": "<html>no server is available</html>"},
    ],
    ids=["internal error", "rate limited", "unavailable"],
)
async def test_each_method_may_fail_once(postgres: Postgres, fault: dict[str, Any]) -> None:
    """In threads that people have begun, of which the bot has to read what was said before."""
    async with fresh_world(postgres, Calls()) as world:
        await world.until_connected()
        for number, method in enumerate(METHODS):
            user = ("ana", "bo", "chidi", "mei")[number]
            root = await world.slack.say(user, DEV, "What do you think?")
            await world.slack.fail(method, **fault)
            await world.ask(f"long-{number}", root, user=user)
            await world.until_ended()
        met = [method for method in METHODS if await failures(world, method)]

        found = await world.verdict()
    assert not found, "\n".join(found)
    assert met == list(METHODS)


@pytest.mark.quick
@pytest.mark.parametrize("when", ["before the ask", "in mid-answer", "right before the end"])
async def test_the_database_may_be_away_for_a_while(postgres: Postgres, when: str) -> None:
    async with fresh_world(postgres, Calls()) as world:
        await world.until_connected()
        [tap] = world.taps
        if when == "before the ask":
            tap.cut()
        ask = await world.ask("long-1")
        if when != "before the ask":
            await world.until_growing(ask)
            await asyncio.sleep(2.0 if when == "right before the end" else 0.0)
            tap.cut()
        await asyncio.sleep(DATABASE_AWAY_SECONDS)
        tap.mend()

        found = await world.verdict()
    assert not found, "\n".join(found)


async def failures(world: World, method: str) -> int:
    return sum(not call.applied for call in await world.slack.calls(method))
