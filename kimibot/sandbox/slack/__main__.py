"""The local Slack as a process of its own: `python -m kimibot.sandbox.slack --port N`."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from typing import Any

from kimibot.sandbox.slack.server import local_slack


def main() -> None:
    """Serve until SIGTERM or SIGINT; one line on stdout says when and where it is ready."""
    parser = argparse.ArgumentParser(prog="python -m kimibot.sandbox.slack")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--seed", type=int, default=None, help="makes all ids predictable")
    parser.add_argument("--options", type=json.loads, default={}, help="switches, as JSON")
    given = parser.parse_args()
    asyncio.run(_serve(given.port, given.seed, given.options))


async def _serve(port: int, seed: int | None, switches: dict[str, Any]) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    async with local_slack(port, seed=seed, **switches) as slack:
        sys.stdout.write(f"local Slack ready at {slack.url}\n")
        sys.stdout.flush()
        await ended.wait()


if __name__ == "__main__":
    main()
