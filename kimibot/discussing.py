"""Goes on about a review: explains a finding, takes one for no problem, hands out the patch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kimibot import texts
from kimibot.attempt import Attempt
from kimibot.live_reply import LiveReply
from kimibot.review.findings import Finding
from kimibot.review.prompts import framed
from kimibot.review.report import fenced
from kimibot.review.rounds import read_kept
from kimibot.turns import Claim, Kind


class Reviews(Protocol):
    """What reviews have found, as our rows hold it. Both raise DatabaseUnavailable."""

    async def review_of_part(self, thread_id: int, ts: str) -> Mapping[str, Any] | None:
        """What the review has found whose reply has this part."""

    async def note_no_problem(self, claim: Claim, part_ts: str, number: int) -> bool:
        """Remember of a finding of the same review that it is none; False where there is no such
        finding. Raises ClaimLost when the thread is not ours any more."""


class Discussing:
    """What is asked below a review is about the findings as they are numbered there."""

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews

    async def attend(self, attempt: Attempt, reply: LiveReply) -> bool:
        """Answers in our own words; False where the model is to answer, which is told then what it
        is asked. Raises SlackError and StorageError."""
        if attempt.turn.kind is Kind.NOT_A_PROBLEM:
            await _say(attempt, reply, await self._note_no_problem(attempt))
            return True
        review = await self._reviews.review_of_part(attempt.claim.thread_id, attempt.turn.ts) or {}
        if attempt.turn.kind is Kind.PATCH:
            await _say(attempt, reply, _patch_of(review))
            return True
        finding = _picked(attempt.turn.number, read_kept(review))
        if finding is None:
            await _say(attempt, reply, texts.REVIEW_GONE)
            return True
        data = framed({"FINDING": _in_words(attempt.turn.number, finding)})
        attempt.instruction = texts.EXPLAIN_FINDING.format(finding=data)
        return False

    async def _note_no_problem(self, attempt: Attempt) -> str:
        """Done first and then told, and done again after a crash in between."""
        turn = attempt.turn
        is_noted = await self._reviews.note_no_problem(attempt.claim, turn.ts, turn.number)
        text = texts.NOTED_NO_PROBLEM if is_noted else texts.REVIEW_GONE
        return text.format(number=turn.number)


async def _say(attempt: Attempt, reply: LiveReply, text: str) -> None:
    attempt.earlier = None  # nothing that such a reply has shown is the model's
    attempt.tell()
    await reply.finish(text)


def _patch_of(review: Mapping[str, Any]) -> str:
    """It was made and looked at with the review."""
    made = str(review.get("patch") or "").removesuffix("\n")
    return f"{texts.PATCH}\n\n{fenced(made, 'review.patch')}" if made else texts.PATCH_GONE


def _picked(number: int, findings: list[Finding]) -> Finding | None:
    return findings[number - 1] if 1 <= number <= len(findings) else None


def _in_words(number: int, finding: Finding) -> str:
    anchor = finding.anchor
    said = f"{number}. {anchor.path}:{anchor.line}: {finding.title}\n{finding.why}".rstrip()
    return f"{said}\nThe line: {finding.quote.strip()}"
