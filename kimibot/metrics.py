"""What the bot counts and measures, in the text that Prometheus reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    Metric,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

from kimibot import __version__, errors
from kimibot.answers import Usage
from kimibot.errors import KimiError, SlackError, StorageError
from kimibot.turns import Claim, Ending, Outcome

STEPS = (
    "accepted_to_claimed",
    "accepted_to_shown",
    "shown_to_first_delta",
    "first_to_last_delta",
    "last_delta_to_kept",
    "accepted_to_kept",
)
STEP_BUCKETS = (0.01, 0.05, 0.15, 0.3, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900)
"""From what a database takes to the longest answer; the finer ones are what readers notice."""

OWN_ERRORS = frozenset({"too_old", "interrupted", "unforeseen"})
_MOST_TOKENS = 2**53

_RESULTS: tuple[tuple[type[SlackError], str], ...] = (
    (errors.RateLimited, "rate_limited"),
    (errors.BlocksRefused, "blocks_refused"),
    (errors.ReplyRefused, "reply_refused"),
    (errors.MessageGone, "message_gone"),
    (errors.NotConnected, "not_connected"),
    (errors.FateUnknown, "fate_unknown"),
)


@dataclass(frozen=True, slots=True)
class Sources:
    """Whom to ask at each look. `open_asks` may raise StorageError; without a socket, None."""

    open_asks: Callable[[], Awaitable[int]]
    live_answers: Callable[[], int]
    kimi_streams: Callable[[], int]
    is_socket_open: Callable[[], Awaitable[bool]] | None


class Metrics:
    """One for each bot, with a registry of its own.

    What it is told by the parts never raises, whatever an endpoint has made up. No label names a
    team, a channel or a person, and each has few values.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._registry = CollectorRegistry()
        self._heard_at = now()
        ProcessCollector(registry=self._registry)
        self._count_turns()
        self._count_calls()

    def _count_turns(self) -> None:
        self._turns = Counter(
            "kimibot_turns",
            "Turns that ended, by outcome and, of those that failed, by error.",
            ("outcome", "error"),
            registry=self._registry,
        )
        self._steps = Histogram(
            "kimibot_turn_step_seconds",
            "How long the steps of a turn took.",
            ("step",),
            buckets=STEP_BUCKETS,
            registry=self._registry,
        )
        self._tokens = Counter(
            "kimibot_tokens",
            "Tokens as Kimi counted them; those from its cache are prompt tokens too.",
            ("kind",),
            registry=self._registry,
        )
        for outcome in Outcome:
            if outcome is not Outcome.FAILED:
                self._turns.labels(outcome.value, "")
        for step in STEPS:
            self._steps.labels(step)

    def _count_calls(self) -> None:
        self._texts = Counter(
            "kimibot_reply_texts",
            "Texts of growing replies: shown, or skipped because a newer one was there already.",
            ("fate",),
            registry=self._registry,
        )
        self._slack_calls = Counter(
            "kimibot_slack_calls",
            "Calls of Slack's Web API by method and what became of them.",
            ("method", "result"),
            registry=self._registry,
        )
        self._kimi_errors = Counter(
            "kimibot_kimi_errors",
            "Failed requests to Kimi, and whether they were made again.",
            ("error", "retried"),
            registry=self._registry,
        )
        self._events = Counter(
            "kimibot_events", "Events that Slack has delivered.", registry=self._registry
        )

    def event_came(self) -> None:
        """Slack has delivered an event, whatever it is about."""
        self._events.inc()
        self._heard_at = self._now()

    def claimed(self, claim: Claim) -> None:
        """A worker has taken the oldest ask of a thread."""
        self._observe("accepted_to_claimed", claim.turns[0].accepted_at, self._now())

    def ended(self, claim: Claim, ending: Ending) -> None:
        """An ending is kept: that of the oldest turn; others are merged into it or stay open."""
        error = _known(ending.error_code) if ending.outcome is Outcome.FAILED else ""
        self._turns.labels(ending.outcome.value, error).inc()
        merged = len(claim.turns) - 1 - len(ending.left_open)
        self._turns.labels(Outcome.MERGED.value, "").inc(max(0, merged))
        self._observe_steps(claim, ending)
        if ending.answer is not None:
            self._add_tokens(ending.answer.usage or Usage())

    def text_shown(self, skipped: int) -> None:
        """Slack shows a text of a reply; so many older ones never went out."""
        self._texts.labels("shown").inc()
        self._texts.labels("skipped").inc(skipped)

    def slack_called(self, method: str, error: SlackError | None) -> None:
        """A call of the Web API has ended, well if there is no error."""
        self._slack_calls.labels(method, _result(error)).inc()

    def kimi_failed(self, error: KimiError, is_retried: bool) -> None:
        """A request to Kimi has failed, before or amid its answer."""
        self._kimi_errors.labels(error.name, "yes" if is_retried else "no").inc()

    async def scrape(self, sources: Sources) -> bytes:
        """All of it as text, in the format 0.0.4.

        https://prometheus.io/docs/instrumenting/exposition_formats/
        """
        gauges = [
            _gauge("live_answers", "Replies that grow in this process.", sources.live_answers()),
            _gauge("kimi_streams", "Open requests to Kimi.", sources.kimi_streams()),
            _gauge(
                "seconds_since_last_event",
                "Seconds since Slack has delivered an event, or since the start.",
                self._silent_seconds(),
            ),
            *await _asked(sources),
            InfoMetricFamily("kimibot_build", "The version that runs.", {"version": __version__}),
        ]
        return generate_latest(_Shown(self._registry, gauges))

    def _observe_steps(self, claim: Claim, ending: Ending) -> None:
        turn, kept_at = claim.turns[0], self._now()
        first, last = ending.first_delta_at, ending.last_delta_at
        if not turn.reply_ts:  # what an earlier attempt has posted was visible before
            self._observe("accepted_to_shown", turn.accepted_at, ending.shown_at)
            self._observe("shown_to_first_delta", ending.shown_at, first)
        self._observe("first_to_last_delta", first, last)
        self._observe("last_delta_to_kept", last, kept_at)
        self._observe("accepted_to_kept", turn.accepted_at, kept_at)

    def _observe(self, step: str, begin: datetime | None, end: datetime | None) -> None:
        """The clocks of two processes differ a little, and a delta may be faster than the sign."""
        if begin is not None and end is not None:
            self._steps.labels(step).observe(max(0.0, (end - begin).total_seconds()))

    def _add_tokens(self, usage: Usage) -> None:
        kinds = {
            "prompt": usage.prompt_tokens,
            "completion": usage.completion_tokens,
            "cached": usage.cached_tokens,
        }
        for kind, tokens in kinds.items():
            self._tokens.labels(kind).inc(max(0, min(tokens or 0, _MOST_TOKENS)))

    def _silent_seconds(self) -> float:
        return max(0.0, (self._now() - self._heard_at).total_seconds())


