"""Makes git's diff of two trees: the heads of files, and hunks with three lines around them."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Tree = Mapping[str, bytes]

_PLAIN = re.compile(r'[^"\\\x00-\x1f\x7f-\U0010ffff]+')
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that is not the same in both trees; one of the contents may be None."""

    path: str
    old_path: str
    old: bytes | None
    new: bytes | None

    @property
    def status(self) -> str:
        if self.old is None:
            return "added"
        if self.new is None:
            return "removed"
        return "renamed" if self.path != self.old_path else "modified"

    @property
    def is_binary(self) -> bool:
        return b"\0" in (self.old or b"") + (self.new or b"")

    def hunks(self) -> bytes:
        """As they stand below the head; empty for a binary file."""
        if self.is_binary:
            return b""
        made = difflib.diff_bytes(difflib.unified_diff, _lines(self.old), _lines(self.new))
        return b"".join(map(_ended, list(made)[2:]))

    def counts(self) -> tuple[int, int]:
        """How many lines were added and removed."""
        places = [side for _, _, side in lines_of(self.hunks()) if side]
        return places.count("RIGHT"), places.count("LEFT")


def changed_files(old: Tree, new: Tree, renames: Mapping[str, str]) -> list[ChangedFile]:
    """In the order of their names; `renames` says of new names which were the old ones."""
    gone = set(old) - set(new) - set(renames.values())
    files = [ChangedFile(path, path, old[path], None) for path in gone]
    for path in new:
        old_path = renames.get(path, path)
        before = old.get(old_path)
        if before != new[path] or old_path != path:
            files.append(ChangedFile(path, old_path, before, new[path]))
    return sorted(files, key=lambda file: file.path)


def diff_text(files: Sequence[ChangedFile]) -> bytes:
    """The whole diff, as its media type has it."""
    return b"".join(_head(file) + file.hunks() for file in files)


def tree_sha(tree: Tree, name: str) -> str:
    """Something that looks like the id of a commit, and is another one for other contents."""
    digest = hashlib.sha1(name.encode(), usedforsecurity=False)
    for path in sorted(tree):
        digest.update(path.encode() + b"\0" + tree[path] + b"\0")
    return digest.hexdigest()


def lines_of(hunks: bytes) -> Iterator[tuple[int, int, str]]:
    """For each line the number of its hunk, its own number, and on which side it was changed.

    An unchanged line has the number of the new side, and no side.
    """
    old = new = hunk = 0
    for line in hunks.split(b"\n"):
        head = _HUNK.match(line)
        if head and line.startswith(b"@@"):
            old, new, hunk = int(head[1]), int(head[3]), hunk + 1
        elif line.startswith(b"-"):
            yield hunk, old, "LEFT"
            old += 1
        elif line.startswith(b"+"):
            yield hunk, new, "RIGHT"
            new += 1
        elif line.startswith(b" "):
            yield hunk, new, ""
            old, new = old + 1, new + 1


def _lines(content: bytes | None) -> list[bytes]:
    pieces = (content or b"").split(b"\n")
    return [piece + b"\n" for piece in pieces[:-1]] + [pieces[-1]] * bool(pieces[-1])


def _ended(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _head(file: ChangedFile) -> bytes:
    old, new = _quoted("a/", file.old_path), _quoted("b/", file.path)
    lines = [f"diff --git {old} {new}"]
    if file.status == "renamed":
        lines += [
            f"rename from {_quoted('', file.old_path)}",
            f"rename to {_quoted('', file.path)}",
        ]
    lines += {"added": ["new file mode 100644"], "removed": ["deleted file mode 100644"]}.get(
        file.status, []
    )
    names = ["/dev/null" if file.old is None else old, "/dev/null" if file.new is None else new]
    if file.is_binary:
        lines.append(f"Binary files {names[0]} and {names[1]} differ")
    elif file.old != file.new and (file.old or file.new):
        lines += [f"--- {_tabbed(names[0])}", f"+++ {_tabbed(names[1])}"]
    return "".join(f"{line}\n" for line in lines).encode()


def _tabbed(name: str) -> str:
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def _quoted(prefix: str, path: str) -> str:
    name = f"{prefix}{path}"
    if _PLAIN.fullmatch(name):
        return name
    signs = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n"}
    escaped = (
        signs.get(sign) or (sign if _PLAIN.fullmatch(sign) else _octal(sign)) for sign in name
    )
    return f'"{"".join(escaped)}"'


def _octal(sign: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in sign.encode())
