"""Requests and chunks, as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kimibot.answers import Delta, ToolCallPiece, Usage
from kimibot.errors import ContextTooLong
from kimibot.kimi.wire import MAX_BODY_BYTES, delta_in, is_error, object_in, request_body

MESSAGES = [{"role": "user", "content": "Hi 月 \u2028"}]


def body(**options: Any) -> Any:
    return json.loads(request_body(MESSAGES, model="kimi-k3", max_completion_tokens=9, **options))


def said(delta: dict[str, Any], **choice: Any) -> Delta:
    found = delta_in({"choices": [{"index": 0, "delta": delta, **choice}]})
    assert found is not None
    return found


def test_the_smallest_request_has_just_these_fields() -> None:
    assert body() == {
        "model": "kimi-k3",
        "messages": MESSAGES,
        "stream": True,
        "max_completion_tokens": 9,
    }


def test_effort_and_usage_are_asked_for_where_wanted() -> None:
    fields = body(effort="max", include_usage=True)

    assert fields["reasoning_effort"] == "max"
    assert fields["stream_options"] == {"include_usage": True}


def test_the_same_messages_make_the_same_bytes() -> None:
    longer = [*MESSAGES, {"role": "assistant", "content": "Hello"}]
    shorter_body, longer_body = (
        request_body(messages, model="kimi-k3", max_completion_tokens=9)
        for messages in (MESSAGES, longer)
    )

    assert longer_body.startswith(shorter_body.partition(b"]")[0])


def test_a_lonely_surrogate_in_a_message_does_not_break_the_request() -> None:
    sent = request_body(
        [{"role": "user", "content": "a\ud83d"}], model="m", max_completion_tokens=9
    )

    assert json.loads(sent)["messages"][0]["content"] == "a\ufffd"


def test_a_body_above_the_limit_is_too_long_before_it_is_sent() -> None:
    messages = [{"role": "user", "content": "月" * (MAX_BODY_BYTES // 3)}]

    with pytest.raises(ContextTooLong):
        request_body(messages, model="m", max_completion_tokens=9)


@pytest.mark.parametrize("text", ["{", "", "<html>", "[" * 100_000, '{"a":1}{"b":2}', "1" * 5_000])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        object_in(text)


@pytest.mark.parametrize("text", ["null", "1", "NaN", '"text"', "[]", '[{"choices":[]}]'])
def test_json_that_is_no_object_says_nothing(text: str) -> None:
    assert object_in(text) is None


@pytest.mark.parametrize(
    "chunk",
    [
        {},
        {"choices": None},
        {"choices": []},
        {"choices": [], "usage": None},
        {"choices": "text", "usage": 5},
        {"choices": [None, 1, "x", []]},
        {"choices": [{"index": 1, "delta": {"content": "of another choice"}}]},
        {"usage": {}},
    ],
)
def test_a_chunk_without_choice_and_usage_says_nothing(chunk: dict[str, Any]) -> None:
    assert delta_in(chunk) is None


@pytest.mark.parametrize(
    "delta", [{}, {"content": None}, {"content": ""}, {"unknown": 1}, {"content": 5}]
)
def test_a_delta_without_text_is_empty(delta: dict[str, Any]) -> None:
    assert said(delta) == Delta()


def test_a_choice_without_a_delta_is_empty() -> None:
    assert delta_in({"choices": [{"unknown": 1}]}) == Delta()


def test_content_may_come_as_parts() -> None:
    assert said({"content": [{"type": "text", "text": "a"}, {"text": "b"}, None]}).content == "ab"


@pytest.mark.parametrize(
    ("delta", "field", "reasoning"),
    [
        ({"reasoning_content": "a"}, "reasoning_content", "a"),
        ({"reasoning_content": ""}, "reasoning_content", ""),
        ({"reasoning": "a"}, "reasoning", "a"),
        ({"reasoning": ""}, "reasoning", ""),
        ({"reasoning_content": None, "reasoning": "a"}, "reasoning", "a"),
        ({"reasoning_content": "", "reasoning": "a"}, "reasoning", "a"),
        ({"reasoning_content": "a", "reasoning": "a"}, "reasoning_content", "a"),
        ({"reasoning_details": [{"text": "a"}, {"text": "b"}]}, "reasoning_details", "ab"),
        ({"reasoning_details": []}, "reasoning_content", None),
        ({"reasoning_content": None}, "reasoning_content", None),
    ],
)
def test_reasoning_is_read_under_each_of_its_names(
    delta: dict[str, Any], field: str, reasoning: str | None
) -> None:
    found = said(delta)

    assert (found.reasoning_field, found.reasoning) == (field, reasoning)


@pytest.mark.parametrize(
    ("fields", "usage"),
    [
        ({"prompt_tokens": 1, "completion_tokens": 2}, Usage(1, 2, None)),
        ({"prompt_tokens": 1, "cached_tokens": 0}, Usage(1, None, 0)),
        ({"prompt_tokens_details": {"cached_tokens": 3}}, Usage(None, None, 3)),
        ({"prompt_tokens": 1.0, "claude_extra": 5}, Usage(1)),
        ({"prompt_tokens": True, "completion_tokens": "2"}, None),
        ({"prompt_tokens": -1, "completion_tokens": 10**30}, None),
        ({"prompt_tokens": float("nan"), "completion_tokens": float("inf")}, None),
    ],
)
def test_usage_is_what_was_counted(fields: dict[str, Any], usage: Usage | None) -> None:
    found = delta_in({"choices": [], "usage": fields})

    assert (found.usage if found else None) == usage


def test_usage_in_the_choice_is_read_where_there_is_none_above() -> None:
    below = {"prompt_tokens": 1}

    assert said({}, usage=below).usage == Usage(1)
    found = delta_in({"choices": [{"usage": below}], "usage": {"prompt_tokens": 7}})
    assert found is not None
    assert found.usage == Usage(7)


def test_pieces_of_tool_calls_are_read() -> None:
    found = said(
        {
            "tool_calls": [
                {"index": 0, "id": "find:0", "function": {"name": "find", "arguments": '{"q'}},
                {"function": {"arguments": {"q": 1}}},
                {"index": "0", "id": None, "function": None},
                None,
            ]
        }
    )

    assert found.tool_calls == (
        ToolCallPiece(0, "find:0", "find", '{"q'),
        ToolCallPiece(None, "", "", '{"q": 1}'),
        ToolCallPiece(),
    )


def test_a_whole_completion_is_one_delta() -> None:
    found = delta_in(
        {
            "id": "msg_fake",
            "object": "chat.completion",
            "choices": [
                {
                    "message": {"role": "assistant", "content": "Hi", "reasoning_content": "hm"},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 86, "completion_tokens": 206},
        }
    )

    assert found == Delta(
        content="Hi",
        reasoning="hm",
        finish_reason="stop",
        usage=Usage(86, 206),
        completion_id="msg_fake",
    )


@pytest.mark.parametrize(
    ("fields", "failed"),
    [
        ({"error": {"message": "x"}}, True),
        ({"error": "x"}, True),
        ({"success": False}, True),
        ({"type": "error"}, True),
        ({"__type": "ThrottlingException"}, True),
        ({"choices": [{"finish_reason": "error"}]}, True),
        ({"error": None, "success": True}, False),
        ({"error": {}, "choices": []}, False),
        ({"choices": [{"finish_reason": "stop"}]}, False),
    ],
)
def test_an_error_is_known_by_its_fields(fields: dict[str, Any], failed: bool) -> None:
    assert is_error(fields) is failed
