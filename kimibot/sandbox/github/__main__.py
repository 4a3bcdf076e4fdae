"""The local GitHub as a process, with the repository of the demo; SIGTERM ends it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kimibot.sandbox.github.server import local_github
from kimibot.sandbox.github.showcase import FULL_NAME, NUMBER, showcase
from kimibot.sandbox.serving import port_number, serve


def main() -> int:
    """Serve until SIGTERM or SIGINT; two lines on stdout say where the API and the change are."""
    parser = argparse.ArgumentParser(prog="python -m kimibot.sandbox.github", description=__doc__)
    parser.add_argument("--port", type=port_number, default=0, help="0 takes a free port")
    given = parser.parse_args()
    return serve(_server(given.port), "the local GitHub", given.port)


@asynccontextmanager
async def _server(port: int) -> AsyncIterator[str]:
    async with local_github(port) as github:
        github.add(showcase())
        change = f"{github.url}/{FULL_NAME}/pull/{NUMBER}"
        yield f"local GitHub at {github.api_url}\npull request at {change}"


if __name__ == "__main__":
    sys.exit(main())
