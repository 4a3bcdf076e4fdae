"""Reads the lines before a file's hunks: names, modes, and what happened to the file.

The format is that of https://git-scm.com/docs/diff-format#generate_patch_text_with_p.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kimibot.review.changes import FileDiff, Hunk, Status
from kimibot.review.hunks import begins_names

GIT = b"diff --git "
NOWHERE = b"/dev/null"

_PREFIXES = ((b"a/", b"b/"), (b"b/", b"a/"), (b"i/", b"w/"), (b"c/", b"i/"), (b"c/", b"w/"),
             (b"o/", b"w/"), (b"1/", b"2/"))  # fmt: skip
_BINARY_DATA = b"GIT binary patch"
_BINARY_NAMES = re.compile(rb"Binary files (.*) and (.*) differ\r?", re.DOTALL)
_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"')
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_ESCAPES: Mapping[bytes, bytes] = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}


@dataclass(slots=True)
class Head:
    """What has been read of a file's head; a name is None until there is one."""

    git_line: bytes = b""
    old: bytes | None = None
    new: bytes | None = None
    moved_from: bytes | None = None
    moved_to: bytes | None = None
    old_mode: bytes = b""
    new_mode: bytes = b""
    status: Status = Status.MODIFIED
    is_binary: bool = False

    def file(self, hunks: Sequence[Hunk]) -> FileDiff:
        """The file with its hunks."""
        old, new = (_shown(name) for name in self._names())
        is_mode_only = self.old_mode != self.new_mode and not hunks and not self.is_binary
        has_changed_mode = self.status is Status.MODIFIED and is_mode_only
        return FileDiff(
            old_path=old,
            new_path=new,
            status=Status.MODE if has_changed_mode else self.status,
            hunks=tuple(hunks),
            is_binary=self.is_binary,
            old_mode=self.old_mode.decode("ascii", "replace"),
            new_mode=self.new_mode.decode("ascii", "replace"),
        )

    def _names(self) -> tuple[bytes, bytes]:
        """In the order of what is least ambiguous."""
        if self.moved_from is not None and self.moved_to is not None:
            return self.moved_from, self.moved_to
        both = _same_name(self.git_line)
        if both is not None:
            return both, both
        old, new = self.old, self.new
        if old is None or new is None:
            old, new = _halves(self.git_line)
        return _without_prefixes(old, new)


def read_git_head(lines: Sequence[bytes], at: int) -> tuple[Head, int]:
    """The head that begins with a `diff --git` line, and where its hunks are."""
    head = Head(git_line=_line(lines[at])[len(GIT) :])
    at += 1
    while at < len(lines):
        if begins_names(lines, at):
            _read_names(head, lines[at], lines[at + 1])
            return head, at + 2
        line = _line(lines[at])
        if line == _BINARY_DATA:
            head.is_binary = True
            return head, _after_binary(lines, at)
        if not _read_extended(head, line):
            break
        at += 1
    return head, at


def read_plain_head(lines: Sequence[bytes], at: int) -> tuple[Head, int]:
    """The head that is nothing but the two lines with names."""
    head = Head()
    _read_names(head, lines[at], lines[at + 1])
    if head.old == NOWHERE:
        head.status = Status.ADDED
    elif head.new == NOWHERE:
        head.status = Status.REMOVED
    return head, at + 2


def unquoted(name: bytes) -> bytes:
    """A name as it is on the disk; git quotes it as C does where it holds unusual bytes."""
    if not (len(name) >= 2 and name.startswith(b'"') and name.endswith(b'"')):
        return name
    return _ESCAPE.sub(_resolved, name[1:-1])


