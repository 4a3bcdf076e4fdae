"""Pure: a review from its beginning to its end, for whoever carries it out.

`plan` says what to ask, `ReviewReading` reads each answer while it comes, `close` makes the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kimibot.answers import ChatMessage
from kimibot.review.changes import FileDiff
from kimibot.review.findings import Chosen, Finding, choose
from kimibot.review.prompts import Subject, messages, overhead_tokens
from kimibot.review.reading import Heard, ReviewReading
from kimibot.review.report import (
    LinkOf,
    Review,
    covered,
    finished,
    growing,
    headline,
    no_link,
    reading,
)
from kimibot.review.rounds import compared
from kimibot.review.said import Severity
from kimibot.review.selecting import Coverage, Limits, select
from kimibot.review.verifying import Evidence

MOST_PASSES = 20
FEWEST_TOKENS = 2_000
"""A pass is at least that large, however little the rest of the request leaves."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One request to Kimi: the `part`-th of `of`."""

    files: tuple[FileDiff, ...]
    messages: tuple[ChatMessage, ...]
    part: int
    of: int

    @property
    def sign(self) -> str:
        """What the reply shows while it is under way."""
        return reading(self.files, self.part, self.of)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to ask, and against what to hold the answers. Without passes there is nothing to ask."""

    passes: tuple[Pass, ...]
    coverage: tuple[Coverage, ...]
    evidence: Evidence
    missing_files: int = 0


@dataclass(frozen=True, slots=True)
class Closed:
    """A finished review: as it is shown, its findings, numbered as they are there, and in one line
    each what it comes to and how much of the code was read."""

    report: str
    findings: tuple[Finding, ...]
    verdict: str = ""
    coverage: str = ""


def plan(
    files: Sequence[FileDiff],
    subject: Subject,
    *,
    context_tokens: int,
    attributes: str = "",
    missing_files: int = 0,
    has_tools: bool = False,
) -> Plan:
    """The passes that a review of these files takes, each within `context_tokens`."""
    rough = select(files, Limits(context_tokens, MOST_PASSES), attributes)
    left = context_tokens - overhead_tokens(rough.coverage, subject)
    selection = select(files, Limits(max(left, FEWEST_TOKENS), MOST_PASSES), attributes)
    of = len(selection.passes)
    passes = tuple(
        Pass(
            found,
            messages(found, selection.coverage, subject, part, of, has_tools=has_tools),
            part,
            of,
        )
        for part, found in enumerate(selection.passes, 1)
    )
    shown = [file for found in selection.passes for file in found]
    evidence = Evidence.of(shown, selection.coverage, subject.texts)
    return Plan(passes, selection.coverage, evidence, missing_files)


def begin(made: Plan, heard: Heard | None = None) -> ReviewReading:
    """The reading of one pass's answer; what was `heard` in the passes before is kept."""
    return ReviewReading(made.evidence, heard)


def show(heard: Heard, link_of: LinkOf = no_link) -> str:
    """The review as it grows: what stands in it stays as it is when more comes."""
    return growing(heard.findings, link_of)


def close(
    made: Plan,
    heard: Heard,
    *,
    link_of: LinkOf = no_link,
    floor: Severity = Severity.MINOR,
    earlier: Sequence[Finding] = (),
    also_read: Sequence[str] = (),
) -> Closed:
    """The review as it ends, after the `earlier` findings of one before it."""
    found, fixed = heard.findings, list[Finding]()
    if earlier:
        found, fixed = compared(earlier, found, heard.judged, made.evidence)
    chosen = choose(found, floor=floor)
    review = Review(
        chosen=chosen,
        coverage=made.coverage,
        verdict=_verdict(made, heard, chosen),
        prose=heard.prose,
        missing_files=made.missing_files,
        fixed=fixed,
        no_problems=len(heard.left_out),
        also_read=also_read,
    )
    return Closed(
        report=finished(review, link_of),
        findings=review.chosen.findings,
        verdict=headline(review),
        coverage=covered(review.coverage, review.missing_files, review.chosen.below_floor),
    )


def _verdict(made: Plan, heard: Heard, chosen: Chosen) -> str:
    """The model's, if it is on all that is shown or counted and on nothing else: it may count, or
    rest on what is left out. The verdicts of several passes are on parts."""
    said = len(heard.findings) + sum(not is_fixed for is_fixed in heard.judged.values())
    is_on_all = said == chosen.total and not heard.dropped and not heard.left_out
    return heard.verdicts[0] if len(made.passes) == 1 and heard.verdicts and is_on_all else ""
