"""The bot for a Slack without limits: as `kimibot run`, but it never waits for a call's turn."""

from __future__ import annotations

import asyncio
import os

import uvloop

from kimibot import logs
from kimibot.budget import BUDGETS, Budget
from kimibot.pacing import Pacing
from kimibot.service import run
from kimibot.settings import Settings

METHODS = (*BUDGETS, "chat.delete", "conversations.open", "conversations.replies")
NO_LIMIT = Budget(rate_per_second=1e6, burst=1e6, start=1e6)


def main() -> None:
    settings = Settings.load(os.environ)
    logs.configure(settings.log_level, settings.log_format, settings.secrets)
    pacing = Pacing(dict.fromkeys(METHODS, NO_LIMIT))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(settings, pacing))


if __name__ == "__main__":
    main()
