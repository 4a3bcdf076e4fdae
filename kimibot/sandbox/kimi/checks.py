"""Refuses the requests that the real endpoints refuse, so that a client can't get used to them.

The rules for messages, sampling fields and effort are those of https://platform.kimi.ai/docs
(Create Chat Completion; Model Parameter Reference); 2 MiB is the limit of a request's messages
at the strictest of the known endpoints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kimibot.sandbox.kimi.pictures import picture_complaints

MAX_BODY_BYTES = 2 * 1024 * 1024
MAX_STOPS = 4
MAX_TOOLS = 128

_FIXED = {
    "temperature": (1,),
    "top_p": (0.95,),
    "n": (1,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
}
_ROLES = ("system", "user", "assistant", "tool")
_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{1,63}")


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a request is refused. `kind` is `bad_request` or `no_such_model`."""

    message: str
    kind: str = "bad_request"


def first_fault(
    body: object, size_bytes: int, efforts: Mapping[str, Sequence[str]], *, sees: bool = True
) -> Fault | None:
    """The first thing wrong with the request, or None. `efforts` are those each model takes.

    With `sees` the models take pictures.
    """
    return next(_faults(body, size_bytes, efforts, sees), None)


def _faults(
    body: object, size_bytes: int, efforts: Mapping[str, Sequence[str]], sees: bool
) -> Iterator[Fault]:
    if size_bytes > MAX_BODY_BYTES:
        yield Fault(f"total message size {size_bytes} exceeds limit {MAX_BODY_BYTES}")
    if not isinstance(body, dict):
        yield Fault("the body must be a JSON object")
        return
    model = body.get("model")
    if not isinstance(model, str) or model not in efforts:
        yield Fault(f"Not found the model {model} or Permission denied", "no_such_model")
        return
    for complaint in _field_complaints(body, efforts[model]):
        yield Fault(complaint)
    for complaint in _message_complaints(body.get("messages"), sees):
        yield Fault(complaint)


def _field_complaints(body: Mapping[str, Any], efforts: Sequence[str]) -> Iterator[str]:
    for name, allowed in _FIXED.items():
        if body.get(name) is not None and body[name] not in allowed:
            yield f"invalid {name}: only {allowed[0]} is allowed for this model"
    if "reasoning_effort" in body and body["reasoning_effort"] not in efforts:
        yield f"invalid reasoning_effort: only {', '.join(efforts)} is allowed for this model"
    if "thinking" in body:
        yield "invalid thinking: this model always thinks"
    budget = body.get("max_completion_tokens", body.get("max_tokens", 1))
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        yield "invalid max_completion_tokens: must be a positive integer"
    stop = body.get("stop") or []
    if isinstance(stop, list) and len(stop) > MAX_STOPS:
        yield f"stop array too long: at most {MAX_STOPS}"
    yield from _tool_complaints(body.get("tools") or [])
    yield from _choice_complaints(body)


def _choice_complaints(body: Mapping[str, Any]) -> Iterator[str]:
    """Whoever forces a call gets a refusal from some relays, since the model always thinks."""
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not body.get("tools"):
        yield "tool_choice is only allowed when tools are specified"
    if choice not in ("auto", "none"):
        yield f"tool_choice {choice!r} is incompatible with thinking enabled"


def _schema_complaints(node: object) -> Iterator[str]:
    """Each node of a schema needs its type."""
    if not isinstance(node, dict) or not isinstance(node.get("type"), str):
        yield "tools.function.parameters is not a valid moonshot flavored json schema: type missing"
        return
    for child in (*node.get("properties", {}).values(), *filter(None, [node.get("items")])):
        yield from _schema_complaints(child)


def _tool_complaints(tools: Sequence[Any]) -> Iterator[str]:
    names = [tool.get("function", {}).get("name", "") for tool in tools if isinstance(tool, dict)]
    if len(names) != len(tools) or len(tools) > MAX_TOOLS:
        yield f"tools must be a list of at most {MAX_TOOLS} objects"
    if len(set(names)) != len(names):
        yield "function names must be unique"
    for name in names:
        if not _TOOL_NAME.fullmatch(str(name)):
            yield f"invalid function name {name!r}"
    for tool in tools:
        if isinstance(tool, dict) and "parameters" in tool.get("function", {}):
            yield from _schema_complaints(tool["function"]["parameters"])


def _message_complaints(messages: object, sees: bool) -> Iterator[str]:
    if not isinstance(messages, list) or not messages:
        yield "messages must be a list with at least one message"
        return
    open_calls: set[str] = set()
    for position, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in _ROLES:
            yield f"message at position {position} has no valid role"
            return
        if role == "tool":
            yield from _tool_answer_complaints(message, open_calls)
            continue
        if open_calls:
            yield f"tool_call_id {sorted(open_calls)[0]} has no tool message"
            open_calls = set()
        yield from _content_complaints(message, position, sees)
        if role == "assistant":
            yield from _assistant_complaints(message, position)
            open_calls = {str(call.get("id")) for call in message.get("tool_calls") or []}
    if open_calls:
        yield f"tool_call_id {sorted(open_calls)[0]} has no tool message"


def _tool_answer_complaints(message: Mapping[str, Any], open_calls: set[str]) -> Iterator[str]:
    call_id = str(message.get("tool_call_id"))
    if call_id not in open_calls:
        yield f"tool_call_id {call_id} is not found"
    if not isinstance(message.get("content"), str):
        yield f"tool_call_id {call_id}: content must be a string"
    open_calls.discard(call_id)


def _assistant_complaints(message: Mapping[str, Any], position: int) -> Iterator[str]:
    calls = message.get("tool_calls")
    content = message.get("content")
    if not calls and not content:
        yield f"message at position {position} with role 'assistant' must not be empty"
    if calls and content == "":
        yield "text content is empty"
    ids = [call.get("id") for call in calls or []]
    if len(set(ids)) != len(ids):
        yield f"message at position {position}: ids of tool calls must be unique"
    if calls and not isinstance(message.get("reasoning_content"), str):
        yield (
            "thinking is enabled but reasoning_content is missing in assistant tool call "
            f"message at index {position}"
        )


def _content_complaints(message: Mapping[str, Any], position: int, sees: bool) -> Iterator[str]:
    content = message.get("content")
    if content is None and message["role"] == "assistant":
        return
    if isinstance(content, list):
        yield from _part_complaints(content, position, sees)
    elif not isinstance(content, str):
        yield f"message at position {position}: content must be a string or a list of parts"


def _part_complaints(parts: Sequence[Any], position: int, sees: bool) -> Iterator[str]:
    if not parts:
        yield f"message at position {position}: the list of parts is empty"
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            continue
        if kind == "image_url":
            yield from picture_complaints(part, sees=sees)
        else:
            yield f"message at position {position}: unknown part"
