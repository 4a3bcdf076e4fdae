"""Controls: what the local Slack holds and has seen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, TypeVar

from kimibot.sandbox.slack.control import Controlled, control
from kimibot.sandbox.slack.conversations import describe
from kimibot.sandbox.slack.people import BOT, TEAM_ID, TEAM_NAME
from kimibot.sandbox.slack.records import Call, Counters, DeliveryRecord, Ping
from kimibot.sandbox.slack.shown import Shown, shown
from kimibot.sandbox.slack.workspace import Unknown, as_slack_user

Seen = TypeVar("Seen")


class Observations(Controlled):
    """Nothing here changes anything."""

    @control
    async def messages(self, channel: str) -> list[dict[str, Any]]:
        """All messages of a channel, oldest first, replies included."""
        workspace = self.parts.workspace
        return workspace.messages.all_of(workspace.channel(channel).id)

    @control
    async def thread(self, channel: str, ts: str) -> list[dict[str, Any]]:
        """A root and its replies, oldest first; empty if there is no such message."""
        workspace = self.parts.workspace
        return workspace.messages.thread(workspace.channel(channel).id, ts)

    @control
    async def ephemerals(self, user: str | None = None) -> list[dict[str, Any]]:
        """Messages that only one person saw: everybody's, or those of one."""
        workspace = self.parts.workspace
        found = workspace.messages.ephemerals
        if user is None:
            return list(found)
        person = workspace.person(user)
        return [message for message in found if message["to"] == person.id]

    @control
    async def shown(self, channel: str, ts: str) -> Shown:
        """A message as its readers see it."""
        workspace = self.parts.workspace
        message = workspace.messages.get(workspace.channel(channel).id, ts)
        if message is None:
            raise Unknown(f"no such message: {ts}")
        return shown(message)

    @control
    async def calls(self, method: str | None = None) -> list[Call]:
        """Calls of the Web API, oldest first: all, or those of one method."""
        calls = self.parts.workspace.records.calls
        return [call for call in calls if method in (None, call.method)]

    @control
    async def deliveries(self, event_id: str | None = None) -> list[DeliveryRecord]:
        """Attempts to deliver events and clicks, oldest first: all, or those of one event."""
        deliveries = self.parts.workspace.records.deliveries
        return [record for record in deliveries if event_id in (None, record.id)]

    @control
    async def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Payloads of the events raised so far, oldest first: all, or those of one type."""
        events = self.parts.workspace.records.events.values()
        return [event for event in events if kind in (None, event.get("event", {}).get("type"))]

    @control
    async def counters(self) -> Counters:
        return self.parts.workspace.records.counters()

    @control
    async def pings(self) -> list[Ping]:
        """Mentions in the bot's messages that notified somebody."""
        return list(self.parts.workspace.records.pings)

    @control
    async def unfurls(self) -> list[dict[str, Any]]:
        """Messages of the bot that Slack was free to draw previews under."""
        return list(self.parts.workspace.records.unfurls)

    @control
    async def complaints(self) -> list[str]:
        """What a well-made app does not do, in words."""
        return list(self.parts.workspace.records.complaints)

    @control
    async def views(self) -> list[dict[str, Any]]:
        """Views that the bot opened."""
        return list(self.parts.interactions.views)

    @control
    async def open_sockets(self) -> int:
        """How many connections the app has."""
        return len(self.parts.sockets.connections)

    @control
    async def state(self) -> dict[str, Any]:
        """The whole workspace, for a page that draws it."""
        workspace = self.parts.workspace
        return {
            "team": {"id": TEAM_ID, "name": TEAM_NAME},
            "bot": asdict(BOT),
            "people": [as_slack_user(person) for person in workspace.people.values()],
            "channels": [
                describe(channel) | {"members": sorted(channel.members)}
                for channel in workspace.channels.values()
            ],
            "messages": {name: workspace.messages.all_of(name) for name in workspace.channels},
            "ephemerals": list(workspace.messages.ephemerals),
            "counters": asdict(workspace.records.counters()),
            "revision": workspace.revision.number,
        }

    @control
    async def revision(self) -> int:
        """A number that grows with every message, call, delivery and socket."""
        return self.parts.workspace.revision.number

    @control
    async def wait_for_change(self, after: int, timeout_seconds: float = 5.0) -> int:
        """The newest revision, as soon as it is past `after`, or when the time is over."""
        return await self.parts.workspace.revision.wait_past(after, timeout_seconds)

    async def until(
        self, look: Callable[[], Awaitable[Seen | None]], timeout_seconds: float = 5.0
    ) -> Seen:
        """What `look` sees, as soon as it is true. Raises TimeoutError with what it saw last."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout_seconds
        while True:
            number = await self.revision()
            if seen := await look():
                return seen
            left_seconds = end - loop.time()
            if left_seconds <= 0:
                raise TimeoutError(f"not seen within {timeout_seconds} s; last: {seen!r}")
            await self.wait_for_change(number, left_seconds)

    async def at_rest(self, quiet_seconds: float = 0.3, timeout_seconds: float = 30.0) -> None:
        """Return once nothing has happened for a while. Raises TimeoutError."""
        async with asyncio.timeout(timeout_seconds):
            number = await self.revision()
            while (newest := await self.wait_for_change(number, quiet_seconds)) != number:
                number = newest
