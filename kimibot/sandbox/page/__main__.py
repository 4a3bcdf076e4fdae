"""The local Slack with its page, as a process: `python -m kimibot.sandbox.page --port N`."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys

from kimibot.sandbox.page.examples import local_examples, real_examples
from kimibot.sandbox.page.routes import open_page
from kimibot.sandbox.slack import local_slack


def main() -> None:
    """Serve until SIGTERM or SIGINT; two lines on stdout say where Slack and its page are."""
    parser = argparse.ArgumentParser(prog="python -m kimibot.sandbox.page", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="of the page; 0 takes a free port")
    parser.add_argument("--real-kimi", action="store_true", help="suggest what needs no script")
    given = parser.parse_args()
    asyncio.run(_serve(given.port, given.real_kimi))


async def _serve(port: int, is_real: bool) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    examples = real_examples() if is_real else local_examples()
    async with local_slack() as slack, open_page(slack, port, examples=examples) as url:
        sys.stdout.write(f"local Slack at {slack.url}\npage at {url}\n")
        sys.stdout.flush()
        await ended.wait()


if __name__ == "__main__":
    main()
