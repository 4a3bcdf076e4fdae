"""Goes on about a review: explains a finding, takes one for no problem, hands out its patch."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kimibot.attempt import Attempt
from kimibot.conversation import Remembered
from kimibot.reply.live_reply import LiveReply
from kimibot.review import phrases
from kimibot.review.findings import Finding
from kimibot.review.numbered import name_of
from kimibot.review.patching import narrowed
from kimibot.review.prompts import framed
from kimibot.review.report import fenced, on_its_side, title_alone
from kimibot.review.rounds import read_findings, read_kept, without
from kimibot.review.sources import words_of
from kimibot.turns import Claim, Kind, Press
from kimibot.views import CodeFile
from kimibot.wording import number_in

_ALL_OF_IT = Press(Kind.PATCH).key


class Reviews(Protocol):
    """What reviews have found, as our rows hold it. All raise DatabaseUnavailable."""

    async def recall(self, thread_id: int) -> list[Remembered]:
        """What was said in the thread."""

    async def last_review(self, thread_id: int) -> Mapping[str, Any] | None:
        """What the newest review of the thread has found."""

    async def review_of_part(self, thread_id: int, ts: str) -> Mapping[str, Any] | None:
        """What the review has found whose reply has this part."""

    async def no_problems(self, thread_id: int) -> Sequence[Mapping[str, Any]]:
        """The findings of the thread's reviews of which somebody has said that they are none."""

    async def note_no_problem(self, claim: Claim, part_ts: str, number: int) -> bool:
        """Remember of a finding of that review, or of the newest for "", that it is none; False
        where there is no such finding. Raises ClaimLost when the thread is not ours any more."""

    async def take_back_no_problem(self, claim: Claim, number: int) -> Mapping[str, Any] | None:
        """The finding with this number of which that is not remembered any more, None where it was
        not: of the newest review, or of one before if that has fewer. Raises ClaimLost."""


@dataclass(frozen=True, slots=True)
class _Wish:
    """What is wanted of which review: of one of its findings, or for 0 of all."""

    review: Mapping[str, Any]
    number: int
    part_ts: str = ""

    @property
    def findings(self) -> list[Finding]:
        return read_kept(self.review)

    @property
    def finding(self) -> Finding | None:
        return self.findings[self.number - 1] if 1 <= self.number <= len(self.findings) else None

    @property
    def is_beyond(self) -> bool:
        """Whether there is a review, but not that much in it. One below which something could be
        pressed had findings: without them it is gone."""
        is_there = bool(self.findings) if self.part_ts else bool(self.review)
        return is_there and self.number > len(self.findings)

    @property
    def patch(self) -> str:
        """Of all findings, as it was made and looked at with the review."""
        return str(self.review.get("patch") or "")


