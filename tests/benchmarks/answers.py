"""Scripted answers to many asks, and what became of each: when it was written, when it was seen."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from kimibot.sandbox.slack import Call
from tests.benchmarks.stage import Stage
from tests.whole_way.scene import Fields, body

SHOWING = ("chat.postMessage", "chat.update")
VOCABULARY = [
    "the",
    "bot",
    "reads",
    "a",
    "thread",
    "and",
    "writes",
    "what",
    "it",
    "has",
    "found",
    "in",
    "small",
    "and",
    "plain",
    "words",
]
WORDS_A_SENTENCE, WORDS_A_PARAGRAPH = 12, 72


@dataclass(frozen=True, slots=True)
class Pace:
    """How an answer is written: its words at a steady pace, after some seconds of reasoning."""

    words: int = 1_000
    words_a_second: float = 50.0
    reasoning_seconds: float = 5.0

    @property
    def seconds(self) -> float:
        return self.reasoning_seconds + self.words / self.words_a_second


@dataclass(frozen=True, slots=True)
class Ask:
    """A mention in a channel, with the mark by which its answer is known."""

    number: int
    channel: str
    ts: str
    mark: str
    text: str


@dataclass(slots=True)
class Seen:
    """What became of an ask; times in seconds since the epoch.

    `written` are the times of the words, `shown` those of the calls with how many words the
    thread showed from then on.
    """

    ask: Ask
    written: list[float] = field(default_factory=list)
    shown: list[tuple[float, int]] = field(default_factory=list)
    parts: int = 0
    is_complete: bool = False

    @property
    def sign_seconds(self) -> float:
        """From the ask to the first visible sign."""
        return self.shown[0][0] - float(self.ask.ts)

    @property
    def first_words_seconds(self) -> float:
        """From the first written word to the first visible one."""
        return next(at for at, words in self.shown if words) - self.written[0]

    @property
    def lag_seconds(self) -> float:
        """From the last written word until all are visible."""
        whole = len(self.written)
        return next(at for at, words in self.shown if words >= whole) - self.written[-1]

    @property
    def unseen_words(self) -> float:
        """How many written words were not visible, on average while the model wrote."""
        times = [at for at, _ in self.shown]
        seen = (bisect_right(times, at) - 1 for at in self.written)
        visible = [self.shown[index][1] if index >= 0 else 0 for index in seen]
        return fmean(n - words for n, words in enumerate(visible, 1))


def words_of(number: int, pace: Pace) -> list[str]:
    """The words of an answer, each with the blank after it; joined they are its text."""
    return [_word(number, at) for at in range(pace.words)]


async def ask(stage: Stage, number: int, channel: str, pace: Pace) -> Ask:
    """Give Kimi its answer and ask for it."""
    words, mark = words_of(number, pace), f"question-{number};"
    await stage.kimi.play(_chunks(words, pace), where=mark)
    ts = await stage.slack.say("ana", channel, f"@kimibot {mark}")
    return Ask(number, channel, ts, mark, "".join(words))


async def ask_many(
    stage: Stage, numbers: Iterable[int], channels: Sequence[str], pace: Pace, every_seconds: float
) -> list[Ask]:
    """One ask after the other, over the channels in turn, at a steady pace."""
    now = asyncio.get_running_loop().time
    asks, due = [], now()
    for number in numbers:
        await asyncio.sleep(max(0.0, due - now()))
        asks.append(await ask(stage, number, channels[number % len(channels)], pace))
        due += every_seconds
    return asks


async def open_channels(stage: Stage, count: int) -> list[str]:
    """The ids of so many channels with the bot in them."""
    return [await stage.slack.open_channel(f"crowd-{number}") for number in range(count)]


async def look_back(stage: Stage, asks: Sequence[Ask]) -> list[Seen]:
    """What became of the asks, once all have ended."""
    found = {one.ts: Seen(one) for one in asks}
    _add_written(found.values(), await stage.kimi.requests())
    calls = [call for method in SHOWING for call in await stage.slack.calls(method)]
    _add_shown(found, sorted(calls, key=_applied_at))
    for one in found.values():
        thread = await stage.slack.thread(one.ask.channel, one.ask.ts)
        _judge(one, [message for message in thread if message.get("bot_id")])
    return list(found.values())


async def ack_seconds(stage: Stage) -> list[float]:
    """How long each delivered event took to be acknowledged; what never was, infinitely long."""
    deliveries = await stage.slack.deliveries()
    return [float("inf") if one.ack_seconds is None else one.ack_seconds for one in deliveries]


def _word(number: int, at: int) -> str:
    word = f"n{number}-{at}" if at % 10 == 0 else VOCABULARY[at % len(VOCABULARY)]
    stop = "." if (at + 1) % WORDS_A_SENTENCE == 0 else ""
    return word + stop + ("\n\n" if (at + 1) % WORDS_A_PARAGRAPH == 0 else " ")


def _chunks(words: Sequence[str], pace: Pace) -> list[dict[str, Any]]:
    """Reasoning comes at the same pace as words do."""
    wait_seconds = 1 / pace.words_a_second
    thoughts = round(pace.reasoning_seconds * pace.words_a_second)
    reasoning = [{"reasoning": "thinking ", "wait_seconds": wait_seconds}] * thoughts
    return reasoning + [{"content": word, "wait_seconds": wait_seconds} for word in words]


def _add_written(found: Iterable[Seen], requests: Sequence[Mapping[str, Any]]) -> None:
    """Kimi notes the monotonic time, which is the same for all processes of a machine."""
    epoch = time.time() - time.monotonic()
    for one in found:
        ours = next(request for request in requests if one.ask.mark in _last_ask(request))
        one.written = [epoch + at for at in ours["content_times"]]


def _last_ask(request: Mapping[str, Any]) -> str:
    return str(request["body"]["messages"][-1]["content"])


def _add_shown(found: Mapping[str, Seen], calls: Iterable[Call]) -> None:
    thread_of: dict[str, str] = {}
    words_in: dict[str, dict[str, int]] = {ts: {} for ts in found}
    for call in calls:
        if not call.answer.get("ok"):
            continue
        ts = str(call.answer["ts"])
        root = thread_of.setdefault(ts, str(call.arguments.get("thread_ts", "")))
        if root in found:
            words_in[root][ts] = len(body(call.arguments).split())
            found[root].shown.append((_applied_at(call), sum(words_in[root].values())))


def _applied_at(call: Call) -> float:
    return call.at + call.seconds


def _judge(one: Seen, replies: Sequence[Fields]) -> None:
    shown = " ".join(body(reply) for reply in replies)
    one.parts = len(replies)
    one.is_complete = shown.split() == one.ask.text.split()
