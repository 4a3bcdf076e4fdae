"""Shares the files of a reply in its thread: once, and after its last part."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from kimibot.conversation import Thread
from kimibot.errors import FateUnknown, MessageGone, NotConnected, RateLimited, SlackError
from kimibot.reply.parts import PAUSE_SECONDS, ReplyTo, until_answered
from kimibot.views import CodeFile, FoundFiles

log = logging.getLogger(__name__)

TRIES = 3
SHARE_SECONDS = 180.0
"""So long it is tried; then the code goes into further parts of the reply."""


class Uploads(Protocol):
    """Slack's files. All wait for their slots and raise SlackError; none is tried again."""

    def name(self, turn_id: str, file: CodeFile) -> str:
        """The file's name, which no file of another turn or with other code has."""

    async def upload(self, name: str, file: CodeFile) -> str:
        """Send the bytes; the file's id. Nobody sees it before it is shared."""

    async def share(self, thread: Thread, files: Sequence[tuple[str, CodeFile]]) -> None:
        """Put uploaded files, by their ids, into the thread, in one message."""

    async def shared(self, thread: Thread, turn_id: str) -> Sequence[FoundFiles]:
        """What is in the thread of the turn's files, oldest first."""

    async def take_out(self, thread: Thread, ts: str) -> None:
        """Delete a message with files."""


class Sharing:
    """The files of one reply. Sharing them is the one step that anybody sees.

    When it got no response, they are looked for in the thread, and once more when the call can't be
    applied any more; only then they are shared again. Whoever takes a turn over looks first: files
    with other code, or in front of a part of the reply, are taken out.
    """

    def __init__(self, to: ReplyTo, uploads: Uploads | None, *, settle_seconds: float) -> None:
        self._thread = to.thread
        self._turn_id = to.turn_id
        self._uploads = uploads
        self._sure = to.sure
        self._may_be_there = to.is_taken_over
        self._settle_seconds = settle_seconds

    async def share(self, files: Sequence[CodeFile], last_part_ts: str) -> bool:
        """Whether the files are in the thread now, and no others of this turn; False where Slack
        does not take them. Raises MessageGone when the thread is gone."""
        if self._uploads is None or not (files or self._may_be_there):
            return not files
        try:
            async with asyncio.timeout(SHARE_SECONDS):
                return await self._share(self._uploads, files, last_part_ts)
        except MessageGone:
            raise
        except (SlackError, TimeoutError) as error:
            log.warning("files not shared: %s", error, extra={"turn": self._turn_id})
            return False

    async def _share(self, uploads: Uploads, files: Sequence[CodeFile], last_part_ts: str) -> bool:
        wanted = frozenset(uploads.name(self._turn_id, file) for file in files)
        for _ in range(TRIES):
            if self._may_be_there and await self._is_there(uploads, wanted, last_part_ts):
                return True
            if not files or await self._is_shared(uploads, files):
                return True
            if await self._is_there(uploads, wanted, last_part_ts):
                return True
            await asyncio.sleep(self._settle_seconds)
        return await self._is_there(uploads, wanted, last_part_ts)

    async def _is_shared(self, uploads: Uploads, files: Sequence[CodeFile]) -> bool:
        """Upload and share them. False: nobody knows whether they are shared."""
        sent = [(await self._upload(uploads, file), file) for file in files]
        for _ in range(TRIES):
            await self._sure()
            try:
                await uploads.share(self._thread, sent)
            except RateLimited:
                continue  # the method is held: the next slot comes when Slack allows it
            except NotConnected:
                await asyncio.sleep(PAUSE_SECONDS)
            except FateUnknown:
                self._may_be_there = True
                return False
            else:
                return True
        return False

    async def _upload(self, uploads: Uploads, file: CodeFile) -> str:
        """Nobody sees an upload, so it may be made twice; but not for ever."""
        name = uploads.name(self._turn_id, file)
        for _ in range(TRIES - 1):
            try:
                return await uploads.upload(name, file)
            except (RateLimited, NotConnected, FateUnknown):
                await asyncio.sleep(PAUSE_SECONDS)
        return await uploads.upload(name, file)

    async def _is_there(self, uploads: Uploads, wanted: frozenset[str], last_part_ts: str) -> bool:
        """Whether just these files are in the thread; all others of the turn are taken out."""
        look = partial(uploads.shared, self._thread, self._turn_id)
        found = await until_answered(look)
        right = [
            shared.ts for shared in found if shared.names == wanted and shared.ts > last_part_ts
        ]
        for shared in found:
            if shared.ts not in right[:1]:
                await self._take_out(uploads, shared.ts)
        return bool(right)

    async def _take_out(self, uploads: Uploads, ts: str) -> None:
        """As far as Slack allows; somebody may have deleted it already."""
        await self._sure()
        try:
            await until_answered(partial(uploads.take_out, self._thread, ts))
        except SlackError as error:
            log.info("files not deleted: %s", error, extra={"turn": self._turn_id})
