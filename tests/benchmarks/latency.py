"""How soon the bot acknowledges, shows a sign, shows the first words and shows the last.

    python -m tests.benchmarks.latency

The local Slack takes 30 ms a call, which every figure but the acknowledgement includes, and has
Slack's limits. Takes four minutes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import uvloop

from tests.benchmarks.answers import Pace, Seen, ack_seconds, ask_many, look_back, open_channels
from tests.benchmarks.figures import Figure, milliseconds, report
from tests.benchmarks.stage import Stage, open_stage

WHOLE = Pace()
SHORT = Pace(words=20, words_a_second=200.0, reasoning_seconds=0.0)

CALM_ASKS, CALM_ASK_EVERY_SECONDS = 30, 1.0
WHOLE_ANSWERS = 3
LIVE_ANSWERS, LIVE_CHANNELS, LIVE_ASK_EVERY_SECONDS = 50, 10, 0.2
MOST_SECONDS = 300.0


async def calm() -> None:
    """One short ask a second: nothing waits for anything."""
    async with open_stage() as stage:
        channels = await open_channels(stage, 3)
        asks = await ask_many(stage, range(CALM_ASKS), channels, SHORT, CALM_ASK_EVERY_SECONDS)
        await stage.until_ended(CALM_ASKS, MOST_SECONDS)
        seen = await look_back(stage, asks)
        report("A calm workspace", await signs(stage, seen))


async def one_answer() -> None:
    """Whole answers, one after the other."""
    async with open_stage() as stage:
        [channel] = await open_channels(stage, 1)
        asks = []
        for number in range(WHOLE_ANSWERS):
            asks += await ask_many(stage, [number], [channel], WHOLE, 0.0)
            await stage.until_ended(number + 1, MOST_SECONDS)
        seen = await look_back(stage, asks)
        report(f"One answer at a time, the worst of {WHOLE_ANSWERS}", await words(stage, seen))


async def among_live_answers() -> None:
    """Asks that come while 50 answers grow; the growing ones are not counted."""
    async with open_stage() as stage:
        channels = await open_channels(stage, LIVE_CHANNELS)
        numbers = range(LIVE_ANSWERS)
        await ask_many(stage, numbers, channels, WHOLE, LIVE_ASK_EVERY_SECONDS)
        late = range(LIVE_ANSWERS, LIVE_ANSWERS + 20)
        asks = await ask_many(stage, late, channels, SHORT, 0.25)
        live = await stage.kimi.open_streams()
        await stage.until_ended(LIVE_ANSWERS + len(late), MOST_SECONDS)
        seen = await look_back(stage, asks)
        report(f"Among {live} live answers", await signs(stage, seen))


async def signs(stage: Stage, seen: Sequence[Seen]) -> list[Figure]:
    acks, sign = await ack_seconds(stage), [one.sign_seconds for one in seen]
    return [
        Figure("event → ack, p50", milliseconds(acks, 50), "ms"),
        Figure("event → ack, p95", milliseconds(acks, 95), "ms", 50),
        Figure("event → first visible sign, p50", milliseconds(sign, 50), "ms"),
        Figure("event → first visible sign, p95", milliseconds(sign, 95), "ms", 300),
        await _refused(stage),
    ]


async def words(stage: Stage, seen: Sequence[Seen]) -> list[Figure]:
    first = max(one.first_words_seconds for one in seen)
    last = max(one.lag_seconds for one in seen)
    unseen = max(one.unseen_words for one in seen)
    complete = sum(one.is_complete for one in seen)
    return [
        Figure("complete and right", complete, "answers", len(seen), is_least=True),
        Figure("first word → visible", 1000 * first, "ms", 150),
        Figure("last word → all visible", 1000 * last, "ms", 150),
        Figure("unseen while it writes, mean", unseen, "words"),
        await _refused(stage),
    ]


async def _refused(stage: Stage) -> Figure:
    return Figure("429s", (await stage.slack.counters()).rate_limited, "calls", 0)


def main() -> None:
    for scene in (calm, one_answer, among_live_answers):
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(scene())


if __name__ == "__main__":
    main()
