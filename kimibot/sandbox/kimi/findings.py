"""A review as a client wants it that names the lines: one JSON object a line, then a verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kimibot.sandbox.kimi.heard import Heard
from kimibot.sandbox.kimi.plan import Plan, calling
from kimibot.sandbox.kimi.telling import Teller, written

_FRAME = "<<<CODE "
_FINDING = "<<<FINDING "
_FILE = re.compile(r"FILE (.+) \([^()]*\)")
_NUMBERED = re.compile(r" *(\d+) [ +] (.*)")


@dataclass(frozen=True, slots=True)
class _Bug:
    """What gives a bug away, and what there is to say of it; `mended` takes the line's place.

    With `quote` it is said of a line that is not there, as a model does now and then. `explained`
    is the name of a text that says more, and `beside` a file outside of the change that shows it.
    """

    pattern: str
    severity: str
    title: str
    why: str
    mended: str = ""
    quote: str = ""
    explained: str = ""
    beside: str = ""


_BUGS = (
    _Bug(r"(\w+) =\+ ", "critical", "`=+` is not `+=`",
         "It assigns the value with a plus sign each time round, so only the last one is left. It "
         "passes any test with a single element.", r"\1 += "),
    _Bug(r"/ len\(", "major", "An empty list divides by zero",
         "Decide what the average of nothing is, and say so: raising early reads best."),
    _Bug(r"\.pop\(0\)", "major", "`pop` changes the list of the caller",
         "Whoever passed it has one element less afterwards.", "[0]"),
    _Bug(r"= number \* size$", "critical", "Page 1 leaves out the newest orders",
         "People count pages from 1, so page 1 begins at the 21st order. Nobody ever sees the 20 "
         "before it, and whoever has no more than 20 sees none at all.", "= (number - 1) * size",
         explained="explained", beside="shop/links.py"),
    _Bug(r"= number \* size$", "major", "`load_page` reads all orders twice", "It asks for the "
         "whole table each time.", quote="    orders = load_page(customer, first)"),
    _Bug(r"len\(orders\) // size \+ 1$", "minor", "A full last page is followed by an empty one",
         "For 40 orders it counts 3 pages.", "max(1, -(-len(orders) // size))"),
)  # fmt: skip


def wants_findings(heard: Heard) -> bool:
    """Whether the request brings numbered code in a frame."""
    return _FRAME in heard.question


def find(heard: Heard, teller: Teller) -> Plan:
    """The bugs that are known here, wherever they stand; first what is beside them, if it can."""
    code = heard.question.partition(_FRAME)[2]
    looks = [bug.beside for bug in _BUGS if bug.beside and re.search(bug.pattern, code, re.M)]
    if looks and heard.may_call:
        calls = [("read_file", {"path": path, "version": "head"}) for path in looks]
        return calling(teller.pace.thought(written("thinking")), *calls)
    found = list(_found(code))
    lines = [json.dumps(one) for one in (*found, {"verdict": _verdict(found)})]
    return teller.says("\n".join(lines))


def wants_explanation(heard: Heard) -> bool:
    """Whether the request brings a finding of a review in a frame."""
    return _FINDING in heard.question


def explain(heard: Heard, teller: Teller) -> Plan:
    """More about a finding."""
    bugs = [bug for bug in _BUGS if bug.title in heard.question]
    if not bugs:
        return teller.says("I have only a script here, and it knows nothing of this finding.")
    return teller.says(written(bugs[0].explained) if bugs[0].explained else bugs[0].why)


def _verdict(found: Sequence[Mapping[str, object]]) -> str:
    if not found:
        return "I found no problems."
    is_grave = any(one["severity"] != "minor" for one in found)
    return "Must not be merged as it is." if is_grave else "Nearly there: a small thing is left."


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
            said = {"path": path, "line": number, "quote": bug.quote or text}
            said |= {"severity": bug.severity}
            words = {"title": bug.title, "why": bug.why}
            mended = re.sub(bug.pattern, bug.mended, text) if bug.mended else ""
            yield said | words | ({"suggestion": mended} if mended else {})
