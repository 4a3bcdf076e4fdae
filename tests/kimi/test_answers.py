"""Streams that hold a whole answer, over a socket, in all the forms there are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kimibot.answers import Answer, Usage
from tests.kimi.asking import HI, ask
from tests.kimi.conftest import OpenKimi
from tests.kimi.server import ModelServer, Peer, responds, streams
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
    chunk,
    event,
    says,
)


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
