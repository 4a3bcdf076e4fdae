"""Pure: what is kept of a review so that it can be posted to its pull request, from any replica."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kimibot.review import phrases, rounds
from kimibot.review.changes import FileDiff, PullRequest
from kimibot.review.findings import Finding
from kimibot.review.patching import replacements
from kimibot.review.report import summed_up

_PULL = "pull"


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding as it is to be posted: `is_in_diff` says that it can stand at its line, and
    `replacement` what may take the place of exactly that line, "" where there is nothing."""

    finding: Finding
    is_in_diff: bool
    replacement: str


@dataclass(frozen=True, slots=True)
class Postable:
    """A review of a pull request at one commit; `run` tells it from all other reviews. `standing`
    is how many findings are left out as they stand there already."""

    full_name: str
    number: int
    head_sha: str
    run: str
    verdict: str
    coverage: str
    remarks: tuple[Remark, ...] = ()
    standing: int = 0


@dataclass(frozen=True, slots=True)
class Posted:
    """A review that is on its pull request. `is_new` says that it was not there before, `at_lines`
    and `in_text` how much of what was found stands where, and `standing` how much was left out as
    it stands there already."""

    full_name: str
    number: int
    url: str
    is_new: bool = True
    at_lines: int = 0
    in_text: int = 0
    standing: int = 0


def kept(
    pull: PullRequest,
    files: Sequence[FileDiff],
    findings: Sequence[Finding],
    *,
    run: str,
    verdict: str,
    coverage: str,
) -> dict[str, Any]:
    """What is stored beside the findings of a review, which `read` puts together again."""
    lines = replacements(files, findings)
    remarks = [
        {"is_in_diff": one.anchor in pull.places, "replacement": line}
        for one, line in zip(findings, lines, strict=True)
    ]
    where = {"full_name": pull.full_name, "number": pull.number, "head_sha": pull.head_sha}
    said = {"run": run, "verdict": verdict, "coverage": coverage, "remarks": remarks}
    return {_PULL: where | said}


def read(stored: Mapping[str, Any]) -> Postable | None:
    """The review in what was stored of it; None where it is none of a pull request."""
    pull = stored.get(_PULL)
    if pull is None:
        return None
    remarks = zip(rounds.read_kept(stored), pull["remarks"], strict=True)
    return Postable(
        full_name=pull["full_name"],
        number=pull["number"],
        head_sha=pull["head_sha"],
        run=pull["run"],
        verdict=pull["verdict"],
        coverage=pull["coverage"],
        remarks=tuple(
            Remark(finding, one["is_in_diff"], one["replacement"]) for finding, one in remarks
        ),
    )


def without(review: Postable, no_problems: Sequence[Finding]) -> Postable:
    """The review without what people have said to be no problem; it says how much that is, and in
    our own words what is left: the verdict was on all of it."""
    kept = rounds.without([one.finding for one in review.remarks], no_problems)
    left = tuple(one for one in review.remarks if one.finding in kept)
    count = len(review.remarks) - len(left)
    if not count:
        return review
    note = phrases.NO_PROBLEM_HERE.format(count=phrases.counted(count, "finding"))
    verdict = summed_up([one.finding for one in left]) if left else phrases.NONE_LEFT
    return replace(review, verdict=verdict, remarks=left, coverage=f"{review.coverage} {note}")
