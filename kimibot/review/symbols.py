"""Pure: the names of code that a sentence speaks of, and those that need no proof."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

_SPAN = re.compile(r"`+([^`\n]+)`+")
_SYMBOL = re.compile(r"[@$]?[^\W\d]\w*(?:(?:\.|::|->|#)[^\W\d]\w*)*(?:\(.*\))?[!?;]?")
_LOOSE = re.compile(
    r"(?<![\w./`-])(?:[^\W\d]\w*\(\)|[a-z]+(?:_[a-z0-9]+)+|[a-z]+[A-Z]\w*)(?![\w/.]\w)"
)
_WORD = re.compile(r"[^\W\d]\w*")
_PROPOSAL = re.compile(
    r"(?:\b(?:use|using|with|via|instead of|such as|like|e\.g\.|call|calling|into|to|add|adding"
    r"|consider|prefer|wrap(?:ping)? (?:it )?in)\s+(?:an? |the )?)$",
    re.IGNORECASE,
)
_SHORTEST = 3
_COMMON = frozenset(
    """
    null undefined true false nil NULL NaN Infinity this self cls super new delete void int float
    double bool boolean string str char byte bytes long short unsigned signed const let var static
    async await yield try catch finally throw throws switch case default break continue return
    function func fn def class struct enum interface trait impl type public private protected
    Promise Object Array String Number Boolean Map Set Date RegExp Math JSON Error console Exception
    TypeError RangeError List Dict Optional Vec Option Result Some None Ok Err panic defer goto
    chan map slice append len cap make printf println malloc free memcpy strlen sizeof nullptr std
    SQL HTTP HTTPS JSON HTML CSS XML YAML UTF ASCII GET POST PUT DELETE PATCH SELECT INSERT UPDATE
    FROM WHERE JOIN NullPointerException IndexOutOfBoundsException IllegalArgumentException
    segfault stdin stdout stderr main args kwargs argv env
    """.split()  # noqa: SIM905  # a hundred of them in a column would be no easier to read
)
KNOWN = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | _COMMON
"""What a language brings with it."""


def words_of(text: str) -> Iterable[str]:
    """All that could be a name in a piece of code."""
    return _WORD.findall(text)


def named_in(text: str) -> set[str]:
    """The names that a sentence says are there, not those that it proposes."""
    found = set[str]()
    for pattern in (_SPAN, _LOOSE):
        for match in pattern.finditer(text):
            code = match[1] if pattern is _SPAN else match[0]
            is_proposal = _PROPOSAL.search(text[: match.start()])
            if not is_proposal and _SYMBOL.fullmatch(code.strip()):
                found.update(_WORD.findall(code.partition("(")[0]))
    return {name for name in found if len(name) >= _SHORTEST and name not in KNOWN}
