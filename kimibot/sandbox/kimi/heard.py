"""What a request says, as the script understands it: the last ask, and those before it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
# A client that merges neighbours puts several people's words into one user message, each paragraph
# with its speaker in front: "Ana: …", or "Ana Lima, Mon 2026-11-30 09:12 UTC: …".
_NAME = r"[^\W\d_a-z][\w.'-]{0,30}"
_TIMED = r"[^\n:]{1,80}, \w{3} \d{4}-\d\d-\d\d \d\d:\d\d UTC"
_SPEAKER = re.compile(rf"(?:\A|\n\s*\n)[ \t]*({_TIMED}|[\[(*]*{_NAME}(?: {_NAME}){{0,3}}[\])*]*): ")
_ADDRESS = re.compile(r"<@\w+(?:\|[^>]*)?>|@kimi\w*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heard:
    """The request's words. `tries` counts the refusals that the same ask has met already.

    `shrunk` says that an earlier try of the same ask was longer; `last_answer` is ours, before it.
    `may_call` says that there are tools to call, and that none was called for this ask so far.
    """

    question: str
    earlier: tuple[str, ...] = ()
    tries: int = 0
    shrunk: bool = False
    last_answer: str = ""
    may_call: bool = False

    @property
    def plain(self) -> str:
        """The question without its code, in small letters."""
        return _CODE.sub(" ", self.question).lower()

    @property
    def code(self) -> str:
        """The first code block of the question, without its fence."""
        block = re.search(r"```[^\n]*\n(.*?)(?:\n```|\Z)", self.question, re.DOTALL)
        return block.group(1) if block else ""


def hear(
    messages: Sequence[Mapping[str, Any]],
    *,
    tries: int = 0,
    shrunk: bool = False,
    has_tools: bool = False,
) -> Heard:
    """Take the asks of people out of a request's messages, oldest first."""
    asks = [ask for message in messages for ask in _asks(message)]
    question = asks[-1] if asks else ""
    answers = [text_of(message) for message in messages if message.get("role") == "assistant"]
    last = answers[-1] if answers else ""
    may_call = has_tools and bool(messages) and messages[-1].get("role") == "user"
    return Heard(question, tuple(asks[:-1]), tries, shrunk, last, may_call)


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, whichever of the two forms its content has."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part.get("text", "") for part in content if isinstance(part, dict))
    return "\n".join(part for part in parts if isinstance(part, str) and part)


def _asks(message: Mapping[str, Any]) -> list[str]:
    if message.get("role") != "user":
        return []
    text = text_of(message)
    code = [found.span() for found in _CODE.finditer(text)]
    starts = [
        found
        for found in _SPEAKER.finditer(text)
        if not any(start <= found.start(1) < end for start, end in code)
    ]
    if not starts:
        return [_cleaned(text)]
    ends = [found.start() for found in starts[1:]] + [len(text)]
    spoken = [text[found.end() : end] for found, end in zip(starts, ends, strict=True)]
    return [_cleaned(words) for words in spoken]


def _cleaned(words: str) -> str:
    return _ADDRESS.sub("", words).strip()
