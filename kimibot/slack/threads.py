"""Reads a thread from Slack: all of it, or at once as much as Slack allows, and says so.

Some apps may read but 15 messages a minute
(https://docs.slack.dev/changelog/2025/05/29/rate-limit-changes-for-non-marketplace-apps), oldest
first. Nobody waits a minute for an answer, so then the one page that we get is chosen to have the
newest messages, as far as their number lets us guess where those begin.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from kimibot.conversation import Excerpt, Thread, Us
from kimibot.errors import SlackError
from kimibot.pacing import now
from kimibot.slack.events import read_reply
from kimibot.slack.shapes import Shape, shape, shapes, string
from kimibot.slack.web_api import WebApi
from kimibot.wording import is_stop

log = logging.getLogger(__name__)

PAGE_SIZE = 500
CLAMPED_PAGE_SIZE = 15
PATIENCE_SECONDS = 10.0
"""So long an answer waits for what was said before it: for all pages together."""

_WANTED = 12

REPLIES = "conversations.replies"


class SlackThreads:
    """Reads what others have said in a thread, oldest first, but not the word that stops us."""

    def __init__(self, web_api: WebApi, us: Us) -> None:
        self._web_api = web_api
        self._us = us
        self._is_clamped = False

    async def read(self, thread: Thread, since_ts: str, until_ts: str) -> Excerpt:
        """What was said after `since_ts`, or ever; the newest before `until_ts` matter most.

        Raises SlackError when nothing can be read.
        """
        if self._is_clamped:
            return await self._newest(thread, since_ts, until_ts)
        replies, is_whole = await self._pages(thread, since_ts)
        if not is_whole and len(replies) <= CLAMPED_PAGE_SIZE:
            self._is_clamped = True
            log.warning("Slack lets this app read only %s messages a minute", CLAMPED_PAGE_SIZE)
        return self._excerpt(thread, replies, is_whole, "first")

    async def _pages(self, thread: Thread, since_ts: str) -> tuple[list[Shape], bool]:
        """Page after page, and whether these are all: the later ones may not be to be had."""
        end = now() + PATIENCE_SECONDS
        found: list[Shape] = []
        cursor: str | None = None
        while True:
            try:
                page = await self._page(thread, since_ts, cursor, end)
            except SlackError as error:
                if not found:
                    raise
                log.info("thread read in part: %s", error, extra={"channel": thread.channel})
                return found, False
            found += shapes(page, "messages")
            cursor = string(shape(page, "response_metadata"), "next_cursor") or None
            if cursor is None:
                return found, not page.get("has_more")

    async def _page(
        self, thread: Thread, since_ts: str, cursor: str | None, end: float
    ) -> Mapping[str, Any]:
        return await self._web_api.read_soon(
            REPLIES,
            end,
            channel=thread.channel,
            ts=thread.root_ts,
            oldest=since_ts or None,
            limit=PAGE_SIZE,
            cursor=cursor,
        )

    async def _newest(self, thread: Thread, since_ts: str, until_ts: str) -> Excerpt:
        """The root, which has a method and a limit of its own, and the newest page."""
        root = await self._root(thread)
        after_root = since_ts or thread.root_ts
        start_ts = start_of_newest(root, after_root, until_ts)
        end = now() + PATIENCE_SECONDS
        page = await self._page(thread, start_ts if start_ts > after_root else since_ts, None, end)
        replies = shapes(page, "messages")
        if root and all(string(reply, "ts") != thread.root_ts for reply in replies):
            replies = [root, *replies]
        has_more = bool(page.get("has_more"))
        is_whole = not has_more and start_ts <= after_root
        return self._excerpt(thread, replies, is_whole, "" if has_more else "last")

    async def _root(self, thread: Thread) -> Shape:
        """The message that the thread began with, which knows the number of replies; or nothing."""
        try:
            answer = await self._web_api.read_soon(
                "conversations.history",
                now() + PATIENCE_SECONDS / 2,
                channel=thread.channel,
                oldest=thread.root_ts,
                latest=thread.root_ts,
                inclusive=True,
                limit=1,
            )
        except SlackError as error:
            log.info("root not read: %s", error, extra={"channel": thread.channel})
            return {}
        found = [one for one in shapes(answer, "messages") if one.get("ts") == thread.root_ts]
        return found[0] if found else {}

    def _excerpt(
        self, thread: Thread, replies: Sequence[Shape], is_whole: bool, part: str
    ) -> Excerpt:
        said = [read_reply(reply, thread, self._us) for reply in replies]
        kept = tuple(message for message in said if message and not is_stop(message, self._us))
        return Excerpt(kept, is_whole, part, len(replies))


def start_of_newest(root: Shape, after_ts: str, until_ts: str) -> str:
    """Where the last dozen of messages begins if they come evenly; all, if they are no more.

    Some are left as a reserve: of a page that overflows, the newest would be lost.
    """
    count = root.get("reply_count")
    if not isinstance(count, int) or count < CLAMPED_PAGE_SIZE:
        return after_ts
    until = float(until_ts)
    span = until - float(string(root, "ts"))
    return max(after_ts, f"{until - span * _WANTED / count:.6f}") if span > 0 else after_ts
