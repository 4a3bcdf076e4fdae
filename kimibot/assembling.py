"""Puts the deltas of a stream together to one answer. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kimibot.answers import Answer, Delta, ToolCall, ToolCallPiece, Usage

UNKNOWN_REASON = "unknown"
MAX_ID_CHARACTERS = 64


@dataclass(slots=True)
class _Call:
    """A tool call in the making."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class Assembling:
    """An answer in the making. Adding a delta takes the same time however many came before."""

    def __init__(self) -> None:
        self._content = _Text()
        self._reasoning = _Text()
        self._has_reasoning = False
        self._reasoning_field = "reasoning_content"
        self._calls: list[_Call] = []
        self._call_at: dict[int, _Call] = {}
        self._call_with: dict[str, _Call] = {}
        self._finish_reason: str | None = None
        self._usage: Usage | None = None
        self._completion_id = ""
        self._trace_id = ""

    @property
    def content(self) -> str:
        """The text so far."""
        return str(self._content)

    def add(self, delta: Delta) -> None:
        """The first finish reason stays, the last usage counts: it is a sum already."""
        self._content.add(delta.content)
        if delta.reasoning is not None:
            self._add_reasoning(delta.reasoning, delta.reasoning_field)
        for piece in delta.tool_calls:
            self._add_piece(piece)
        self._finish_reason = self._finish_reason or delta.finish_reason
        self._usage = delta.usage or self._usage
        self._completion_id = self._completion_id or delta.completion_id
        self._trace_id = self._trace_id or delta.trace_id

    def finish(self) -> Answer:
        """The whole answer; its `raw` goes back to the model as it is."""
        calls = self._tool_calls()
        reasoning = self._reasoning_so_far()
        return Answer(
            content=self.content,
            reasoning=reasoning,
            tool_calls=calls,
            finish_reason=self._finish_reason or UNKNOWN_REASON,
            usage=self._usage,
            completion_id=self._completion_id,
            trace_id=self._trace_id,
            raw=self._raw(reasoning, calls),
        )

    def cut(self) -> Answer:
        """What there is of an answer that was cut off or stopped.

        Its `raw` is the text alone: half a tool call is refused, and thoughts without their end
        lead the model astray.
        """
        return Answer(
            content=self.content,
            reasoning=self._reasoning_so_far(),
            usage=self._usage,
            completion_id=self._completion_id,
            trace_id=self._trace_id,
            raw={"role": "assistant", "content": self.content},
        )

    def _add_reasoning(self, reasoning: str, name: str) -> None:
        self._reasoning.add(reasoning)
        if not self._has_reasoning:
            self._has_reasoning, self._reasoning_field = True, name

    def _reasoning_so_far(self) -> str | None:
        return str(self._reasoning) if self._has_reasoning else None

    def _add_piece(self, piece: ToolCallPiece) -> None:
        call = self._call_of(piece)
        if piece.index is not None:
            self._call_at[piece.index] = call
        if piece.id and not call.id:
            call.id = piece.id
            self._call_with[piece.id] = call
        call.name = call.name or piece.name
        call.arguments.append(piece.arguments)

    def _call_of(self, piece: ToolCallPiece) -> _Call:
        """By index, where there is none by id, else the last one; a new one where none is known."""
        if piece.index is not None:
            known = self._call_at.get(piece.index)
        elif piece.id:
            known = self._call_with.get(piece.id)
        else:
            known = self._calls[-1] if self._calls else None
        if known is None or _is_another(known, piece):
            known = _Call()
            self._calls.append(known)
        return known

    def _tool_calls(self) -> tuple[ToolCall, ...]:
        """Calls of a function without a name can't be made, nor be sent back."""
        suffix = hashlib.sha256(self._completion_id.encode()).hexdigest()[:8]
        taken: set[str] = set()
        calls = []
        for call in self._calls:
            if call.name:
                id_ = _unique(call.id or call.name, suffix, taken)
                calls.append(ToolCall(id_, call.name, "".join(call.arguments).strip() or "{}"))
        return tuple(calls)

    def _raw(self, reasoning: str | None, calls: tuple[ToolCall, ...]) -> Mapping[str, Any]:
        raw: dict[str, Any] = {"role": "assistant"}
        if self._content or not calls:  # beside calls, an empty content is refused by some
            raw["content"] = self.content
        if reasoning is not None:
            raw[self._reasoning_field] = _as_received(self._reasoning_field, reasoning)
        if calls:
            raw["tool_calls"] = [_raw_call(call) for call in calls]
        return raw


class _Text:
    """A growing text: pieces are joined only when it is read."""

    def __init__(self) -> None:
        self._joined = ""
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)

    def __bool__(self) -> bool:
        return bool(self._pieces or self._joined)

    def __str__(self) -> str:
        if self._pieces:
            self._joined = "".join((self._joined, *self._pieces))
            self._pieces.clear()
        return self._joined


def _is_another(known: _Call, piece: ToolCallPiece) -> bool:
    """Some relays give every call index 0, or none: an id and a name of its own begin a new one."""
    if not (piece.name and known.name):
        return False
    return piece.id != known.id if piece.id and known.id else piece.name != known.name


def _unique(id_: str, suffix: str, taken: set[str]) -> str:
    """Ids such as `search:0` come again in later answers, so the answer's own mark is added."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", id_)[: MAX_ID_CHARACTERS - len(suffix) - 8]
    unique, number = f"{plain}-{suffix}", len(taken)
    while unique in taken:
        number += 1
        unique = f"{plain}-{suffix}-{number}"
    taken.add(unique)
    return unique


def _as_received(name: str, reasoning: str) -> object:
    """`reasoning_details` is a list of parts; the others are strings."""
    if name == "reasoning_details":
        return [{"type": "reasoning.text", "text": reasoning}]
    return reasoning


def _raw_call(call: ToolCall) -> Mapping[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}
