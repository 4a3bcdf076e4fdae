"""All that a review needs of a change on GitHub, in one go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import TypeVar

from kimibot.errors import GitHubError
from kimibot.github.client import GitHub
from kimibot.github.commits import Commits
from kimibot.github.facts import Change, line_links, told
from kimibot.github.surrounding import with_surroundings
from kimibot.review.addresses import Address
from kimibot.review.anchors import commentable
from kimibot.review.changes import Diff, PullRequest, Side
from kimibot.review.material import Material
from kimibot.review.prompts import Subject

RULES = ("REVIEW.md", ".kimibot/review.md")
ATTRIBUTES = ".gitattributes"

log = logging.getLogger(__name__)

Found = TypeVar("Found")


class Submissions:
    """Reads changes for reviews."""

    def __init__(self, github: GitHub) -> None:
        self._github = github

    @property
    def api_url(self) -> str:
        return self._github.api_url

    async def read(self, address: Address, words: str, *, is_guest: bool) -> Material:
        """The change, the team's rules and attributes from before it, and what was said of it.

        Raises GitHubError where the change itself can't be had; without the rest it is reviewed
        all the same.
        """
        change, diff = await self._read(address, is_guest)
        if await _if_possible(self._github.is_current(change)) is False:
            change, diff = await self._read(address, is_guest)
        subject = await self._subject(change, words)
        attributes = await self._text(change, ATTRIBUTES)
        return Material(
            files=await with_surroundings(self._github, change, diff.files, attributes),
            subject=subject,
            attributes=attributes,
            missing_files=diff.missing_files,
            link_of=line_links(self._github.web_url, change, diff.files),
            pull=await self._pull(change, diff, is_guest),
            repository=Commits(self._github, change) if change.with_token else None,
        )

    async def _read(self, address: Address, is_guest: bool) -> tuple[Change, Diff]:
        """After a push in between, the diff is of other commits than the change."""
        change = await self._github.change(address, is_guest=is_guest)
        return change, await self._github.diff(change)

    async def _subject(self, change: Change, words: str) -> Subject:
        comments = await _if_possible(self._github.comments(change)) or ()
        return Subject(
            words=words,
            title=change.title,
            description=change.description,
            rules=await self._rules(change),
            comments=told(comments),
        )

    async def _pull(self, change: Change, diff: Diff, is_guest: bool) -> PullRequest | None:
        """Where the review may be posted, if it may: at the lines of the diff as GitHub has it."""
        if change.number is None or not self._github.may_post(change, is_guest=is_guest):
            return None
        places = await asyncio.to_thread(commentable, diff.files)
        return PullRequest(change.full_name, change.number, change.new_sha, places)

    async def _rules(self, change: Change) -> str:
        """As they stood before: the author of the change must not be able to make them."""
        for path in RULES:
            if rules := await self._text(change, path):
                return rules
        return ""

    async def _text(self, change: Change, path: str) -> str:
        content = await _if_possible(self._github.content(change, path, Side.OLD))
        return (content or b"").decode("utf-8", "replace")


async def _if_possible(asked: Awaitable[Found]) -> Found | None:
    try:
        return await asked
    except GitHubError as error:
        log.info("not read beside a change: %s", error.name)
        return None
