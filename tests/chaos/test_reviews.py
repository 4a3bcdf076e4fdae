"""Whatever gets lost, a review and what is pressed below it come once, and look as always."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select

from kimibot import texts
from kimibot.sandbox.github import LocalPull, LocalRepository
from kimibot.sandbox.slack.workspace import Unknown
from kimibot.storage.tables import turns
from kimibot.turns import Kind
from tests.chaos.calls import Calls
from tests.chaos.script import BUG
from tests.chaos.trials import Files, Mishap, complaints_after, fresh_world, kill, lose
from tests.chaos.world import REST_SECONDS, World
from tests.whole_way.scene import DEV, Fields, body, note

pytestmark = [pytest.mark.chaos, pytest.mark.processes]

OLD = b"def last(rows):\n    return rows[0]\n"
NEW = f"def last(rows):\n{BUG}\n".encode()
PRESSES = {texts.SUGGEST_PATCH: Kind.PATCH, texts.POST_REVIEW: Kind.POST}


@pytest.mark.parametrize(
    ("mishap", "half"),
    [pytest.param(kill, 0, marks=pytest.mark.quick), (kill, 1), (lose, 0), (lose, 1)],
)
async def test_a_review_comes_once_with_its_patch_and_is_posted_once(
    migrated_file: Path, tmp_path: Path, mishap: Mishap, half: int
) -> None:
    databases, calls = Files(migrated_file, tmp_path), Calls()
    async with fresh_world(databases, calls) as world:
        wanted = await review_and_press(world)
        assert set((await kinds(world)).values()) == {"answered"}
        assert sum(line.startswith("posted:") for line in wanted) == 1

    tried = [moment for moment in calls.seen if (moment.nth + moment.is_done) % 2 == half]
    as_always = partial(differences, wanted=wanted)

    found = await complaints_after(databases, tried, mishap, as_always)
    assert not found, "\n".join(found)


async def differences(world: World, wanted: list[str]) -> list[str]:
    """What does not look as it does when nothing happens."""
    try:
        found = await review_and_press(world)
    except TimeoutError as error:
        return [f"not at rest: {error!r}", *world.last_words()]
    told = [f"missing: {line}" for line in wanted if line not in found]
    told += [f"new: {line}" for line in found if line not in wanted or found.count(line) > 1]
    return [*told, *world.last_words()] if told else []


async def review_and_press(world: World) -> list[str]:
    """A pull request is reviewed, and each button below the review pressed; what is there then."""
    world.github.add(LocalRepository("acme/shop", {7: LocalPull(files(OLD), files(NEW))}))
    await world.until_connected()
    ask = await world.ask(f"review {world.github.url}/acme/shop/pull/7")
    await until_answered(world, ask.ts, Kind.REVIEW, "")
    for action, kind in PRESSES.items():
        await until_answered(world, ask.ts, kind, action)
    await world.slack.at_rest(2.0, REST_SECONDS)
    return await picture(world, ask.ts)


def files(rows: bytes) -> dict[str, bytes]:
    return {"src/rows.py": rows}


async def until_answered(world: World, root: str, kind: Kind, action: str) -> None:
    """Press as somebody does who sees that it was in vain: again, also where that is offered."""
    async with asyncio.timeout(2 * REST_SECONDS):
        while (outcome := (await kinds(world)).get(kind)) != "answered":
            if outcome != "":
                await press(world, root, texts.TRY_AGAIN if outcome else action)
            await asyncio.sleep(0.5)


async def press(world: World, root: str, action: str) -> None:
    thread = await world.slack.thread(DEV, root)
    for ts in [message["ts"] for message in thread if message.get("bot_id")]:
        with suppress(Unknown):
            await world.slack.click("ana", DEV, ts, action)


async def kinds(world: World) -> dict[str, str]:
    """The turns' outcomes by their kinds."""
    async with world.database.reading() as connection:
        rows = await connection.execute(select(turns.c.kind, turns.c.outcome))
        return {kind: outcome or "" for kind, outcome in rows}


async def picture(world: World, root: str) -> list[str]:
    """What people see: in the thread, in its files, and below the pull request."""
    outcomes = await kinds(world)
    thread = await world.slack.thread(DEV, root)
    shown = [seen(world, message) for message in thread if message.get("bot_id")]
    reviews = world.github.repositories["acme/shop"].pulls[7].reviews
    posted = [f"posted: {one['body']}" for one in reviews]
    return [as_one(world, line) for line in [*shown, *posted, f"turns: {outcomes}"]]


def seen(world: World, message: Fields) -> str:
    found = [world.slack.parts.workspace.files.get(f["id"]) for f in message.get("files") or []]
    inside = [file.content.decode() for file in found if file is not None]
    return f"{body(message)}|{note(message)}|{message.get('text') if inside else ''}|{inside}"


def as_one(world: World, line: str) -> str:
    """Without what is new each time: the port, and ids."""
    line = line.replace(world.github.url, "https://github.example")
    return re.sub(r"\b(?=\w*\d)[0-9a-f]{8,36}(?:-[0-9a-f]{4}){0,3}(?:-[0-9a-f]{12})?\b", "ID", line)
