"""How long readers wait when many answers grow at once: the real pacing, on a clock that jumps.

    python -m tests.benchmarks.pacing

Each answer is 1,000 words at 50 a second after 5 s of thinking; a call to Slack takes 30 ms. Slack
allows 50 edits a minute with a burst of 25, and a post a second and channel with a burst of 4.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from kimibot.budget import Bucket, Budget
from kimibot.conversation import Thread
from kimibot.errors import RateLimited
from kimibot.pacing import Pacing, now
from kimibot.reply.live_reply import LiveReply
from kimibot.reply.parts import ReplyTo
from kimibot.views import View
from tests.benchmarks.figures import Figure, percentile, report
from tests.fakes import SplitEvery, at_once, forget, sign
from tests.virtual_time import VirtualTimeLoop

WORDS = 1_000
WORDS_A_SECOND = 50
THINKING_SECONDS = 5.0
ASK_EVERY_SECONDS = 0.2
LATENCY_SECONDS = 0.03
WORD = "word "
SLACK_EDITS = Budget(rate_per_second=50 / 60, burst=25, start=25)
SLACK_POSTS = Budget(rate_per_second=1.0, burst=4, start=4)


@dataclass
class Slack:
    """Counts what it would have refused, and what readers see."""

    edits: Bucket = field(default_factory=lambda: Bucket(SLACK_EDITS, SLACK_EDITS.start, now()))
    posts: dict[str, Bucket] = field(default_factory=dict)
    refused: int = 0
    calls: int = 0
    shown: dict[Thread, dict[str, int]] = field(default_factory=dict)

    async def post(self, thread: Thread, view: View, turn_id: str, part: int) -> str:
        channel = thread.channel
        bucket = self.posts.setdefault(channel, Bucket(SLACK_POSTS, SLACK_POSTS.start, now()))
        await self._call("chat.postMessage", bucket)
        ts = f"{now():.6f}-{part}"
        self._show(thread, ts, view)
        return ts

    async def edit(self, thread: Thread, ts: str, view: View) -> None:
        await self._call("chat.update", self.edits)
        self._show(thread, ts, view)

    async def delete(self, thread: Thread, ts: str) -> None:
        self.calls += 1
        await asyncio.sleep(LATENCY_SECONDS)
        del self.shown[thread][ts]

    async def find(self, thread: Thread, turn_id: str) -> Sequence[str]:
        raise AssertionError("no response is lost")

    def words(self, thread: Thread) -> int:
        return sum(self.shown.get(thread, {}).values())

    def _show(self, thread: Thread, ts: str, view: View) -> None:
        self.shown.setdefault(thread, {})[ts] = view.body.count(WORD)

    async def _call(self, method: str, bucket: Bucket) -> None:
        self.calls += 1
        await asyncio.sleep(LATENCY_SECONDS)
        if bucket.free(now()) < 1:
            self.refused += 1
            raise RateLimited(method, 30)
        bucket.take(now())


@dataclass
class Figures:
    """What one answer was like for its readers."""

    lag_seconds: list[float] = field(default_factory=list)
    unseen_words: list[float] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)


async def answer(slack: Slack, pacing: Pacing, thread: Thread, figures: Figures) -> None:
    samples: list[int] = []
    async with LiveReply(
        ReplyTo(thread, "turn", on_posted=forget, sure=at_once),
        messages=slack,
        pacing=pacing,
        splitter=SplitEvery(1_000_000),
        sign=sign,
    ) as reply:
        await asyncio.sleep(THINKING_SECONDS)
        for words in range(1, WORDS + 1):
            await asyncio.sleep(1 / WORDS_A_SECOND)
            reply.show(WORD * words)
            samples.append(words - slack.words(thread))
        ended_at = now()
        await reply.finish(WORD * WORDS)
        figures.lag_seconds.append(now() - ended_at)
    figures.unseen_words.append(statistics.mean(samples))
    figures.parts.append(len(reply.reply_ts))


@dataclass(frozen=True, slots=True)
class Crowd:
    """What a load was like, for its readers and for Slack."""

    lag_p50_seconds: float
    lag_p95_seconds: float
    unseen_words: float
    parts: float
    calls: int
    refused: int


async def load(answers: int, channels: int, rested_seconds: float) -> Crowd:
    """So many answers at once, by a bot that has rested or has just been started."""
    slack, pacing, figures = Slack(), Pacing(), Figures()
    pacing.reconsider("chat.update")
    await asyncio.sleep(rested_seconds)
    tasks = []
    for number in range(answers):
        thread = Thread("T", f"C{number % channels}", str(number))
        tasks.append(asyncio.create_task(answer(slack, pacing, thread, figures)))
        await asyncio.sleep(ASK_EVERY_SECONDS)
    await asyncio.gather(*tasks)
    return Crowd(
        lag_p50_seconds=percentile(figures.lag_seconds, 50),
        lag_p95_seconds=percentile(figures.lag_seconds, 95),
        unseen_words=statistics.mean(figures.unseen_words),
        parts=statistics.mean(figures.parts),
        calls=slack.calls,
        refused=slack.refused,
    )


def simulate(answers: int, channels: int, rested_seconds: float = 60.0) -> Crowd:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(load(answers, channels, rested_seconds))


def main() -> None:
    for rested_seconds in (60.0, 0.0):
        for answers, channels in ((1, 1), (3, 1), (20, 5), (50, 10)):
            crowd = simulate(answers, channels, rested_seconds)
            when = "after a rest" if rested_seconds else "at a start"
            rows = [
                Figure("last word → all visible, p50", crowd.lag_p50_seconds, "s", 2.0),
                Figure("last word → all visible, p95", crowd.lag_p95_seconds, "s"),
                Figure("unseen while it writes, mean", crowd.unseen_words, "words"),
                Figure("parts an answer", crowd.parts, "parts"),
                Figure("429s", crowd.refused, "calls", 0),
            ]
            report(f"simulated: {answers} answers {when}", rows)


if __name__ == "__main__":
    main()
