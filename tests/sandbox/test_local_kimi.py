"""The local Kimi keeps what it promises: the shapes of the real endpoints, scenes, and orders."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import random
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import aiohttp
import pytest

from kimibot.sandbox.kimi import (
    LOCAL_KEY,
    Chunk,
    Dialect,
    End,
    KimiOptions,
    LocalKimi,
    Pace,
    Plan,
    Teller,
    local_kimi,
    scenes,
)
from kimibot.sandbox.kimi.checks import MAX_BODY_BYTES
from kimibot.sandbox.kimi.faults import Faults
from kimibot.sandbox.kimi.heard import hear
from kimibot.sandbox.kimi.telling import written

AT_ONCE = KimiOptions(speed=math.inf)
CALL = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}

CALLING = {"role": "assistant", "reasoning_content": "", "tool_calls": [CALL]}
LOOSE = {"name": "look", "parameters": {"type": "object", "properties": {"path": {}}}}
LOOK = {"type": "function", "function": {"name": "look"}}


def data_uri(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def with_image(url: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {"url": url}}]


@dataclass
class Told:
    """What a client saw of one request."""

    status: int
    headers: dict[str, str]
    text: str = ""
    events: list[Any] = field(default_factory=list)
    broken: str = ""

    @property
    def content(self) -> str:
        return "".join(choice["delta"].get("content", "") for choice in self._choices())

    @property
    def reasoning(self) -> str:
        return "".join(choice["delta"].get("reasoning_content", "") for choice in self._choices())

    @property
    def finish_reason(self) -> str | None:
        reasons = [choice["finish_reason"] for choice in self._choices()]
        return next((reason for reason in reasons if reason), None)

    def _choices(self) -> list[Any]:
        whole = [event for event in self.events if isinstance(event, dict)]
        return [choice for event in whole for choice in event.get("choices", ())]


@pytest.fixture
async def kimi() -> AsyncIterator[LocalKimi]:
    async with local_kimi(options=AT_ONCE) as running:
        yield running


async def ask(kimi: LocalKimi, *said: str, key: str = LOCAL_KEY, **body: Any) -> Told:
    """One streamed request; `said` are people's messages."""
    messages = [{"role": "user", "content": text} for text in said]
    whole = {"model": "kimi-k3", "messages": messages, "stream": True, **body}
    async with posting(kimi, whole, key) as response:
        told = Told(response.status, dict(response.headers))
        try:
            async for data in response.content.iter_any():
                told.text += data.decode()
        except aiohttp.ClientError as error:
            told.broken = type(error).__name__
    told.events = events_in(told.text)
    return told


@asynccontextmanager
async def posting(
    kimi: LocalKimi, body: Any, key: str = LOCAL_KEY
) -> AsyncIterator[aiohttp.ClientResponse]:
    headers = {"Authorization": f"Bearer {key}"}
    url = f"{kimi.base_url}/chat/completions"
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=BytesIO(json.dumps(body).encode()), headers=headers) as response,
    ):
        yield response