def _resolved(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    if code[:1].isdigit():
        return bytes([int(code, 8) & 0xFF])
    return _ESCAPES.get(code, code)


def _line(line: bytes) -> bytes:
    return line.removesuffix(b"\r")


def _read_names(head: Head, old: bytes, new: bytes) -> None:
    head.old, head.new = _name(_line(old)[4:]), _name(_line(new)[4:])


def _name(field: bytes) -> bytes:
    """Without what may follow behind a tab: a time, or nothing after a name with a blank."""
    quoted = _QUOTED.match(field)
    return unquoted(quoted[0]) if quoted else field.partition(b"\t")[0]


def _read_extended(head: Head, line: bytes) -> bool:
    if _BINARY_NAMES.fullmatch(line):
        head.is_binary = True
        return True
    for start, read in _EXTENDED.items():
        if line.startswith(start):
            read(head, line[len(start) :])
            return True
    return False


def _read_old_mode(head: Head, mode: bytes) -> None:
    head.old_mode = mode.strip()


def _read_new_mode(head: Head, mode: bytes) -> None:
    head.new_mode = mode.strip()


def _read_added(head: Head, mode: bytes) -> None:
    head.status, head.new_mode = Status.ADDED, mode.strip()


def _read_removed(head: Head, mode: bytes) -> None:
    head.status, head.old_mode = Status.REMOVED, mode.strip()


def _read_renamed_from(head: Head, name: bytes) -> None:
    head.status, head.moved_from = Status.RENAMED, _name(name)


def _read_copied_from(head: Head, name: bytes) -> None:
    head.status, head.moved_from = Status.COPIED, _name(name)


def _read_moved_to(head: Head, name: bytes) -> None:
    head.moved_to = _name(name)


def _read_index(head: Head, text: bytes) -> None:
    """The mode stands behind the two ids where it has not changed."""
    mode = text.partition(b" ")[2].strip()
    if mode and not head.old_mode and not head.new_mode:
        head.old_mode = head.new_mode = mode


def _read_nothing(_head: Head, _text: bytes) -> None:
    pass


_EXTENDED: Mapping[bytes, Callable[[Head, bytes], None]] = {
    b"old mode ": _read_old_mode,
    b"new mode ": _read_new_mode,
    b"new file mode ": _read_added,
    b"deleted file mode ": _read_removed,
    b"rename from ": _read_renamed_from,
    b"rename to ": _read_moved_to,
    b"copy from ": _read_copied_from,
    b"copy to ": _read_moved_to,
    b"index ": _read_index,
    b"similarity index ": _read_nothing,
    b"dissimilarity index ": _read_nothing,
}


def _after_binary(lines: Sequence[bytes], at: int) -> int:
    """Encoded data has no blanks, so the next head can't be mistaken for it."""
    while at < len(lines) and not lines[at].startswith(b"diff "):
        at += 1
    return at


def _same_name(git_line: bytes) -> bytes | None:
    """The name if the line holds the same one twice, else None.

    A blank or " b/" in a name does not matter then: both halves are equally long.
    """
    old, new = _quoted_halves(git_line) or _equal_halves(git_line)
    if old == new:
        return old or None
    old, new = _without_prefixes(old, new)
    return old if old == new else None


def _halves(git_line: bytes) -> tuple[bytes, bytes]:
    """Two different names: the best that can be had."""
    quoted = _quoted_halves(git_line)
    if quoted:
        return quoted
    old, separator, new = git_line.partition(b" b/")
    if separator:
        return old, b"b/" + new
    old, _, new = git_line.partition(b" ")
    return old, new or old


def _equal_halves(git_line: bytes) -> tuple[bytes, bytes]:
    middle = len(git_line) // 2
    if git_line[middle : middle + 1] != b" ":
        return git_line, b""
    return git_line[:middle], git_line[middle + 1 :]


def _quoted_halves(git_line: bytes) -> tuple[bytes, bytes] | None:
    """One of both sides may be quoted alone."""
    first = _QUOTED.match(git_line)
    if first:
        return unquoted(first[0]), unquoted(git_line[first.end() + 1 :])
    if git_line.endswith(b'"') and b' "' in git_line:
        old, _, new = git_line.partition(b' "')
        return old, unquoted(b'"' + new)
    return None


def _without_prefixes(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """Of two names, the beginnings that git puts before them; of a single one, the usual."""
    if NOWHERE in (old, new):
        name = new if old == NOWHERE else old
        bare = name[2:] if name[:2] in (b"a/", b"b/") else name
        return bare, bare
    for first, second in _PREFIXES:
        if old.startswith(first) and new.startswith(second):
            return old[2:], new[2:]
    return old, new


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "replace")
