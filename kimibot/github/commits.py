"""The files of a change's two commits, looked up folder by folder."""

from __future__ import annotations

from collections.abc import Sequence

from kimibot.errors import NotThere
from kimibot.github.client import GitHub
from kimibot.github.facts import Change, EntryShape
from kimibot.review.changes import FOLDER, SUBMODULE, SYMLINK, Side
from kimibot.review.repository import Entry, EntryKind

_KINDS = {FOLDER: EntryKind.FOLDER, SYMLINK: EntryKind.LINK, SUBMODULE: EntryKind.SUBMODULE}


class Commits:
    """Each folder is asked for once: most are the same in both commits."""

    def __init__(self, github: GitHub, change: Change) -> None:
        self._github = github
        self._change = change
        self._folders: dict[str, Sequence[EntryShape]] = {}

    async def folder(self, path: str, side: Side) -> Sequence[Entry]:
        """What is in a folder; "" is the root. Raises GitHubError, NotThere where there is none."""
        shapes = await self._root(side)
        for name in filter(None, path.split("/")):
            one = next((one for one in shapes if (one.path, one.mode) == (name, FOLDER)), None)
            if one is None:
                raise NotThere
            shapes = await self._listed(one.sha)
        return [Entry(one.path, _KINDS.get(one.mode, EntryKind.FILE), one.size) for one in shapes]

    async def file(self, path: str, side: Side) -> bytes:
        """All of a file. Raises GitHubError, NotThere where there is none."""
        content = await self._github.content(self._change, path, side)
        if content is None:
            raise NotThere
        return content

    async def _root(self, side: Side) -> Sequence[EntryShape]:
        sha = self._change.new_sha if side is Side.NEW else self._change.old_sha
        if not sha:
            raise NotThere
        return await self._listed(sha)

    async def _listed(self, sha: str) -> Sequence[EntryShape]:
        if sha not in self._folders:
            self._folders[sha] = await self._github.folder(self._change, sha)
        return self._folders[sha]
