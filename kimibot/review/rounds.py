"""Pure: a review of what was reviewed before: what is fixed, what is still open, what is new."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kimibot.review.anchors import bare
from kimibot.review.changes import Anchor, Side
from kimibot.review.findings import Finding, State, are_alike
from kimibot.review.numbered import name_of
from kimibot.review.said import Severity
from kimibot.review.verifying import Evidence

_AGAIN = re.compile(
    r"\bagain\b|\bre-?review\b|\bonce more\b|\bnochmals?\b|\berneut\b|再", re.IGNORECASE
)
_TEXTS = ("title", "why", "quote", "suggestion")


def asks_again(words: str) -> bool:
    """Whether the words of an ask want what was found before to be looked at again."""
    return _AGAIN.search(words) is not None


def compared(
    earlier: Sequence[Finding],
    found: Sequence[Finding],
    judged: Mapping[int, bool],
    evidence: Evidence,
) -> tuple[list[Finding], list[Finding]]:
    """All that is open, old and new, and what is fixed.

    `judged` says of earlier ones, by their numbers, whether the model holds them for fixed. It is
    believed where the line is still there; a line that is gone can't be open.
    """
    new, still_open, fixed = list(found), list[Finding](), list[Finding]()
    for number, finding in enumerate(earlier, 1):
        twin = next((one for one in new if are_alike(finding, one)), None)
        anchor = _where_it_stands(finding, evidence)
        if twin is not None:
            new.remove(twin)
            still_open.append(replace(twin, state=State.OPEN))
        elif anchor is None or judged.get(number, False):
            fixed.append(finding)
        else:
            still_open.append(replace(finding, anchor=anchor, state=State.OPEN))
    return [*still_open, *(replace(one, state=State.NEW) for one in new)], fixed


def _where_it_stands(finding: Finding, evidence: Evidence) -> Anchor | None:
    """Its line as it was: one that merely holds it is another one."""
    anchor = evidence.anchors.find(finding.quote, finding.anchor)
    line = evidence.anchors.line_at(anchor) if anchor else None
    return anchor if line is not None and bare(line.text) == bare(finding.quote) else None


def without(findings: Sequence[Finding], no_problems: Sequence[Finding]) -> list[Finding]:
    """Those that are like none of the others. What is said of one of these findings themselves is
    said of that one alone, however alike another beside it is."""
    others = [one for one in no_problems if one not in findings]
    return [
        one
        for one in findings
        if one not in no_problems and not any(are_alike(one, other) for other in others)
    ]


def listed(earlier: Sequence[Finding]) -> str:
    """The earlier findings for the model to judge."""
    return "\n".join(
        f"{number}. {name_of(one.anchor.path)}: {bare(one.quote)} | {one.title}"
        for number, one in enumerate(earlier, 1)
    )


def kept(findings: Sequence[Finding], dropped: int, patch: str = "") -> dict[str, Any]:
    """What is stored of a review, in the order in which it is shown, with what it suggests."""
    return {"findings": [_kept(one) for one in findings], "dropped": dropped, "patch": patch}


def read_kept(stored: Mapping[str, Any]) -> list[Finding]:
    """The findings of a review in what is stored of it, none where nothing is."""
    return read_findings(stored.get("findings", []))


def read_findings(stored: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Findings of any reviews, each as `kept` has it."""
    return [_finding(one) for one in stored]


def _kept(finding: Finding) -> dict[str, Any]:
    path, side, line = finding.anchor
    place = {"path": path, "side": side.value, "line": line, "severity": int(finding.severity)}
    texts = {name: getattr(finding, name) for name in _TEXTS}
    return place | texts | {"is_certain": finding.is_certain}


def _finding(stored: Mapping[str, Any]) -> Finding:
    return Finding(
        anchor=Anchor(stored["path"], Side(stored["side"]), stored["line"]),
        severity=Severity(stored["severity"]),
        is_certain=stored["is_certain"],
        **{name: stored[name] for name in _TEXTS},
    )