def events_in(text: str) -> list[Any]:
    lines = [line[6:] for line in text.split("\n\n") if line.startswith("data: ")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


# Shapes


async def test_a_stream_has_the_chunks_of_the_public_guide_in_their_order() -> None:
    options = KimiOptions(speed=math.inf, clock=lambda: 1784466598.9)
    async with local_kimi(options=options, randomness=random.Random(1)) as kimi:
        kimi.play(Chunk(reasoning="The"), "Hello", usage=None)
        kimi.count(172, 168)

        told = await ask(kimi, "Hello")

    head: dict[str, Any] = {"id": kimi.requests[0].completion_id, "model": "kimi-k3"}
    head |= {"object": "chat.completion.chunk", "created": 1784466598}
    deltas = [{"content": "", "role": "assistant"}, {"reasoning_content": "The"}]
    deltas += [{"content": "Hello"}]
    chunks = [chunk(head, delta) for delta in deltas] + [chunk(head, {}, "stop")]
    usage = {"prompt_tokens": 172, "completion_tokens": 168, "total_tokens": 340}
    assert told.events == [*chunks, {**head, "choices": [], "usage": usage}, "[DONE]"]
    assert told.headers["Content-Type"] == "text/event-stream"


def chunk(head: dict[str, Any], delta: Any, finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {**head, "choices": [choice], "usage": None}


async def test_the_platform_puts_the_usage_into_the_finish_chunk() -> None:
    async with local_kimi(options=KimiOptions(speed=math.inf, dialect=Dialect.MOONSHOT)) as kimi:
        kimi.play("Hello")

        told = await ask(kimi, "Hello")

    assert told.events[-2]["choices"][0]["usage"]["completion_tokens"] == 1
    assert "usage" not in told.events[-2]
    assert told.events[0]["id"].startswith("chatcmpl-")


async def test_the_platform_sends_a_usage_chunk_to_those_who_ask_for_it() -> None:
    async with local_kimi(options=KimiOptions(speed=math.inf, dialect=Dialect.MOONSHOT)) as kimi:
        told = await ask(kimi, "Hello", stream_options={"include_usage": True})

    assert told.events[-2]["choices"] == []
    assert told.events[-2]["usage"]["total_tokens"] > 0


async def test_without_stream_the_answer_is_one_object(kimi: LocalKimi) -> None:
    kimi.play(Chunk(reasoning="Hm."), "Hello ", "there")

    body = {"model": "kimi-k3", "messages": [{"role": "user", "content": "hello"}]}
    async with posting(kimi, body) as response:
        whole = await response.json()

    message = whole["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "Hello there", "reasoning_content": "Hm."}
    assert whole["object"] == "chat.completion"


@pytest.mark.parametrize("path", ["", "/v1", "/kimi", "/openai/v1"])
async def test_every_known_path_answers(kimi: LocalKimi, path: str) -> None:
    kimi.base_url = kimi.base_url.removesuffix("/kimi") + path

    assert (await ask(kimi, "hello")).events[-1] == "[DONE]"


async def test_an_error_of_the_reseller_carries_its_trace_id(kimi: LocalKimi) -> None:
    told = await ask(kimi, "hello", key="wrong")

    whole = json.loads(told.text)
    assert told.status == 401
    assert whole["success"] is False
    assert whole["error"]["code"] == "invalid_token"
    assert len(whole["trace_id"]) == 36


async def test_an_error_of_the_platform_carries_its_trace_in_a_header() -> None:
    async with local_kimi(options=KimiOptions(speed=math.inf, dialect=Dialect.MOONSHOT)) as kimi:
        told = await ask(kimi, "quota")

    assert told.status == 429
    assert json.loads(told.text)["error"]["type"] == "exceeded_current_quota_error"
    assert told.headers["x-msh-trace-id"]


async def test_the_list_of_models_needs_the_key(kimi: LocalKimi) -> None:
    async with aiohttp.ClientSession() as session:
        url = f"{kimi.base_url}/models"
        refused = await session.get(url)
        named = await session.get(url, headers={"Authorization": f"Bearer {LOCAL_KEY}"})

        assert refused.status == 401
        assert (await named.json())["data"][0]["id"] == "kimi-k3"


# What the real endpoints refuse


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"temperature": 0.3}, "invalid temperature: only 1"),
        ({"top_p": 1}, "invalid top_p: only 0.95"),
        ({"n": 2}, "invalid n: only 1"),
        ({"presence_penalty": 0.5}, "invalid presence_penalty"),
        ({"frequency_penalty": 0.5}, "invalid frequency_penalty"),
        ({"reasoning_effort": "low"}, "invalid reasoning_effort: only max"),
        ({"thinking": {"type": "disabled"}}, "invalid thinking"),
        ({"max_completion_tokens": 0}, "invalid max_completion_tokens"),
        ({"max_completion_tokens": "many"}, "invalid max_completion_tokens"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "stop array too long"),
        ({"tools": [{"type": "function", "function": {"name": "1st"}}]}, "invalid function name"),
        ({"tools": [{"function": {"name": "look"}}] * 2}, "must be unique"),
        ({"tools": [{"function": {"name": "look", "parameters": {}}}]}, "flavored json schema"),
        ({"tools": [{"function": LOOSE}]}, "flavored json schema"),
        ({"tools": [{"function": {"name": "look"}}], "tool_choice": "required"}, "incompatible"),
        ({"tool_choice": "none"}, "only allowed when tools are specified"),
        ({"messages": []}, "at least one message"),
        ({"messages": [{"role": "developer", "content": "x"}]}, "no valid role"),
        ({"messages": [{"role": "user", "content": None}]}, "must be a string or a list"),
        ({"messages": [{"role": "user", "content": []}]}, "list of parts is empty"),
        ({"messages": [{"role": "user", "content": [{"type": "file"}]}]}, "unknown part"),
    ],
)
async def test_a_request_with_a_wrong_field_is_refused(
    kimi: LocalKimi, body: dict[str, Any], words: str
) -> None:
    told = await ask(kimi, "hello", **body)

    assert told.status == 400
    assert words in json.loads(told.text)["error"]["message"]


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{"role": "assistant", "content": ""}], "must not be empty"),
        ([{"role": "assistant", "content": None}], "must not be empty"),
        ([{"role": "assistant", "content": "", "tool_calls": [CALL]}], "text content is empty"),
        ([{"role": "assistant", "tool_calls": [CALL]}], "reasoning_content is missing"),
        ([{"role": "tool", "tool_call_id": "b", "content": "x"}], "tool_call_id b is not found"),
        ([{"role": "assistant", "reasoning_content": "", "tool_calls": [CALL]}], "no tool message"),
        ([{**CALLING, "tool_calls": [CALL, CALL]}], "must be unique"),
        ([CALLING, {"role": "tool", "tool_call_id": "a", "content": None}], "must be a string"),
    ],
)
async def test_a_broken_history_is_refused(
    kimi: LocalKimi, messages: Sequence[Any], words: str
) -> None:
    told = await ask(kimi, messages=[*messages, {"role": "user", "content": "hello"}])

    assert told.status == 400
    assert words in json.loads(told.text)["error"]["message"]


