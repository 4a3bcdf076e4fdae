"""Pure: what a repository's `.gitattributes` says about its generated and vendored files.

https://github.com/github-linguist/linguist/blob/main/docs/overrides.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

GENERATED = "linguist-generated"
VENDORED = "linguist-vendored"

_MOST_LINES = 1_000
_LONGEST_PATTERN = 200
_MOST_STARS = 6
_NEVER = re.compile(r"(?!)")
_TOKEN = re.compile(r"\*\*/|/\*\*$|\*+|\?|\[[!^]?[^\]]+\]|.", re.DOTALL)
_FALSE = ("false", "0", "no")


class Attributes:
    """The lines of a file that speak of those two; a later one wins."""

    def __init__(self, text: str = "") -> None:
        self._said = list(_read(text))

    def says(self, name: str, path: str) -> bool | None:
        """None where the file says nothing about it."""
        said = [value for pattern, key, value in self._said if key == name and pattern.match(path)]
        return said[-1] if said else None


@lru_cache(maxsize=1_000)
def path_pattern(glob: str) -> re.Pattern[str]:
    """A pattern as in a .gitignore: without a slash it is about the name in any folder.

    One that could take long to match matches nothing.
    """
    if len(glob) > _LONGEST_PATTERN or glob.count("*") > _MOST_STARS:
        return _NEVER
    is_anywhere = "/" not in glob.rstrip("/")
    body = "".join(_translated(token) for token in _TOKEN.findall(glob.removeprefix("/")))
    try:
        return re.compile(f"(?:.*/)?{body}$" if is_anywhere else f"{body}$", re.DOTALL)
    except re.error:  # a set of characters that is none
        return _NEVER


def _translated(token: str) -> str:
    if token == "**/":
        return "(?:.*/)?"
    if token == "/**":
        return "/.*"
    if token.startswith("*"):
        return "[^/]*"
    if token == "?":
        return "[^/]"
    if token.startswith("[") and len(token) > 1:
        return token.replace("[!", "[^", 1).replace("\\", "\\\\")
    return re.escape(token)


def _read(text: str) -> Iterator[tuple[re.Pattern[str], str, bool]]:
    for line in text.split("\n")[:_MOST_LINES]:
        glob, *attributes = line.split() or [""]
        if not glob or glob.startswith(("#", "!", '"')):
            continue
        for attribute in attributes:
            name, _, value = attribute.lstrip("-!").partition("=")
            if name in (GENERATED, VENDORED):
                is_set = not attribute.startswith(("-", "!")) and value.lower() not in _FALSE
                yield path_pattern(glob), name, is_set
