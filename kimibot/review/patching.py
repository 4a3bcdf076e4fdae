"""Pure: a patch of what a review suggests, for the code as it was reviewed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from kimibot.review.changes import Anchor, FileDiff, Hunk, Line, Side
from kimibot.review.diffs import parse
from kimibot.review.findings import Finding
from kimibot.review.pasted import SNIPPET

CONTEXT_LINES = 3
LONGEST_PATCH = 200_000
_SNIPPET = re.compile(rf"{SNIPPET}(?: \d+)?(?: \(\d+\))?")
_TWIN = re.compile(r"(.+) \(\d+\)")
_NO_NEWLINE = "\\ No newline at end of file\n"


def patch(files: Sequence[FileDiff], findings: Sequence[Finding]) -> str:
    """What `git apply` takes at the new version of the files; "" where nothing can be patched.

    A suggestion that repeats a line beside the quoted one was meant for more than that line, and is
    left out. So are files without a name of their own, which nobody has.
    """
    paths = {file.path for file in files}
    named = [file for file in files if _has_name(file, paths) and _is_utf8(file)]
    made = "".join(_of_file(file, findings) for file in named)
    return made if len(made) <= LONGEST_PATCH and _fits(made, files) else ""


def narrowed(made: str, findings: Sequence[Finding]) -> str:
    """What is left of a patch where of all that it was made of only these count.

    Only lines that it replaces have all their neighbours in it.
    """
    files = parse(made.encode()).files
    replaced = {
        Anchor(file.path, Side.NEW, line.old)
        for file in files
        for hunk in file.hunks
        for line in hunk.lines
        if line.old is not None and line.new is None
    }
    before = [replace(file, hunks=tuple(map(_before, file.hunks))) for file in files]
    return patch(before, [one for one in findings if one.anchor in replaced])


def _before(hunk: Hunk) -> Hunk:
    """What stands there as long as the patch is not applied."""
    lines = [line for line in hunk.lines if line.old is not None]
    return replace(hunk, lines=tuple(replace(line, new=line.old) for line in lines))


def replacements(files: Sequence[FileDiff], findings: Sequence[Finding]) -> list[str]:
    """For each finding what may take the place of its one line, or "" where it suggests nothing
    that is surely meant for exactly that line. Of several for a line only the first counts."""
    changed: dict[Anchor, str] = {}
    for file in filter(_is_utf8, files):
        edits = _edits(file, findings)
        for lines in _runs(file):
            for number, new in _changed(lines, edits):
                changed[Anchor(file.path, Side.NEW, number)] = "\n".join(new)
    return [changed.pop(one.anchor, "") if one.suggestion.strip() else "" for one in findings]


def _has_name(file: FileDiff, paths: Collection[str]) -> bool:
    """Whether it is a name that somebody else has given, and that a patch can say as it is."""
    twin = _TWIN.fullmatch(file.path)
    is_ours = _SNIPPET.fullmatch(file.path) or (twin is not None and twin[1] in paths)
    is_exact = file.is_known_by_name and file.path.isprintable()
    return not is_ours and is_exact and not set(file.path) & set('"\\')


def _is_utf8(file: FileDiff) -> bool:
    try:
        b"".join(line.content for hunk in file.hunks for line in hunk.lines).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _of_file(file: FileDiff, findings: Sequence[Finding]) -> str:
    edits = _edits(file, findings)
    shift, hunks = 0, list[str]()
    for lines in _runs(file):
        changed = dict(_changed(lines, edits))
        for first, last in _spans(lines, changed):
            text, grown = _hunk(lines[first:last], changed, shift)
            hunks.append(text)
            shift += grown
    if not hunks:
        return ""
    tab = "\t" if " " in file.path else ""
    head = (
        f"diff --git a/{file.path} b/{file.path}\n--- a/{file.path}{tab}\n+++ b/{file.path}{tab}\n"
    )
    return head + "".join(hunks)


def _edits(file: FileDiff, findings: Sequence[Finding]) -> dict[int, str]:
    """What is suggested for the file, by the number of the line; the first one counts."""
    return {
        one.anchor.line: one.suggestion
        for one in reversed(findings)
        if one.anchor[:2] == (file.path, Side.NEW) and one.suggestion.strip()
    }


def _runs(file: FileDiff) -> Iterator[list[Line]]:
    """The lines of the new version, as far as they stand without a gap."""
    run: list[Line] = []
    for hunk in file.hunks:
        for line in hunk.lines:
            if line.new is None:
                continue
            if run and line.new != (run[-1].new or 0) + 1:
                yield run
                run = []
            run.append(line)
    if run:
        yield run


def _changed(lines: Sequence[Line], edits: Mapping[int, str]) -> Iterator[tuple[int, list[str]]]:
    """By the number of a line, what takes its place."""
    for at, line in enumerate(lines):
        suggestion = edits.get(line.new or 0)
        if suggestion is None:
            continue
        new = _indented(suggestion.split("\n"), line.text)
        around = {
            one.text.strip() for one in (*lines[max(0, at - 1) : at], *lines[at + 1 : at + 2])
        }
        repeats = {new[0].strip(), new[-1].strip()} & (around - {""})
        if new != [line.text] and not repeats:
            yield line.new or 0, new


def _indented(suggestion: list[str], line: str) -> list[str]:
    """With the indent of the line, where it came without any."""
    indent = line[: len(line) - len(line.lstrip())]
    if not indent or suggestion[0][:1].isspace():
        return suggestion
    return [f"{indent}{one}" if one.strip() else one for one in suggestion]


def _spans(lines: Sequence[Line], changed: Mapping[int, list[str]]) -> Iterator[tuple[int, int]]:
    """From where to where the hunks go: changes near each other are in one."""
    first = last = -1
    for at, line in enumerate(lines):
        if line.new not in changed:
            continue
        if last >= 0 and at - CONTEXT_LINES <= last:
            last = at + CONTEXT_LINES + 1
            continue
        if last >= 0:
            yield first, min(last, len(lines))
        first, last = max(0, at - CONTEXT_LINES), at + CONTEXT_LINES + 1
    if last >= 0:
        yield first, min(last, len(lines))


def _hunk(lines: Sequence[Line], changed: Mapping[int, list[str]], shift: int) -> tuple[str, int]:
    """The hunk, and by how many lines it makes the file longer."""
    shown, count = list[str](), 0
    for line in lines:
        text = line.content.decode("utf-8")
        new = changed.get(line.new or 0)
        if new is None:
            shown.append(_marked(" ", text, line))
            count += 1
            continue
        shown.append(_marked("-", text, line))
        end = "\r" if text.endswith("\r") else ""
        inner_end = end if line.has_newline else _end_of_others(lines)
        shown += [f"+{one}{inner_end}\n" for one in new[:-1]]
        shown.append(_marked("+", f"{new[-1]}{end}", line))
        count += len(new)
    start = lines[0].new or 1
    head = f"@@ -{start},{len(lines)} +{start + shift},{count} @@\n"
    return head + "".join(shown), count - len(lines)


def _end_of_others(lines: Sequence[Line]) -> str:
    """Of a last line that has no end of its own, how the lines before it end."""
    return "\r" if any(line.content.endswith(b"\r") for line in lines) else ""


def _marked(sign: str, text: str, line: Line) -> str:
    return f"{sign}{text}\n{'' if line.has_newline else _NO_NEWLINE}"


def _fits(made: str, files: Sequence[FileDiff]) -> bool:
    """Read as any other diff: each line that it knows or takes away stands where it says."""
    there = {
        (file.path, line.new): line.content
        for file in files
        for hunk in file.hunks
        for line in hunk.lines
        if line.new is not None
    }
    return all(
        there.get((file.path, line.old)) == line.content
        for file in parse(made.encode()).files
        for hunk in file.hunks
        for line in hunk.lines
        if line.old is not None
    )
