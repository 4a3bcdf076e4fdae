"""The client over a socket: its requests, its retries, its limits, and what it leaves open."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

import pytest

from kimibot.conversation import Retry
from kimibot.errors import (
    AccountExhausted,
    BadSettings,
    Busy,
    ContextTooLong,
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
from kimibot.kimi.client import Chance, Kimi, open_kimi
from kimibot.kimi.reading import Limits
from tests.kimi.conftest import OpenKimi
from tests.kimi.server import ModelServer, Peer, Script, responds, streams
from tests.kimi.streams import DONE, FINISH, REASONING, RECORDED, ROLE, TEXT, says

HI = [{"role": "user", "content": "Hi"}]


@dataclass
class Time:
    """A clock that only waits move, but for what a test adds to it."""

    seconds: float = 100.0
    waits: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)

    def chance(self) -> Chance:
        return Chance(self.clock, self.sleep, lambda: 0.0)


async def text_of(kimi: Kimi, on_retry: Callable[[Retry], None] | None = None) -> str:
    async with kimi.stream(HI, on_retry=on_retry) as deltas:
        return "".join([delta.content async for delta in deltas])


def then_silence(stream: bytes) -> Script:
    async def script(peer: Peer) -> None:
        await peer.begin()
        await peer.say(stream)
        await peer.gone()

    return script


def then_pings(stream: bytes, ping: bytes, every_seconds: float = 0.02) -> Script:
    async def script(peer: Peer) -> None:
        await peer.begin()
        await peer.say(stream)
        while not peer.reader.at_eof():
            await peer.say(ping)
            await asyncio.sleep(every_seconds)  # the endpoint's own pace

    return script


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not is_so():  # noqa: ASYNC110 - what is awaited is the state of a socket
            await asyncio.sleep(0.001)


# What is sent


async def test_a_request_has_the_headers_of_a_stream_and_the_key(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(streams(RECORDED))

    async with open_at(api_key="Bearer fake-key", provider="acedata", effort="max") as kimi:
        await text_of(kimi)

    [request] = server.requests
    assert request.request_line == "POST /v1/chat/completions HTTP/1.1"
    assert request.headers["authorization"] == "Bearer fake-key"
    assert request.headers["accept"] == "text/event-stream"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["user-agent"].startswith("kimibot/")
    assert request.body == {
        "model": "kimi-k3",
        "messages": HI,
        "stream": True,
        "max_completion_tokens": 32_768,
        "reasoning_effort": "max",
    }


async def test_a_call_may_ask_for_more_tokens_than_the_settings(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(streams(RECORDED))

    async with open_at(max_completion_tokens=7) as kimi:
        async with kimi.stream(HI) as deltas:
            assert [delta async for delta in deltas]
        async with kimi.stream(HI, max_completion_tokens=14) as deltas:
            assert [delta async for delta in deltas]

    sent = [request.body["max_completion_tokens"] for request in server.requests]
    assert sent == [7, 14]


@pytest.mark.parametrize("suffix", ["", "/", "/chat/completions", "/chat/completions/"])
async def test_the_path_is_appended_once(
    server: ModelServer, open_at: OpenKimi, suffix: str
) -> None:
    server.play(streams(RECORDED))

    async with open_at(base_url=server.base_url + suffix) as kimi:
        await text_of(kimi)

    assert server.requests[0].request_line == "POST /v1/chat/completions HTTP/1.1"


async def test_a_kimi_says_what_it_is() -> None:
    async with open_kimi(provider="fishapi", api_key="fake", effort="low") as kimi:
        said = (kimi.provider, kimi.model, kimi.effort, kimi.max_completion_tokens)

    assert said == ("fishapi", "kimi-k3.1-pro", "low", 32_768)


async def test_a_body_that_is_too_long_is_never_sent(
    server: ModelServer, open_at: OpenKimi
) -> None:
    async with open_at() as kimi:
        with pytest.raises(ContextTooLong):
            async with kimi.stream([{"role": "user", "content": "a" * 3_000_000}]):
                pass

    assert server.connections == 0


@pytest.mark.parametrize(
    "base_url", ["", "kimi.example", "ftp://kimi.example", "http://", "http://:x"]
)
async def test_an_address_that_is_none_is_a_bad_setting(base_url: str) -> None:
    with pytest.raises(BadSettings, match="KIMI_BASE_URL"):
        async with open_kimi(provider="custom", api_key="fake", base_url=base_url):
            pass


async def test_a_region_that_is_missing_is_a_bad_setting() -> None:
    with pytest.raises(BadSettings, match="KIMI_BASE_URL"):
        async with open_kimi(provider="bedrock", api_key="fake"):
            pass


@pytest.mark.parametrize("key", ["two words", "ключ", "line\nbreak"])
async def test_a_key_that_no_header_can_carry_is_a_bad_setting(key: str) -> None:
    with pytest.raises(BadSettings, match="KIMI_API_KEY") as caught:
        async with open_kimi(provider="acedata", api_key=key):
            pass

    assert key not in str(caught.value)


async def test_the_key_is_not_in_what_an_error_says(server: ModelServer, open_at: OpenKimi) -> None:
    words = json.dumps({"error": {"message": "no such key: 0123fake4567"}}).encode()
    server.play(responds(401, words), streams(b"data: " + words + b"\n\n"))

    async with open_at(api_key="0123fake4567", max_retries=0) as kimi:
        for kind in (KeyRefused, ServerFault):
            with pytest.raises(kind) as caught:
                await text_of(kimi)
            assert "no such key" in caught.value.detail
            assert "0123fake4567" not in str(caught.value)


async def test_a_redirect_is_not_followed(server: ModelServer, open_at: OpenKimi) -> None:
    server.play(responds(307, b"", location="/elsewhere"), streams(RECORDED))

    async with open_at() as kimi:
        with pytest.raises(RequestRefused):
            await text_of(kimi)

    assert len(server.requests) == 1


# What is tried again


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


# How long it may take


@pytest.mark.parametrize("ping", [b"", b": ping\n\n", b"\n", b'data: {"choices":[]}\n\n'])
async def test_a_stream_that_never_begins_ends_at_the_limit_for_the_first_event(
    server: ModelServer, open_at: OpenKimi, ping: bytes
) -> None:
    server.play(then_pings(b"", ping))

    async with open_at(limits=Limits(first_event_seconds=0.2)) as kimi:
        with pytest.raises(NoFirstEvent) as caught:
            await text_of(kimi)

    assert caught.value.limit_seconds == 0.2
    assert len(server.requests) == 1


async def test_headers_that_never_come_end_at_the_limit_for_the_first_event(
    server: ModelServer, open_at: OpenKimi
) -> None:
    async def silence(peer: Peer) -> None:
        await peer.gone()

    server.play(silence)

    async with open_at(limits=Limits(first_event_seconds=0.2)) as kimi:
        with pytest.raises(NoFirstEvent):
            await text_of(kimi)


@pytest.mark.parametrize("ping", [b"", b": ping\n\n", b'data: {"choices":[]}\n\n'])
async def test_silence_after_text_ends_at_the_idle_limit_and_keeps_the_text(
    server: ModelServer, open_at: OpenKimi, ping: bytes
) -> None:
    server.play(then_pings(TEXT, ping))
    said = []

    async with open_at(limits=Limits(idle_seconds=0.2)) as kimi:
        with pytest.raises(CutOff) as caught:
            async with kimi.stream(HI) as deltas:
                async for delta in deltas:
                    said.append(delta.content)

    assert said == ["Hello"]
    assert caught.value.limit_seconds == 0.2
    assert caught.value.trace_id == "msg_er7WZjyv2kD3TG2yzbFPu5ZJ"


async def test_reasoning_is_a_sign_of_life_and_the_wall_clock_ends_it(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(then_pings(ROLE, REASONING))
    limits = Limits(idle_seconds=0.6, answer_seconds=1.5)

    async with open_at(limits=limits) as kimi:
        with pytest.raises(TooSlow) as caught:
            await text_of(kimi)

    assert caught.value.limit_seconds == 1.5


async def test_the_wall_clock_also_ends_a_wait_for_the_first_event(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(then_pings(b"", b": ping\n\n"))

    async with open_at(limits=Limits(answer_seconds=0.2)) as kimi:
        with pytest.raises(TooSlow):
            await text_of(kimi)


@pytest.mark.parametrize("ping", [b"", b": ping\n\n", says("")])
async def test_an_answer_with_its_finish_reason_is_whole_after_a_short_grace(
    server: ModelServer, open_at: OpenKimi, ping: bytes
) -> None:
    server.play(then_pings(TEXT + FINISH, ping))

    async with open_at(limits=Limits(grace_seconds=0.1)) as kimi, kimi.stream(HI) as deltas:
        all_deltas = [delta async for delta in deltas]

    assert all_deltas[-1].finish_reason == "stop"
    assert not any(delta.usage for delta in all_deltas)


async def test_the_time_that_a_caller_takes_is_not_the_models(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(streams(RECORDED))
    time = Time()

    async with open_at(chance=time.chance()) as kimi, kimi.stream(HI) as deltas:
        said = ""
        async for delta in deltas:
            said += delta.content
            time.seconds += 200

    assert said == "Hello"


async def test_waiting_for_a_place_does_not_count(server: ModelServer, open_at: OpenKimi) -> None:
    server.play(streams(RECORDED))
    limits = Limits(first_event_seconds=5, answer_seconds=5)
    time = Time()

    async with open_at(limits=limits, concurrency=1, chance=time.chance()) as kimi:
        async with kimi.stream(HI):
            waiting = asyncio.create_task(text_of(kimi))
            await asyncio.sleep(0)
            time.seconds += 1_000

        assert await waiting == "Hello"


# What is left open


async def test_no_more_answers_are_streamed_at_once_than_allowed(
    server: ModelServer, open_at: OpenKimi
) -> None:
    go = asyncio.Event()

    async def when_told(peer: Peer) -> None:
        await go.wait()
        await streams(RECORDED)(peer)

    server.play(when_told)

    async with open_at(concurrency=2) as kimi:
        tasks = [asyncio.create_task(text_of(kimi)) for _ in range(5)]
        await until(lambda: len(server.requests) == 2)
        go.set()
        texts = await asyncio.gather(*tasks)

    assert texts == ["Hello"] * 5
    assert server.connections == 2


async def test_a_connection_is_used_again_after_a_whole_answer(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(streams(RECORDED))

    async with open_at() as kimi:
        for _ in range(3):
            await text_of(kimi)

    assert server.connections == 1


Ending = Callable[["asyncio.Task[str]"], Awaitable[None]]


async def _cancel_once(task: asyncio.Task[str]) -> None:
    task.cancel()


async def _cancel_twice(task: asyncio.Task[str]) -> None:
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()


@pytest.mark.parametrize("cancel", [_cancel_once, _cancel_twice])
@pytest.mark.parametrize("stream", [None, b"", ROLE + REASONING, TEXT + FINISH])
async def test_a_cancelled_answer_frees_its_connection_and_its_place_at_once(
    server: ModelServer, open_at: OpenKimi, stream: bytes | None, cancel: Ending
) -> None:
    async def silence(peer: Peer) -> None:
        await peer.gone()

    server.play(silence if stream is None else then_silence(stream))

    async with open_at(concurrency=1) as kimi:
        for round_ in range(15):  # more often than there are connections
            task = asyncio.create_task(text_of(kimi))
            await until(partial(server.has_got, round_ + 1))
            await cancel(task)
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: server.open_connections == 0)

        server.play(streams(RECORDED))
        assert await text_of(kimi) == "Hello"


async def test_a_cancelled_wait_for_a_place_costs_none(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(streams(RECORDED))

    async with open_at(concurrency=1) as kimi:
        async with kimi.stream(HI):
            waiting = asyncio.create_task(text_of(kimi))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

        assert await text_of(kimi) == "Hello"


async def test_a_cancellation_during_a_wait_for_a_retry_frees_the_place(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(responds(429, b"", retry_after="30"), streams(RECORDED))
    retrying = asyncio.Event()

    async with open_at(concurrency=1) as kimi:
        task = asyncio.create_task(text_of(kimi, lambda _: retrying.set()))
        await retrying.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert await text_of(kimi) == "Hello"


async def test_a_caller_that_leaves_early_or_fails_closes_the_connection(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(then_silence(ROLE + TEXT))

    async with open_at(concurrency=1) as kimi:
        async with kimi.stream(HI) as deltas:
            async for _ in deltas:
                break
        await until(lambda: server.open_connections == 0)
        with pytest.raises(ZeroDivisionError):
            async with kimi.stream(HI):
                raise ZeroDivisionError
        await until(lambda: server.open_connections == 0)

    gc.collect()


async def test_a_stream_that_is_still_open_at_the_end_does_not_keep_the_process_up(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(then_silence(TEXT))

    async with asyncio.timeout(5), open_at() as kimi:
        forgotten = asyncio.create_task(text_of(kimi))
        await until(lambda: server.has_got(1))

    await until(lambda: server.open_connections == 0)
    forgotten.cancel()
    with pytest.raises(asyncio.CancelledError):
        await forgotten


async def test_many_streams_at_once_all_come_whole(server: ModelServer, open_at: OpenKimi) -> None:
    server.play(streams(ROLE + says("a") * 200 + FINISH + DONE))

    async with open_at(concurrency=50) as kimi:
        texts = await asyncio.gather(*(text_of(kimi) for _ in range(100)))

    assert set(texts) == {"a" * 200}


def _nobodys_address() -> str:
    """An address of a port that was free a moment ago, where nobody listens."""
    with contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"
