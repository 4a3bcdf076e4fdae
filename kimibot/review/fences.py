"""Pure: takes the code out of a message, which stands between fences or, often, does not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kimibot.review.diffs import is_diff

_OPENING = re.compile(r"(?P<quote>(?:> ?)*) {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^`\n]*)")
_NAME = re.compile(r"[`*_]*(?P<path>[\w./+@-]*\w\.\w{1,10})[`*_]*:?")
_DIFF_BEGINS = re.compile(r"diff --git |--- |Index: |@@ -\d")
_CODE = re.compile(
    r"^(?:def|class|import|from|return|func|fn|var|let|const|public|private|static|package|use"
    r"|#include|SELECT|if|for|while|else|elif|try|except|@\w+)\b|^\s{2,}\S|[;{})\],]$|[=!<>]="
    r"|[\w)] = |\w\(.*\)"
)
_FEWEST_LINES = 3
_LOOKED_AT = 200
_LEAST_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of code as it was sent; `name` is the file that the line above it names, or ""."""

    code: str
    language: str = ""
    name: str = ""


def split(text: str) -> tuple[str, list[Block]]:
    """The words of a message, and the code in it.

    Without fences, a diff begins at its first line and goes on to the end; other code must be
    some lines long and look like it.
    """
    words, blocks = _fenced(text.split("\n"))
    if blocks:
        return words, blocks
    lines = words.split("\n")
    begin = _begin_of_diff(lines)
    if begin is None:
        begin = _begin_of_code(lines)
    if begin is None:
        return words, []
    return "\n".join(lines[:begin]).strip(), [Block("\n".join(lines[begin:]).rstrip() + "\n")]


def _fenced(lines: Sequence[str]) -> tuple[str, list[Block]]:
    words, blocks, at = list[str](), list[Block](), 0
    while at < len(lines):
        opening = _OPENING.fullmatch(lines[at])
        if opening is None:
            words.append(lines[at])
            at += 1
            continue
        code, at = _until_closed(lines, at + 1, opening)
        name = _NAME.fullmatch(words[-1].strip()) if words else None
        blocks.append(Block(code, _language(opening), name["path"] if name else ""))
    return "\n".join(words).strip(), blocks


def _until_closed(lines: Sequence[str], at: int, opening: re.Match[str]) -> tuple[str, int]:
    """The lines up to the closing fence, or to the end where there is none."""
    closing = re.compile(rf" {{0,3}}{re.escape(opening['mark'][0])}{{{len(opening['mark'])},}}\s*")
    is_quoted = bool(opening["quote"])
    code: list[str] = []
    while at < len(lines):
        line = _unquoted(lines[at]) if is_quoted else lines[at]
        at += 1
        if closing.fullmatch(line):
            break
        code.append(line)
    return "".join(f"{line}\n" for line in code), at


def _unquoted(line: str) -> str:
    return line.removeprefix(">").removeprefix(" ")


def _language(opening: re.Match[str]) -> str:
    words = opening["info"].split()
    return words[0].lower() if words else ""


def _begin_of_diff(lines: Sequence[str]) -> int | None:
    if not is_diff("\n".join(lines).encode()):
        return None
    return next((at for at, line in enumerate(lines) if _DIFF_BEGINS.match(line)), None)


def _begin_of_code(lines: Sequence[str]) -> int | None:
    """Where the code begins, if what follows is code but for a few lines."""
    begin = next((at for at, line in enumerate(lines) if _looks_like_code(line)), len(lines))
    rest = [line for line in lines[begin:] if line.strip()]
    looks = sum(map(_looks_like_code, rest))
    is_code = len(rest) >= _FEWEST_LINES and looks >= _LEAST_SHARE * len(rest)
    return begin if is_code else None


def _looks_like_code(line: str) -> bool:
    return _CODE.search(line[:_LOOKED_AT]) is not None
