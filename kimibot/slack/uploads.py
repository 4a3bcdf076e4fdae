"""Uploads code as files, shares them in threads, and finds them again by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256

from kimibot import texts
from kimibot.conversation import Thread
from kimibot.errors import SlackError
from kimibot.pacing import Pacing
from kimibot.slack.file_types import file_type
from kimibot.slack.web_api import WebApi
from kimibot.views import CodeFile, FoundFiles

_NO_FILES = {"missing_scope", "file_uploads_disabled", "not_allowed_token_type"}
"""Refusals that are the same for every file and thread."""

_TURN_SIGNS = 16
_CODE_SIGNS = 8
_SHORT_TURN_SIGNS, _SHORT_CODE_SIGNS = 8, 4
"""Of a file that people are to save: they see its name every day."""


class SlackUploads:
    """All wait for their slots and raise SlackError; none is tried again.

    The name of a file says whose it is: its number in the reply, the turn, and a sum of the code.
    Files of others with such a name count for nothing.
    """

    def __init__(self, web_api: WebApi, pacing: Pacing, our_user: str) -> None:
        self._web_api = web_api
        self._pacing = pacing
        self._our_user = our_user
        self.are_refused = False
        """Whether Slack has said that we may not upload anything anywhere."""

    def name(self, turn_id: str, file: CodeFile) -> str:
        sum_of_code = sha256(_content(file)).hexdigest()
        ending = file_type(file.language).ending
        if file.stem:
            signs = f"{turn_id[:_SHORT_TURN_SIGNS]}-{sum_of_code[:_SHORT_CODE_SIGNS]}"
            return f"{file.stem}-{signs}.{ending}"
        signs = f"{turn_id[:_TURN_SIGNS]}-{sum_of_code[:_CODE_SIGNS]}"
        return f"code-{file.number}-{signs}.{ending}"

    async def upload(self, name: str, file: CodeFile) -> str:
        """Send the bytes; the file's id. Nobody sees it before it is shared."""
        kind = file_type(file.language).kind
        try:
            return await self._upload(name, file, kind)
        except SlackError as error:
            self.are_refused = self.are_refused or error.code in _NO_FILES
            if error.code != "unknown_snippet_type":
                raise
        return await self._upload(name, file, None)

    async def _upload(self, name: str, file: CodeFile, kind: str | None) -> str:
        content = _content(file)
        await self._pacing.call("files.getUploadURLExternal")
        answer = await self._web_api.call(
            "files.getUploadURLExternal",
            filename=name,
            length=len(content),
            snippet_type=kind,
        )
        await self._web_api.send(str(answer["upload_url"]), content)
        return str(answer["file_id"])

    async def share(self, thread: Thread, files: Sequence[tuple[str, CodeFile]]) -> None:
        """One message with all of them."""
        await self._pacing.call("files.completeUploadExternal")
        await self._web_api.call(
            "files.completeUploadExternal",
            files=[
                {"id": id_, "title": file.title or texts.code_title(file.number)}
                for id_, file in files
            ],
            channel_id=thread.channel,
            thread_ts=thread.root_ts,
        )

    async def shared(self, thread: Thread, turn_id: str) -> Sequence[FoundFiles]:
        """The messages with files of this turn, oldest first."""
        long, short = (re.escape(turn_id[:n]) for n in (_TURN_SIGNS, _SHORT_TURN_SIGNS))
        pattern = re.compile(rf"code-\d+-{long}-|[a-z]+-{short}-")
        messages = await self._web_api.pages(
            "conversations.replies", "messages", channel=thread.channel, ts=thread.root_ts
        )
        found = []
        for message in messages:
            files = [file for file in message.get("files") or [] if self._is_ours(file)]
            names = frozenset(str(file.get("name")) for file in files)
            if any(map(pattern.match, names)):
                found.append(FoundFiles(str(message["ts"]), names))
        return sorted(found, key=lambda shared: shared.ts)

    async def take_out(self, thread: Thread, ts: str) -> None:
        await self._pacing.call("chat.delete")
        await self._web_api.call("chat.delete", channel=thread.channel, ts=ts)

    def _is_ours(self, file: dict[str, object]) -> bool:
        return file.get("user") == self._our_user


def _content(file: CodeFile) -> bytes:
    return file.code.encode("utf-8", "replace")  # half a surrogate pair has no bytes