async def test_a_whole_tool_round_with_its_reasoning_is_accepted(kimi: LocalKimi) -> None:
    call = {"role": "assistant", "reasoning_content": "", "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "a", "content": "found"}

    told = await ask(kimi, messages=[{"role": "user", "content": "look"}, call, result])

    assert told.status == 200


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("https://x/a.png", 400),
        (data_uri("png", b"\x89PNG\r\n\x1a\n..."), 200),
        (data_uri("jpeg", b"\xff\xd8\xff..."), 200),
        (data_uri("webp", b"RIFF....WEBP"), 200),
        (data_uri("gif", b"GIF89a"), 200),
        (data_uri("jpeg", b"\x89PNG\r\n\x1a\n..."), 400),
        (data_uri("bmp", b"BM"), 400),
        ("data:image/png;base64,iVBORw0KGgo=!", 400),
        ("ms://file-1", 200),
    ],
)
async def test_an_image_is_taken_as_data_only(kimi: LocalKimi, url: str, status: int) -> None:
    told = await ask(kimi, messages=[{"role": "user", "content": with_image(url)}])

    assert told.status == status


async def test_a_model_that_sees_nothing_refuses_pictures() -> None:
    async with local_kimi(options=KimiOptions(speed=100, sees=False)) as blind:
        content = with_image(data_uri("png", b"\x89PNG\r\n\x1a\n..."))
        told = await ask(blind, messages=[{"role": "user", "content": content}])

    assert told.status == 400
    assert "does not support image input" in told.text


async def test_a_body_over_two_mebibytes_is_refused(kimi: LocalKimi) -> None:
    told = await ask(kimi, "x" * MAX_BODY_BYTES)

    assert told.status == 400
    assert "exceeds limit 2097152" in told.text


async def test_an_unknown_model_is_not_found(kimi: LocalKimi) -> None:
    assert (await ask(kimi, "hello", model="kimi-k9")).status == 404


async def test_the_budget_counts_reasoning_as_well(kimi: LocalKimi) -> None:
    told = await ask(kimi, "hello", max_completion_tokens=5)

    assert told.finish_reason == "length"
    assert told.content == ""
    assert told.reasoning


