"""Pure: what people hand over in messages and files, as the files that are to be reviewed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kimibot.review.changes import FileDiff
from kimibot.review.diffs import is_diff, parse, whole
from kimibot.review.fences import Block, split
from kimibot.review.repairs import repaired_code, repaired_diff

SNIPPET = "snippet"

_DIFF_LANGUAGES = ("diff", "patch")
_DIFF_NAMES = (".diff", ".patch")
_HUNK_LINE = re.compile(r"^(?:[-+ ]|@@|$)")


@dataclass(frozen=True, slots=True)
class Attached:
    """A file of a message: its name and what is in it."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Pasted:
    """What is to be reviewed, and the words around it."""

    files: tuple[FileDiff, ...]
    words: str


def read(texts: Sequence[str], attached: Sequence[Attached] = ()) -> Pasted:
    """The code of some messages and of their files, in their order; several at once are fine.

    A diff that goes on in the next message is one. Code without a name is called a snippet; a name
    that comes twice gets a number, so that a place is never ambiguous.
    """
    parts = [split(text) for text in texts]
    blocks = _joined([block for _, found in parts for block in found])
    is_single = len(blocks) == 1
    files: list[FileDiff] = []
    rest = [words for words, _ in parts]
    for number, block in enumerate(blocks, 1):
        found, text = _read_block(block, SNIPPET if is_single else f"{SNIPPET} {number}")
        files += found
        rest.append(text)
    for file in attached:
        found, text = _read_attached(file)
        files += found
        rest.append(text)
    return Pasted(tuple(_told_apart(files)), "\n\n".join(filter(None, rest)))


def _joined(blocks: Sequence[Block]) -> list[Block]:
    """The rest of a diff that was too long for one message, put back behind its beginning."""
    joined: list[Block] = []
    for block in blocks:
        if joined and _is_diff(joined[-1]) and _goes_on(block):
            joined[-1] = replace(joined[-1], code=joined[-1].code + block.code)
        else:
            joined.append(block)
    return joined


def _goes_on(block: Block) -> bool:
    """Whether all lines could stand in a hunk, and none names a file before the first of them."""
    lines = block.code.rstrip("\n").split("\n")
    if block.name or block.language not in ("", *_DIFF_LANGUAGES) or not any(lines):
        return False
    until_named = _before_names(lines)
    has_signs = any(line[:1] in ("+", "-", "@") for line in until_named)
    return has_signs and all(map(_HUNK_LINE.match, until_named))


def _before_names(lines: Sequence[str]) -> Sequence[str]:
    named = (at for at, line in enumerate(lines) if line.startswith(("diff --git ", "--- ")))
    return lines[: next(named, len(lines))]


def _is_diff(block: Block) -> bool:
    return block.language in _DIFF_LANGUAGES or is_diff(block.code.encode())


def _read_block(block: Block, name: str) -> tuple[Sequence[FileDiff], str]:
    name = block.name or name
    if not _is_diff(block):
        code = repaired_code(block.code, block.language)
        return [whole(name, code.encode("utf-8", "replace"))], ""
    text = repaired_diff(block.code)
    return _read_diff(text.encode("utf-8", "replace"), name)


def _read_attached(file: Attached) -> tuple[Sequence[FileDiff], str]:
    """A file comes as it is: nothing in it has been repaired, and nothing need be."""
    if file.name.endswith(_DIFF_NAMES) or _begins_as_diff(file.content):
        return _read_diff(file.content, file.name)
    return [whole(file.name, file.content)], ""


def _begins_as_diff(content: bytes) -> bool:
    """A text file may quote a diff somewhere; one that is a diff begins with it."""
    return content.lstrip().startswith((b"diff --git ", b"--- ")) and is_diff(content)


def _read_diff(data: bytes, name: str) -> tuple[Sequence[FileDiff], str]:
    """What can't be read as a diff is reviewed as text."""
    diff = parse(data)
    if not diff.files and re.search(rb"^[-+]", data, re.MULTILINE):
        diff = parse(b"@@\n" + data)
    if not diff.files:
        return [whole(name, data)], ""
    return [_named(file, name) for file in diff.files], diff.rest


def _named(file: FileDiff, name: str) -> FileDiff:
    return file if file.path else replace(file, old_path=name, new_path=name)


def _told_apart(files: Iterable[FileDiff]) -> Iterable[FileDiff]:
    """Two entries for one path of one diff are a change of its kind, and stay as they are."""
    seen: dict[str, list[FileDiff]] = {}
    for file in files:
        others = seen.setdefault(file.path, [])
        is_twin = len(others) == 1 and {file.status, others[0].status} == {"added", "removed"}
        others.append(file)
        if len(others) == 1 or is_twin:
            yield file
        else:
            name = f"{file.path} ({len(others)})"
            yield replace(file, old_path=name, new_path=name)
