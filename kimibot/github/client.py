"""Reads pull requests and commits, and opens the connections to GitHub.

https://docs.github.com/en/rest/pulls/pulls
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar
from urllib.parse import urlsplit

import httpx

from kimibot import __version__
from kimibot.errors import GitHubFault, NotThere, TooLarge
from kimibot.github.access import Access
from kimibot.github.facts import (
    COMMENTS,
    FILES,
    Change,
    CommentShape,
    CommitShape,
    ComparisonShape,
    EntryShape,
    FileShape,
    FilesShape,
    FolderShape,
    PullShape,
    Shape,
    as_faults,
    commit_change,
    pull_change,
)
from kimibot.github.fetching import DIFF, RAW, Fetched, Fetching, Sleep, file_path, segment
from kimibot.github.rebuilding import completed, file_diff, from_contents, is_withheld
from kimibot.github.writing import Writing
from kimibot.review.addresses import Address, web_host
from kimibot.review.changes import Diff, FileDiff, Side, Status
from kimibot.review.diffs import parse

API_URL = "https://api.github.com"
API_VERSION = "2022-11-28"
TIMEOUT_SECONDS = 20.0
"""GitHub itself ends a request after 10 s (troubleshooting page of its REST API)."""

MOST_CONTENTS = 30
"""Of how many files without a patch both versions are fetched: each costs two requests."""

SMALLER_PAGE = 30
"""The patches of a page have a budget together: smaller pages have more of them."""

Shapes = Sequence[FileShape]
OneShape = TypeVar("OneShape", bound=Shape)


@asynccontextmanager
async def open_github(
    *,
    api_url: str = API_URL,
    token: str = "",
    patterns: Sequence[str] = (),
    posts: bool = False,
    timeout_seconds: float = TIMEOUT_SECONDS,
    sleep: Sleep = asyncio.sleep,
) -> AsyncIterator[GitHub]:
    """A GitHub with its connections, closed at the end. `patterns` are those of `read_patterns`,
    and `posts` says that reviews may be written where they match."""
    headers = {"User-Agent": f"kimibot/{__version__}", "X-GitHub-Api-Version": API_VERSION}
    async with httpx.AsyncClient(
        headers=headers, timeout=timeout_seconds, follow_redirects=False
    ) as http:
        access = Access(patterns, bool(token), posts)
        yield GitHub(Fetching(http, api_url, token, sleep), access, api_url, sleep)


class GitHub:
    """Asks one thing after the other, as GitHub wishes. Everything here raises GitHubError."""

    def __init__(
        self, fetching: Fetching, access: Access, api_url: str, sleep: Sleep = asyncio.sleep
    ) -> None:
        self.api_url = api_url
        self.writing = Writing(fetching, access, web_url(api_url), sleep)
        self._fetching = fetching
        self._access = access

    @property
    def web_url(self) -> str:
        """Where people look at what the API has."""
        return web_url(self.api_url)

    def may_post(self, change: Change, *, is_guest: bool) -> bool:
        """Whether a review of the change may be posted to it for this person: it is a pull request
        as a whole, which may be opened again where it is closed."""
        is_pull = change.number is not None and not change.is_merged
        return is_pull and self._access.may_post(change.full_name, is_guest=is_guest)

    async def change(self, address: Address, *, is_guest: bool = False) -> Change:
        """The change at an address, pinned to its commits as they are now.

        Whether the repository may be read is decided before anything is asked, and once more when
        it turns out to have another name now.
        """
        with_token = self._access.with_token(address.full_name, is_guest=is_guest)
        change = await self._change(address, with_token)
        if change.full_name.lower() != address.full_name.lower():
            self._access.with_token(change.full_name, is_guest=is_guest)
        return change

    async def diff(self, change: Change) -> Diff:
        """All of its files; those that GitHub hands out in no way are there without their hunks.

        Reading takes long for large changes, and must not keep others waiting.
        """
        try:
            fetched = await self._fetching.get(
                change.path, with_token=change.with_token, accept=DIFF
            )
        except (TooLarge, GitHubFault):
            return await self._diff_from_files(change)
        return await asyncio.to_thread(parse, fetched.body)

    async def is_current(self, change: Change) -> bool:
        """Whether a pull request is still at the commit at which it was read."""
        if change.number is None:
            return True
        pull = await self._get(PullShape, change.path, change.with_token)
        return pull.head.sha == change.new_sha

    async def content(self, change: Change, path: str, side: Side = Side.NEW) -> bytes | None:
        """A file at one of the two commits; None where it is not there, or is no file."""
        sha = change.new_sha if side is Side.NEW else change.old_sha
        if not sha:
            return None
        url_path = f"/repos/{change.full_name}/contents/{file_path(path)}"
        try:
            fetched = await self._fetching.get(
                url_path, with_token=change.with_token, accept=RAW, parameters={"ref": sha}
            )
        except NotThere:
            return None
        is_listing = fetched.content_type == "application/json"
        return None if is_listing else fetched.body

    async def folder(self, change: Change, sha: str) -> tuple[EntryShape, ...]:
        """What is in the folder that has this id, or in the root of a commit."""
        path = f"/repos/{change.full_name}/git/trees/{segment(sha)}"
        return (await self._get(FolderShape, path, change.with_token)).tree

    async def comments(self, change: Change) -> tuple[CommentShape, ...]:
        """The comments on lines of a pull request, oldest first; none for a commit."""
        if change.number is None:
            return ()
        pages = self._fetching.pages(f"{change.path}/comments", with_token=change.with_token)
        return tuple([one async for page in pages for one in _comments_of(page)])

    async def _change(self, address: Address, with_token: bool) -> Change:
        name = address.full_name
        if address.number is None:
            return await self._commits(name, address.commits, with_token)
        pull = await self._get(PullShape, f"/repos/{name}/pulls/{address.number}", with_token)
        name = pull.base.repo.full_name if pull.base.repo else name
        if address.commits:
            commits = tuple(pull.head.sha if sha == "HEAD" else sha for sha in address.commits)
            return await self._commits(name, commits, with_token)
        merge_base = await self._merge_base(name, pull, with_token)
        return pull_change(pull, address.number, merge_base, full_name=name, with_token=with_token)

    async def _merge_base(self, name: str, pull: PullShape, with_token: bool) -> str:
        """Where the branches parted. Where that can't be had the base is the best there is."""
        path = f"/repos/{name}/compare/{pull.base.sha}...{pull.head.sha}"
        try:
            found = await self._get(ComparisonShape, path, with_token)
        except (NotThere, GitHubFault, TooLarge):
            return pull.base.sha
        return found.merge_base_commit.sha

    async def _commits(self, name: str, commits: Sequence[str], with_token: bool) -> Change:
        path = f"/repos/{name}/commits/{segment(commits[-1])}"
        last = await self._get(CommitShape, path, with_token)
        if len(commits) == 1:
            return commit_change(last, full_name=name, with_token=with_token)
        path = f"/repos/{name}/compare/{segment(commits[0])}...{last.sha}"
        compared = await self._get(ComparisonShape, path, with_token)
        return Change(
            full_name=name,
            path=path,
            old_sha=compared.merge_base_commit.sha,
            new_sha=last.sha,
            title=f"{commits[0]}..{commits[1]}",
            description="\n\n".join(one.commit.message for one in compared.commits),
            with_token=with_token,
        )

    async def _diff_from_files(self, change: Change) -> Diff:
        shapes = await self._files(change, 100)
        if any(map(is_withheld, shapes)):
            shapes = completed(shapes, await self._files(change, SMALLER_PAGE))
        files = [file_diff(shape) for shape in shapes]
        withheld = [at for at, shape in enumerate(shapes) if is_withheld(shape)]
        for at in withheld[:MOST_CONTENTS]:
            files[at] = await self._from_contents(change, shapes[at])
        return Diff(tuple(files), missing_files=max(0, change.file_count - len(files)))

    async def _files(self, change: Change, per_page: int) -> list[FileShape]:
        """Of a pull request as a list; of commits as a part of what else is said of them."""
        path = change.path if change.number is None else f"{change.path}/files"
        pages = self._fetching.pages(path, with_token=change.with_token, per_page=per_page)
        found: dict[str, FileShape] = {}
        async for page in pages:
            shapes = _of_pull(page) if change.number else _of_commits(page)
            found |= {shape.filename: shape for shape in shapes}
        return list(found.values())

    async def _from_contents(self, change: Change, shape: FileShape) -> FileDiff:
        """Comparing takes long for large files, and must not keep the others waiting."""
        listed = file_diff(shape)
        try:
            new = await self.content(change, listed.new_path)
            is_new = listed.status is Status.ADDED
            old = None if is_new else await self.content(change, listed.old_path, Side.OLD)
        except (TooLarge, GitHubFault):
            return listed
        return await asyncio.to_thread(from_contents, shape, old, new)

    async def _get(self, kind: type[OneShape], path: str, with_token: bool) -> OneShape:
        fetched = await self._fetching.get(path, with_token=with_token)
        with as_faults():
            return kind.model_validate_json(fetched.body)


def web_url(api_url: str) -> str:
    """Where people look at what an API has."""
    return f"{urlsplit(api_url).scheme}://{web_host(api_url)}"


def _of_pull(page: Fetched) -> Shapes:
    with as_faults():
        return FILES.validate_json(page.body)


def _of_commits(page: Fetched) -> Shapes:
    with as_faults():
        return FilesShape.model_validate_json(page.body).files


def _comments_of(page: Fetched) -> Sequence[CommentShape]:
    with as_faults():
        return COMMENTS.validate_json(page.body)
