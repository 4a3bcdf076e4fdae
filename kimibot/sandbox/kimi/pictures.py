"""Refuses the pictures in a request that the real endpoints refuse.

Only data URIs and uploaded files are taken, of PNG, JPEG, WebP and GIF
(https://platform.kimi.ai/docs, "Use Kimi Vision Model").
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

_DATA = re.compile(r"data:image/(png|jpeg|webp|gif);base64,(.*)", re.DOTALL)
_BEGINNINGS = {
    "png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "jpeg": re.compile(rb"\xff\xd8\xff"),
    "gif": re.compile(rb"GIF8[79]a"),
    "webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}


def picture_complaints(part: dict[str, Any], *, sees: bool) -> Iterator[str]:
    """What is wrong with a part of the type `image_url`; `sees` is False for a text-only model."""
    if not sees:
        yield "Invalid request: this model does not support image input"
        return
    image = part.get("image_url")
    url = str(image.get("url", "") if isinstance(image, dict) else image)
    if url.startswith("ms://"):
        return
    found = _DATA.fullmatch(url)
    if found is None:
        yield f"unsupported image url: {url[:60]}"
    elif not _BEGINNINGS[found[1]].match(_content(found[2])):
        yield f"invalid image: not a {found[1]} file"


def _content(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""
