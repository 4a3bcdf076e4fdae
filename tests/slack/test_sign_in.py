"""Slack's sign-in page is not taken for the file, and a page that somebody shares is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kimibot.attachments import SharedFile
from kimibot.slack.sign_in import is_sign_in_page

PAGE = b"<!DOCTYPE html><html><head><title>Sign in | Slack</title></head></html>"
OURS = b"<!-- ours -->\n<html><body>a report</body></html>"
HTML = SharedFile("F1", mimetype="text/html", filetype="html")


@pytest.mark.parametrize(
    ("content", "file"),
    [
        (PAGE, SharedFile("F1", mimetype="image/png", size_bytes=9_000)),
        (PAGE, SharedFile("F1", mimetype="image/png")),
        (b"\xef\xbb\xbf \n" + PAGE.lower(), SharedFile("F1", mimetype="text/plain")),
        (PAGE, replace(HTML, size_bytes=9_000)),
    ],
    ids=["of another size", "of unknown size", "marked", "for a page of another size"],
)
def test_a_page_in_the_place_of_the_file_is_seen(content: bytes, file: SharedFile) -> None:
    assert is_sign_in_page(content, file)


@pytest.mark.parametrize(
    ("content", "file"),
    [
        (OURS, replace(HTML, size_bytes=len(OURS))),
        (OURS, HTML),
        (OURS, SharedFile("F1", "page.vue", "text/plain", size_bytes=len(OURS))),
        (b"<p>no page</p>", SharedFile("F1", "a.txt", "text/plain")),
        (b"<!-- -->" * 500 + b"<p>", SharedFile("F1", "a.txt", "text/plain")),
        (b"x = '<html>'", SharedFile("F1", "a.py", "text/x-python", size_bytes=4)),
    ],
    ids=["a page", "of unknown size", "under another type", "a piece", "comments", "code"],
)
def test_what_somebody_shares_is_no_sign_in_page(content: bytes, file: SharedFile) -> None:
    assert not is_sign_in_page(content, file)