# Scenes


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ("401", 401, "invalid_token"),
        ("429", 429, "too_many_requests"),
        ("500", 500, "api_error"),
        ("quota", 403, "used_up"),
        ("token_mismatched", 400, "token_mismatched"),
        ("model not found", 404, "not_found"),
    ],
)
async def test_an_error_that_is_asked_for_comes(
    kimi: LocalKimi, asked: str, status: int, code: str
) -> None:
    told = await ask(kimi, f"Ana: <@U0KIMI> {asked}")

    assert told.status == status
    assert json.loads(told.text)["error"]["code"] == code


async def test_busy_says_how_long_to_wait(kimi: LocalKimi) -> None:
    assert (await ask(kimi, "429")).headers["Retry-After"] == "1"


async def test_a_gateway_answers_with_a_page(kimi: LocalKimi) -> None:
    told = await ask(kimi, "html 502")

    assert told.status == 502
    assert told.headers["Content-Type"].startswith("text/html")


async def test_a_flaky_fault_goes_away_at_the_third_try_and_comes_back_later(
    kimi: LocalKimi,
) -> None:
    statuses = [(await ask(kimi, "flaky 500")).status for _ in range(4)]

    assert statuses == [500, 500, 200, 500]


async def test_a_flaky_fault_lasts_as_often_as_it_is_told(kimi: LocalKimi) -> None:
    statuses = [(await ask(kimi, "flaky 429, 1 times")).status for _ in range(2)]

    assert statuses == [429, 200]


async def test_a_context_that_is_too_long_is_accepted_once_it_is_shorter(kimi: LocalKimi) -> None:
    refused = await ask(kimi, "an old and long message", "context too long")
    again = await ask(kimi, "an old and long message", "context too long")
    shorter = await ask(kimi, "context too long")

    assert [refused.status, again.status, shorter.status] == [400, 400, 200]


@pytest.mark.parametrize(
    ("asked", "finish_reason"), [("a truncated answer", "length"), ("content_filter",) * 2]
)
async def test_an_answer_that_ends_early_says_why(
    kimi: LocalKimi, asked: str, finish_reason: str
) -> None:
    told = await ask(kimi, asked)

    assert told.finish_reason == finish_reason
    assert written("long").startswith(told.content.strip())


async def test_a_cut_stream_breaks_after_some_text(kimi: LocalKimi) -> None:
    told = await ask(kimi, "please cut the stream")

    assert told.broken
    assert told.content
    assert told.finish_reason is None


async def test_an_error_in_the_stream_comes_as_data(kimi: LocalKimi) -> None:
    told = await ask(kimi, "error in the stream")

    assert told.events[-1]["error"]["code"] == "api_error"
    assert told.content


@pytest.mark.parametrize("asked", ["reasoning only", "an empty answer"])
async def test_an_answer_can_be_without_a_word(kimi: LocalKimi, asked: str) -> None:
    told = await ask(kimi, asked)

    assert told.content == ""
    assert told.reasoning
    assert told.events[-1] == "[DONE]"


async def test_the_long_answer_needs_several_slack_messages(kimi: LocalKimi) -> None:
    told = await ask(kimi, "How would you build a job queue on PostgreSQL?")

    assert told.content == written("long")
    assert len(told.content.encode()) > 9_000
    assert "```sql" in told.content
    assert "|---|" in told.content


async def test_a_question_in_chinese_is_answered_in_chinese(kimi: LocalKimi) -> None:
    assert "幂等" in (await ask(kimi, "Mei: 怎么用一句话解释幂等？")).content


async def test_what_was_asked_before_is_remembered(kimi: LocalKimi) -> None:
    told = await ask(kimi, "Ana: hello", "Ana: my cat is Miso", "Ana: what did I ask before?")

    assert "1. hello\n2. my cat is Miso" in told.content


async def test_the_last_paragraph_of_merged_messages_is_the_ask(kimi: LocalKimi) -> None:
    told = await ask(kimi, "Ana: 500\n\nBo Li: When do I answer 409?")

    assert told.status == 200
    assert "Conflict" in told.content


async def test_a_speaker_may_be_named_with_the_time(kimi: LocalKimi) -> None:
    label = "bo li (app), Mon 2026-11-30 09:12 UTC: "

    told = await ask(kimi, f"Ana Lima, Mon 2026-11-30 09:11 UTC: 500\n\n{label}@kimibot hello")

    assert told.content == written("hello")


