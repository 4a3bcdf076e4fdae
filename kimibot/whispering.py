"""Tells one person something in a thread that the others do not see."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from kimibot.conversation import Thread
from kimibot.errors import SlackError
from kimibot.views import Button

log = logging.getLogger(__name__)


class Whisper(Protocol):
    """Slack's message to one person. Raises SlackError."""

    async def __call__(
        self, thread: Thread, user: str, text: str, buttons: Sequence[Button] = ()
    ) -> None: ...


async def whisper_if_possible(
    whisper: Whisper, thread: Thread, user: str, text: str, buttons: Sequence[Button] = ()
) -> None:
    """A whisper for the background: it is a courtesy, so what Slack refuses is only noted."""
    try:
        await whisper(thread, user, text, buttons)
    except SlackError as error:
        log.info("whisper refused: %s", error, extra={"channel": thread.channel})
