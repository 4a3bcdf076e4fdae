"""What is in the folders and files of a commit, as the API hands it out.

Sizes and what becomes of links: https://docs.github.com/en/rest/repos/contents and
https://docs.github.com/en/rest/git/trees
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from kimibot.sandbox.github.patches import Tree, tree_sha
from kimibot.sandbox.github.repositories import Json, LocalPull, LocalRepository, content_json

MOST_ENTRIES = 100_000
MOST_LISTED = 1_000
MOST_BYTES = 100 * 1024 * 1024
LINK = "120000"
SUBMODULE = "160000"
_FOLDER = "040000"
_FILE = "100644"


def folder_json(repository: LocalRepository, sha: str) -> Json | None:
    """The folder that has this id, or the root of the commit that has it; None without one."""
    for pull in repository.pulls.values():
        root = pull.tree(sha)
        if root is not None:
            return _listed(pull, root, "", sha)
        for tree in (pull.new, pull.old):
            for folder in _folders(tree):
                if _folder_sha(tree, folder) == sha:
                    return _listed(pull, tree, folder, sha)
    return None


def content(pull: LocalPull, tree: Tree, path: str, *, is_raw: bool) -> bytes | Json | list[Json]:
    """A file's bytes or what is said of it, or the entries of a folder.

    A link to a file is followed. Raises KeyError for what is not there, and OverflowError for
    what is too large.
    """
    if pull.modes.get(path) == SUBMODULE:
        return {"type": "submodule", "path": path, "sha": "5" * 40}
    if pull.modes.get(path) == LINK:
        target = posixpath.normpath(
            posixpath.join(posixpath.dirname(path), tree[path].decode("utf-8", "replace"))
        )
        if target not in tree:
            return {"type": "symlink", "path": path, "target": target}
        path = target
    if path in tree:
        if len(tree[path]) > MOST_BYTES:
            raise OverflowError
        return tree[path] if is_raw else content_json(path, tree[path])
    within = [name for name in tree if name.startswith(f"{path}/")]
    if not within:
        raise KeyError(path)
    return [{"type": "file", "path": name} for name in within[:MOST_LISTED]]


def _folders(tree: Tree) -> Iterator[str]:
    found = {folder for path in tree for folder in _above(path)}
    yield from sorted(found)


def _above(path: str) -> Iterator[str]:
    while path := posixpath.dirname(path):
        yield path


def _folder_sha(tree: Tree, folder: str) -> str:
    within = {path: tree[path] for path in tree if path.startswith(f"{folder}/")}
    return tree_sha(within, f"tree {folder}")


def _listed(pull: LocalPull, tree: Tree, folder: str, sha: str) -> Json:
    """Files and folders that are right in it; links, submodules and folders by their modes."""
    start = f"{folder}/" if folder else ""
    names = {path[len(start) :].partition("/")[0] for path in tree if path.startswith(start)}
    entries = [_entry(pull, tree, f"{start}{name}", name) for name in sorted(names)]
    return {
        "sha": sha,
        "tree": entries[:MOST_ENTRIES],
        "truncated": len(entries) > MOST_ENTRIES,
    }


def _entry(pull: LocalPull, tree: Tree, path: str, name: str) -> Json:
    if path not in tree:
        return {"path": name, "mode": _FOLDER, "type": "tree", "sha": _folder_sha(tree, path)}
    mode = pull.modes.get(path, _FILE)
    if mode == SUBMODULE:
        return {"path": name, "mode": mode, "type": "commit", "sha": "5" * 40}
    blob = {"path": name, "mode": mode, "type": "blob", "size": len(tree[path])}
    return blob | {"sha": tree_sha({"": tree[path]}, "blob")}