async def test_a_pasted_log_does_not_ask_for_its_errors(kimi: LocalKimi) -> None:
    told = await ask(kimi, "Why?\n```\nGET /x 500\n\nAna: 401\n```")

    assert told.status == 200


async def test_the_review_finds_the_bug_of_the_snippet(kimi: LocalKimi) -> None:
    told = await ask(kimi, f"Ana: review this\n```python\n{written('snippet')}\n```")

    assert "`=+` is not `+=`" in told.content


async def test_an_answer_that_was_cut_off_is_continued_where_it_ended(kimi: LocalKimi) -> None:
    begun = written("long")[:400]
    said = [
        {"role": "user", "content": "a job queue?"},
        {"role": "assistant", "content": f"{begun}\n[cut off]"},
        {"role": "user", "content": "Go on exactly where it ends."},
    ]
    told = await ask(kimi, messages=said)

    assert begun.rstrip() + told.content == written("long")


async def test_other_code_gets_an_honest_answer(kimi: LocalKimi) -> None:
    told = await ask(kimi, "```\nprint(1)\nprint(2)\n```")

    assert "2 lines, beginning with `print(1)`" in told.content


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Page 1 leaves out the newest orders", "Say a customer has 25 orders"),
        ("`=+` is not `+=`", "only the last one is left"),
        ("Nobody closes the file", "knows nothing of this finding"),
    ],
)
async def test_a_finding_is_explained_as_far_as_the_script_goes(
    title: str, words: str, kimi: LocalKimi
) -> None:
    told = await ask(kimi, f"<<<FINDING 0\n1. a.py:3: {title}\n0 FINDING>>>\n\nExplain it.")

    assert words in told.content


async def test_an_unknown_question_is_named_as_such(kimi: LocalKimi) -> None:
    told = await ask(kimi, "Ana: is it going to rain?")

    assert "> is it going to rain?" in told.content


def test_every_example_is_answered_by_its_own_scene() -> None:
    for scene in scenes():
        heard = hear([{"role": "user", "content": f"Ana: {scene.example}"}])

        assert next(found for found in scenes() if found.fits(heard)).shows == scene.shows


# Pace


async def test_reasoning_and_words_take_the_time_that_was_set() -> None:
    pace = Pace(words_per_second=100, reasoning_seconds=0.2)
    async with local_kimi(options=KimiOptions(pace=pace)) as kimi:
        await ask(kimi, "hello")

        seen = kimi.requests[0]
        assert seen.content_times[0] - seen.received_at >= 0.2
        spoken_seconds = seen.content_times[-1] - seen.content_times[0]
        assert spoken_seconds >= (len(seen.content_times) - 1) / 100 * 0.9


def test_a_slow_thinker_thinks_for_half_a_minute() -> None:
    slow = next(scene for scene in scenes() if scene.example == "think slowly")
    heard = hear([{"role": "user", "content": slow.example}])

    plan = slow.tell(heard, teller())

    assert isinstance(plan, Plan)
    assert sum(chunk.wait_seconds for chunk in plan.chunks) == pytest.approx(30)


def teller() -> Teller:
    return Teller(Pace(words_per_second=0), Faults(Dialect.ACEDATA, "t"))


@pytest.mark.parametrize("text", [written("long"), written("chinese"), "  a\n\n\tb ", "x" * 99])
def test_cut_into_words_a_text_stays_the_same(text: str) -> None:
    assert Plan(Pace().said(text)).content == text


# Orders


async def test_chunks_are_played_as_given_and_once(kimi: LocalKimi) -> None:
    kimi.play("one ", "two", finish_reason="tool_calls")

    played = await ask(kimi, "hello")
    scripted = await ask(kimi, "hello")

    assert (played.content, played.finish_reason) == ("one two", "tool_calls")
    assert scripted.content == written("hello")


