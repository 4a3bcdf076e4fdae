"""Pure: tells Slack's sign-in page from the file that was asked for.

Where a token may not read a file, Slack answers 200 with that page, under any content type
(https://github.com/slackapi/bolt-js/issues/2585).
"""

from __future__ import annotations

import re

from kimibot.attachments import SharedFile

_PAGE = re.compile(rb"<(?:!doctype\s+html|html|head)\b", re.IGNORECASE)
_LOOKED_AT = 4_000


def is_sign_in_page(content: bytes, file: SharedFile) -> bool:
    """Whether this is a page in the place of the file.

    Where Slack says how large the file is, a page of just that size is the file itself, whatever
    its type; a page of another size is not. Otherwise only a file of that type is a page.
    """
    if not _begins_as_page(content[:_LOOKED_AT].removeprefix(b"\xef\xbb\xbf")):
        return False
    if file.size_bytes:
        return len(content) != file.size_bytes
    return not (file.mimetype == "text/html" or file.filetype == "html")


def _begins_as_page(content: bytes) -> bool:
    """Comments may stand before a page."""
    start = content.lstrip()
    while start.startswith(b"<!--"):
        start = start.partition(b"-->")[2].lstrip()
    return _PAGE.match(start) is not None
