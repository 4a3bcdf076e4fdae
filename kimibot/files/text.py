"""Tells text from other bytes, and decodes it without changing a character."""

from __future__ import annotations

import codecs
import re

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like UTF-16's
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NOT_TEXT = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
"""What no text holds; bells, tabs, form feeds and the escapes of terminals are in logs."""

_C1 = re.compile(r"[\x7f-\x9f]")
MOST_ODD_SHARE = 0.01
MOST_HIGH_SHARE = 0.3
"""More letters beyond ASCII than that are another encoding, or none."""


def decoded(content: bytes) -> str | None:
    """The text, line ends as they are and without its byte order mark; None if it is no text.

    What is neither marked nor UTF-8 is taken for Latin-1 where it looks like a text in it.
    """
    for bom, encoding in _BOMS:
        if content.startswith(bom):
            return _checked(_in(encoding, content.removeprefix(bom)))
    text = _in("utf-8", content)
    return _checked(text) if text is not None else _latin(content)


def _in(encoding: str, content: bytes) -> str | None:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None


def _checked(text: str | None) -> str | None:
    if text is None or "\x00" in text:
        return None
    return text if len(_NOT_TEXT.findall(text)) <= MOST_ODD_SHARE * len(text) else None


def _latin(content: bytes) -> str | None:
    text = _checked(content.decode("latin-1"))
    if text is None or _C1.search(text):
        return None
    high = len(text) - len(text.encode("ascii", "ignore"))
    return text if high <= MOST_HIGH_SHARE * len(text) else None
