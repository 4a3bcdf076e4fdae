"""Pure: Markdown of the model's that on GitHub mentions, links, loads, hides and orders nothing.

A sign of no width breaks what GitHub would act on, and what is read stays the same. It is put into
all text, also where that may be code: whoever wrote it may have seen to it that GitHub reads its
backticks in another way than we do. Only blocks of code are left as they are, in fences of ours.
https://docs.github.com/en/get-started/writing-on-github
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kimibot.fencing import fence_mark

_BREAK = "\u200b"
_START = r"(?<![^\W_])"
"""Of a word: a `_` before it may be a mark of emphasis, which is no sign of the text."""

_ACTIVE = re.compile(
    r"@(?=\w)"  # people and teams get a mail
    rf"|#(?=\d)|{_START}GH\\?-(?=\d)"  # issues are linked, and closed after some words
    r"|&(?=#?\w+;)"  # what stands for another sign is read before the rest
    r"|<(?=[A-Za-z/!?])"  # HTML: pictures, comments, folded text
    r"|!(?=\[)|\](?=[(\[:])"  # pictures and links
    rf"|:(?=//)|{_START}www(?=\\?\.)|{_START}(?:mailto|xmpp):"  # addresses
    r"|^(?=[ \t]*/\w)"  # orders to other bots
    r"|`(?=``)|~(?=~~)",  # blocks of code in quotes and lists, which only look like text to us
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^`\n]*)")
_NESTED = re.compile(r"[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*)+(?P<mark>`{3,}|~{3,})[^`\n]*")
_LANGUAGES = (
    "bash|c|cpp|csharp|css|diff|go|graphql|html|ini|java|javascript|json|jsx|kotlin|php|python|ruby"
    "|rust|scala|sh|sql|swift|toml|ts|tsx|typescript|xml|yaml"
)
"""Blocks with other words may be drawn, or applied to the change, as `suggestion` is."""

_LONGEST_PARAGRAPH = 2_000
"""A paragraph of less bytes is left out as a whole, where it does not fit."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A paragraph, or a block of code in its fence, which is whole or not there."""

    text: str
    is_code: bool = False


def quiet(text: str) -> str:
    """The text, which reads the same and does nothing."""
    return _ACTIVE.sub(lambda found: f"{found[0]}{_BREAK}", text)


def pieces(text: str) -> Iterator[Piece]:
    """The paragraphs of a text, quiet, and its blocks of code; one without an end gets one."""
    lines, said, at = re.split(r"\r\n?|\n", text), list[str](), 0
    while at < len(lines):
        opening = _FENCE.fullmatch(lines[at])
        if opening is None:
            end = _end_of_text(lines, at)
            said += lines[at:end]
            at = end
            continue
        yield from _paragraphs(said)
        said = []
        code, at = _code(lines, at + 1, opening["mark"])
        yield fence("\n".join(code), _language(opening["info"]))
    yield from _paragraphs(said)


def fence(code: str, info: str = "") -> Piece:
    """Code in a fence that nothing in it can close."""
    mark = fence_mark(code)
    return Piece(f"{mark}{info}\n{code}\n{mark}", is_code=True)


def within(most_bytes: int, found: Sequence[Piece], cut: str) -> str:
    """As many of the pieces as fit, whole; `cut` says below them that some are left out."""
    whole = "\n\n".join(piece.text for piece in found)
    if _size(whole) <= most_bytes:
        return whole
    room = most_bytes - _size(f"\n\n{cut}")
    taken: list[str] = []
    for piece in found:
        text = _fitting(piece, room)
        taken += [text] if text else []
        if text != piece.text:
            break
        room -= _size(f"{text}\n\n")
    return "\n\n".join([*taken, cut])


def _fitting(piece: Piece, room: int) -> str:
    """All of a piece, or of a paragraph its beginning where that is too long for any place."""
    if _size(piece.text) <= room:
        return piece.text
    if piece.is_code or _size(piece.text) < _LONGEST_PARAGRAPH:
        return ""
    return piece.text.encode()[: max(0, room)].decode("utf-8", "ignore")


def _end_of_text(lines: Sequence[str], at: int) -> int:
    """Behind a line, or behind a block of code in a quote or a list: its end opens no other."""
    opening = _NESTED.fullmatch(lines[at])
    if opening is None:
        return at + 1
    mark = opening["mark"]
    closing = re.compile(rf"[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
    ends = (number for number in range(at + 1, len(lines)) if closing.fullmatch(lines[number]))
    return next(ends, at) + 1


def _paragraphs(lines: Sequence[str]) -> Iterator[Piece]:
    for paragraph in re.split(r"\n[ \t]*\n", quiet("\n".join(lines))):
        if paragraph.strip():
            yield Piece(paragraph.strip("\n"))


def _code(lines: Sequence[str], at: int, mark: str) -> tuple[list[str], int]:
    """The lines up to the end of the fence, and where it goes on after it."""
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
    code: list[str] = []
    while at < len(lines):
        line, at = lines[at], at + 1
        if closing.fullmatch(line):
            break
        code.append(line)
    return code, at


def _language(info: str) -> str:
    word = info.strip().lower()
    return word if re.fullmatch(_LANGUAGES, word) else ""


def _size(text: str) -> int:
    return len(text.encode())
