"""The state of the local workspace: people, channels, messages, files, and what was seen of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from kimibot.sandbox.slack.files import FileStore
from kimibot.sandbox.slack.messages import Change, MessageStore
from kimibot.sandbox.slack.options import Options
from kimibot.sandbox.slack.people import (
    BOT,
    MONITOR,
    App,
    Channel,
    Person,
    first_channels,
    first_people,
)
from kimibot.sandbox.slack.records import Records

IDS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class Unknown(LookupError):
    """A control named a person, channel or message that is not there."""


class Revision:
    """Counts whatever happens, and lets others wait for the next thing to happen."""

    def __init__(self) -> None:
        self.number = 0
        self._moved = asyncio.Event()

    def bump(self) -> None:
        self.number += 1
        self._moved.set()
        self._moved = asyncio.Event()

    async def wait_past(self, number: int, timeout_seconds: float) -> int:
        """The newest number, as soon as it is greater than `number` or the time is over."""
        try:
            async with asyncio.timeout(timeout_seconds):
                while self.number <= number:
                    await self._moved.wait()
        except TimeoutError:
            pass
        return self.number


@dataclass(slots=True)
class Workspace:
    """Everything that the methods of the Web API and the controls read and change."""

    options: Options
    clock: Callable[[], float]
    chance: random.Random
    messages: MessageStore
    files: FileStore
    records: Records
    revision: Revision
    people: dict[str, Person] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    apps: dict[str, App] = field(default_factory=dict)
    base_url: str = ""
    subscribers: set[asyncio.Queue[Change]] = field(default_factory=set)

    def new_id(self, prefix: str) -> str:
        return prefix + "".join(self.chance.choices(IDS, k=10))

    def person(self, name: str) -> Person:
        """Somebody by id, name or `@name`. Raises Unknown."""
        wanted = name.removeprefix("@").lower()
        for person in self.people.values():
            if person.id == name or person.name == wanted:
                return person
        raise Unknown(f"no such person: {name}")

    def channel(self, name: str) -> Channel:
        """A conversation by id, `#name` or name. Raises Unknown."""
        found = self.channels.get(name) or self.channel_named(name)
        if found is None:
            raise Unknown(f"no such channel: {name}")
        return found

    def channel_named(self, name: str) -> Channel | None:
        wanted = name.removeprefix("#")
        named = (c for c in self.channels.values() if c.name and c.name == wanted)
        return next(named, None)

    def app_of(self, bot_id: str) -> App:
        """An app by bot id or name. Raises Unknown."""
        for app in self.apps.values():
            if bot_id in (app.bot_id, app.name):
                return app
        raise Unknown(f"no such app: {bot_id}")

    def direct_channel(self, user_id: str, other: str = BOT.user_id) -> Channel:
        """The direct conversation of two, opened if it is new."""
        members = {user_id, other}
        for channel in self.channels.values():
            if channel.kind == "im" and channel.members == members:
                return channel
        channel = Channel(self.new_id("D0"), "", "im", members)
        self.channels[channel.id] = channel
        return channel

    @asynccontextmanager
    async def subscribe(self) -> AsyncIterator[AsyncIterator[Change]]:
        """A stream of all changes from now on, for as long as the context is open."""
        changes: asyncio.Queue[Change] = asyncio.Queue()
        self.subscribers.add(changes)
        try:
            yield _each(changes)
        finally:
            self.subscribers.discard(changes)


def new_workspace(options: Options, clock: Callable[[], float], seed: int) -> Workspace:
    """A workspace with its first people and channels, and nothing said yet."""
    revision = Revision()
    workspace = Workspace(
        options=options,
        clock=clock,
        chance=random.Random(seed),
        messages=MessageStore(clock),
        files=FileStore(),
        records=Records(on_record=revision.bump),
        revision=revision,
        people={person.id: person for person in first_people()},
        channels={channel.id: channel for channel in first_channels()},
        apps={app.bot_id: app for app in (BOT, MONITOR)},
    )
    workspace.messages.listeners.append(lambda change: _tell(workspace, change))
    return workspace


def _tell(workspace: Workspace, change: Change) -> None:
    workspace.revision.bump()
    for changes in workspace.subscribers:
        changes.put_nowait(change)


async def _each(changes: asyncio.Queue[Change]) -> AsyncIterator[Change]:
    while True:
        yield await changes.get()


def as_slack_user(person: Person) -> dict[str, Any]:
    """A person in the shape of https://docs.slack.dev/reference/objects/user-object."""
    profile = {
        "real_name": person.real_name,
        "real_name_normalized": person.real_name,
        "display_name": person.name,
        "display_name_normalized": person.name,
        "email": f"{person.name}@people.invalid",
        "team": person.team_id,
    }
    return {
        "id": person.id,
        "team_id": person.team_id,
        "name": person.name,
        "real_name": person.real_name,
        "deleted": False,
        "tz": "Europe/Lisbon",
        "tz_label": "Western European Time",
        "tz_offset": 0,
        "profile": profile | _bot_profile(person),
        "is_bot": person.is_bot,
        "is_restricted": person.is_guest,
        "is_ultra_restricted": False,
        "is_stranger": person.is_stranger,
    } | _enterprise_user(person)


def _enterprise_user(person: Person) -> dict[str, Any]:
    """Only in an organisation of several workspaces."""
    if not person.enterprise_id:
        return {}
    named = {"id": person.id, "enterprise_id": person.enterprise_id}
    return {"enterprise_user": named | {"teams": [person.team_id]}}


def _bot_profile(person: Person) -> dict[str, Any]:
    return {"bot_id": person.bot_id, "api_app_id": person.app_id} if person.is_bot else {}
