"""When a try is made again, and after how long."""

from __future__ import annotations

import pytest

from kimibot.answers import Retry
from kimibot.errors import (
    AccountExhausted,
    Busy,
    CutOff,
    KeyRefused,
    KimiError,
    ModelNotFound,
    NoFirstEvent,
    RequestRefused,
    ServerFault,
    TooSlow,
    Unreachable,
)
from kimibot.kimi.retrying import Failed, RetryPolicy


def wait_after(
    error: KimiError,
    *,
    tries: int = 1,
    try_seconds: float = 0.0,
    all_seconds: float = 0.0,
    max_retries: int = 3,
    luck: float = 0.0,
) -> float | None:
    policy = RetryPolicy(max_retries, 60, lambda: luck)
    retry = policy.next(Failed(error, tries, try_seconds, all_seconds))
    return retry.wait_seconds if retry else None


def busy(retry_after_seconds: float | None) -> Busy:
    error = Busy()
    error.retry_after_seconds = retry_after_seconds
    return error


@pytest.mark.parametrize("kind", [Busy, ServerFault, Unreachable])
def test_a_failure_that_may_pass_is_retried(kind: type[KimiError]) -> None:
    assert wait_after(kind()) is not None
    assert wait_after(kind(), max_retries=0) is None


@pytest.mark.parametrize(
    "kind",
    [KeyRefused, AccountExhausted, RequestRefused, ModelNotFound, NoFirstEvent, CutOff, TooSlow],
)
def test_a_failure_that_stays_is_not_retried(kind: type[KimiError]) -> None:
    assert wait_after(kind()) is None


def test_waits_double_up_to_their_limit() -> None:
    waits = [wait_after(ServerFault(), tries=tries, max_retries=9) for tries in range(1, 8)]

    assert waits == [0.5, 1, 2, 4, 8, 8, 8]


def test_an_overload_is_given_twice_the_time() -> None:
    assert [wait_after(Busy(), tries=tries) for tries in (1, 2, 3, 4)] == [1, 2, 4, None]


def test_luck_only_ever_lengthens_a_wait() -> None:
    assert wait_after(busy(10), luck=1.0) == 12.5
    assert wait_after(busy(10), luck=0.0) == 10


def test_the_endpoints_wish_is_honoured() -> None:
    fault = ServerFault(status=503)
    fault.retry_after_seconds = 7

    assert wait_after(fault) == 7
    assert wait_after(busy(0)) == 0
    assert wait_after(busy(60)) == 60


def test_nobody_is_kept_waiting_for_longer_than_a_minute() -> None:
    assert wait_after(busy(61)) is None


def test_a_retry_says_its_number_and_why() -> None:
    policy = RetryPolicy(3, 60, lambda: 0.0)

    assert policy.next(Failed(Busy(), 2, 0, 0)) == Retry(2, 3, 2, "busy")


@pytest.mark.parametrize(("try_seconds", "wait"), [(59, 0.5), (61, None)])
def test_a_gateway_that_gave_up_late_is_not_asked_again(
    try_seconds: float, wait: float | None
) -> None:
    assert wait_after(ServerFault(status=504), try_seconds=try_seconds) == wait
    assert wait_after(ServerFault(status=503), try_seconds=try_seconds) == 0.5


def test_an_empty_response_is_retried_once() -> None:
    assert wait_after(ServerFault(code="empty_body")) is not None
    assert wait_after(ServerFault(code="empty_body"), tries=2) is None


def test_an_unreachable_endpoint_is_tried_for_a_minute_in_all() -> None:
    assert wait_after(Unreachable(), tries=9, all_seconds=51) == 8
    assert wait_after(Unreachable(), tries=9, all_seconds=53) is None
    assert wait_after(Unreachable(), tries=11) is None
