"""Pure: findings that have been held against the code: their order, and which of them are shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from kimibot.review.changes import Anchor
from kimibot.review.said import FindingLine, Severity

MOST_FINDINGS = 15
NEAR_LINES = 10
_ALIKE = 0.5
_ALIKE_ELSEWHERE = 0.75
_TELLING_QUOTE = 20
_NAME = re.compile(r"`([^`]+)`")


class State(StrEnum):
    """What a finding is after an earlier review of the same code."""

    OPEN = "still open"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem at a line that is there; `quote` is that line as it stands.

    `is_certain` is False where it rests on what could not be seen. `state` is None where there was
    no review before.
    """

    anchor: Anchor
    severity: Severity
    title: str
    why: str
    quote: str
    suggestion: str = ""
    is_certain: bool = True
    state: State | None = None


class Fault(StrEnum):
    """Why something that was said is not shown."""

    NO_PLACE = "its quote stands nowhere"
    NOT_SHOWN = "about a file that was not shown"
    REMOVED = "about code that the change removes"
    INVENTED = "names what is not there"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A finding that is not shown, for the log and the trace."""

    said: FindingLine
    fault: Fault


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is shown, the worst first, and how much more there is."""

    findings: tuple[Finding, ...]
    below_floor: int = 0
    beyond_most: int = 0

    @property
    def total(self) -> int:
        return len(self.findings) + self.below_floor + self.beyond_most


def choose(
    findings: Iterable[Finding], *, floor: Severity = Severity.MINOR, most: int = MOST_FINDINGS
) -> Chosen:
    """The findings to show: each problem once, none that matters less than `floor`."""
    distinct = _distinct(sorted(findings, key=_rank))
    worth = [one for one in distinct if one.severity <= floor]
    return Chosen(
        findings=tuple(worth[:most]),
        below_floor=len(distinct) - len(worth),
        beyond_most=max(0, len(worth) - most),
    )


def _rank(finding: Finding) -> tuple[int, bool, str, int]:
    anchor = finding.anchor
    return finding.severity, not finding.is_certain, anchor.path, anchor.line


def _distinct(findings: Sequence[Finding]) -> list[Finding]:
    """Of what is said twice about a line, by two passes or by one, the first stays."""
    kept: list[Finding] = []
    for finding in findings:
        if not any(_is_same(finding, other) for other in kept):
            kept.append(finding)
    return kept


def _is_same(one: Finding, other: Finding) -> bool:
    return one.anchor == other.anchor and are_titles_alike(one.title, other.title)


def are_alike(one: Finding, other: Finding) -> bool:
    """Whether two reviews speak of the same: lines move between them, and change.

    A short line may stand in many places of a file, and a title may fit many lines.
    """
    if one.anchor[:2] != other.anchor[:2]:
        return False
    if one.quote.split() != other.quote.split():
        is_alike = are_titles_alike(one.title, other.title, _ALIKE_ELSEWHERE)
        return is_alike and _may_name_the_same(one, other)
    is_near = abs(one.anchor.line - other.anchor.line) <= NEAR_LINES
    is_telling = len(" ".join(one.quote.split())) >= _TELLING_QUOTE
    return is_near or is_telling or are_titles_alike(one.title, other.title)


def are_titles_alike(one: str, other: str, share: float = _ALIKE) -> bool:
    """Whether so many of their words are the same: of what is said of one line that is enough."""
    words, others = (set(re.findall(r"\w+", title.lower())) for title in (one, other))
    return len(words & others) >= share * max(1, min(len(words), len(others)))


def _may_name_the_same(one: Finding, other: Finding) -> bool:
    names, others = (set(_NAME.findall(found.title)) for found in (one, other))
    return not names or not others or bool(names & others)
