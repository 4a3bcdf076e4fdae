"""The repositories of the local GitHub and their pull requests, as the API describes them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kimibot.sandbox.github.patches import (
    ChangedFile,
    Tree,
    changed_files,
    diff_text,
    tree_sha,
)

Json = dict[str, Any]


@dataclass(slots=True)
class LocalPull:
    """A pull request from one tree to another. `renames` says of new names what they were,
    and `modes` which names are no plain files.

    The branch that it is meant for has moved on since: its newest commit is not the one that the
    change is compared with. With `keeps_refused_text` the text of a review stays behind when its
    comments are refused: some have seen that, others have not.
    `unpushed` is what its author has ready, `pushed_over` what was there.
    """

    old: Tree
    new: Tree
    title: str = "A change"
    body: str | None = None
    renames: Mapping[str, str] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)
    state: str = "open"
    is_draft: bool = False
    is_merged: bool = False
    is_fork_gone: bool = False
    is_locked: bool = False
    keeps_refused_text: bool = False
    comments: list[Json] = field(default_factory=list)
    reviews: list[Json] = field(default_factory=list)
    unpushed: list[Tree] = field(default_factory=list)
    pushed_over: list[Tree] = field(default_factory=list)

    def push(self) -> None:
        """Let its author push what is ready; nothing happens where nothing is."""
        if self.unpushed:
            self.pushed_over.append(self.new)
            self.new = self.unpushed.pop(0)

    @property
    def files(self) -> Sequence[ChangedFile]:
        return changed_files(self.old, self.new, self.renames)

    @property
    def base_sha(self) -> str:
        """The newest commit of the branch it is meant for."""
        return tree_sha(self.old, "base")

    @property
    def merge_base_sha(self) -> str:
        return tree_sha(self.old, "merge base")

    @property
    def head_sha(self) -> str:
        return tree_sha(self.new, "head")

    def tree(self, sha: str) -> Tree | None:
        """What was there at a commit; a short id is enough, as GitHub has it too."""
        for known, tree in (
            (self.head_sha, self.new),
            (self.merge_base_sha, self.old),
            (self.base_sha, self.old),
            *((tree_sha(tree, "head"), tree) for tree in self.pushed_over),
        ):
            if len(sha) >= 5 and known.startswith(sha.lower()):
                return tree
        return None

    def diff(self) -> bytes:
        return diff_text(self.files)


@dataclass(slots=True)
class LocalRepository:
    """`full_name` is `owner/name`; with `moved_from` it answers under that name by a redirect."""

    full_name: str
    pulls: dict[int, LocalPull] = field(default_factory=dict)
    is_private: bool = False
    moved_from: str = ""
    id: int = 7

    def pull_with(self, sha: str) -> LocalPull | None:
        return next((pull for pull in self.pulls.values() if pull.tree(sha) is not None), None)


def pull_json(repository: LocalRepository, number: int) -> Json:
    pull = repository.pulls[number]
    described = {"full_name": repository.full_name, "private": repository.is_private}
    counts = [file.counts() for file in pull.files]
    return {
        "number": number,
        "title": pull.title,
        "body": pull.body,
        "state": pull.state,
        "draft": pull.is_draft,
        "merged": pull.is_merged,
        "locked": pull.is_locked,
        "mergeable": None,
        "base": {"ref": "main", "sha": pull.base_sha, "repo": described},
        "head": {
            "ref": "change",
            "sha": pull.head_sha,
            "repo": None if pull.is_fork_gone else described,
        },
        "changed_files": len(pull.files),
        "additions": sum(added for added, _ in counts),
        "deletions": sum(removed for _, removed in counts),
        "commits": 1,
    }


def file_json(file: ChangedFile, *, has_patch: bool) -> Json:
    """The patch has neither names nor a final newline; it is left out where it is too large."""
    added, removed = file.counts()
    content = file.new if file.new is not None else file.old or b""
    described: Json = {
        "sha": tree_sha({"": content}, "blob"),
        "filename": file.path,
        "status": file.status,
        "additions": added,
        "deletions": removed,
        "changes": added + removed,
    }
    if file.status == "renamed":
        described["previous_filename"] = file.old_path
    hunks = file.hunks()
    if hunks and has_patch:
        described["patch"] = hunks.removesuffix(b"\n").decode("utf-8", "replace")
    return described


def commit_json(pull: LocalPull, files: Sequence[Json]) -> Json:
    return {
        "sha": pull.head_sha,
        "commit": {"message": f"{pull.title}\n\n{pull.body or ''}".strip()},
        "parents": [{"sha": pull.merge_base_sha}],
        "files": list(files),
    }


def comparison_json(pull: LocalPull, files: Sequence[Json]) -> Json:
    return {
        "status": "diverged",
        "ahead_by": 1,
        "behind_by": 1,
        "merge_base_commit": {"sha": pull.merge_base_sha},
        "commits": [commit_json(pull, [])],
        "files": list(files),
    }


def content_json(path: str, content: bytes) -> Json:
    return {
        "type": "file",
        "path": path,
        "size": len(content),
        "encoding": "base64",
        "content": base64.encodebytes(content).decode(),
    }
