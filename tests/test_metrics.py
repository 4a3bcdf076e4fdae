"""What Prometheus is told: every turn once, honest times, and nothing that an endpoint made up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kimibot import errors
from kimibot.answers import Answer, Usage
from kimibot.errors import DatabaseUnavailable, KimiError, SlackError
from kimibot.metrics import STEPS, Metrics, Sources
from kimibot.turns import Claim, Ending, Outcome, Turn
from tests.fakes import THREAD

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
TURN = Turn("turn-1", "1.0", "U0ANA", "Ev1", 1, NOON)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def claim_of(*turns: Turn) -> Claim:
    return Claim(THREAD, 1, 1, turns or (TURN,))


ANSWERED = Ending(
    Outcome.ANSWERED,
    Answer("Four.", usage=Usage(100, 20, 80)),
    shown_at=after(0.2),
    first_delta_at=after(3.2),
    last_delta_at=after(8.2),
)


@dataclass
class Watch:
    """Metrics at a time that the test sets, and what a look at them sees."""

    at: datetime = NOON
    open_asks: int | None = 0
    is_socket_open: bool | None = True
    metrics: Metrics = field(init=False)

    def __post_init__(self) -> None:
        self.metrics = Metrics(lambda: self.at)

    async def ask_database(self) -> int:
        if self.open_asks is None:
            raise DatabaseUnavailable
        return self.open_asks

    async def ask_socket(self) -> bool:
        return bool(self.is_socket_open)

    async def text(self) -> str:
        socket = None if self.is_socket_open is None else self.ask_socket
        return (
            await self.metrics.scrape(Sources(self.ask_database, lambda: 2, lambda: 1, socket))
        ).decode()

    async def value(self, name: str, **labels: str) -> float | None:
        """Of one series; None if it is not there."""
        for family in text_string_to_metric_families(await self.text()):
            for sample in family.samples:
                if sample.name == f"kimibot_{name}" and sample.labels == labels:
                    return sample.value
        return None

    async def step(self, name: str) -> tuple[float | None, float | None]:
        """How often it was measured, and how long it took in all."""
        count = await self.value("turn_step_seconds_count", step=name)
        total = await self.value("turn_step_seconds_sum", step=name)
        return count, total and round(total, 6)


async def test_an_answered_turn_is_counted_with_each_of_its_steps() -> None:
    watch = Watch(at=after(0.05))
    watch.metrics.claimed(claim_of())
    watch.at = after(9.2)
    watch.metrics.ended(claim_of(), ANSWERED)

    assert await watch.value("turns_total", outcome="answered", error="") == 1
    assert {step: await watch.step(step) for step in STEPS} == {
        "accepted_to_claimed": (1, 0.05),
        "accepted_to_shown": (1, 0.2),
        "shown_to_first_delta": (1, 3.0),
        "first_to_last_delta": (1, 5.0),
        "last_delta_to_kept": (1, 1.0),
        "accepted_to_kept": (1, 9.2),
    }


async def test_turns_that_were_answered_together_are_one_answer_and_the_rest_merged() -> None:
    watch = Watch()
    watch.metrics.ended(claim_of(TURN, replace(TURN, id="b"), replace(TURN, id="c")), ANSWERED)

    assert await watch.value("turns_total", outcome="answered", error="") == 1
    assert await watch.value("turns_total", outcome="merged", error="") == 2


async def test_a_turn_that_is_left_open_is_not_counted_yet() -> None:
    watch = Watch()
    turns = TURN, replace(TURN, id="b"), replace(TURN, id="c")
    watch.metrics.ended(claim_of(*turns), Ending(Outcome.STOPPED, left_open=("c",)))

    assert await watch.value("turns_total", outcome="stopped", error="") == 1
    assert await watch.value("turns_total", outcome="merged", error="") == 1


@pytest.mark.parametrize(
    ("code", "error"),
    [("key_refused", "key_refused"), ("too_old", "too_old"), ("is_archived", "other")],
)
async def test_a_failed_turn_is_counted_under_its_error_and_slacks_codes_as_one(
    code: str, error: str
) -> None:
    watch = Watch()
    watch.metrics.ended(claim_of(), Ending(Outcome.FAILED, error_code=code))

    assert await watch.value("turns_total", outcome="failed", error=error) == 1


async def test_a_turn_without_a_delta_has_no_times_of_deltas() -> None:
    watch = Watch()
    watch.metrics.ended(claim_of(), Ending(Outcome.FAILED, shown_at=after(1)))

    assert await watch.step("first_to_last_delta") == (0, 0)
    assert await watch.step("last_delta_to_kept") == (0, 0)


async def test_what_an_earlier_attempt_has_shown_is_not_measured_again() -> None:
    watch = Watch(at=after(60))
    again = replace(TURN, attempt=2, reply_ts=("1.5",))
    watch.metrics.ended(claim_of(again), ANSWERED)

    assert await watch.step("accepted_to_shown") == (0, 0)
    assert await watch.step("accepted_to_kept") == (1, 60)


async def test_clocks_that_differ_make_no_negative_times() -> None:
    watch = Watch(at=after(-5))
    watch.metrics.claimed(claim_of())

    assert await watch.step("accepted_to_claimed") == (1, 0)


async def test_tokens_are_added_up_by_kind() -> None:
    watch = Watch()
    for _ in range(2):
        watch.metrics.ended(claim_of(), ANSWERED)

    kinds = ("prompt", "completion", "cached")
    assert [await watch.value("tokens_total", kind=kind) for kind in kinds] == [200, 40, 160]


async def test_counts_that_an_endpoint_made_up_do_no_harm() -> None:
    watch = Watch()
    for usage in (Usage(-7, 10**400, None), Usage(3, 4, 5)):
        watch.metrics.ended(claim_of(), replace(ANSWERED, answer=Answer("", usage=usage)))

    assert await watch.value("tokens_total", kind="prompt") == 3
    assert await watch.value("tokens_total", kind="completion") == 2**53 + 4


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (None, "ok"),
        (errors.RateLimited("chat.update", 1.0), "rate_limited"),
        (errors.BlocksRefused("chat.update", "invalid_blocks"), "blocks_refused"),
        (errors.ReplyRefused("chat.update", "is_archived"), "reply_refused"),
        (errors.MessageGone("chat.update", "message_not_found"), "message_gone"),
        (errors.NotConnected("chat.update", "ClientConnectorError"), "not_connected"),
        (errors.FateUnknown("chat.update", "TimeoutError"), "fate_unknown"),
        (SlackError("chat.update", "whatever"), "refused"),
    ],
)
async def test_a_call_of_slack_is_counted_by_method_and_by_what_became_of_it(
    error: SlackError | None, result: str
) -> None:
    watch = Watch()
    watch.metrics.slack_called("chat.update", error)

    assert await watch.value("slack_calls_total", method="chat.update", result=result) == 1


def test_every_kind_of_slack_error_is_told_apart() -> None:
    kinds = {kind.__name__ for kind in SlackError.__subclasses__()}

    assert kinds == {
        "RateLimited",
        "BlocksRefused",
        "ReplyRefused",
        "MessageGone",
        "NotConnected",
        "FateUnknown",
    }


async def test_texts_that_were_overtaken_are_counted_beside_those_shown() -> None:
    watch = Watch()
    watch.metrics.text_shown(skipped=4)
    watch.metrics.text_shown(skipped=0)

    assert await watch.value("reply_texts_total", fate="shown") == 2
    assert await watch.value("reply_texts_total", fate="skipped") == 4


async def test_failures_of_kimi_are_counted_by_name_and_whether_they_were_retried() -> None:
    watch = Watch()
    watch.metrics.kimi_failed(errors.Busy(), True)
    watch.metrics.kimi_failed(errors.Busy(), False)

    for retried in ("yes", "no"):
        assert await watch.value("kimi_errors_total", error="busy", retried=retried) == 1


async def test_silence_is_counted_from_the_last_event_and_before_it_from_the_start() -> None:
    watch = Watch(at=NOON)
    watch.at = after(40)
    silent_at_first = await watch.value("seconds_since_last_event")
    watch.metrics.event_came()
    watch.at = after(47)

    assert silent_at_first == 40
    assert await watch.value("seconds_since_last_event") == 7
    assert await watch.value("events_total") == 1


async def test_a_look_tells_how_things_stand_now() -> None:
    watch = Watch(open_asks=3)

    assert await watch.value("open_asks") == 3
    assert await watch.value("live_answers") == 2
    assert await watch.value("kimi_streams") == 1
    assert await watch.value("socket_open") == 1


async def test_a_database_that_is_away_leaves_one_figure_out_and_the_rest_there() -> None:
    watch = Watch(open_asks=None, is_socket_open=False)

    assert await watch.value("open_asks") is None
    assert await watch.value("socket_open") == 0


async def test_without_a_socket_nothing_is_said_of_one() -> None:
    assert await Watch(is_socket_open=None).value("socket_open") is None


async def test_outcomes_and_steps_are_there_before_the_first_turn() -> None:
    watch = Watch()

    for outcome in ("answered", "merged", "stopped", "refused"):
        assert await watch.value("turns_total", outcome=outcome, error="") == 0
    assert await watch.step("accepted_to_kept") == (0, 0)


async def test_no_series_tells_of_the_age_of_another() -> None:
    watch = Watch()
    watch.metrics.ended(claim_of(), ANSWERED)

    assert "_created" not in await watch.text()


async def test_two_bots_in_one_process_count_apart() -> None:
    one, other = Watch(), Watch()
    one.metrics.event_came()

    assert await other.value("events_total") == 0


def test_every_error_of_kimi_has_a_name_of_its_own() -> None:
    names = [kind.name for kind in KimiError.__subclasses__()]

    assert len(set(names)) == len(names)
