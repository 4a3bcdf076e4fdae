"""The words for files that people attach: as Slack describes them, and what was in them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Unread(StrEnum):
    """Why a file was not read, or why there is nothing in it for the model."""

    TOO_MANY = "too_many"
    TOO_LARGE = "too_large"
    NO_SCOPE = "no_scope"
    SIGN_IN = "sign_in"
    NO_ACCESS = "no_access"
    GONE = "gone"
    HIDDEN = "hidden"
    ELSEWHERE = "elsewhere"
    TOO_SLOW = "too_slow"
    UNREACHABLE = "unreachable"
    UNKNOWN_KIND = "unknown_kind"
    EMPTY = "empty"
    LOCKED = "locked"
    BROKEN = "broken"
    NO_TEXT = "no_text"
    NO_PICTURES = "no_pictures"


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file as Slack describes it in a message; what Slack does not say is empty.

    `access` is `check_file_info` where the message holds no more than the id.
    https://docs.slack.dev/reference/objects/file-object
    """

    id: str
    name: str = ""
    mimetype: str = ""
    filetype: str = ""
    size_bytes: int = 0
    mode: str = ""
    url: str = ""
    access: str = ""

    @property
    def is_deleted(self) -> bool:
        """Whether no more than a tombstone of it is left in its message."""
        return self.mode == "tombstone"


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a file: a text, or a picture as it is shown to the model, or why neither.

    `text` is all of it, as decoded, unless `is_cut` says that the file goes on.
    """

    text: str | None = None
    image: bytes | None = None
    image_type: str = ""
    unread: Unread | None = None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of a message, as our rows hold it; `contents` is None until it was fetched."""

    id: int
    message_id: int
    file: SharedFile
    contents: Contents | None = None

    @property
    def unread(self) -> Unread | None:
        return self.contents.unread if self.contents else None