async def test_tools_are_called_in_pieces_as_ordered(kimi: LocalKimi) -> None:
    kimi.call(("look", {"at": "ä"}), ("look", "no JSON"))

    told = await ask(kimi, "hello", tools=[LOOK])

    pieces = [
        call
        for event in told.events[:-1]
        for choice in event["choices"]
        for call in choice["delta"].get("tool_calls", ())
    ]
    arguments = ["", ""]
    for piece in pieces:
        arguments[piece["index"]] += piece["function"]["arguments"]
    assert told.finish_reason == "tool_calls"
    assert [piece["id"] for piece in pieces if "id" in piece] == ["look:0", "look:1"]
    assert arguments == ['{"at": "ä"}', "no JSON"]


@pytest.mark.parametrize("body", [{}, {"tools": [LOOK], "tool_choice": "none"}])
async def test_nothing_is_called_that_may_not_be_called(
    kimi: LocalKimi, body: dict[str, Any]
) -> None:
    kimi.call(("look", {}), content="I would like to look.")

    told = await ask(kimi, "hello", **body)

    assert "tool_calls" not in told.text
    assert (told.content, told.finish_reason) == ("I would like to look.", "stop")


NUMBERED = "Review.\n<<<CODE 1\nFILE shop/orders.py (modified)\n   53 +     first = number * size\n"


async def test_a_review_looks_beside_the_change_once_where_it_has_tools(kimi: LocalKimi) -> None:
    look = await ask(kimi, NUMBERED, tools=[LOOK])
    call = {"role": "assistant", "reasoning_content": "", "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "a", "content": "found"}
    messages = [{"role": "user", "content": NUMBERED}, call, result]
    found = await ask(kimi, messages=messages, tools=[LOOK])
    without = await ask(kimi, NUMBERED)

    assert look.finish_reason == "tool_calls"
    assert "shop/links.py" in "".join(
        call["function"]["arguments"]
        for event in look.events[:-1]
        for choice in event["choices"]
        for call in choice["delta"].get("tool_calls", ())
    )
    assert "Page 1 leaves out" in found.content
    assert found.content == without.content


async def test_raw_bytes_go_out_as_they_are(kimi: LocalKimi) -> None:
    kimi.play(Chunk(raw=": ping\n\n"), Chunk(raw=b"data:{}\r\n"), end=End.EOF)

    assert (await ask(kimi, "hello")).text == ": ping\n\ndata:{}\r\n"


async def test_a_refusal_is_played_as_often_as_ordered(kimi: LocalKimi) -> None:
    kimi.refuse(503, "{}", headers={"Retry-After": "7"}, times=2)

    told = [await ask(kimi, "hello") for _ in range(3)]

    assert [one.status for one in told] == [503, 503, 200]
    assert told[0].headers["Retry-After"] == "7"


async def test_an_order_can_wait_for_its_ask(kimi: LocalKimi) -> None:
    kimi.play("for Bo", where="Bo's question")

    assert (await ask(kimi, "hello")).content != "for Bo"
    assert (await ask(kimi, "Bo's question")).content == "for Bo"


async def test_a_stream_can_end_without_done(kimi: LocalKimi) -> None:
    kimi.play("Hello", end=End.WITHOUT_DONE)

    told = await ask(kimi, "hello")

    assert told.finish_reason == "stop"
    assert told.events[-1]["usage"]["completion_tokens"] == 1


async def test_a_stream_can_end_as_if_it_were_over(kimi: LocalKimi) -> None:
    kimi.play("Hello ", "you")
    kimi.die(1, End.EOF)

    told = await ask(kimi, "hello")

    assert (told.content, told.finish_reason, told.broken) == ("Hello ", None, "")


@pytest.mark.parametrize("end", [End.CUT, End.RESET])
async def test_a_connection_can_break_with_all_that_was_sent_received(
    kimi: LocalKimi, end: End
) -> None:
    kimi.play("Hello ", "you")
    kimi.die(1, end)

    told = await ask(kimi, "hello")

    assert told.content == "Hello "
    assert told.broken
    assert kimi.requests[0].ended == end


async def test_an_answer_can_be_stripped_to_its_reasoning(kimi: LocalKimi) -> None:
    kimi.reasoning_only("length")

    told = await ask(kimi, "hello")

    assert (told.content, told.finish_reason) == ("", "length")


async def test_forgotten_orders_are_not_obeyed(kimi: LocalKimi) -> None:
    kimi.refuse(503, times=9)
    kimi.forget()

    assert (await ask(kimi, "hello")).status == 200


@pytest.mark.parametrize("end", [End.STALL, End.HANG])
async def test_silence_lasts_until_the_client_leaves(kimi: LocalKimi, end: End) -> None:
    kimi.play("Hello ", "you")
    kimi.die(1, end)

    async with posting(kimi, body("hello")) as response:
        await response.content.readuntil(b"Hello")
        await kimi.until(lambda: kimi.open_streams == 1)
    await kimi.until(lambda: kimi.open_streams == 0)

    assert kimi.cancelled == 1
    assert kimi.requests[0].ended == "cancelled"


async def test_a_stall_before_the_first_chunk_sends_no_event(kimi: LocalKimi) -> None:
    kimi.stall()

    async with posting(kimi, body("hello")) as response:
        assert response.status == 200
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(response.content.readany(), 0.05)


async def test_closing_in_mid_stream_is_no_cancel_of_the_client() -> None:
    async with local_kimi(options=AT_ONCE) as kimi:
        kimi.stall(3)
        asking = asyncio.create_task(ask(kimi, "hello"))
        await kimi.until(lambda: kimi.open_streams == 1)

    assert (await asking).broken
    assert kimi.cancelled == 0


async def test_waiting_for_what_never_comes_ends(kimi: LocalKimi) -> None:
    with pytest.raises(TimeoutError):
        await kimi.until(lambda: kimi.open_streams == 1, timeout_seconds=0.01)


async def test_requests_are_kept_with_their_body_and_without_their_key(kimi: LocalKimi) -> None:
    await ask(kimi, "hello")

    assert kimi.requests[0].body["messages"] == [{"role": "user", "content": "hello"}]
    assert LOCAL_KEY not in str(kimi.requests[0].headers)


async def test_what_is_no_json_is_refused_and_kept(kimi: LocalKimi) -> None:
    async with posting(kimi, "no object") as response:
        assert response.status == 400

    assert kimi.requests[0].ended == "refused"


def body(text: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}]
    return {"model": "kimi-k3", "messages": messages, "stream": True}


