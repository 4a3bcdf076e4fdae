"""Text is told from other bytes, and decoded without losing a character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimibot.attachments import Contents, SharedFile, Unread
from kimibot.files.contents import read_contents
from kimibot.files.text import decoded

PRINTABLE = st.characters(exclude_categories=["Cs", "Cc"])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a\r\n\tb\n", "a\r\n\tb\n"),
        ("Größe 你好 🙂".encode(), "Größe 你好 🙂"),
        (b"\xef\xbb\xbfa = 1", "a = 1"),
        ("Größe".encode("utf-16"), "Größe"),
        (b"\xfe\xff" + "Größe".encode("utf-16-be"), "Größe"),
        ("Größe".encode("utf-32"), "Größe"),
        ("Straße nach Köln".encode("latin-1"), "Straße nach Köln"),
        (b"\x1b[31mred\x1b[0m\x08", "\x1b[31mred\x1b[0m\x08"),
    ],
    ids=["ascii", "utf-8", "utf-8 bom", "utf-16", "utf-16 be", "utf-32", "latin-1", "terminal"],
)
def test_text_is_decoded_as_it_was_written(content: bytes, text: str) -> None:
    assert decoded(content) == text


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04\x14\0\0\0",
        b"\x7fELF\x02\x01\x01",
        b"\xff\xfea",
        "Привет, как дела".encode("cp1251"),
        bytes(range(128, 256)),
        b"abc\x01\x02\x03",
    ],
    ids=["zip", "elf", "half a letter", "another encoding", "high bytes", "controls"],
)
def test_what_is_no_text_is_not_taken_for_one(content: bytes) -> None:
    assert decoded(content) is None


@given(st.text(PRINTABLE))
def test_whatever_is_written_in_utf_8_comes_back(text: str) -> None:
    assert decoded(b"\xef\xbb\xbf" + text.encode()) == text


@pytest.mark.parametrize(
    ("content", "mimetype", "why"),
    [
        (b"", "text/plain", Unread.EMPTY),
        (b"PK\x03\x04\0", "application/zip", Unread.UNKNOWN_KIND),
        (b"\0\0", "image/png", Unread.BROKEN),
        (b"\x89PNG\r\n\x1a\n\0", "image/png", Unread.BROKEN),
    ],
)
def test_what_can_not_be_read_says_why(content: bytes, mimetype: str, why: Unread) -> None:
    assert read(content, mimetype) == Contents(unread=why)


def test_what_no_model_could_read_is_cut() -> None:
    contents = read(b"x" * 2_000_001)

    assert contents.is_cut
    assert contents.text == "x" * 2_000_000


def read(content: bytes, mimetype: str = "text/plain", *, takes_images: bool = True) -> Contents:
    file = SharedFile("F1", "a", mimetype)
    return read_contents(file, content, image_bytes=10_000, seconds=5, takes_images=takes_images)
