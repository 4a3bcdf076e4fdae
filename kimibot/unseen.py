"""Pure: signs that nobody sees, and which make people read something else than what is there.

https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing
"""

from __future__ import annotations

import re

_TURNING = "\u202a-\u202e\u2066-\u2069"
_OF_NO_WIDTH = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164"
    "\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_UNSEEN = re.compile(f"[{_CONTROLS}{_TURNING}{_OF_NO_WIDTH}]")
_JOINING_OR_MARKING = "\u061c\u200c-\u200f\u2028\u2029"
_UNSEEN_IN_NAMES = re.compile(f"[\t\n\r{_CONTROLS}{_TURNING}{_OF_NO_WIDTH}{_JOINING_OR_MARKING}]")


def without_unseen(text: str) -> str:
    """What people read of a text. What joins letters, or says which way a sign belongs, stays:
    there are scripts that need it."""
    return _UNSEEN.sub("", text)


def spelled_out(name: str) -> str:
    r"""A name as it can be told from all others, with `\u202e` in the place of such a sign."""
    return _UNSEEN_IN_NAMES.sub(lambda sign: ascii(sign[0])[1:-1], name)
