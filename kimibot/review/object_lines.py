"""Pure: takes a growing text apart into JSON objects and the prose between them; nothing is lost.

A model that is told to write one object a line may put a fence or a list around them, spread one
over several lines, or leave a comma too many.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Piece = Mapping[str, Any] | str
"""An object, or lines of prose."""

MOST_PENDING_LINES = 200
MOST_PENDING_CHARACTERS = 40_000
MOST_LEVELS = 10
"""How deep an object may be: what is deeper means nothing to us, and exhausts who looks at it."""

_DECODER = json.JSONDecoder(strict=False)
_OPENER = re.compile(r"\s*(?:```\s*(?:json\w*|ndjson)?|\[)\s*")
_CLOSER = re.compile(r"\s*(?:```|\],?)\s*")
_LIST_SIGNS = " \t\r\n[],"
_COMMA = re.compile(r",(\s*[}\]])")
_HALF = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(
    r"(\\[\"\\/bfnrt]"
    r"|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\"
)


class ObjectLines:
    """Give it the text as it comes; each complete line is told apart at once."""

    def __init__(self) -> None:
        self._line = ""
        self._pending: list[str] = []
        self._held: list[str] = []
        self._open = 0

    def feed(self, text: str) -> list[Piece]:
        """The objects and the prose that are complete now."""
        *lines, self._line = (self._line + text).split("\n")
        return [piece for line in lines for piece in self._read(line)]

    def end(self) -> list[Piece]:
        """What is left when nothing more comes."""
        pieces = list(self._read(self._line)) if self._line else []
        self._line = ""
        return [*pieces, *self._give_up(), *self._release()]

    def _read(self, line: str) -> Iterator[Piece]:
        """What may be the opening of a list of objects is held back until the next line."""
        if self._pending:
            yield from self._read_on(line)
        elif _begins_object(line):
            held = [one for one in self._held if one.strip()]
            self._open += len(held) + line.lstrip().startswith("[")
            self._held = []
            yield from self._try([line])
        elif self._open and _CLOSER.fullmatch(line):
            self._open -= 1
        elif _OPENER.fullmatch(line) or (self._held and not line.strip()):
            self._held.append(line)
        else:
            yield from self._release()
            yield line

    def _read_on(self, line: str) -> Iterator[Piece]:
        """A line that is an object by itself shows that the one before it will not be closed."""
        alone, rest = _decoded(line)
        if alone and not rest and "path" in alone[0]:
            yield from self._give_up()
            yield from alone
            return
        yield from self._try([*self._pending, line])

    def _try(self, lines: list[str]) -> Iterator[Piece]:
        text = "\n".join(lines)
        objects, rest = _decoded(text)
        yield from (part for found in objects for part in _unwrapped(found))
        self._pending = [rest] if rest and _begins_object(rest) else []
        if rest and not self._pending:
            yield rest
        if rest.count("\n") > MOST_PENDING_LINES or len(rest) > MOST_PENDING_CHARACTERS:
            yield from self._give_up()

    def _give_up(self) -> Iterator[Piece]:
        if self._pending:
            yield "\n".join(self._pending)
        self._pending = []

    def _release(self) -> Iterator[Piece]:
        yield from self._held
        self._held = []


def _begins_object(line: str) -> bool:
    return line.lstrip(_LIST_SIGNS).startswith("{")


def _decoded(text: str) -> tuple[list[dict[str, Any]], str]:
    """The objects that a text begins with, and what comes after them."""
    objects: list[dict[str, Any]] = []
    while (rest := text.strip(_LIST_SIGNS)).startswith("{"):
        found = _first(rest)
        if found is None:
            return objects, text.lstrip(_LIST_SIGNS)
        objects.append(found[0])
        text = found[1]
    return objects, rest


def _first(text: str) -> tuple[dict[str, Any], str] | None:
    for candidate in (text, _mended(text)):
        try:
            found, end = _DECODER.raw_decode(candidate)
        except (ValueError, RecursionError):  # not closed yet, or no JSON
            continue
        if _is_sound(found):
            return found, candidate[end:]
    return None


def _is_sound(value: object, levels: int = MOST_LEVELS) -> bool:
    """Whether it is of some depth only, and all of its text is such as UTF-8 can say."""
    if isinstance(value, str):
        return _HALF.search(value) is None
    inner = [*value, *value.values()] if isinstance(value, dict) else value
    if not isinstance(inner, list):
        return True
    return levels > 0 and all(_is_sound(one, levels - 1) for one in inner)


def _mended(text: str) -> str:
    """Without commas before a closing bracket, and with the backslashes that JSON wants doubled:
    half of a surrogate pair is what stands in code, copied as it stands there."""
    return _ESCAPE.sub(lambda found: found[1] or "\\\\", _COMMA.sub(r"\1", text))


def _unwrapped(found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All findings may have come in one object."""
    for key in ("findings", "issues", "comments"):
        items = found.get(key)
        if isinstance(items, list) and "path" not in found:
            yield from (item for item in items if isinstance(item, dict))
            rest = {name: value for name, value in found.items() if name != key}
            if rest:
                yield rest
            return
    yield found
