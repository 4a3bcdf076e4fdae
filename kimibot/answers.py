"""The words for what the model says: delta, tool call, usage, answer. Frozen, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ChatMessage = Mapping[str, Any]
"""One element of Chat Completions' `messages`: role, content, and what else came with it."""

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
"""Where endpoints put the model's reasoning beside its content."""


CUT_OFF = "[cut off]"
"""With this an answer ends that goes back to the model without its end."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them; None where it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call; `parameters` is the JSON schema of its arguments.

    Kimi wants a `type` at each node of it, and knows no `$ref`.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools that a request declares. They stay declared when no more calls may be made: the
    beginning of the request is then still the same, and the calls before have their tools."""

    tools: tuple[Tool, ...] = ()
    may_call: bool = True

    def __bool__(self) -> bool:
        return bool(self.tools)


NO_TOOLS = Toolbox()


@dataclass(frozen=True, slots=True)
class ToolCallPiece:
    """A piece of a tool call; pieces of one call share an index, or an id where that is missing."""

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a function that the model asks for; `arguments` is JSON as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Delta:
    """What one chunk of the model's stream adds.

    `reasoning` is None where the chunk has none: an empty string counts as received.
    `reasoning_field` is the name under which the endpoint sent it.
    """

    content: str = ""
    reasoning: str | None = None
    reasoning_field: str = "reasoning_content"
    tool_calls: tuple[ToolCallPiece, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    completion_id: str = ""
    trace_id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole of what the model said.

    `review` is what it has found where it is a review, as it is stored.
    `finish_reason` is None when the stream ended before the model did. `raw` is the assistant
    message as it goes back to the model: content, reasoning and tool calls as they were received.
    `steps` are the messages that led to it: calls of tools as received, and what they gave.
    """

    content: str
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    completion_id: str = ""
    trace_id: str = ""
    raw: ChatMessage = field(default_factory=dict)
    review: Mapping[str, Any] | None = None
    steps: tuple[ChatMessage, ...] = ()


def reasoning_in(raw: ChatMessage) -> str:
    """The reasoning in an assistant message as it was received, or ""."""
    for name in REASONING_FIELDS:
        value = raw.get(name)
        if isinstance(value, list):
            value = "".join(str(part.get("text") or "") for part in value if isinstance(part, dict))
        if isinstance(value, str) and value.strip():
            return value
    return ""


@dataclass(frozen=True, slots=True)
class Retry:
    """A failed try that will be made again: the `attempt`-th of at most `of`, after a wait."""

    attempt: int
    of: int
    wait_seconds: float
    error_name: str
