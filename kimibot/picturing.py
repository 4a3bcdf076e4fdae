"""Pure: pictures among what the model reads, as parts of a message, within a request's weight.

A picture goes as a data URI: addresses are refused (platform.kimi.ai, "Use Kimi Vision Model").
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kimibot.answers import ChatMessage
from kimibot.attachments import Attachment
from kimibot.estimating import IMAGE_TOKENS, tokens
from kimibot.trimming import left_out

MOST_IMAGE_CHARACTERS = 1_250_000
"""Of 2 MiB, above which some endpoints refuse a request: the rest is for texts."""

LEFT_OUT = "[a picture stood here; it is left out by now]"

Parts = list[dict[str, Any]]


def with_pictures(text: str, attachments: Sequence[Attachment]) -> str | Parts:
    """A message's content: its text alone, or that and its pictures."""
    pictures = [_picture(one) for one in attachments if one.contents and one.contents.image]
    return [_text(text), *pictures] if pictures else text


def joined(first: str | Parts, second: str | Parts) -> str | Parts:
    """Two contents as one."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_parts(first), *_parts(second)]


def tokens_of(message: ChatMessage) -> int:
    """A pessimistic estimate of a whole message, pictures included."""
    content = message.get("content")
    texts = [str(value) for key, value in message.items() if value and key != "content"]
    texts += [str(part.get("text", "")) for part in _parts(content or "")]
    return tokens("".join(texts)) + IMAGE_TOKENS * sum(1 for _ in _pictures(content or ""))


def bytes_of(message: ChatMessage) -> int:
    """What the message adds to a request's body. Line ends and quotes take two bytes there."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def newest_pictures(said: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Leave out the oldest pictures, in whole steps, until the rest is light enough."""
    sizes = [len(url) for message in said for url in _pictures(message.get("content") or "")]
    return _without_first(said, left_out(sizes, MOST_IMAGE_CHARACTERS))


def has_pictures(said: Sequence[ChatMessage]) -> bool:
    return any(True for message in said for _ in _pictures(message.get("content") or ""))


def _without_first(said: Sequence[ChatMessage], count: int) -> list[ChatMessage]:
    kept: list[ChatMessage] = []
    for message in said:
        content = message.get("content")
        if count and isinstance(content, list):
            parts: Parts = []
            for part in content:
                is_dropped = count > 0 and "image_url" in part
                parts.append(_text(LEFT_OUT) if is_dropped else part)
                count -= is_dropped
            message = {**message, "content": parts}
        kept.append(message)
    return kept


def _parts(content: str | Parts) -> Parts:
    return [_text(content)] if isinstance(content, str) else content


def _pictures(content: str | Parts) -> Iterator[str]:
    for part in content if isinstance(content, list) else ():
        image: Mapping[str, Any] = part.get("image_url") or {}
        if image:
            yield str(image["url"])


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _picture(attachment: Attachment) -> dict[str, Any]:
    contents = attachment.contents
    data = base64.b64encode(contents.image or b"").decode() if contents else ""
    kind = contents.image_type if contents else ""
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
