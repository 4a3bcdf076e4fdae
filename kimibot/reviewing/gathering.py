"""Takes in what a review is of: code from the thread or its files, or a change on GitHub."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from kimibot import failures
from kimibot.attachments import Attachment
from kimibot.attempt import Attempt
from kimibot.conversation import Remembered
from kimibot.errors import GitHubError
from kimibot.review import phrases
from kimibot.review.addresses import Address
from kimibot.review.material import Material
from kimibot.review.sources import Source, find_source, words_of

TEXT_CHARACTERS = 200
"""An ask of so many without any code brings a text that is to be reviewed."""


class NothingToReview(Exception):
    """Nobody has shown any code, or none that we may look at; the text says what to do."""


class NoCode(Exception):
    """What is to be reviewed is a text: that is an ordinary ask."""


class Submissions(Protocol):
    """The changes on GitHub."""

    @property
    def api_url(self) -> str: ...

    async def read(self, address: Address, words: str, *, is_guest: bool) -> Material:
        """A change with what is known of it. Raises GitHubError."""


class Attached(Protocol):
    """What our rows hold of files. Raises DatabaseUnavailable."""

    async def attachments(self, thread_id: int) -> list[Attachment]:
        """What was in the files of a thread."""


class Guests(Protocol):
    """Who is from elsewhere. Never fails."""

    async def is_external(self, person: str, team: str) -> bool: ...


class Gathering:
    """Finds what an ask wants reviewed, nearest first, and reads it."""

    def __init__(self, submissions: Submissions, attached: Attached, guests: Guests) -> None:
        self._submissions = submissions
        self._attached = attached
        self._guests = guests

    async def gather(
        self, attempt: Attempt, remembered: Sequence[Remembered], ask: Remembered
    ) -> Material:
        """What is to be reviewed. Raises NothingToReview, NoCode and GitHubError."""
        source = await self._source(attempt, remembered, ask)
        words = words_of(ask)
        if source is None:
            raise NoCode if len(words) >= TEXT_CHARACTERS else NothingToReview(phrases.OF_NOTHING)
        code = source.material(words)
        if source.addresses:
            return await self._submitted_or(code, attempt, source, words)
        if code is None:
            raise NothingToReview(failures.elsewhere(source.foreign[0].host))
        return code

    async def _source(
        self, attempt: Attempt, remembered: Sequence[Remembered], ask: Remembered
    ) -> Source | None:
        """Searching long messages takes long, and must not keep others waiting."""
        files_of = await self._files(attempt, remembered)
        api_url = self._submissions.api_url
        return await asyncio.to_thread(find_source, remembered, ask.ts, api_url, files_of)

    async def _files(
        self, attempt: Attempt, remembered: Sequence[Remembered]
    ) -> dict[int, list[Attachment]]:
        """The whole texts, also of what was sent to the model before."""
        files_of: dict[int, list[Attachment]] = {}
        if any(message.attachments for message in remembered):
            for one in await self._attached.attachments(attempt.claim.thread_id):
                files_of.setdefault(one.message_id, []).append(one)
        return files_of

    async def _submitted_or(
        self, code: Material | None, attempt: Attempt, source: Source, words: str
    ) -> Material:
        """The code that came with an address has to do where GitHub does not give the change."""
        try:
            return await self._submitted(attempt, source, words)
        except GitHubError as error:
            if code is None:
                raise
            attempt.notes.append(failures.github_failed(error))
            return code

    async def _submitted(self, attempt: Attempt, source: Source, words: str) -> Material:
        turn = attempt.turn
        is_guest = await self._guests.is_external(turn.asker, turn.asker_team)
        material = await self._submissions.read(source.addresses[0], words, is_guest=is_guest)
        if len(source.addresses) > 1:
            attempt.notes.append(phrases.ONE_CHANGE)
        return material
