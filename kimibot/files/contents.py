"""Reads the bytes of a file as what they are, whatever its name says."""

from __future__ import annotations

from kimibot.attachments import Contents, SharedFile, Unread
from kimibot.files.images import is_image, read_image
from kimibot.files.pdf import is_pdf, read_pdf
from kimibot.files.text import decoded

MOST_CHARACTERS = 2_000_000
"""No model reads more; what goes beyond it is not kept."""


def read_contents(
    file: SharedFile, content: bytes, *, image_bytes: int, seconds: float, takes_images: bool
) -> Contents:
    """Never raises: whatever cannot be read says why.

    A picture comes out with at most `image_bytes`. A PDF is read for at most so many seconds, as
    long as no single page takes longer.
    """
    if not content:
        return Contents(unread=Unread.EMPTY)
    if is_pdf(content):
        return read_pdf(content, seconds, MOST_CHARACTERS)
    if is_image(content):
        if not takes_images:
            return Contents(unread=Unread.NO_PICTURES)
        return read_image(content, image_bytes)
    text = decoded(content)
    if text is None:
        return Contents(unread=_why_not(file))
    return Contents(text=text[:MOST_CHARACTERS], is_cut=len(text) > MOST_CHARACTERS)


def _why_not(file: SharedFile) -> Unread:
    """A picture or a PDF that does not begin like one is damaged."""
    is_meant = file.mimetype.startswith("image/") or file.mimetype == "application/pdf"
    return Unread.BROKEN if is_meant else Unread.UNKNOWN_KIND
