"""Fetches the files of what is about to be read, and says below the answer which were not read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from kimibot import failures
from kimibot.attachments import Attachment, Contents, SharedFile, Unread
from kimibot.attempt import Attempt
from kimibot.conversation import Remembered
from kimibot.errors import FileUnread
from kimibot.files.apart import apart
from kimibot.files.contents import read_contents
from kimibot.framing import one_line

MOST_FILES = 8
"""In one turn: what is beyond that is named and not read."""

FETCHED_AT_ONCE = 4
READ_AT_ONCE = 2
"""In all turns of this process: a picture may take 160 MB until it is small."""

READ_SECONDS = 20.0
LARGEST_IMAGE_BYTES = 256 * 1024
ALL_IMAGES_BYTES = 900 * 1024

log = logging.getLogger(__name__)


class Files(Protocol):
    """Slack's files. Both raise FileUnread."""

    async def describe(self, file: SharedFile) -> SharedFile:
        """The file as it is described now."""

    async def download(self, file: SharedFile) -> bytes:
        """All its bytes."""


class Shelf(Protocol):
    """Where is kept what was read. Raises DatabaseUnavailable."""

    async def keep_contents(self, thread_id: int, attachments: Sequence[Attachment]) -> None:
        """Keep each with its contents; those whose message is gone are left out."""


class Fetching:
    """Reads each file once, at the latest moment: addresses expire, and an ask may wait."""

    def __init__(self, files: Files, shelf: Shelf, *, takes_images: bool) -> None:
        self._files = files
        self._shelf = shelf
        self._takes_images = takes_images
        self._room_to_fetch = asyncio.Semaphore(FETCHED_AT_ONCE)
        self._room_to_read = asyncio.Semaphore(READ_AT_ONCE)

    async def fetch(self, attempt: Attempt, remembered: Sequence[Remembered]) -> list[Remembered]:
        """The same messages with what is in their files. One bad file spoils no other.

        Raises DatabaseUnavailable.
        """
        open_ts = {turn.ts for turn in attempt.claim.turns if not turn.pressed}
        waiting = _waiting(remembered, open_ts)
        if waiting:
            read = await self._read_all(waiting)
            await self._shelf.keep_contents(attempt.claim.thread_id, read)
            remembered = _with(remembered, {one.id: one for one in read})
            _log(attempt, read)
        attempt.notes += failures.unread_files(_unread(remembered, open_ts))
        return list(remembered)

    async def _read_all(self, waiting: Sequence[Attachment]) -> list[Attachment]:
        chosen, rest = waiting[:MOST_FILES], waiting[MOST_FILES:]
        pictures = sum(one.file.mimetype.startswith("image/") for one in chosen)
        image_bytes = min(LARGEST_IMAGE_BYTES, ALL_IMAGES_BYTES // max(1, pictures))
        read = await asyncio.gather(*(self._read(one, image_bytes) for one in chosen))
        return read + [replace(one, contents=Contents(unread=Unread.TOO_MANY)) for one in rest]

    async def _read(self, attachment: Attachment, image_bytes: int) -> Attachment:
        file = attachment.file
        async with self._room_to_fetch:
            try:
                if file.access == "check_file_info" or not file.url:
                    file = await self._files.describe(file)
                contents = await self._contents(file, image_bytes)
            except FileUnread as error:
                contents = Contents(unread=error.why)
        return replace(attachment, file=file, contents=contents)

    async def _contents(self, file: SharedFile, image_bytes: int) -> Contents:
        read = partial(
            read_contents,
            file,
            await self._files.download(file),
            image_bytes=image_bytes,
            seconds=READ_SECONDS,
            takes_images=self._takes_images,
        )
        async with self._room_to_read:
            try:
                return await apart(read, 2 * READ_SECONDS)
            except TimeoutError:
                return Contents(unread=Unread.TOO_SLOW)


def _waiting(remembered: Sequence[Remembered], open_ts: Collection[str]) -> list[Attachment]:
    """Of messages that were never sent: the asks' own files first, then the newest of others."""
    newest_first = sorted(remembered, key=lambda m: (m.ts not in open_ts, -float(m.ts)))
    return [
        attachment
        for message in newest_first
        if message.sent is None
        for attachment in message.attachments
        if attachment.contents is None
    ]


def _with(remembered: Sequence[Remembered], read: Mapping[int, Attachment]) -> Sequence[Remembered]:
    return [
        replace(message, attachments=tuple(read.get(one.id, one) for one in message.attachments))
        if message.attachments
        else message
        for message in remembered
    ]


def _unread(remembered: Sequence[Remembered], open_ts: Collection[str]) -> list[tuple[str, Unread]]:
    """Of what this answer is the first to speak of."""
    return [
        (one_line(attachment.file.name), attachment.unread)
        for message in remembered
        if message.sent is None or message.ts in open_ts
        for attachment in message.attachments
        if attachment.unread is not None
    ]


def _log(attempt: Attempt, read: Sequence[Attachment]) -> None:
    unread = sorted({one.unread.value for one in read if one.unread is not None})
    counts = {"files": len(read), "unread": ", ".join(unread)}
    log.info("files read", extra=attempt.ids | counts)
