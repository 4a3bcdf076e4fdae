"""Shows one person what the model wrote, in messages that the others in the thread do not see."""

from __future__ import annotations

from collections.abc import Iterator

from kimibot import texts
from kimibot.conversation import Thread
from kimibot.errors import BlocksRefused
from kimibot.pacing import Pacing
from kimibot.slack.messages import content
from kimibot.slack.parts import part
from kimibot.slack.web_api import WebApi
from kimibot.views import Cut, Style, View

MOST_MESSAGES = 4
"""Reasoning may be as long as a book; who reads on after four messages reads the model's logs."""


class SlackWhispers:
    """Ephemeral messages: shown to one person, stored nowhere.

    https://docs.slack.dev/reference/methods/chat.postEphemeral
    """

    def __init__(self, web_api: WebApi, pacing: Pacing) -> None:
        self._web_api = web_api
        self._pacing = pacing

    async def show_reasoning(self, thread: Thread, user: str, reasoning: str) -> None:
        """Show it in at most four messages, made safe like all that the model writes.

        Raises SlackError; where Slack refuses the blocks, plain text goes out.
        """
        try:
            for view in reasoning_views(reasoning, Style.MARKDOWN):
                await self._whisper(thread, user, view)
        except BlocksRefused:
            for view in reasoning_views(reasoning, Style.PLAIN):
                await self._whisper(thread, user, view)

    async def _whisper(self, thread: Thread, user: str, view: View) -> None:
        await self._pacing.call("chat.postEphemeral")
        await self._web_api.call(
            "chat.postEphemeral",
            channel=thread.channel,
            thread_ts=thread.root_ts,
            user=user,
            **content(view),
        )


def reasoning_views(reasoning: str, style: Style) -> Iterator[View]:
    """The messages, the last of them with a note that says what this is and what is missing."""
    start = Cut()
    for _ in range(MOST_MESSAGES - 1):
        shown = part(reasoning, start, style)
        if shown.end is None:
            break
        yield View(shown.body, style=style)
        start = shown.end
    last = part(reasoning, start, style)
    left_out = 0 if last.end is None else len(reasoning) - last.end.offset
    note = texts.reasoning_left_out(left_out) if left_out else texts.REASONING_IS_YOURS
    yield View(last.body, note, style=style)
