"""Bytes of streams for the tests to send, and what is wanted of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RECORDED = (Path(__file__).parent / "recorded" / "k3_max_excerpt.sse").read_bytes()
EVENTS = [event + b"\n\n" for event in RECORDED.split(b"\n\n") if event]
ROLE, REASONING, TEXT, FINISH, USAGE, DONE = EVENTS


def event(body: object) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One event with one choice."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return event({"id": "msg_fake", "choices": [choice]} | more)


def says(text: str) -> bytes:
    return chunk({"content": text})


COMPLETION = json.dumps(
    {
        "id": "msg_fake",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello", "reasoning_content": "The"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 172, "completion_tokens": 168},
    }
).encode()
