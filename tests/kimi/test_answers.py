"""Streams of status 200, over a socket: what is whole, what is cut off, what is neither."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kimibot.assembling import Assembling
from kimibot.conversation import Answer, Usage
from kimibot.errors import (
    Busy,
    CutOff,
    KeyRefused,
    KimiError,
    ServerFault,
)
from kimibot.kimi.body import AnswerBody
from kimibot.kimi.client import Kimi, open_kimi
from tests.kimi.conftest import OpenKimi
from tests.kimi.server import ModelServer, Peer, model_server, responds, streams
from tests.kimi.streams import (
    DONE,
    EVENTS,
    FINISH,
    REASONING,
    RECORDED,
    ROLE,
    TEXT,
    USAGE,
    chunk,
    event,
    says,
)

HI = [{"role": "user", "content": "Hi"}]
COMPLETION = json.dumps(
    {
        "id": "msg_fake",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello", "reasoning_content": "The"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 172, "completion_tokens": 168},
    }
).encode()


async def answer_of(kimi: Kimi) -> tuple[Answer, KimiError | None]:
    """What came, and what ended it before it was whole."""
    assembling = Assembling()
    try:
        async with kimi.stream(HI) as deltas:
            async for delta in deltas:
                assembling.add(delta)
    except KimiError as error:
        return assembling.cut(), error
    return assembling.finish(), None


async def ask(open_at: OpenKimi, **arguments: Any) -> tuple[Answer, KimiError | None]:
    async with open_at(max_retries=0, **arguments) as kimi:
        return await answer_of(kimi)


def is_the_recorded(answer: Answer) -> bool:
    return answer == Answer(
        content="Hello",
        reasoning="The",
        finish_reason="stop",
        usage=Usage(172, 168),
        completion_id="msg_er7WZjyv2kD3TG2yzbFPu5ZJ",
        trace_id="msg_er7WZjyv2kD3TG2yzbFPu5ZJ",
        raw={"role": "assistant", "content": "Hello", "reasoning_content": "The"},
    )


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(RECORDED, id="as it was recorded"),
        pytest.param(RECORDED.removesuffix(DONE), id="without DONE"),
        pytest.param(RECORDED.rstrip(), id="DONE without a blank line"),
        pytest.param(RECORDED.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(RECORDED.replace(b"\n", b"\r"), id="CR"),
        pytest.param(RECORDED.replace(b"data: ", b"data:"), id="no blank after the colon"),
        pytest.param(b"\xef\xbb\xbf" + RECORDED, id="BOM"),
        pytest.param(b"\r\n  \n" + RECORDED, id="blank lines first"),
        pytest.param(
            b": ping\n\nid: 5\n\nretry: 1\n\ndata:\n\n".join([b"", *EVENTS]), id="pings between"
        ),
        pytest.param(RECORDED.replace(b"\n\ndata: {", b"\ndata: {"), id="blank lines left out"),
        pytest.param(
            event({"choices": None})
            + ROLE
            + chunk({"content": None})
            + event({"choices": [{"unknown": {"key": 1}}], "unknown": [1]})
            + b"data: null\n\ndata: 5\n\n"
            + b"".join(EVENTS[1:]),
            id="nothing said",
        ),
        pytest.param(
            ROLE + REASONING + TEXT + FINISH + says("") + chunk(finish="length") + USAGE + DONE,
            id="a second finish reason",
        ),
        pytest.param(
            RECORDED + event({"error": {"message": "too late"}}) + b"data: {", id="after the end"
        ),
        pytest.param(
            ROLE + REASONING + TEXT + FINISH + USAGE + event({"error": {"message": "too late"}}),
            id="an error after the finish reason",
        ),
    ],
)
async def test_the_recorded_answer_is_read_in_all_its_forms(
    server: ModelServer, open_at: OpenKimi, stream: bytes
) -> None:
    first_id = b'"msg_fake"', b'"msg_er7WZjyv2kD3TG2yzbFPu5ZJ"'
    server.play(streams(stream.replace(*first_id)))

    answer, error = await ask(open_at)

    assert error is None
    assert is_the_recorded(answer)


async def test_a_stream_that_comes_byte_by_byte_is_the_same(
    server: ModelServer, open_at: OpenKimi
) -> None:
    async def byte_by_byte(peer: Peer) -> None:
        await peer.begin()
        for byte in RECORDED.replace(b"\n", b"\r\n"):
            await peer.say(bytes([byte]))
        await peer.end()

    server.play(byte_by_byte)

    answer, error = await ask(open_at)

    assert error is None
    assert is_the_recorded(answer)


async def test_a_stream_under_the_type_of_json_is_read_as_a_stream(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(streams(RECORDED, "application/json"))

    answer, _ = await ask(open_at)

    assert is_the_recorded(answer)


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream"])
async def test_json_although_a_stream_was_asked_for_is_one_answer(
    server: ModelServer, open_at: OpenKimi, content_type: str
) -> None:
    server.play(responds(200, COMPLETION, content_type))

    answer, error = await ask(open_at)

    assert error is None
    assert (answer.content, answer.reasoning, answer.finish_reason) == ("Hello", "The", "stop")
    assert answer.usage == Usage(172, 168)


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
    ("usages", "usage"),
    [
        ([chunk(finish="stop") + DONE], None),
        ([event({"choices": [{"finish_reason": "stop", "usage": {"prompt_tokens": 5}}]})], 5),
        (
            [
                event({"choices": [{"finish_reason": "stop", "usage": {"prompt_tokens": 5}}]}),
                event({"choices": [], "usage": {"prompt_tokens": 7}}),
            ],
            7,
        ),
    ],
)
async def test_usage_is_read_from_both_places_and_never_added_up(
    server: ModelServer, open_at: OpenKimi, usages: list[bytes], usage: int | None
) -> None:
    server.play(streams(TEXT + b"".join(usages)))

    answer, _ = await ask(open_at)

    assert answer.usage == (Usage(usage) if usage else None)


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


@pytest.mark.parametrize("finish", ["stop", "length"])
async def test_reasoning_alone_is_an_answer_without_text(
    server: ModelServer, open_at: OpenKimi, finish: str
) -> None:
    server.play(streams(ROLE + REASONING + chunk(finish=finish) + USAGE + DONE))

    answer, error = await ask(open_at)

    assert error is None
    assert (answer.content, answer.reasoning, answer.finish_reason) == ("", "The", finish)


@pytest.mark.parametrize(("stream", "content"), [(TEXT + DONE, "Hello"), (DONE, "")])
async def test_an_end_without_a_finish_reason_is_an_end_for_unknown_reason(
    server: ModelServer, open_at: OpenKimi, stream: bytes, content: str
) -> None:
    server.play(streams(stream))

    answer, error = await ask(open_at)

    assert error is None
    assert (answer.content, answer.finish_reason) == (content, "unknown")


async def test_tool_calls_in_pieces_come_whole(server: ModelServer, open_at: OpenKimi) -> None:
    def piece(**fields: Any) -> bytes:
        return chunk({"tool_calls": [fields]})

    server.play(
        streams(
            piece(index=0, id="find:0", function={"name": "find", "arguments": '{"q":'})
            + piece(index=1, id="read:1", function={"name": "read", "arguments": ""})
            + piece(index=0, function={"arguments": '"x"}'})
            + piece(index=1, function={"arguments": '{"f":'})
            + piece(function={"arguments": "1}"})
            + chunk(finish="tool_calls")
            + DONE
        )
    )

    answer, _ = await ask(open_at)

    calls = [(call.name, call.arguments) for call in answer.tool_calls]
    assert calls == [("find", '{"q":"x"}'), ("read", '{"f":1}')]


@pytest.mark.parametrize(
    "text",
    ["a\u2028b\u2029c\u0085d", "🎉 月之暗面", "\t\\ \x0b\x1b\x7f", "e\u0301 \ufeff", "  led"],
)
async def test_text_comes_through_unchanged(
    server: ModelServer, open_at: OpenKimi, text: str
) -> None:
    escaped = json.dumps({"choices": [{"delta": {"content": text}}]}).encode()
    server.play(streams(says(text) + b"data: " + escaped + b"\n\n" + FINISH + DONE))

    answer, _ = await ask(open_at)

    assert answer.content == text + text


async def test_an_emoji_that_was_cut_between_two_chunks_is_joined(
    server: ModelServer, open_at: OpenKimi
) -> None:
    def raw(text: str) -> bytes:
        return b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % text.encode()

    server.play(streams(raw("a\\ud83c") + raw("\\udf89b\\ud83c") + raw("c") + FINISH + DONE))

    answer, _ = await ask(open_at)

    assert answer.content == "a🎉b\ufffdc"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_is_kept_apart_under_each_of_its_names(
    server: ModelServer, open_at: OpenKimi, field: str
) -> None:
    server.play(streams(ROLE + chunk({field: "The"}) + TEXT + FINISH + DONE))

    answer, _ = await ask(open_at)

    assert answer.content == "Hello"
    assert answer.raw[field] == "The"


async def test_a_single_large_event_passes(server: ModelServer, open_at: OpenKimi) -> None:
    text = "a" * (3 * 1024 * 1024)
    server.play(streams(says(text) + FINISH + DONE))

    answer, _ = await ask(open_at)

    assert answer.content == text


@pytest.mark.parametrize(("before", "kind"), [(b"", ServerFault), (TEXT, CutOff)])
async def test_an_event_above_the_limit_is_refused(
    server: ModelServer, open_at: OpenKimi, before: bytes, kind: type[KimiError]
) -> None:
    server.play(streams(before + says("a" * (9 * 1024 * 1024))))

    _, error = await ask(open_at)

    assert type(error) is kind
    assert error.code == "event_too_long"


async def test_content_after_the_finish_reason_still_counts(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(streams(TEXT + FINISH + says(" there") + DONE))

    answer, _ = await ask(open_at)

    assert (answer.content, answer.finish_reason) == ("Hello there", "stop")


async def test_a_marker_that_is_cut_in_two_is_not_shown(
    server: ModelServer, open_at: OpenKimi, caplog: pytest.LogCaptureFixture
) -> None:
    texts = ["<|open|>thi", "nk<|sep|>hm<|clo", "se|>think<|sep|>Hi<|open|>too", "ls<|sep|>x"]
    server.play(streams(b"".join(map(says, texts)) + FINISH + DONE, x_trace_id="t-9"))

    answer, _ = await ask(open_at)

    assert (answer.content, answer.reasoning) == ("Hi", "hm")
    assert "a tool call stood in the text and was left out, trace t-9" in caplog.text


async def test_the_first_delta_brings_the_trace_id(server: ModelServer, open_at: OpenKimi) -> None:
    server.play(streams(RECORDED, x_request_id="r-1", x_trace_id="t-1"))

    async with open_at() as kimi, kimi.stream(HI) as deltas:
        traces = [delta.trace_id async for delta in deltas]

    assert traces == ["t-1", "", "", "", ""]


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
