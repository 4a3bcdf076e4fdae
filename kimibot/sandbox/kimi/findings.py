"""A review as a client wants it that names the lines: one JSON object a line, then a verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kimibot.sandbox.kimi.heard import Heard
from kimibot.sandbox.kimi.plan import Plan
from kimibot.sandbox.kimi.telling import Teller

_FRAME = "<<<CODE "
_FILE = re.compile(r"FILE (.+) \([^()]*\)")
_NUMBERED = re.compile(r" *(\d+) [ +] (.*)")


@dataclass(frozen=True, slots=True)
class _Bug:
    """What gives a bug away, and what there is to say of it; `mended` takes the line's place."""

    pattern: str
    severity: str
    title: str
    why: str
    mended: str = ""


_BUGS = (
    _Bug(r"(\w+) =\+ ", "critical", "`=+` is not `+=`",
         "It assigns the value with a plus sign each time round, so only the last one is left. It "
         "passes any test with a single element.", r"\1 += "),
    _Bug(r"/ len\(", "major", "An empty list divides by zero",
         "Decide what the average of nothing is, and say so: raising early reads best."),
    _Bug(r"\.pop\(0\)", "major", "`pop` changes the list of the caller",
         "Whoever passed it has one element less afterwards.", "[0]"),
)  # fmt: skip


def wants_findings(heard: Heard) -> bool:
    """Whether the request brings numbered code in a frame."""
    return _FRAME in heard.question


def find(heard: Heard, teller: Teller) -> Plan:
    """The bugs that are known here, wherever they stand."""
    found = list(_found(heard.question.partition(_FRAME)[2]))
    verdict = "Must not be merged as it is." if found else "I found no problems."
    lines = [json.dumps(one) for one in (*found, {"verdict": verdict})]
    return teller.says("\n".join(lines))


def _found(code: str) -> Iterator[dict[str, object]]:
    path = ""
    for line in code.split("\n"):
        file, numbered = _FILE.fullmatch(line), _NUMBERED.fullmatch(line)
        path = file[1] if file else path
        if numbered:
            yield from _bugs_in(path, int(numbered[1]), numbered[2])


def _bugs_in(path: str, number: int, text: str) -> Iterator[dict[str, object]]:
    for bug in _BUGS:
        if re.search(bug.pattern, text):
            said = {"path": path, "line": number, "quote": text, "severity": bug.severity}
            words = {"title": bug.title, "why": bug.why}
            mended = re.sub(bug.pattern, bug.mended, text) if bug.mended else ""
            yield said | words | ({"suggestion": mended} if mended else {})
