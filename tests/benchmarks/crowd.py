"""Many answers at once in one workspace at Slack's limits, through the real bot.

    python -m tests.benchmarks.crowd [ANSWERS CHANNELS]

An answer is 1,000 words at 50 a second after 5 s of reasoning; asks come 0.2 s apart. Takes three
minutes.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from statistics import fmean

import uvloop

from tests.benchmarks.answers import Pace, Seen, ack_seconds, ask_many, look_back, open_channels
from tests.benchmarks.figures import Figure, milliseconds, percentile, report
from tests.benchmarks.stage import BOT, Stage, open_stage

LOADS = ((20, 5), (50, 10))
ASK_EVERY_SECONDS = 0.2
MOST_SECONDS = 300.0

LAG_P50 = {20: 2.0}
LAG_P95 = {20: 5.0, 50: 10.0}
"""Seconds, by the number of answers."""

UNSEEN_WORDS_OF_EDITS_ALONE = {20: 155.0, 50: 251.0}
"""The best that could be had by edits alone, with every edit at its best moment."""


async def load(answers: int, channels: int) -> None:
    """One crowd, with a fresh bot and a Slack whose bursts are whole."""
    async with open_stage() as stage:
        names = await open_channels(stage, channels)
        before = stage.usage(BOT).cpu_seconds
        asks = await ask_many(stage, range(answers), names, Pace(), ASK_EVERY_SECONDS)
        await stage.until_ended(answers, MOST_SECONDS)
        cpu_seconds = stage.usage(BOT).cpu_seconds - before
        await stage.slack.at_rest()
        seen = await look_back(stage, asks)
        cpu = Figure("CPU of the bot an answer", 1000 * cpu_seconds / answers, "ms")
        rows = [*readers(seen), *await calls(stage, seen), cpu]
        report(f"{answers} answers in {channels} channels", rows)


def readers(seen: Sequence[Seen]) -> list[Figure]:
    """What it was like for those who read."""
    answers, complete = len(seen), [one for one in seen if one.is_complete]
    lags = [one.lag_seconds for one in complete] or [float("inf")]
    first = [one.first_words_seconds for one in complete] or [float("inf")]
    bound = UNSEEN_WORDS_OF_EDITS_ALONE.get(answers, float("nan"))
    return [
        Figure("complete and right", len(complete), "answers", answers, is_least=True),
        Figure("last word → all visible, p50", percentile(lags, 50), "s", LAG_P50.get(answers)),
        Figure("last word → all visible, p95", percentile(lags, 95), "s", LAG_P95.get(answers)),
        Figure("last word → all visible, longest", max(lags), "s"),
        Figure("first word → visible, p50", percentile(first, 50), "s"),
        Figure("first word → visible, p95", percentile(first, 95), "s"),
        Figure("unseen while it writes, mean", fmean(s.unseen_words for s in seen), "words"),
        Figure("  the least that edits alone could reach", bound, "words"),
    ]


async def calls(stage: Stage, seen: Sequence[Seen]) -> list[Figure]:
    """What it took, and whether Slack had to wait for us or we for Slack."""
    signs = [one.sign_seconds for one in seen]
    edits = await stage.slack.calls("chat.update")
    return [
        Figure("429s", (await stage.slack.counters()).rate_limited, "calls", 0),
        Figure("event → ack, p95", milliseconds(await ack_seconds(stage), 95), "ms", 50),
        Figure("event → first visible sign, p95", milliseconds(signs, 95), "ms", 300),
        Figure("parts an answer", fmean(one.parts for one in seen), "parts"),
        Figure("edits an answer", len(edits) / len(seen), "calls"),
    ]


def main(arguments: Sequence[str]) -> None:
    loads = [(int(arguments[0]), int(arguments[1]))] if arguments else LOADS
    for answers, channels in loads:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(load(answers, channels))


if __name__ == "__main__":
    main(sys.argv[1:])
