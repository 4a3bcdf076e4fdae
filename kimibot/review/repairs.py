"""Pure: undoes what typing into a chat does to code, only where it is certain.

Quotes that were made curly, `&lt;` for `<`, blanks that do not break, an indent that the first line
has lost, and the blank before an unchanged line of a diff.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kimibot.review.hunks import begins_names, is_head

_PROSE = ("markdown", "md", "text", "txt", "html", "xml", "tex", "latex")
_QUOTED_ENTITY = re.compile(r"""["'`]&(?:lt|gt|amp);|&(?:lt|gt|amp);["'`]""")
_LEADING = re.compile(r"^([+-]?)([ \t]*\u00a0[ \t\u00a0]*)", re.MULTILINE)
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_OPENERS, _CLOSERS = "([{", ")]}"


def repaired_code(code: str, language: str = "") -> str:
    """The code as it most certainly was before it was pasted."""
    code = _LEADING.sub(_with_blanks, _unescaped(code, language))
    return _with_first_indent(_straightened(code, language))


def repaired_diff(text: str) -> str:
    """The same for a diff."""
    text = _LEADING.sub(_with_blanks, _unescaped(text, "diff"))
    return _with_context_blanks(_straightened(text, "diff"))


def _with_blanks(leading: re.Match[str]) -> str:
    return leading[1] + leading[2].replace("\u00a0", " ")


def _unescaped(text: str, language: str) -> str:
    """Only where no sign has been left as it was, so that all of them must have been escaped."""
    is_escaped = "&lt;" in text or "&gt;" in text
    if not is_escaped or re.search("[<>]", text) or _QUOTED_ENTITY.search(text):
        return text
    if language in ("html", "xml"):
        return text
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _straightened(text: str, language: str) -> str:
    """Only where there is no straight one: no language begins a string with a curly quote."""
    if language in _PROSE:
        return text
    if '"' not in text:
        text = re.sub("[“”„]", '"', text)
    if "'" not in text:
        text = re.sub("[‘’‚]", "'", text)
    return text


def _with_first_indent(code: str) -> str:
    """A later line that goes back to a level never opened says where the first one was."""
    first, _, rest = code.partition("\n")
    levels = [len(line) - len(line.lstrip(" ")) for line in rest.split("\n") if line.strip()]
    if not levels or not first.strip() or first[0].isspace() or min(levels) == 0:
        return code
    is_closed = _depth(first) in (0, first.rstrip().endswith(tuple(_OPENERS)))
    is_unopened = min(levels) < levels[0]
    return " " * min(levels) + code if is_closed and is_unopened else code


def _depth(line: str) -> int:
    return sum(map(line.count, _OPENERS)) - sum(map(line.count, _CLOSERS))


def _with_context_blanks(text: str) -> str:
    lines = text.split("\n")
    raw = [line.encode() for line in lines]
    at = 0
    while at < len(lines):
        head = _HUNK.match(lines[at])
        at += 1
        if head is None:
            continue
        end = _end_of_hunk(raw, at)
        lines[at:end] = _with_blanks_if_counted(lines[at:end], head)
        at = end
    return "\n".join(lines)


def _end_of_hunk(lines: Sequence[bytes], at: int) -> int:
    """Blank lines at the end of a paste belong to nothing."""
    end = at
    while end < len(lines) and not (
        is_head(lines[end]) or lines[end].startswith(b"diff --git ") or begins_names(lines, end)
    ):
        end += 1
    while end > at and not lines[end - 1].strip():
        end -= 1
    return end


def _with_blanks_if_counted(lines: Sequence[str], head: re.Match[str]) -> list[str]:
    """The blanks are certain if the lines are as many as the head says once they count as
    unchanged."""
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    notes = sum(line.startswith("\\ ") for line in lines)
    unchanged = len(lines) - added - removed - notes
    old, new = (int(count or 1) for count in head.groups())
    if (unchanged + removed, unchanged + added) != (old, new):
        return list(lines)
    return [line if line[:1] in ("", "+", "-", " ", "\\") else f" {line}" for line in lines]
