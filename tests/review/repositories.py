"""Two versions of a folder in a real git repository, and what git itself says about them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kimibot.review.changes import Diff, FileDiff, Side, Status

Tree = Mapping[str, bytes]
_STATUSES = {
    "A": Status.ADDED,
    "D": Status.REMOVED,
    "M": Status.MODIFIED,
    "R": Status.RENAMED,
    "C": Status.COPIED,
}


@dataclass(frozen=True)
class Versions:
    """A repository whose commits `old` and `new` are tags."""

    folder: Path

    def diff(self, *options: str) -> bytes:
        return self.git("diff", *options, "old", "new", "--")

    def git(self, *arguments: str, data: bytes | None = None) -> bytes:
        """What a command of git prints; the machine's own configuration has no say."""
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        names = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "somebody")
        emails = dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "s@example.com")
        done = subprocess.run(
            ["git", "-c", "core.autocrlf=false", *arguments],
            cwd=self.folder,
            input=data,
            capture_output=True,
            env=os.environ | quiet | names | emails,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def lines(self, version: str, path: str) -> list[bytes]:
        """The lines of a file, without their line feeds."""
        content = self.git("show", f"{version}:{path}")
        return content.removesuffix(b"\n").split(b"\n")

    def commit(self, tag: str) -> None:
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", tag)
        self.git("tag", tag)


def versions(folder: Path, old: Tree, new: Tree) -> Versions:
    """A repository with the files of `old`, then those of `new`."""
    found = begin(folder)
    write(folder, old)
    found.commit("old")
    for path in set(old) - set(new):
        (folder / path).unlink()
    write(folder, new)
    found.commit("new")
    return found


def begin(folder: Path) -> Versions:
    folder.mkdir(exist_ok=True)
    found = Versions(folder)
    found.git("init", "--quiet")
    return found


def write(folder: Path, tree: Tree) -> None:
    for path, content in tree.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def judge(of: Versions, diff: Diff, *options: str) -> int:
    """Hold what was read against git, line by line; the number of places that were looked at."""
    options = tuple(option for option in options if option != "-U0")  # it asks for a patch
    facts = _facts(of, *options)
    assert {file.path: (file.status, file.old_path) for file in diff.files} == facts
    assert {file.path: _counts(file) for file in diff.files} == _numstat(of, *options)
    return sum(_judge_places(of, file) for file in diff.files)


def reapplied(of: Versions, diff: Diff) -> None:
    """The diff, written anew from what was read of it, makes the new version of the old one."""
    of.git("checkout", "--quiet", "--force", "old")
    of.git("apply", "--index", "--unidiff-zero", data=patch(diff))
    assert of.git("write-tree").strip() == of.git("rev-parse", "new^{tree}").strip()


def patch(diff: Diff) -> bytes:
    return b"".join(_patch(file) for file in diff.files)


def _judge_places(of: Versions, file: FileDiff) -> int:
    versions = {Side.NEW: "new", Side.OLD: "old"}
    paths = {Side.NEW: file.new_path, Side.OLD: file.old_path}
    read: dict[Side, list[bytes]] = {}
    count = 0
    for count, (anchor, line) in enumerate(file.places(), 1):  # noqa: B007
        if file.is_submodule:
            continue
        side = anchor.side
        if side not in read:
            read[side] = of.lines(versions[side], paths[side])
        assert read[side][anchor.line - 1] == line.content, (anchor, line)
        if line.is_context:
            assert line.old is not None
            if Side.OLD not in read:
                read[Side.OLD] = of.lines("old", paths[Side.OLD])
            assert read[Side.OLD][line.old - 1] == line.content, (anchor, line)
    return count


def _counts(file: FileDiff) -> tuple[int, int]:
    return sum(h.added for h in file.hunks), sum(h.removed for h in file.hunks)


def _facts(of: Versions, *options: str) -> dict[str, tuple[Status, str]]:
    """From git's own list of names, which needs no quoting."""
    fields = of.git("diff", "--raw", "-z", *options, "old", "new", "--").decode().split("\0")[:-1]
    facts, at = dict[str, tuple[Status, str]](), 0
    while at < len(fields):
        old_mode, new_mode, old_id, new_id, letter = fields[at].removeprefix(":").split(" ")
        names = 2 if letter[0] in "RC" else 1
        old, new = fields[at + 1], fields[at + names]
        is_mode = letter == "M" and old_mode != new_mode and old_id == new_id
        facts[new] = (Status.MODE if is_mode else _STATUSES[letter[0]], old)
        at += 1 + names
    return facts


def _numstat(of: Versions, *options: str) -> dict[str, tuple[int, int]]:
    fields = (
        of.git("diff", "--numstat", "-z", *options, "old", "new", "--").decode().split("\0")[:-1]
    )
    counts, at = dict[str, tuple[int, int]](), 0
    while at < len(fields):
        added, removed, path = fields[at].split("\t", 2)
        at += 1
        if not path:
            path, at = fields[at + 1], at + 2
        counts[path] = (0, 0) if added == "-" else (int(added), int(removed))
    return counts


def _patch(file: FileDiff) -> bytes:
    """Written as plainly as git takes it: every name is quoted."""
    old, new = (_quoted(f"{p}/{n}") for p, n in (("a", file.old_path), ("b", file.new_path)))
    moved = {Status.RENAMED: b"rename", Status.COPIED: b"copy"}.get(file.status)
    head = [b"diff --git %s %s" % (old, new), *_modes(file)]
    if moved:
        head += [b"similarity index 50%", b"%s from %s" % (moved, _quoted(file.old_path))]
        head += [b"%s to %s" % (moved, _quoted(file.new_path))]
    if file.hunks:
        head += [b"--- " + (b"/dev/null" if file.status is Status.ADDED else old)]
        head += [b"+++ " + (b"/dev/null" if file.status is Status.REMOVED else new)]
    return b"".join(line + b"\n" for line in [*head, *_hunks(file)])


def _modes(file: FileDiff) -> list[bytes]:
    if file.status is Status.ADDED:
        return [b"new file mode " + file.new_mode.encode()]
    if file.status is Status.REMOVED:
        return [b"deleted file mode " + file.old_mode.encode()]
    if file.old_mode != file.new_mode:
        return [b"old mode " + file.old_mode.encode(), b"new mode " + file.new_mode.encode()]
    return []


def _hunks(file: FileDiff) -> list[bytes]:
    lines: list[bytes] = []
    for hunk in file.hunks:
        old, new = len(hunk.lines) - hunk.added, len(hunk.lines) - hunk.removed
        lines.append(b"@@ -%d,%d +%d,%d @@" % (hunk.old_start, old, hunk.new_start, new))
        for line in hunk.lines:
            sign = b"+" if line.old is None else b"-" if line.new is None else b" "
            lines.append(sign + line.content)
            lines += [] if line.has_newline else [b"\\ No newline at end of file"]
    return lines


def _quoted(name: str) -> bytes:
    escaped = "".join(f"\\{byte:03o}" for byte in name.encode())
    return b'"%s"' % escaped.encode()
