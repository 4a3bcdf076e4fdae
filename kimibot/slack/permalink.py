"""Pure: the link that Slack gives for a message, to the channel and time of that message."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_PATH = re.compile(r"/archives/([A-Z][A-Z0-9]+)/p(\d{10})(\d{6})/?", re.ASCII)


def read_permalink(url: str) -> tuple[str, str] | None:
    """Channel and ts of the message; None for anything else.

    The path holds the ts without its dot. A link into a thread names the root in its query, which
    is not needed to find the message (docs.slack.dev/reference/methods/chat.getPermalink).
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    found = _PATH.fullmatch(parts.path)
    if parts.scheme not in ("http", "https") or not parts.netloc or found is None:
        return None
    channel, seconds, fraction = found.groups()
    return channel, f"{seconds}.{fraction}"
