"""Pure: what a repository's `.gitattributes` says about its generated and vendored files.

https://github.com/github-linguist/linguist/blob/main/docs/overrides.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

GENERATED = "linguist-generated"
VENDORED = "linguist-vendored"

_MOST_LINES = 1_000
_MOST_FOLDERS = 100
_MOST_ANY_FOLDERS = 2
_FALSE = ("false", "0", "no")


class Attributes:
    """The lines of a file that speak of those two; a later one wins."""

    def __init__(self, text: str = "") -> None:
        self._said = list(_read(text))

    def says(self, name: str, path: str) -> bool | None:
        """None where the file says nothing about it."""
        said = (value for glob, key, value in reversed(self._said) if key == name and
                matches(glob, path))  # fmt: skip
        return next(said, None)


def matches(glob: str, path: str) -> bool:
    """As in a .gitignore: without a slash a pattern is about the name in any folder.

    What could take long to find out does not match: neither is written by somebody we know.
    """
    names, parts = path.split("/"), glob.removeprefix("/").split("/")
    if len(names) > _MOST_FOLDERS or parts.count("**") > _MOST_ANY_FOLDERS:
        return False
    if "/" not in glob:
        return fnmatchcase(names[-1], glob)
    return _match(parts, names)


def _match(parts: Sequence[str], names: Sequence[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        if len(parts) == 1:
            return bool(names)
        return any(_match(parts[1:], names[at:]) for at in range(len(names)))
    return bool(names) and fnmatchcase(names[0], parts[0]) and _match(parts[1:], names[1:])


def _read(text: str) -> Iterator[tuple[str, str, bool]]:
    for line in text.split("\n")[:_MOST_LINES]:
        glob, *attributes = line.split() or [""]
        if not glob or glob.startswith(("#", "!", '"')):
            continue
        for attribute in attributes:
            name, _, value = attribute.lstrip("-!").partition("=")
            if name in (GENERATED, VENDORED):
                is_set = not attribute.startswith(("-", "!")) and value.lower() not in _FALSE
                yield glob, name, is_set
