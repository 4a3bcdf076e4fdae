"""What a turn costs when Slack has no limits, and what many open streams cost in memory.

    python -m tests.benchmarks.throughput

200 short answers come at once, every turn stored in several transactions: on SQLite each of them
is on the disk before the next step, the PostgreSQL here does not wait for its disk. Two minutes.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from time import monotonic

import uvloop

from tests.benchmarks.answers import Ask, Pace, ask_many, look_back, open_channels
from tests.benchmarks.figures import Figure, report
from tests.benchmarks.stage import BOT, KIMI, SLACK, UNPACED, Stage, open_stage
from tests.postgres import some_postgres

ASKS, CHANNELS = 200, 10
INSTANT = Pace(words=20, words_a_second=1e6, reasoning_seconds=0.0)
NO_LIMITS = {"rate_limits": False}

STREAMS = 500
SLOW = Pace(words=100, words_a_second=1.0, reasoning_seconds=5.0)
"""Words of 500 answers together are then as many a second as those of ten usual ones."""

HELD_SECONDS = 15.0
MOST_SECONDS = 120.0


async def turns(database: str, database_url: str | None = None) -> None:
    """All asks are delivered at the same moment; from then on it counts."""
    stage_of = open_stage(bot=UNPACED, slack=NO_LIMITS, database_url=database_url)
    async with stage_of as stage:
        asks = await _hold_asks(stage, INSTANT, ASKS)
        before = {name: stage.usage(name).cpu_seconds for name in stage.processes}
        began = monotonic()
        await stage.slack.resume_delivery()
        await stage.until_ended(ASKS, MOST_SECONDS)
        seconds = monotonic() - began
        cpu = {name: stage.usage(name).cpu_seconds - before[name] for name in before}
        complete = sum(one.is_complete for one in await look_back(stage, asks))
        report(f"{ASKS} instant answers on {database}", _turns(complete, seconds, cpu))


async def streams() -> None:
    """So many answers are being streamed at the same time, at Slack's limits."""
    async with open_stage(KIMI_CONCURRENCY=str(STREAMS), KIMIBOT_DRAIN_SECONDS="0") as stage:
        at_rest = stage.usage(BOT)
        await _hold_asks(stage, SLOW, STREAMS)
        await stage.slack.resume_delivery()
        await stage.until_streaming(STREAMS, MOST_SECONDS)
        await asyncio.sleep(HELD_SECONDS)
        open_streams = await stage.kimi.open_streams()
        usage = stage.usage(BOT)
        report(
            f"{open_streams} streams open at once",
            [
                Figure("memory of the bot before", at_rest.resident_mb, "MB"),
                Figure("memory of the bot with all streams open", usage.resident_mb, "MB", 200),
                Figure("  at its most", usage.peak_mb, "MB"),
                Figure("429s", (await stage.slack.counters()).rate_limited, "calls", 0),
            ],
        )


async def _hold_asks(stage: Stage, pace: Pace, count: int) -> list[Ask]:
    """Said, but not yet delivered."""
    channels = await open_channels(stage, CHANNELS)
    await stage.slack.pause_delivery()
    return await ask_many(stage, range(count), channels, pace, 0.0)


def _turns(complete: int, seconds: float, cpu: dict[str, float]) -> list[Figure]:
    return [
        Figure("complete and right", complete, "answers", ASKS, is_least=True),
        Figure("turns a second", ASKS / seconds, "", 40, is_least=True),
        Figure("CPU of the bot a turn", 1000 * cpu[BOT] / ASKS, "ms", 25),
        Figure("CPU of the local Slack a turn", 1000 * cpu[SLACK] / ASKS, "ms"),
        Figure("CPU of the local Kimi a turn", 1000 * cpu[KIMI] / ASKS, "ms"),
        Figure("cores that the bot kept busy", cpu[BOT] / seconds, ""),
    ]


def main() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(turns("SQLite"))
    with ExitStack() as stack:
        url = stack.enter_context(some_postgres()).new_database()
        runner = stack.enter_context(asyncio.Runner(loop_factory=uvloop.new_event_loop))
        runner.run(turns("PostgreSQL", url))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(streams())


if __name__ == "__main__":
    main()
