"""What Slack knows beyond our rows: who people are, and what was said in a thread before us."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from kimibot.conversation import Message, Thread, Us
from kimibot.pacing import Pacing
from kimibot.slack.events import read_reply
from kimibot.slack.messages import SlackMessages
from kimibot.slack.names import SlackNames
from kimibot.slack.web_api import WebApi
from kimibot.wording import is_stop


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
        self._names = SlackNames(web_api, us, clock=clock)
        self.connected_since = connected_since

    async def names(self, ids: Collection[str]) -> Mapping[str, str]:
        """What people, apps and channels are called, as far as it is to be had in time."""
        return await self._names.names(ids)

    async def is_external(self, person: str, team: str) -> bool:
        """Whether it is a guest, or somebody whose own workspace is not ours.

        `team` is that workspace as far as the event named it: where Slack does not say who
        somebody is, it has to be ours. Never fails.
        """
        return await self._names.is_external(person, team)

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
