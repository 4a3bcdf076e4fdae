"""Pure: how the files of a message stand below it in what the model reads.

A file is somebody's data: it stands in a fence that nothing in it can close, under its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kimibot.attachments import Attachment, Unread
from kimibot.estimating import tokens
from kimibot.fencing import fence_mark

MOST_NAME_CHARACTERS = 120

WHY_UNREAD: Mapping[Unread, str] = {
    Unread.TOO_MANY: "too many files at once",
    Unread.TOO_LARGE: "too large",
    Unread.LOCKED: "locked with a password",
    Unread.EMPTY: "it is empty",
    Unread.NO_TEXT: "it holds no text",
    Unread.NO_PICTURES: "a picture; you can't see pictures",
    Unread.UNKNOWN_KIND: "a kind of file that can't be read",
    Unread.BROKEN: "it is damaged",
}
"""What the model is told; for all others it is enough that the file could not be fetched."""

_LANGUAGE = re.compile(r"[a-z0-9+#_-]{1,20}")


def shares(attachments: Sequence[Attachment], budget_tokens: int) -> dict[int, int]:
    """How many characters of each text are shown, by the attachment's id.

    Small files are shown whole; what they leave of the budget is divided among the larger ones.
    """
    sizes = {one.id: tokens(text) for one in attachments if (text := _text(one))}
    texts = {one.id: _text(one) for one in attachments}
    shown: dict[int, int] = {}
    left = budget_tokens
    for number, (id_, size) in enumerate(sorted(sizes.items(), key=lambda item: item[1])):
        share = left // (len(sizes) - number)
        given = min(size, share)
        left -= given
        whole = len(texts[id_])
        shown[id_] = whole if given == size else whole * given // size
    return shown


def framed(attachments: Sequence[Attachment], shown: Mapping[int, int]) -> str:
    """The files of one message, in their order."""
    return "\n\n".join(_framed(one, shown.get(one.id, 0)) for one in attachments)


def is_shortened(attachment: Attachment, shown: Mapping[int, int]) -> bool:
    """Whether the model reads only the beginning of the file."""
    contents = attachment.contents
    if contents is None or contents.text is None:
        return False
    return contents.is_cut or shown.get(attachment.id, 0) < len(contents.text)


def one_line(name: str) -> str:
    """A name is somebody's text: it must not look like a line of ours."""
    return " ".join(re.sub(r"[\[\]`]", "_", name).split())[:MOST_NAME_CHARACTERS] or "a file"


def _framed(attachment: Attachment, characters: int) -> str:
    name, contents = one_line(attachment.file.name), attachment.contents
    if contents is not None and contents.text is not None:
        return _fenced(attachment, contents.text, characters)
    if contents is not None and contents.image is not None:
        return f"[attached picture: {name}]"
    why = WHY_UNREAD.get(attachment.unread or Unread.GONE, "it could not be fetched")
    return f"[attached, but you can't read it: {name} – {why}]"


def _fenced(attachment: Attachment, text: str, characters: int) -> str:
    head = f"attached file: {one_line(attachment.file.name)}"
    if is_shortened(attachment, {attachment.id: characters}):
        text = _whole_lines(text[:characters])
        head += f", only its first {len(text):,} characters"
    fence = fence_mark(text)
    return f"[{head}]\n{fence}{_language(attachment)}\n{text.removesuffix(chr(10))}\n{fence}"


def _whole_lines(text: str) -> str:
    """Up to the last line's end, unless that would take most of it away."""
    end = text.rfind("\n") + 1
    return text[:end] if end > len(text) // 2 else text


def _language(attachment: Attachment) -> str:
    filetype = attachment.file.filetype.lower()
    return filetype if _LANGUAGE.fullmatch(filetype) else ""


def _text(attachment: Attachment) -> str:
    return (attachment.contents.text or "") if attachment.contents else ""
