"""Puts our reactions on messages, and takes them away again."""

from __future__ import annotations

from kimibot.conversation import Thread
from kimibot.errors import SlackError
from kimibot.pacing import Pacing
from kimibot.slack.web_api import WebApi

_NOTHING_TO_DO = ("already_reacted", "no_reaction", "message_not_found")


class SlackReactions:
    """Both wait for their slot and raise SlackError, but not where nothing is left to do.

    https://docs.slack.dev/reference/methods/reactions.add and
    https://docs.slack.dev/reference/methods/reactions.remove
    """

    def __init__(self, web_api: WebApi, pacing: Pacing) -> None:
        self._web_api = web_api
        self._pacing = pacing

    async def add(self, thread: Thread, ts: str, name: str) -> None:
        await self._change("reactions.add", thread.channel, ts, name)

    async def remove(self, thread: Thread, ts: str, name: str) -> None:
        await self._change("reactions.remove", thread.channel, ts, name)

    async def _change(self, method: str, channel: str, ts: str, name: str) -> None:
        await self._pacing.call(method)
        try:
            await self._web_api.call(method, channel=channel, timestamp=ts, name=name)
        except SlackError as error:
            if error.code not in _NOTHING_TO_DO:
                raise
