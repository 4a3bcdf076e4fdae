"""Pure: the marks around code that nothing in it can close."""

from __future__ import annotations

import re

_BACKTICKS = re.compile(r"`+")


def fence_mark(code: str) -> str:
    """For a block: more backticks than stand in a row in it, and at least three."""
    return "`" * max(3, _longest_run(code) + 1)


def span_mark(code: str) -> str:
    """For code within a line."""
    return "`" * (_longest_run(code) + 1)


def _longest_run(text: str) -> int:
    """How many backticks stand in a row, at the most."""
    return max(map(len, _BACKTICKS.findall(text)), default=0)
