"""The local Slack as a process of its own: `python -m kimibot.sandbox.slack --port N`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kimibot.sandbox.serving import port_number, serve
from kimibot.sandbox.slack.server import local_slack


def main() -> int:
    """Serve until SIGTERM or SIGINT; one line on stdout says when and where it is ready."""
    parser = argparse.ArgumentParser(prog="python -m kimibot.sandbox.slack")
    parser.add_argument("--port", type=port_number, default=0, help="0 takes a free port")
    parser.add_argument("--seed", type=int, default=None, help="makes all ids predictable")
    parser.add_argument("--options", type=json.loads, default={}, help="switches, as JSON")
    given = parser.parse_args()
    server = _server(given.port, given.seed, given.options)
    return serve(server, "the local Slack", given.port)


@asynccontextmanager
async def _server(port: int, seed: int | None, switches: dict[str, Any]) -> AsyncIterator[str]:
    async with local_slack(port, seed=seed, **switches) as slack:
        yield f"local Slack ready at {slack.url}"


if __name__ == "__main__":
    sys.exit(main())
