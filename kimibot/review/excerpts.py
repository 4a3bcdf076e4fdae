"""Pure: files and folders of a repository as the model reads them, within a size."""

from __future__ import annotations

from collections.abc import Sequence

from kimibot.estimating import tokens
from kimibot.review.lookups import ReadFile
from kimibot.review.numbered import CUT, LONGEST_LINE
from kimibot.review.repository import Entry, EntryKind
from kimibot.review.secrecy import may_hold_keys

MOST_LINES = 600
MOST_TOKENS = 8_000
"""Of one answer: as much as a long file has, and a small part of what a request may hold."""

MOST_ENTRIES = 400
_NUMBER_TOKENS = 3
_SIGNS = {
    EntryKind.FOLDER: "/",
    EntryKind.LINK: " (a link: not followed)",
    EntryKind.SUBMODULE: " (a submodule)",
}


def excerpt(wanted: ReadFile, content: bytes, most_tokens: int = MOST_TOKENS) -> str:
    """The wanted lines of a file with their numbers, or as many of them as fit, and what is left.

    `most_tokens` is what is left for it; an answer is never longer than MOST_TOKENS.
    """
    if b"\0" in content:
        return f"{wanted.path} is no text."
    lines = content.decode("utf-8", "replace").split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    first = wanted.first_line or 1
    last = min(wanted.last_line or len(lines), len(lines), first + MOST_LINES - 1)
    if first > last:
        return f"{wanted.path} ({wanted.version}) has {len(lines)} lines; none of those are there."
    shown = _fitting(lines[first - 1 : last], first, min(most_tokens, MOST_TOKENS))
    end = first + len(shown) - 1
    head = f"{wanted.path} ({wanted.version}), lines {first}-{end} of {len(lines)}"
    rest = f"\nThe file goes on. Ask for what you need with first_line={end + 1}."
    is_all = end == len(lines) or end == wanted.last_line
    return "\n".join([head, *shown]) + ("" if is_all else rest)


def listing(folder: str, entries: Sequence[Entry], version: str) -> str:
    """The names in a folder, folders with a slash behind them."""
    lines = [_named(folder, one) for one in entries[:MOST_ENTRIES]]
    more = len(entries) - MOST_ENTRIES
    head = f"{folder or 'The root'} ({version}), {len(entries)} entries"
    return "\n".join([head, *lines, *([f"and {more} more"] if more > 0 else [])])


def _fitting(lines: Sequence[str], first: int, most_tokens: int) -> list[str]:
    """At least one line, however little is left."""
    shown: list[str] = []
    for number, line in enumerate(lines, first):
        text = line.removesuffix("\r")
        text = text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} {CUT}"
        most_tokens -= tokens(text) + _NUMBER_TOKENS
        if most_tokens < 0 and shown:
            break
        shown.append(f"{number:>5}   {text}")
    return shown


def _named(folder: str, entry: Entry) -> str:
    path = f"{folder}/{entry.name}" if folder else entry.name
    if entry.kind is not EntryKind.FILE:
        return f"{entry.name}{_SIGNS[entry.kind]}"
    if may_hold_keys(path):
        return f"{entry.name} (never read)"
    return f"{entry.name} ({entry.size_bytes} bytes)"
