"""Pure: the marks around code: those that nothing in it can close, and one that was left open."""

from __future__ import annotations

import re

_BACKTICKS = re.compile(r"`+")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}(?=[^`]*$)|~{3,})(?P<rest>.*)")


def fence_mark(code: str) -> str:
    """For a block: more backticks than stand in a row in it, and at least three."""
    return "`" * max(3, _longest_run(code) + 1)


def span_mark(code: str) -> str:
    """For code within a line."""
    return "`" * (_longest_run(code) + 1)


def open_mark(text: str) -> str:
    """The mark that began a block of code which has no end in the text, or ""."""
    opened = ""
    for line in text.split("\n"):
        fence = _FENCE.fullmatch(line.rstrip("\r"))
        if fence is None:
            continue
        if not opened:
            opened = fence["mark"]
        elif fence["mark"].startswith(opened) and not fence["rest"].strip():
            opened = ""
    return opened


def _longest_run(text: str) -> int:
    """How many backticks stand in a row, at the most."""
    return max(map(len, _BACKTICKS.findall(text)), default=0)
