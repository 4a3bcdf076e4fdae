"""Our own words as mrkdwn: escaped like all text, but a time is shown in the reader's time zone.

https://docs.slack.dev/messaging/formatting-message-text#date-formatting
"""

from __future__ import annotations

import re

from kimibot.slack.markdown import plain

_DATE = re.compile(r"<!date\^\d{1,12}\^[a-z_{} ]{1,80}\|([\w :,.-]{1,80})>")
"""It has neither an address nor a name in it: whoever wrote it, it can only show a time."""


def with_dates(text: str) -> str:
    """The text escaped for mrkdwn, save for its dates, which Slack shows."""
    pieces, end = [], 0
    for date in _DATE.finditer(text):
        pieces += [plain(text[end : date.start()]), date[0]]
        end = date.end()
    return "".join([*pieces, plain(text[end:])])


def without_dates(text: str) -> str:
    """The text with each date as it reads where Slack does not show it."""
    return _DATE.sub(r"\1", text)
