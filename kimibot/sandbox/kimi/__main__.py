"""The local Kimi as a process: `python -m kimibot.sandbox.kimi --port 4010`; SIGTERM ends it."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence

from kimibot.sandbox.kimi.dialect import Dialect
from kimibot.sandbox.kimi.endpoint import KimiOptions
from kimibot.sandbox.kimi.plan import Pace
from kimibot.sandbox.kimi.server import local_kimi


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGTERM or SIGINT. Prints the base URL on one line once it is ready."""
    asked = _parser().parse_args(arguments)
    options = KimiOptions(
        pace=Pace(asked.words_per_second, asked.reasoning_seconds),
        speed=asked.speed,
        dialect=Dialect(asked.dialect),
    )
    asyncio.run(_serve(asked.port, options))


async def _serve(port: int, options: KimiOptions) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with local_kimi(port, options=options) as kimi:
        sys.stdout.write(f"local Kimi at {kimi.base_url}\n")
        sys.stdout.flush()
        await ended.wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kimibot.sandbox.kimi", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--words-per-second", type=float, default=Pace().words_per_second)
    parser.add_argument("--reasoning-seconds", type=float, default=Pace().reasoning_seconds)
    parser.add_argument("--speed", type=float, default=1.0, help="divides every wait")
    parser.add_argument("--dialect", choices=[dialect.value for dialect in Dialect],
                        default=Dialect.ACEDATA.value, help="whose JSON is spoken")  # fmt: skip
    return parser


if __name__ == "__main__":
    main()
