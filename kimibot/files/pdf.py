"""Takes the text out of a PDF, page by page, within limits."""

from __future__ import annotations

import io
import time

from pypdf import PasswordType, PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError

from kimibot.attachments import Contents, Unread

MOST_PAGES = 200
_HEADER_WITHIN = 1024
"""Readers look for the header there (PDF 1.7, annex H.3, note 13)."""


def is_pdf(content: bytes) -> bool:
    return b"%PDF-" in content[:_HEADER_WITHIN]


def read_pdf(content: bytes, seconds: float, most_characters: int) -> Contents:
    """The text of its pages, each under its number; cut where one of the limits is reached."""
    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted and reader.decrypt("") is PasswordType.NOT_DECRYPTED:
            return Contents(unread=Unread.LOCKED)
        return _pages(reader, time.monotonic() + seconds, most_characters)
    except (DependencyError, FileNotDecryptedError, NotImplementedError):
        return Contents(unread=Unread.LOCKED)
    except Exception:  # pypdf raises whatever a damaged file leads it to
        return Contents(unread=Unread.BROKEN)


def _pages(reader: PdfReader, end: float, most_characters: int) -> Contents:
    texts: list[str] = []
    has_text, is_cut, is_late, size = False, False, False, 0
    for number, page in enumerate(reader.pages, 1):
        is_late = time.monotonic() > end
        is_cut = is_late or number > MOST_PAGES or size > most_characters
        if is_cut:
            break
        text = page.extract_text().replace("\x00", "").strip()
        has_text = has_text or bool(text)
        texts.append(f"[page {number}]\n{text}")
        size += len(texts[-1])
    if not has_text:
        return Contents(unread=Unread.TOO_SLOW if is_late else Unread.NO_TEXT)
    whole = "\n\n".join(texts)
    return Contents(text=whole[:most_characters], is_cut=is_cut or len(whole) > most_characters)
