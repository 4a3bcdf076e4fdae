"""What Slack knows beyond our rows: who people are, and what was said in a thread before us."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kimibot.conversation import Message, Thread, Us
from kimibot.errors import SlackError
from kimibot.pacing import Pacing
from kimibot.slack.events import read_reply
from kimibot.slack.messages import SlackMessages
from kimibot.slack.web_api import WebApi
from kimibot.wording import is_stop

NAME_SECONDS = 3600.0
"""A name is looked up again after an hour."""

NAMES_WAIT_SECONDS = 3.0
"""An answer does not wait longer for names; who is still unknown then is an id."""


class SlackWorkspace:
    """Reads from Slack. `connected_since` says since when we have heard every event."""

    def __init__(
        self,
        web_api: WebApi,
        pacing: Pacing,
        us: Us,
        messages: SlackMessages,
        *,
        connected_since: Callable[[], float],
        clock: Callable[[], float],
    ) -> None:
        self._web_api = web_api
        self._pacing = pacing
        self._us = us
        self._messages = messages
        self._clock = clock
        self._people: dict[str, _Person] = {}
        self.connected_since = connected_since

    async def names(self, ids: Collection[str]) -> Mapping[str, str]:
        """Display names; whoever can't be looked up in time is left out."""
        unknown = [id_ for id_ in ids if id_.startswith(("U", "W")) and not self._is_fresh(id_)]
        if unknown:
            lookups = [asyncio.create_task(self._look_up(id_)) for id_ in unknown]
            _, late = await asyncio.wait(lookups, timeout=NAMES_WAIT_SECONDS)
            for lookup in late:
                lookup.cancel()
        return {id_: self._people[id_].name for id_ in ids if id_ in self._people}

    async def is_external(self, person: str, team: str) -> bool:
        """Whether it is a guest, or somebody whose own workspace is not ours.

        `team` is that workspace as far as the event named it: where Slack does not say who
        somebody is, it has to be ours. Never fails.
        """
        if team and team != self._us.team:
            return True
        await self.names([person])
        known = self._people.get(person)
        if known is None or known.is_external is None:
            return team != self._us.team
        return known.is_external

    async def read_thread(self, thread: Thread) -> list[Message]:
        """Everything that others have said in the thread, oldest first, but not the word that
        stops us. Raises SlackError."""
        replies = await self._web_api.pages(
            "conversations.replies", "messages", channel=thread.channel, ts=thread.root_ts
        )
        said = [read_reply(reply, thread, self._us) for reply in replies]
        return [message for message in said if message and not is_stop(message, self._us)]

    async def left(self, thread: Thread, turn_id: str) -> Sequence[tuple[str, str]]:
        """The messages of a turn's reply with the text in them, oldest first. Raises SlackError."""
        return await self._messages.left(thread, turn_id)

    async def tell(self, user: str, text: str) -> None:
        """A direct message in our own words, links and all. Raises SlackError.

        It is the only word that somebody gets, so it is tried more than once: rather twice than
        never.
        """
        opened = await self._web_api.read("conversations.open", users=user)
        channel = str((opened.get("channel") or {}).get("id") or user)
        await self._web_api.read(
            "chat.postMessage",
            channel=channel,
            text=text,
            unfurl_links=False,
            unfurl_media=False,
        )

    def _is_fresh(self, id_: str) -> bool:
        known = self._people.get(id_)
        return known is not None and self._clock() - known.looked_up_at < NAME_SECONDS

    async def _look_up(self, id_: str) -> None:
        """A failed look-up is remembered too: the next turn must not wait for it again."""
        try:
            user = (await self._web_api.read("users.info", user=id_)).get("user") or {}
        except SlackError:
            user = {}
        is_external = _is_external(user) if user else None
        name = _name(user) or (f"external user {id_}" if is_external else id_)
        self._people[id_] = _Person(self._clock(), name, is_external)


@dataclass(frozen=True, slots=True)
class _Person:
    """What Slack says of somebody; `is_external` is None where it says nothing."""

    looked_up_at: float
    name: str
    is_external: bool | None


def _is_external(user: Mapping[str, Any]) -> bool:
    """https://docs.slack.dev/reference/objects/user-object"""
    return any(user.get(key) for key in ("is_restricted", "is_ultra_restricted", "is_stranger"))


def _name(user: Mapping[str, Any]) -> str:
    profile = user.get("profile") or {}
    names = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"))
    return str(next((name for name in (*names, user.get("name")) if name), ""))
