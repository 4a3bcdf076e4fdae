"""Streams that hold half an answer or none: what came is kept, and it is told why."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kimibot.answers import Answer
from kimibot.errors import (
    Busy,
    CutOff,
    KeyRefused,
    KimiError,
    ServerFault,
)
from kimibot.kimi.body import AnswerBody
from kimibot.kimi.client import open_kimi
from tests.kimi.asking import answer_of, ask
from tests.kimi.conftest import OpenKimi
from tests.kimi.server import ModelServer, Peer, model_server, streams
from tests.kimi.streams import (
    COMPLETION,
    DONE,
    EVENTS,
    FINISH,
    REASONING,
    RECORDED,
    ROLE,
    TEXT,
    USAGE,
    event,
    says,
)


def test_a_stream_that_ends_anywhere_before_its_finish_is_cut_off() -> None:
    last = len(RECORDED) - len(FINISH.rstrip() + b"\n\n" + USAGE + DONE)
    for cut in range(last):
        body = AnswerBody({})
        body.feed(RECORDED[:cut])
        body.end()

        said = "".join(delta.content for delta in body.deltas)
        assert isinstance(body.failure, CutOff) or not body.deltas
        assert body.failure
        assert said == ("Hello" if cut >= len((ROLE + REASONING + TEXT).rstrip()) else "")


@pytest.mark.parametrize("end", ["fin", "reset", "well"])
async def test_text_without_a_finish_is_cut_off_and_kept(
    server: ModelServer, open_at: OpenKimi, end: str
) -> None:
    async def cut(peer: Peer) -> None:
        await peer.begin(x_request_id="req-1")
        await peer.say(ROLE + REASONING + TEXT)
        if end == "well":
            await peer.end()
        elif end == "fin":
            peer.hang_up()
        else:
            await peer.reader.read(0)
            peer.reset()

    server.play(cut)

    answer, error = await ask(open_at)

    assert isinstance(error, CutOff)
    assert error.trace_id == "req-1"
    assert answer.usage is None
    assert answer.content == "Hello" or end == "reset"


@pytest.mark.parametrize(
    "half", [TEXT[:-30], says("月")[: says("月").index("月".encode()) + 1], b"data: {]\n\n"]
)
async def test_half_a_chunk_is_no_reason_to_lose_what_came_before(
    server: ModelServer, open_at: OpenKimi, half: bytes
) -> None:
    server.play(streams(ROLE + TEXT + half))

    answer, error = await ask(open_at)

    assert isinstance(error, CutOff)
    assert answer.content == "Hello"


async def test_a_marker_that_was_held_back_when_the_stream_broke_is_given_out(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(streams(says("a <")))

    answer, error = await ask(open_at)

    assert isinstance(error, CutOff)
    assert answer.content == "a <"


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (event({"error": {"message": "m", "type": "engine_overloaded_error"}}), Busy),
        (b"event: error\ndata: overloaded\n\n", ServerFault),
        (event({"success": False, "error": {"code": "invalid_token"}}), KeyRefused),
        (event({"choices": [{"delta": {}, "finish_reason": "error"}]}), ServerFault),
        (event({"error": "a bare string"}), ServerFault),
        (b"", ServerFault),
        (b": ping\n\n", ServerFault),
        (b"neither events nor JSON", ServerFault),
        (b"<html>Bad gateway</html>", ServerFault),
        (b'{"success":false,"error":{"code":"invalid_token","message":"m"}}', KeyRefused),
        (b'{"id":"msg_1"}', ServerFault),
        (b'{"choices":[{"message":', CutOff),
    ],
)
async def test_a_failure_instead_of_an_answer_is_told_by_its_code(
    server: ModelServer, open_at: OpenKimi, failure: bytes, kind: type[KimiError]
) -> None:
    server.play(streams(failure))

    _, error = await ask(open_at)

    assert type(error) is kind


async def test_an_error_after_text_cuts_the_answer_off_and_brings_its_trace(
    server: ModelServer, open_at: OpenKimi
) -> None:
    failure = {"success": False, "error": {"code": "api_error", "message": "m"}, "trace_id": "t"}
    server.play(streams(ROLE + TEXT + event(failure) + FINISH + DONE))

    answer, error = await ask(open_at)

    assert isinstance(error, CutOff)
    assert (error.trace_id, error.code) == ("t", "api_error")
    assert answer.content == "Hello"
    assert len(server.requests) == 1


@pytest.mark.parametrize(("before", "kind"), [(b"", ServerFault), (TEXT, CutOff)])
async def test_an_event_above_the_limit_is_refused(
    server: ModelServer, open_at: OpenKimi, before: bytes, kind: type[KimiError]
) -> None:
    server.play(streams(before + says("a" * (9 * 1024 * 1024))))

    _, error = await ask(open_at)

    assert type(error) is kind
    assert error.code == "event_too_long"


FRAGMENTS = [
    *EVENTS,
    says("<|open|>think<|sep|>"),
    b"data: ",
    b"data: [DONE]",
    b"\n\n",
    b"\r",
    b"\xef\xbb\xbf",
    b'{"choices":[',
    b'{"delta":{"content":"\\ud83c',
    b'"}}]}',
    b'{"error":',
    b"event: error\n",
    b"<html>",
    b"[" * 5_000,
    COMPLETION,
]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=20), max_size=20), st.booleans())
def test_any_bytes_end_in_an_answer_or_in_one_of_our_errors(
    pieces: list[bytes], is_broken: bool
) -> None:
    body = AnswerBody({})

    for piece in pieces:
        if not body.is_closed:
            body.feed(piece)
    body.fail(ServerFault()) if is_broken else body.end()

    assert body.is_over is (body.failure is None)
    assert body.is_over is any(delta.finish_reason for delta in body.deltas)
    for delta in body.deltas:
        f"{delta.content}{delta.reasoning}{delta.completion_id}{delta.trace_id}".encode()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=40), max_size=6))
@example([b"HTTP/1.1 200 OK\r\n\r\n"])
@example([b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n", RECORDED])
@example([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", RECORDED])
@example([b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"zz\r\n"])
@example([b"HTTP/1.1 200 OK\r\ncontent-type: \xff; charset=nope\r\n\r\n", RECORDED])
@example([b"HTTP/1.1 200 OK\r\nset-cookie: \xff=;;=\r\n\r\n", RECORDED])
@example([b"HTTP/1.1 999 \xff\r\n\r\n", RECORDED])
@example([b"HTTP/1.1 301 x\r\nlocation: http://[\r\n\r\n"])
@example([b"HTTP/1.1 100 x\r\n\r\n"])
@example([b"HTTP/1.1 101 x\r\n\r\n"])
@example([b"HTTP/9.9 200 OK\r\n" + b"a: b\r\n" * 20_000])
def test_any_bytes_on_the_connection_end_in_an_answer_or_in_one_of_our_errors(
    pieces: list[bytes],
) -> None:
    async def script(peer: Peer) -> None:
        peer.writer.write(b"".join(pieces))
        peer.hang_up()

    async def conversation() -> tuple[Answer, KimiError | None]:
        async with model_server() as server:
            server.play(script)
            async with open_kimi(
                provider="custom", api_key="", base_url=server.base_url, max_retries=0
            ) as kimi:
                return await answer_of(kimi)

    answer, error = asyncio.run(conversation())

    assert (answer.finish_reason is None) is (error is not None)
