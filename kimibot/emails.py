"""Pure: takes e-mail addresses out of what the model is to read, wherever they stand.

What only looks like one stays: `git@host:path`, a user's name after `//`, a package's version, and
what has no dot after the sign.
"""

from __future__ import annotations

import re

INSTEAD = "[e-mail address]"

_LABEL = r"(?:[^\W_]|-){1,63}"
_ADDRESS = re.compile(
    r"(?<![^\W_])(?<![.%+-])(?<!//)(?!git@)[^\W_][\w.%+-]{0,63}(?:@|%40)"
    rf"(?:{_LABEL}\.){{1,8}}(?:xn--{_LABEL}|[^\W\d_]{{2,63}})(?![^\W_])",
    re.IGNORECASE,
)


def without_addresses(text: str) -> str:
    """The text with a sign for each address; the rest stays byte for byte."""
    return _ADDRESS.sub(INSTEAD, text) if _may_have_one(text) else text


def has_address(text: str) -> bool:
    return _may_have_one(text) and _ADDRESS.search(text) is not None


def _may_have_one(text: str) -> bool:
    return "@" in text or "%40" in text
