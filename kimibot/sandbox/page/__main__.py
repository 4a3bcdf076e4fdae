"""The local Slack with its page, as a process: `python -m kimibot.sandbox.page --port N`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from kimibot.sandbox.page.examples import (
    Group,
    local_examples,
    real_examples,
    review_examples,
)
from kimibot.sandbox.page.routes import open_page
from kimibot.sandbox.serving import port_number, serve
from kimibot.sandbox.slack import local_slack


def main() -> int:
    """Serve until SIGTERM or SIGINT; two lines on stdout say where Slack and its page are."""
    parser = argparse.ArgumentParser(prog="python -m kimibot.sandbox.page", description=__doc__)
    parser.add_argument(
        "--port", type=port_number, default=0, help="of the page; 0 takes a free port"
    )
    parser.add_argument("--real-kimi", action="store_true", help="suggest what needs no script")
    parser.add_argument(
        "--pull-request", metavar="URL", default="", help="suggest a review of this one"
    )
    given = parser.parse_args()
    examples = real_examples() if given.real_kimi else local_examples()
    if given.pull_request:
        examples = (review_examples(given.pull_request), *examples)
    return serve(_server(given.port, examples), "the page", given.port)


@asynccontextmanager
async def _server(port: int, examples: Sequence[Group]) -> AsyncIterator[str]:
    async with local_slack() as slack, open_page(slack, port, examples=examples) as url:
        yield f"local Slack at {slack.url}\npage at {url}"


if __name__ == "__main__":
    sys.exit(main())
