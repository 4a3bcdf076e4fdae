"""The files of the local workspace: shared by people, uploaded by apps, served to whoever may."""

from __future__ import annotations

import base64
import mimetypes
from dataclasses import dataclass, field
from typing import Any

from kimibot.sandbox.slack.limits import FILE_PREVIEW_CHARS

FILETYPES = {
    "text/x-python": "python",
    "text/x-diff": "diff",
    "text/x-patch": "diff",
    "application/json": "json",
    "text/html": "html",
    "text/markdown": "markdown",
    "text/plain": "text",
    "image/png": "png",
    "image/jpeg": "jpg",
    "application/pdf": "pdf",
}


@dataclass(slots=True)
class File:
    """A file: its content, and how Slack describes it.

    `fault` changes what a download gets: `login_page`, `not_found`, `stall`, or
    `redirect:<address>`. `overrides` replace fields of the description. With `is_hidden` messages
    hold no more of it than its id, as with some files in shared channels.
    """

    id: str
    name: str
    content: bytes
    owner: str
    created: int
    mimetype: str = ""
    title: str = ""
    snippet_type: str = ""
    is_complete: bool = True
    is_hidden: bool = False
    fault: str = ""
    fault_content_type: str = "text/html; charset=utf-8"
    overrides: dict[str, Any] = field(default_factory=dict)
    shares: list[tuple[str, str]] = field(default_factory=list)


class FileStore:
    """All files by id."""

    def __init__(self) -> None:
        self._files: dict[str, File] = {}

    def add(self, file: File) -> File:
        self._files[file.id] = file
        return file

    def get(self, file_id: str) -> File | None:
        return self._files.get(file_id)


def content_of(described: dict[str, Any]) -> bytes:
    """The bytes of a file given as `text` or `base64`."""
    if "base64" in described:
        return base64.b64decode(described["base64"])
    return str(described.get("text", "")).encode()


def guess_mimetype(name: str) -> str:
    """By the name's ending, as Slack's own description does for text and pictures."""
    if name.endswith((".diff", ".patch")):
        return "text/plain"
    return mimetypes.guess_type(name)[0] or "text/plain"


def as_slack_file(file: File, base_url: str, team_id: str) -> dict[str, Any]:
    """The shape of https://docs.slack.dev/reference/objects/file-object."""
    mimetype = file.mimetype or guess_mimetype(file.name)
    filetype = file.snippet_type or _filetype(file.name, mimetype)
    is_text = bool(file.snippet_type) or _is_text(mimetype)
    fields = {
        "id": file.id,
        "created": file.created,
        "timestamp": file.created,
        "name": file.name,
        "title": file.title or file.name,
        "mimetype": mimetype,
        "filetype": filetype,
        "pretty_type": filetype.capitalize(),
        "user": file.owner,
        "user_team": team_id,
        "editable": is_text,
        "size": len(file.content),
        "mode": "snippet" if is_text else "hosted",
    }
    access = _access(file, f"{base_url}/files/{team_id}-{file.id}")
    return fields | access | (_preview(file) if is_text else {}) | file.overrides


def _access(file: File, address: str) -> dict[str, Any]:
    return {
        "is_external": False,
        "external_type": "",
        "is_public": True,
        "public_url_shared": False,
        "display_as_bot": False,
        "username": "",
        "url_private": f"{address}/{file.name}",
        "url_private_download": f"{address}/download/{file.name}",
        "permalink": f"{address}/{file.name}",
        "has_rich_preview": False,
        "file_access": "visible",
        "channels": [channel for channel, _ in file.shares if channel.startswith("C")],
        "groups": [channel for channel, _ in file.shares if channel.startswith("G")],
        "ims": [channel for channel, _ in file.shares if channel.startswith("D")],
    }


def _filetype(name: str, mimetype: str) -> str:
    if name.endswith((".diff", ".patch")):
        return "diff"
    return FILETYPES.get(mimetype, "binary" if not _is_text(mimetype) else "text")


def _is_text(mimetype: str) -> bool:
    return mimetype.startswith("text/") or mimetype in ("application/json", "application/xml")


def _preview(file: File) -> dict[str, Any]:
    text = file.content.decode(errors="replace")
    shown = text[:FILE_PREVIEW_CHARS]
    lines = text.count("\n") + 1
    return {
        "preview": shown,
        "preview_is_truncated": len(text) > len(shown),
        "lines": lines,
        "lines_more": lines - shown.count("\n") - 1,
    }
