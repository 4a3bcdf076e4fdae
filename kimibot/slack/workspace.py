"""What Slack knows beyond our rows: who people are, and what was said in a thread before us."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from kimibot.conversation import Excerpt, Thread, Us
from kimibot.slack.messages import SlackMessages
from kimibot.slack.names import SlackNames
from kimibot.slack.threads import SlackThreads
from kimibot.slack.web_api import WebApi


class SlackWorkspace:
    """Reads from Slack. `connected_since` says since when we have heard every event."""

    def __init__(
        self,
        web_api: WebApi,
        us: Us,
        messages: SlackMessages,
        *,
        connected_since: Callable[[], float],
        is_deaf_in: Callable[[str, float], bool],
        clock: Callable[[], float],
    ) -> None:
        self._web_api = web_api
        self._messages = messages
        self._threads = SlackThreads(web_api, us)
        self._names = SlackNames(web_api, us, clock=clock)
        self.connected_since = connected_since
        self.is_deaf_in = is_deaf_in

    async def names(self, ids: Collection[str]) -> Mapping[str, str]:
        """What people, apps and channels are called, as far as it is to be had in time."""
        return await self._names.names(ids)

    async def is_external(self, person: str, team: str) -> bool:
        """Whether it is a guest, or somebody whose own workspace is not ours, nor another of our
        organisation.

        `team` is that workspace as far as the event named it: where Slack does not say who
        somebody is, it has to be ours. Never fails.
        """
        return await self._names.is_external(person, team)

    async def read_thread(self, thread: Thread, since_ts: str, until_ts: str) -> Excerpt:
        """What others have said in it after `since_ts`, or as much of it as Slack shows us soon:
        the newest before `until_ts` first. Raises SlackError."""
        return await self._threads.read(thread, since_ts, until_ts)

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
