"""The text of a PDF is read page by page, within limits."""

from __future__ import annotations

import pytest

from kimibot.attachments import Contents, Unread
from kimibot.files import pdf as reading
from kimibot.files.pdf import is_pdf, read_pdf
from tests.files.pdfs import locked, pdf


def test_the_text_of_each_page_is_read_under_its_number() -> None:
    contents = read_pdf(pdf("The budget is 40.", "", "The end."), 5, 10_000)

    assert contents == Contents(
        text="[page 1]\nThe budget is 40.\n\n[page 2]\n\n\n[page 3]\nThe end."
    )


def test_a_pdf_is_known_by_its_beginning() -> None:
    assert is_pdf(pdf("a"))
    assert is_pdf(b"\r\n" + pdf("a"))
    assert not is_pdf(b"see the %PDF" + b" " * 2000 + b"%PDF-1.4")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (locked(pdf("secret")), Unread.LOCKED),
        (pdf("", ""), Unread.NO_TEXT),
        (b"%PDF-1.4\nnothing more", Unread.BROKEN),
    ],
    ids=["locked", "scanned", "cut off"],
)
def test_a_pdf_without_a_readable_text_says_why(content: bytes, why: Unread) -> None:
    assert read_pdf(content, 5, 10_000) == Contents(unread=why)


def test_a_long_pdf_is_read_as_far_as_the_limits_go() -> None:
    one_page = pdf("once upon a time")
    many = pdf(*["x"] * (reading.MOST_PAGES + 1))

    assert read_pdf(one_page, 5, 12) == Contents(text="[page 1]\nonc", is_cut=True)
    assert read_pdf(pdf("a", "b"), 5, 5).is_cut
    cut = read_pdf(many, 60, 100_000)
    assert cut.is_cut
    assert cut.text is not None
    assert cut.text.endswith(f"[page {reading.MOST_PAGES}]\nx")


def test_a_pdf_that_takes_too_long_is_cut_between_two_pages() -> None:
    assert read_pdf(pdf("a", "b"), -1, 10_000) == Contents(unread=Unread.TOO_SLOW)
