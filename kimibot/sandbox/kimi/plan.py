"""What the local Kimi is to send for one request: timed chunks and an end, or a refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

# Chinese, Japanese and full-width characters come without spaces: two of them are "a word".
_WIDE = r"\u3000-\u30ff\u3400-\u9fff\uff00-\uffef"
_WORD = re.compile(rf"\s*(?:[{_WIDE}]{{1,2}}|[^\s{_WIDE}]{{1,24}})\s*|\s+")


class End(StrEnum):
    """How a stream ends."""

    DONE = "done"
    """Finish chunk, usage chunk, `[DONE]`."""
    WITHOUT_DONE = "without_done"
    """Finish chunk and usage chunk, then the body ends."""
    EOF = "eof"
    """The body ends properly, with neither a finish reason nor `[DONE]`."""
    CUT = "cut"
    """The connection is closed in the middle of the body."""
    RESET = "reset"
    """The connection is reset in the middle of the body."""
    STALL = "stall"
    """Silence before any finish reason, with the connection open."""
    HANG = "hang"
    """Finish chunk, then silence, with the connection open."""
    ERROR = "error"
    """An error object as a data line of the running stream, then the body ends."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk, sent `wait_seconds` after the one before. `raw` goes out as it is."""

    content: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    raw: str | bytes | None = None
    wait_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Counted:
    """The usage that the endpoint reports."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Plan:
    """An answer to be streamed. Without `usage`, prompt and chunks are counted."""

    chunks: tuple[Chunk, ...] = ()
    end: End = End.DONE
    finish_reason: str = "stop"
    usage: Counted | None = None

    @property
    def content(self) -> str:
        return "".join(chunk.content or "" for chunk in self.chunks)

    @property
    def reasoning(self) -> str:
        return "".join(chunk.reasoning or "" for chunk in self.chunks)

    def without_calls(self) -> Plan:
        """What a model says that has no tools to call."""
        if not any(chunk.tool_calls for chunk in self.chunks):
            return self
        chunks = tuple(chunk for chunk in self.chunks if not chunk.tool_calls)
        return replace(self, chunks=chunks, finish_reason="stop")

    def limited(self, max_tokens: int | None) -> Plan:
        """The same answer as far as the budget goes: reasoning counts as well."""
        if max_tokens is None or len(self.chunks) <= max_tokens:
            return self
        return replace(self, chunks=self.chunks[:max_tokens], end=End.DONE, finish_reason="length")


def calling(thought: tuple[Chunk, ...], *calls: tuple[str, Mapping[str, Any] | str]) -> Plan:
    """Thoughts, then calls of these tools, each with its arguments; a string goes as it is."""
    pieces = [piece for at, one in enumerate(calls) for piece in _pieces(at, *one)]
    return Plan((*thought, *pieces), finish_reason="tool_calls")


def _pieces(index: int, name: str, arguments: Mapping[str, Any] | str) -> Iterator[Chunk]:
    """Name and id first, then the arguments in two pieces; the ids come again in later answers."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    half = len(text) // 2
    function = {"name": name, "arguments": ""}
    yield Chunk(tool_calls=({"index": index, "id": f"{name}:{index}", "function": function},))
    for piece in (text[:half], text[half:]):
        yield Chunk(tool_calls=({"index": index, "function": {"arguments": piece}},))


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is no stream: status, body and headers, sent after `wait_seconds`."""

    status: int
    body: str = ""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the local Kimi is. A rate of 0 words per second means: without any wait."""

    words_per_second: float = 40.0
    reasoning_seconds: float = 2.0

    def thought(self, text: str, seconds: float | None = None) -> tuple[Chunk, ...]:
        """The text as reasoning, spread evenly over the seconds."""
        words = _WORD.findall(text)
        if not words:
            return ()
        whole = self.reasoning_seconds if seconds is None else seconds
        wait = whole / len(words)
        return tuple(Chunk(reasoning=word, wait_seconds=wait) for word in words)

    def said(self, text: str) -> tuple[Chunk, ...]:
        """The text as content, a word a chunk; joined again it is the text, byte for byte."""
        wait = 1 / self.words_per_second if self.words_per_second > 0 else 0.0
        return tuple(Chunk(content=word, wait_seconds=wait) for word in _WORD.findall(text))
