"""Chat Completions' JSON on one side, messages and deltas on the other. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kimibot.answers import (
    NO_TOOLS,
    REASONING_FIELDS,
    ChatMessage,
    Delta,
    Tool,
    Toolbox,
    ToolCallPiece,
    Usage,
)
from kimibot.errors import ContextTooLong
from kimibot.kimi.surrogates import whole

MAX_BODY_BYTES = 2 * 1024 * 1024
"""A longer request is refused by some endpoints and safe at none."""


def request_body(
    messages: Sequence[ChatMessage],
    *,
    model: str,
    max_completion_tokens: int,
    effort: str = "",
    include_usage: bool = False,
    toolbox: Toolbox = NO_TOOLS,
) -> bytes:
    """The body of a streamed completion. Raises ContextTooLong above MAX_BODY_BYTES.

    No choice of a tool is ever forced: models that always think refuse that. No temperature,
    top_p, n or penalties: K3 has fixed ones and refuses others (platform.kimi.ai, "Model
    Parameter Reference").
    """
    fields: dict[str, Any] = {
        "model": model,
        "messages": [dict(message) for message in messages],
        "stream": True,
        "max_completion_tokens": max_completion_tokens,
    }
    if effort:
        fields["reasoning_effort"] = effort
    if include_usage:
        fields["stream_options"] = {"include_usage": True}
    if toolbox:
        fields["tools"] = [_declared(tool) for tool in toolbox.tools]
    if toolbox and not toolbox.may_call:
        fields["tool_choice"] = "none"
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    body = whole(text).encode()
    if len(body) > MAX_BODY_BYTES:
        raise ContextTooLong(f"a request of {len(body)} bytes", code="local_limit")
    return body


def _declared(tool: Tool) -> Mapping[str, Any]:
    """`strict` is said because endpoints differ in what they take it for when it is missing."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }
    return {"type": "function", "function": function}


def object_in(text: str) -> Mapping[str, Any] | None:
    """The JSON object of an event or a body, None for other JSON. Raises ValueError for none."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    return value if isinstance(value, dict) else None


def is_error(body: Mapping[str, Any]) -> bool:
    """Whether an object that came with status 200 says that something failed."""
    return bool(
        body.get("error")
        or body.get("success") is False
        or "__type" in body
        or body.get("type") == "error"
        or body.get("object") == "error"
        or _choice(body).get("finish_reason") == "error"
    )


def delta_in(body: Mapping[str, Any]) -> Delta | None:
    """What a chunk, or a whole completion, adds; None where it is neither.

    A chunk of empty choices without usage is a sign of life of a relay, not of the model.
    """
    choice = _choice(body)
    usage = _usage(body.get("usage")) or _usage(choice.get("usage"))
    if not choice and usage is None:
        return None
    said = _mapping(choice.get("delta")) or _mapping(choice.get("message"))
    reasoning_field, reasoning = _reasoning(said)
    return Delta(
        content=_text(said.get("content")),
        reasoning=reasoning,
        reasoning_field=reasoning_field,
        tool_calls=tuple(_tool_call_pieces(said.get("tool_calls"))),
        finish_reason=whole(_string(choice.get("finish_reason"))) or None,
        usage=usage,
        completion_id=whole(_string(body.get("id"))),
    )


def _choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The choice of index 0: there is no other where `n` is not sent."""
    choices = body.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and not choice.get("index"):
            return choice
    return {}


def _text(content: object) -> str:
    """Content is a string or an array of parts."""
    if isinstance(content, list):
        return "".join(_string(_mapping(part).get("text")) for part in content)
    return _string(content)


def _reasoning(said: Mapping[str, Any]) -> tuple[str, str | None]:
    """The first field that says something, else the first that is there: "" is received too."""
    found = [(name, text) for name in REASONING_FIELDS if (text := _thought(said.get(name)))]
    empty = [(name, "") for name in REASONING_FIELDS if said.get(name) == ""]
    return (*found, *empty, (REASONING_FIELDS[0], None))[0]


def _thought(value: object) -> str:
    return _text(value) if isinstance(value, str | list) else ""


def _tool_call_pieces(calls: object) -> Iterator[ToolCallPiece]:
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, dict):
            continue
        function, index = _mapping(call.get("function")), call.get("index")
        yield ToolCallPiece(
            index=index if _is_count(index) else None,
            id=whole(_string(call.get("id"))),
            name=whole(_string(function.get("name"))),
            arguments=whole(_arguments(function.get("arguments"))),
        )


def _arguments(value: object) -> str:
    """JSON in a string; some relays send the object itself."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else _string(value)


def _usage(value: object) -> Usage | None:
    """Tokens; None where nothing was counted, which is not zero."""
    if not isinstance(value, dict):
        return None
    cached = _count(value.get("cached_tokens"))
    if cached is None:
        cached = _count(_mapping(value.get("prompt_tokens_details")).get("cached_tokens"))
    usage = Usage(
        _count(value.get("prompt_tokens")), _count(value.get("completion_tokens")), cached
    )
    return None if usage == Usage() else usage


def _count(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and _is_count(value) else None


def _is_count(value: object) -> bool:
    """A number that a column of 32 bits can hold; JSON's own know no limit."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
