"""The JSON of the two kinds of endpoint: a reseller as Ace Data Cloud, and Moonshot's own platform.

Chunks, completions and errors of the reseller have the shapes of the public guide at
https://docs.acedata.cloud; those of the platform are described at https://platform.kimi.ai/docs.
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kimibot.sandbox.kimi.plan import Chunk, Counted, Plan, Refusal

DONE = b"data: [DONE]\n\n"


class Dialect(StrEnum):
    """Whose JSON is spoken."""

    ACEDATA = "acedata"
    MOONSHOT = "moonshot"


@dataclass(frozen=True, slots=True)
class Envelope:
    """What all chunks of one answer share."""

    dialect: Dialect
    id: str
    created: int
    model: str
    include_usage: bool = False

    def opening(self) -> bytes:
        return self._line([_choice({"content": "", "role": "assistant"})])

    def chunk(self, chunk: Chunk) -> bytes:
        if chunk.raw is not None:
            return chunk.raw.encode() if isinstance(chunk.raw, str) else chunk.raw
        return self._line([_choice(_delta(chunk))])

    def finish(self, finish_reason: str, usage: Counted) -> bytes:
        """The finish chunk; the platform puts the usage into its choice."""
        choice = _choice({}, finish_reason)
        if self.dialect is Dialect.MOONSHOT:
            choice["usage"] = _usage(usage)
        return self._line([choice])

    def usage(self, usage: Counted) -> bytes:
        """The usage chunk: a reseller sends it always, the platform when asked for it."""
        if self.dialect is Dialect.MOONSHOT and not self.include_usage:
            return b""
        return self._line([], _usage(usage))

    def completion(self, plan: Plan, usage: Counted) -> dict[str, Any]:
        """The whole answer as one object, for a request without `stream`."""
        message: dict[str, Any] = {"role": "assistant", "content": plan.content}
        if plan.reasoning:
            message["reasoning_content"] = plan.reasoning
        choice = {"index": 0, "message": message, "logprobs": None}
        return {
            **self._head("chat.completion"),
            "choices": [{**choice, "finish_reason": plan.finish_reason}],
            "usage": _usage(usage),
        }

    def _line(
        self, choices: Sequence[Mapping[str, Any]], usage: Mapping[str, int] | None = None
    ) -> bytes:
        whole = {**self._head("chat.completion.chunk"), "choices": choices}
        if self.dialect is Dialect.ACEDATA or usage is not None:
            whole["usage"] = usage
        return data_line(whole)

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def completion_id(dialect: Dialect, randomness: random.Random) -> str:
    """An id as the endpoint makes them: `msg_…` or `chatcmpl-…`."""
    letters = "".join(randomness.choices(string.ascii_letters + string.digits, k=24))
    return f"msg_{letters}" if dialect is Dialect.ACEDATA else f"chatcmpl-{letters}"


def error_body(dialect: Dialect, code: str, message: str, trace_id: str) -> dict[str, Any]:
    """The error object; `code` is what the platform calls `type`."""
    if dialect is Dialect.ACEDATA:
        error = {"code": code, "message": message}
        return {"success": False, "error": error, "trace_id": trace_id}
    return {"error": {"message": message, "type": code}}


def refusal(
    status: int, code: str, message: str, *, dialect: Dialect, trace_id: str, **headers: str
) -> Refusal:
    """An error as this kind of endpoint answers it; `Retry_After` becomes Retry-After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named |= trace_headers(dialect, trace_id)
    body = json.dumps(error_body(dialect, code, message, trace_id), ensure_ascii=False)
    return Refusal(status, body, headers=named)


def trace_headers(dialect: Dialect, trace_id: str) -> dict[str, str]:
    """The headers that name the request's trace."""
    if dialect is Dialect.ACEDATA:
        return {"x-trace-id": trace_id}
    return {"x-msh-trace-id": trace_id, "msh-request-id": trace_id}


def data_line(whole: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return f"data: {json.dumps(whole, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


def _choice(delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason}


def _delta(chunk: Chunk) -> dict[str, Any]:
    delta: dict[str, Any] = {}
    if chunk.reasoning is not None:
        delta["reasoning_content"] = chunk.reasoning
    if chunk.content is not None:
        delta["content"] = chunk.content
    if chunk.tool_calls:
        delta["tool_calls"] = list(chunk.tool_calls)
    return delta


def _usage(usage: Counted) -> dict[str, int]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
