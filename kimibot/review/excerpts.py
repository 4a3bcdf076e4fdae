"""Pure: files and folders of a repository as the model reads them, within a size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kimibot.estimating import tokens
from kimibot.review.lookups import BadCall, ReadFile
from kimibot.review.numbered import CUT, LONGEST_LINE, name_of
from kimibot.review.repository import Entry, EntryKind
from kimibot.review.secrecy import may_hold_keys

MOST_LINES = 600
MOST_TOKENS = 8_000
"""Of one answer: as much as a long file has, and a small part of what a request may hold."""

MOST_ENTRIES = 400
_REST_TOKENS = 10
"""How many more there are."""

_SIGNS = {
    EntryKind.FOLDER: "/",
    EntryKind.LINK: " (a link: not followed)",
    EntryKind.SUBMODULE: " (a submodule)",
}


def excerpt(wanted: ReadFile, content: bytes, most_tokens: int = MOST_TOKENS) -> str:
    """The wanted lines of a file with their numbers, or as many of them as fit, and what is left.

    `most_tokens` is what is left for it; an answer is never longer than MOST_TOKENS. Raises BadCall
    where there is nothing to show.
    """
    if b"\0" in content:
        raise BadCall(f"{wanted.path} is no text.")
    lines = content.decode("utf-8", "replace").split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    first = wanted.first_line or 1
    last = min(wanted.last_line or len(lines), len(lines), first + MOST_LINES - 1)
    if first > last:
        count = len(lines)
        raise BadCall(
            f"{wanted.path} ({wanted.version}) has {count} lines; none of those are there."
        )
    numbered = (_numbered(n, line) for n, line in enumerate(lines[first - 1 : last], first))
    shown = _fitting(numbered, min(most_tokens, MOST_TOKENS))
    end = first + len(shown) - 1
    head = f"{wanted.path} ({wanted.version}), lines {first}-{end} of {len(lines)}"
    rest = f"\nThe file goes on. Ask for what you need with first_line={end + 1}."
    is_all = end == len(lines) or end == wanted.last_line
    return "\n".join([head, *shown]) + ("" if is_all else rest)


def listing(
    folder: str, entries: Sequence[Entry], version: str, most_tokens: int = MOST_TOKENS
) -> str:
    """The names in a folder, folders with a slash behind them, within the same limits."""
    head = f"{name_of(folder) or 'The root'} ({version}), {len(entries)} entries"
    names = (_named(folder, one) for one in entries[:MOST_ENTRIES])
    lines = _fitting(names, min(most_tokens, MOST_TOKENS) - tokens(head) - _REST_TOKENS)
    more = len(entries) - len(lines)
    return "\n".join([head, *lines, *([f"and {more} more"] if more > 0 else [])])


def _fitting(lines: Iterable[str], most_tokens: int) -> list[str]:
    """At least one line, however little is left."""
    shown: list[str] = []
    for line in lines:
        most_tokens -= tokens(line)
        if most_tokens < 0 and shown:
            break
        shown.append(line)
    return shown


def _numbered(number: int, line: str) -> str:
    text = line.removesuffix("\r")
    text = text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} {CUT}"
    return f"{number:>5}   {text}"


def _named(folder: str, entry: Entry) -> str:
    path = f"{folder}/{entry.name}" if folder else entry.name
    shown = name_of(entry.name)
    if entry.kind is not EntryKind.FILE:
        return f"{shown}{_SIGNS[entry.kind]}"
    if may_hold_keys(path):
        return f"{shown} (never read)"
    return f"{shown} ({entry.size_bytes} bytes)"