class _Shown(Collector):
    """A registry as it is shown: with the gauges, without a second series for each counter's age.

    The client's own switch for that is one for the whole process.
    """

    def __init__(self, registry: CollectorRegistry, gauges: Sequence[Metric]) -> None:
        self._registry = registry
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        for metric in self._registry.collect():
            metric.samples = [one for one in metric.samples if not one.name.endswith("_created")]
            yield metric
        yield from self._gauges


async def _asked(sources: Sources) -> list[Metric]:
    """Left out is what is not there, and what can't be told now: an old value would be wrong."""
    gauges: list[Metric] = []
    if sources.is_socket_open is not None:
        is_open = await sources.is_socket_open()
        gauges.append(_gauge("socket_open", "Whether Slack's socket is open.", is_open))
    with suppress(StorageError):
        words = "Asks without an outcome, waiting or running, in the whole database."
        gauges.append(_gauge("open_asks", words, await sources.open_asks()))
    return gauges


def _gauge(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(f"kimibot_{name}", words, value)


def _known(error_code: str) -> str:
    """The error's name if it is one of ours; Slack's own codes are many."""
    ours = {kind.name for kind in KimiError.__subclasses__()} | OWN_ERRORS
    return error_code if error_code in ours else "other"


def _result(error: SlackError | None) -> str:
    if error is None:
        return "ok"
    return next((name for kind, name in _RESULTS if isinstance(error, kind)), "refused")
