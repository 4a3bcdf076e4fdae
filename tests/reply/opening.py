"""Opens the live reply that the tests of this folder look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kimibot.pacing import Pacing
from kimibot.reply.live_reply import LiveReply
from kimibot.reply.open_part import Splitter
from kimibot.reply.parts import ReplyTo
from tests.fakes import THREAD, Channel, OnPosted, SplitEvery, at_once, forget, sign


def open_reply(
    channel: Channel,
    *,
    pacing: Pacing | None = None,
    characters: int = 100,
    splitter: Splitter | None = None,
    turn_id: str = "turn-1",
    on_posted: OnPosted = forget,
    reply_ts: Sequence[str] = (),
    is_taken_over: bool = False,
    **more: Any,
) -> LiveReply:
    """In parts of so many characters, unless something else splits it."""
    return LiveReply(
        ReplyTo(THREAD, turn_id, on_posted, at_once, reply_ts, is_taken_over),
        messages=channel,
        pacing=pacing or Pacing(),
        splitter=splitter or SplitEvery(characters),
        sign=sign,
        settle_seconds=16,
        **more,
    )
