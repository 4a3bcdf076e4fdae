"""The local Kimi as a process: `python -m kimibot.sandbox.kimi --port 4010`; SIGTERM ends it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from kimibot.sandbox.kimi.dialect import Dialect
from kimibot.sandbox.kimi.endpoint import KimiOptions
from kimibot.sandbox.kimi.plan import Pace
from kimibot.sandbox.kimi.server import local_kimi
from kimibot.sandbox.serving import port_number, serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT. Prints the base URL on one line once it is ready."""
    asked = _parser().parse_args(arguments)
    options = KimiOptions(
        pace=Pace(asked.words_per_second, asked.reasoning_seconds),
        speed=asked.speed,
        dialect=Dialect(asked.dialect),
    )
    return serve(_server(asked.port, options), "the local Kimi", asked.port)


@asynccontextmanager
async def _server(port: int, options: KimiOptions) -> AsyncIterator[str]:
    async with local_kimi(port, options=options) as kimi:
        yield f"local Kimi at {kimi.base_url}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kimibot.sandbox.kimi", description=__doc__)
    parser.add_argument("--port", type=port_number, default=0, help="0 takes a free port")
    parser.add_argument("--words-per-second", type=float, default=Pace().words_per_second)
    parser.add_argument("--reasoning-seconds", type=float, default=Pace().reasoning_seconds)
    parser.add_argument("--speed", type=float, default=1.0, help="divides every wait")
    parser.add_argument("--dialect", choices=[dialect.value for dialect in Dialect],
                        default=Dialect.ACEDATA.value, help="whose JSON is spoken")  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
