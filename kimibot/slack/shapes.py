"""Takes strings, lists and mappings out of payloads of any shape; the rest counts as empty."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Shape = Mapping[str, Any]

_EMPTY: Shape = {}
_TS = re.compile(r"\d{1,20}\.\d{1,20}")


def string(source: Shape, key: str) -> str:
    """The string at a key, or an empty one."""
    value = source.get(key)
    return value if isinstance(value, str) else ""


def shape(source: Shape, key: str) -> Shape:
    """The mapping at a key, or an empty one."""
    value = source.get(key)
    return value if isinstance(value, Mapping) else _EMPTY


def shapes(source: Shape, key: str, most: int = 1_000) -> list[Shape]:
    """The mappings in the list at a key, at most so many."""
    value = source.get(key)
    found = value[:most] if isinstance(value, list) else []
    return [item for item in found if isinstance(item, Mapping)]


def is_ts(text: str) -> bool:
    """Whether it is a time as Slack writes them."""
    return _TS.fullmatch(text) is not None
