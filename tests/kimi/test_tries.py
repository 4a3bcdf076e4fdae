"""Which failures are tried again over a socket, and which are told at once."""

from __future__ import annotations

import contextlib
import socket

import pytest

from kimibot.answers import Retry
from kimibot.errors import (
    AccountExhausted,
    Busy,
    ContextTooLong,
    CutOff,
    KeyRefused,
    KimiError,
    ModelNotFound,
    RequestRefused,
    ServerFault,
    Unreachable,
)
from kimibot.kimi.reading import Limits
from tests.kimi.asking import Time, text_of
from tests.kimi.conftest import OpenKimi
from tests.kimi.server import ModelServer, Peer, responds, streams
from tests.kimi.streams import REASONING, RECORDED, ROLE, TEXT


async def test_a_busy_endpoint_is_asked_again_after_the_time_it_wishes(
    server: ModelServer, open_at: OpenKimi
) -> None:
    busy = b'{"success":false,"error":{"code":"too_many_requests"},"trace_id":"t"}'
    server.play(responds(429, busy, retry_after="1"), streams(RECORDED))
    time, retries = Time(), list[Retry]()

    async with open_at(chance=time.chance()) as kimi:
        text = await text_of(kimi, retries.append)

    assert text == "Hello"
    assert time.waits == [1]
    assert retries == [Retry(1, 3, 1, "busy")]


async def test_a_failure_that_stays_is_raised_after_the_last_retry(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(responds(502, b"<html>Bad gateway</html>", "text/html", x_request_id="r"))
    time, retries = Time(), list[Retry]()

    async with open_at(chance=time.chance(), max_retries=2) as kimi:
        with pytest.raises(ServerFault) as caught:
            await text_of(kimi, retries.append)

    assert (caught.value.status, caught.value.trace_id) == (502, "r")
    assert time.waits == [0.5, 1]
    assert [retry.attempt for retry in retries] == [1, 2]
    assert len(server.requests) == 3


async def test_a_failure_in_the_first_event_is_tried_again(
    server: ModelServer, open_at: OpenKimi
) -> None:
    overload = b'data: {"error":{"message":"m","type":"engine_overloaded_error"}}\n\n'
    server.play(streams(overload), streams(RECORDED))

    async with open_at(chance=Time().chance()) as kimi:
        assert await text_of(kimi) == "Hello"


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, b'{"error":{"code":"invalid_token"}}', KeyRefused),
        (429, b'{"error":{"type":"exceeded_current_quota_error"}}', AccountExhausted),
        (403, b'{"error":{"message":"your balance is not enough"}}', AccountExhausted),
        (400, b'{"error":{"code":"token_mismatched"}}', RequestRefused),
        (400, b'{"error":{"message":"exceeded model token limit: 9"}}', ContextTooLong),
        (404, b"", ModelNotFound),
        (429, b'{"error":null}', Busy),
    ],
)
async def test_what_no_retry_can_mend_is_raised_at_once(
    server: ModelServer, open_at: OpenKimi, status: int, body: bytes, kind: type[KimiError]
) -> None:
    server.play(responds(status, body, retry_after="3600"))
    time = Time()

    async with open_at(chance=time.chance()) as kimi:
        with pytest.raises(kind):
            await text_of(kimi)

    assert time.waits == []


async def test_nothing_is_replayed_once_the_model_has_begun(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(streams(ROLE + REASONING), streams(RECORDED))

    async with open_at(chance=Time().chance()) as kimi:
        with pytest.raises(CutOff):
            await text_of(kimi)

    assert len(server.requests) == 1


async def test_a_connection_that_breaks_before_the_first_event_is_made_again(
    server: ModelServer, open_at: OpenKimi
) -> None:
    async def broken(peer: Peer) -> None:
        peer.reset()

    async def broken_after_the_head(peer: Peer) -> None:
        await peer.begin()
        peer.hang_up()

    server.play(broken, broken_after_the_head, streams(RECORDED))

    async with open_at(chance=Time().chance()) as kimi:
        assert await text_of(kimi) == "Hello"


async def test_an_endpoint_that_is_not_there_is_tried_for_a_minute(open_at: OpenKimi) -> None:
    time = Time()

    async with open_at(base_url=_nobodys_address(), chance=time.chance()) as kimi:
        with pytest.raises(Unreachable):
            await text_of(kimi)

    assert sum(time.waits) == 55.5


async def test_a_wait_that_would_outlast_the_answer_is_not_begun(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(responds(429, b"", retry_after="50"))
    time = Time()

    async with open_at(chance=time.chance(), limits=Limits(answer_seconds=40)) as kimi:
        with pytest.raises(Busy):
            await text_of(kimi)

    assert time.waits == []


def _nobodys_address() -> str:
    """An address of a port that was free a moment ago, where nobody listens."""
    with contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


async def test_every_request_that_fails_is_told_once_with_whether_it_is_made_again(
    server: ModelServer, open_at: OpenKimi
) -> None:
    bad_gateway = responds(502, b"<html>Bad gateway</html>", "text/html")
    server.play(bad_gateway, streams(ROLE + REASONING + TEXT))
    told: list[tuple[str, bool]] = []

    async with open_at(
        chance=Time().chance(), on_error=lambda error, again: told.append((error.name, again))
    ) as kimi:
        with pytest.raises(CutOff):
            await text_of(kimi)
        assert kimi.open_streams == 0

    assert told == [("server_fault", True), ("cut_off", False)]
