"""What the client sends, and which settings it can't work with."""

from __future__ import annotations

import json

import pytest

from kimibot.answers import Tool, Toolbox
from kimibot.errors import (
    BadSettings,
    ContextTooLong,
    KeyRefused,
    RequestRefused,
    ServerFault,
)
from kimibot.kimi.client import open_kimi
from tests.kimi.asking import HI, text_of
from tests.kimi.conftest import OpenKimi
from tests.kimi.server import ModelServer, responds, streams
from tests.kimi.streams import RECORDED


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


LOOK = Tool("look", "Looks at it.", {"type": "object", "properties": {}})


@pytest.mark.parametrize(("may_call", "choice"), [(True, None), (False, "none")])
async def test_tools_are_declared_as_long_as_they_are_needed_and_never_forced(
    may_call: bool, choice: str | None, server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(streams(RECORDED))

    async with (
        open_at() as kimi,
        kimi.stream(HI, toolbox=Toolbox((LOOK,), may_call=may_call)) as deltas,
    ):
        assert [delta async for delta in deltas]

    [request] = server.requests
    function: dict[str, object] = {"name": "look", "description": "Looks at it.", "strict": False}
    function["parameters"] = {"type": "object", "properties": {}}
    assert request.body["tools"] == [{"type": "function", "function": function}]
    assert request.body.get("tool_choice") == choice


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