# As a process


@pytest.mark.processes
async def test_a_process_obeys_orders_over_http_and_ends_at_sigterm() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kimibot.sandbox.kimi", "--speed", "1000",
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    ready = (await process.stdout.readline()).decode()
    remote = LocalKimi(AT_ONCE, random.Random())
    remote.base_url = ready.removeprefix("local Kimi at ").strip()

    ordered = await control(remote, "play", {"chunks": ["Hi ", {"content": "you"}], "end": "eof"})
    told = await ask(remote, "hello")
    state = await control(remote, "state")
    process.send_signal(signal.SIGTERM)

    assert await asyncio.wait_for(process.wait(), 10) == 0
    assert ordered == {"ok": True}
    assert told.content == "Hi you"
    assert [one["ended"] for one in state["requests"]] == ["eof"]


async def test_orders_over_http_are_those_of_the_object(kimi: LocalKimi) -> None:
    await control(kimi, "refuse", {"status": 529})
    await control(kimi, "die", {"after": 1, "end": "eof"})
    await control(kimi, "pace", {"words_per_second": 10})

    assert (await ask(kimi, "hello")).status == 529
    assert kimi.options.pace.words_per_second == 10
    assert kimi.options.speed == math.inf


@pytest.mark.parametrize(
    ("name", "order"),
    [("dance", {}), ("refuse", {}), ("play", {"chunks": [3]}), ("die", {"end": "softly"})],
)
async def test_an_order_that_is_not_understood_is_named(
    kimi: LocalKimi, name: str, order: dict[str, Any]
) -> None:
    assert (await control(kimi, name, order))["error"]


async def control(kimi: LocalKimi, name: str, order: dict[str, Any] | None = None) -> Any:
    url = f"{kimi.base_url.removesuffix('/kimi')}/control/{name}"
    async with aiohttp.ClientSession() as session:
        if order is None:
            return await (await session.get(url)).json()
        return await (await session.post(url, json=order)).json()
