"""The folders and files of a change's two commits, as a local GitHub has them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from kimibot.errors import NotThere
from kimibot.github.client import open_github
from kimibot.github.commits import Commits
from kimibot.review.addresses import Address
from kimibot.review.changes import Side
from kimibot.review.repository import Entry, EntryKind
from kimibot.sandbox.github import LocalGitHub, LocalPull, LocalRepository, local_github

OLD = {"src/a.py": b"a = 1\n", "src/deep/b c.py": b"b = 1\n", "x/y.md": b"y"}
NEW = OLD | {
    "src/a.py": b"a = 2\n",
    "src/new.py": b"n = 1\n",
    "src/link.py": b"a.py",
    "lib": b"",
    "folder": b"src",
}
MODES = {"src/link.py": "120000", "lib": "160000", "folder": "120000"}


@pytest.fixture
async def local() -> AsyncIterator[LocalGitHub]:
    async with local_github() as github:
        github.add(LocalRepository("acme/shop", {1: LocalPull(OLD, NEW, modes=MODES)}))
        yield github


@pytest.fixture
async def commits(local: LocalGitHub) -> AsyncIterator[Commits]:
    async with open_github(api_url=local.api_url) as github:
        yield Commits(github, await github.change(Address("acme", "shop", 1)))


async def test_a_folder_says_what_each_of_its_names_is(commits: Commits) -> None:
    assert await commits.folder("", Side.NEW) == [
        Entry("folder", EntryKind.LINK, 3),
        Entry("lib", EntryKind.SUBMODULE),
        Entry("src", EntryKind.FOLDER),
        Entry("x", EntryKind.FOLDER),
    ]
    assert await commits.folder("src", Side.NEW) == [
        Entry("a.py", EntryKind.FILE, 6),
        Entry("deep", EntryKind.FOLDER),
        Entry("link.py", EntryKind.LINK, 4),
        Entry("new.py", EntryKind.FILE, 6),
    ]


async def test_each_commit_has_its_own_files(commits: Commits) -> None:
    assert [one.name for one in await commits.folder("src", Side.OLD)] == ["a.py", "deep"]
    assert await commits.file("src/a.py", Side.OLD) == b"a = 1\n"
    assert await commits.file("src/a.py", Side.NEW) == b"a = 2\n"
    assert await commits.file("src/deep/b c.py", Side.NEW) == b"b = 1\n"


@pytest.mark.parametrize("path", ["nowhere", "src/a.py", "src/deep/no", "folder", "lib"])
async def test_what_is_no_folder_is_not_there_links_to_one_included(
    path: str, commits: Commits
) -> None:
    with pytest.raises(NotThere):
        await commits.folder(path, Side.NEW)


async def test_what_is_no_file_is_not_there(commits: Commits) -> None:
    for path in ("src", "nowhere.py", "lib"):
        with pytest.raises(NotThere):
            await commits.file(path, Side.NEW)


async def test_a_folder_is_asked_for_once_also_for_both_commits(
    commits: Commits, local: LocalGitHub
) -> None:
    before = len(local.requests)
    for side in (Side.NEW, Side.OLD, Side.NEW):
        await commits.folder("x", side)

    assert len(local.requests) - before == 3


async def test_before_a_first_commit_there_is_nothing(local: LocalGitHub) -> None:
    async with open_github(api_url=local.api_url) as github:
        change = await github.change(Address("acme", "shop", 1))

        with pytest.raises(NotThere):
            await Commits(github, replace(change, old_sha="")).folder("", Side.OLD)