class Discussing:
    """What is pressed below a review is about that one, and what is said about the newest."""

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews

    async def attend(self, attempt: Attempt, reply: LiveReply) -> bool:
        """Answers in our own words; False where the model is to answer: it is told then what was
        pressed, and reads what was said. Raises SlackError and StorageError."""
        wish, kind = await self._wish(attempt), attempt.turn.kind
        if attempt.turn.pressed == _ALL_OF_IT:
            return await self._hand_patch(attempt, reply, wish)
        if kind is Kind.A_PROBLEM:
            return await self._take_back(attempt, reply, wish)
        if wish.finding is None:
            return await _miss(attempt, reply, wish)
        if kind is Kind.EXPLAIN:
            _have_explained(attempt, reply, wish.number, wish.finding)
            return False
        if kind is Kind.NOT_A_PROBLEM:
            return await self._note_no_problem(attempt, reply, wish, wish.finding)
        return await _hand_patch_of_one(attempt, reply, wish, wish.finding)

    async def _wish(self, attempt: Attempt) -> _Wish:
        turn, thread_id = attempt.turn, attempt.claim.thread_id
        if turn.pressed:
            found = await self._reviews.review_of_part(thread_id, turn.ts)
            return _Wish(found or {}, turn.number, turn.ts)
        found = await self._reviews.last_review(thread_id)
        said = await self._reviews.recall(thread_id)
        words = next((words_of(one) for one in said if one.ts == turn.ts), "")
        return _Wish(found or {}, number_in(words))

    async def _note_no_problem(
        self, attempt: Attempt, reply: LiveReply, wish: _Wish, finding: Finding
    ) -> bool:
        """Done first and then told, and done again after a crash in between."""
        if not await self._reviews.note_no_problem(attempt.claim, wish.part_ts, wish.number):
            return await _miss(attempt, reply, wish)
        said = phrases.NOTED_NO_PROBLEM.format(number=wish.number, title=title_alone(finding))
        await _say(attempt, reply, said)
        return True

    async def _take_back(self, attempt: Attempt, reply: LiveReply, wish: _Wish) -> bool:
        """Where nobody has said of it that it is none, the words are no order to us."""
        stored = await self._reviews.take_back_no_problem(attempt.claim, wish.number)
        if stored is None:
            return await _miss(attempt, reply, wish)
        [finding] = read_findings([stored])
        said = phrases.NOTED_PROBLEM.format(number=wish.number, title=title_alone(finding))
        await _say(attempt, reply, said)
        return True

    async def _hand_patch(self, attempt: Attempt, reply: LiveReply, wish: _Wish) -> bool:
        """Without what people here have said is no problem."""
        no_problems = await self._reviews.no_problems(attempt.claim.thread_id)
        left = without(wish.findings, read_findings(no_problems))
        patch = wish.patch
        if len(left) < len(wish.findings):
            patch = await asyncio.to_thread(narrowed, patch, left)
        if patch:
            await _share(attempt, reply, phrases.PATCH, patch)
        else:
            await _say(attempt, reply, phrases.PATCH_EMPTY if wish.patch else phrases.PATCH_GONE)
        return True


async def _miss(attempt: Attempt, reply: LiveReply, wish: _Wish) -> bool:
    """Told is why there is nothing; words of which nothing is found may have meant something
    else."""
    if wish.is_beyond:
        await _say(attempt, reply, phrases.no_such_finding(wish.number, of=len(wish.findings)))
    elif attempt.turn.pressed:
        await _say(attempt, reply, phrases.GONE)
    return wish.is_beyond or bool(attempt.turn.pressed)


async def _say(attempt: Attempt, reply: LiveReply, text: str) -> None:
    _tell(attempt)
    await reply.finish(text)


async def _hand_patch_of_one(
    attempt: Attempt, reply: LiveReply, wish: _Wish, finding: Finding
) -> bool:
    """What is not in the patch of all may be written by the model."""
    own = await asyncio.to_thread(narrowed, wish.patch, [finding])
    if own:
        await _share(attempt, reply, phrases.PATCH_OF_ONE.format(number=wish.number), own)
    return bool(own)


async def _share(attempt: Attempt, reply: LiveReply, text: str, patch: str) -> None:
    """As a file, it is what it was byte for byte."""
    file = CodeFile(1, "patch", patch, stem="review", title=phrases.PATCH_TITLE)
    shown = fenced(patch.removesuffix("\n"), "review.patch")
    _tell(attempt)
    await reply.hand_over(text, file, otherwise=f"{text}\n\n{shown}")


def _tell(attempt: Attempt) -> None:
    attempt.earlier = None  # nothing that such a reply has shown is the model's
    attempt.tell()


def _have_explained(attempt: Attempt, reply: LiveReply, number: int, finding: Finding) -> None:
    """Readers are told which finding it is about; that line is no word of the model's, also where
    an attempt before this one has shown it."""
    line = phrases.ABOUT_FINDING.format(number=number, title=title_alone(finding))
    reply.open_with(line)
    attempt.instruction = _asked_to_explain(number, finding)
    begun = attempt.earlier.content if attempt.earlier else ""
    if begun.startswith(phrases.ABOUT_FINDING.format(number=number, title="")):
        attempt.earlier = None
        attempt.remember_left(begun.partition("\n\n")[2])


def _asked_to_explain(number: int, finding: Finding) -> str:
    data = framed({"FINDING": _in_words(number, finding)})
    return phrases.EXPLAIN_FINDING.format(finding=data)


def _in_words(number: int, finding: Finding) -> str:
    anchor = finding.anchor
    place = on_its_side(anchor, f"{name_of(anchor.path)}:{anchor.line}")
    said = f"{number}. {place}: {finding.title}\n{finding.why}".rstrip()
    return f"{said}\nThe line: {finding.quote.strip()}"
