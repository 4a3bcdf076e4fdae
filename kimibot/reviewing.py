"""Carries a review out: asks pass by pass, and shows each finding that holds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from kimibot import history, texts
from kimibot.answers import Answer, Delta, Usage
from kimibot.asking import Asking
from kimibot.assembling import Assembling
from kimibot.attempt import Attempt
from kimibot.conversation import Remembered
from kimibot.errors import ContextTooLong, NoText
from kimibot.gathering import Attached, Gathering, Guests, NothingToReview, Submissions
from kimibot.history import MOST_BYTES
from kimibot.live_reply import LiveReply
from kimibot.recalling import Recalling
from kimibot.review import postable, prompts, reviewing
from kimibot.review.findings import Finding
from kimibot.review.material import Material
from kimibot.review.patching import patch
from kimibot.review.prompts import Subject
from kimibot.review.reading import Heard
from kimibot.review.reviewing import Closed, Pass, Plan
from kimibot.review.rounds import asks_again, kept, listed, read_kept, without
from kimibot.review.sources import words_of

REMEMBERED_SHARE = 0.5
"""How much of what the model reads may be what was reviewed, when it is asked on."""

BYTES_PER_TOKEN = 5
"""As many as a token of our estimate may take in the body of a request, with what escapes them."""

log = logging.getLogger(__name__)


class Kept(Attached, Protocol):
    """What our rows hold beside messages. All raise DatabaseUnavailable."""

    async def last_review(self, thread_id: int) -> Mapping[str, Any] | None:
        """What the newest review of a thread has found."""

    async def no_problems(self, thread_id: int) -> Sequence[Mapping[str, Any]]:
        """The findings of its reviews of which somebody has said that they are none."""


class Askers(Guests, Protocol):
    """Who asks. Never fails."""

    async def names(self, ids: Collection[str]) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class _Known:
    """What reviews before this one have found: what may still be open, and what is no problem."""

    earlier: Sequence[Finding] = ()
    no_problems: Sequence[Finding] = ()

    def told(self, subject: Subject) -> Subject:
        """With it, for the model."""
        earlier, no_problems = listed(self.earlier), listed(self.no_problems)
        return replace(subject, earlier=earlier, no_problems=no_problems)


@dataclass(slots=True)
class _Work:
    """A review under way."""

    material: Material
    known: _Known
    plan: Plan
    heard: Heard
    answers: list[Answer] = field(default_factory=list)


class Reviewing:
    """Reviews what an ask is about, within a budget of tokens to read."""

    def __init__(
        self,
        asking: Asking,
        recalling: Recalling,
        submissions: Submissions,
        kept: Kept,
        askers: Askers,
        *,
        budget_tokens: int,
        completion_tokens: int,
    ) -> None:
        self._asking = asking
        self._recalling = recalling
        self._gathering = Gathering(submissions, kept, askers)
        self._kept = kept
        self._askers = askers
        self._budget_tokens = min(budget_tokens, MOST_BYTES // BYTES_PER_TOKEN)
        self._completion_tokens = completion_tokens

    async def review(
        self, attempt: Attempt, reply: LiveReply, remembered: Sequence[Remembered]
    ) -> Answer:
        """The whole review, whose findings are shown as they come.

        Raises NothingToReview, NoCode, GitHubError, KimiError, and Denied when no more tokens may
        be used.
        """
        attempt.made = ""
        ask = _ask(attempt, remembered)
        material = await self._gathering.gather(attempt, remembered, ask)
        known = await self._known(attempt, ask)
        material = replace(material, subject=known.told(material.subject))
        try:
            work = await _begun(material, known, self._budget_tokens)
            return await self._carry_out(attempt, reply, remembered, work)
        except ContextTooLong:
            work = await _begun(material, known, self._budget_tokens // 2)
            return await self._carry_out(attempt, reply, remembered, work)

    async def _known(self, attempt: Attempt, ask: Remembered) -> _Known:
        """What the review before has found counts if it is asked for again."""
        thread_id = attempt.claim.thread_id
        no_problems = read_kept({"findings": await self._kept.no_problems(thread_id)})
        if not asks_again(words_of(ask)):
            return _Known(no_problems=no_problems)
        earlier = read_kept(await self._kept.last_review(thread_id) or {})
        return _Known(without(earlier, no_problems), no_problems)

    async def _carry_out(
        self, attempt: Attempt, reply: LiveReply, remembered: Sequence[Remembered], work: _Work
    ) -> Answer:
        await self._remember(attempt, remembered, work)
        try:
            for one in work.plan.passes:
                await self._pass(attempt, reply, work, one)
        finally:
            attempt.made = attempt.made or work.heard.prose.strip()
            _log(attempt, work)
        closed = reviewing.close(
            work.plan, work.heard, link_of=work.material.link_of, earlier=work.known.earlier
        )
        attempt.made = closed.report
        suggested = await asyncio.to_thread(patch, work.material.files, closed.findings)
        found = _kept(closed, work, suggested, attempt.turn.id)
        return _answer(closed, work, found)

    async def _remember(
        self, attempt: Attempt, remembered: Sequence[Remembered], work: _Work
    ) -> None:
        """The ask goes into the thread's history with what is reviewed, so that it is known there
        when somebody asks on."""
        ask = _ask(attempt, remembered)
        share = round(self._budget_tokens * REMEMBERED_SHARE)
        short = await asyncio.to_thread(_plan, work.material, share)
        names = await self._askers.names(history.named_in([replace(ask, sent=None)]))
        said = replace(ask, text=words_of(ask))
        sent = history.said_by(said, lambda id_: names.get(id_, id_))
        if short.passes:
            sent = f"{sent}\n\n{prompts.remembered(short.passes[0].messages)}"
        placed = [
            replace(one, sent=sent, place=None, attachments=()) if one is ask else one
            for one in remembered
        ]
        attempt.reading = await self._recalling.read(attempt, placed, self._budget_tokens)

    async def _pass(self, attempt: Attempt, reply: LiveReply, work: _Work, one: Pass) -> None:
        """An answer without text gets a second try, as others do."""
        try:
            work.answers.append(await self._hear(attempt, reply, work, one))
        except NoText as error:
            doubled = self._completion_tokens * (2 if error.code == "length" else 1)
            work.answers.append(await self._hear(attempt, reply, work, one, doubled))

    async def _hear(
        self,
        attempt: Attempt,
        reply: LiveReply,
        work: _Work,
        one: Pass,
        completion_tokens: int | None = None,
    ) -> Answer:
        attempt.assembling = Assembling()
        reading = reviewing.begin(work.plan, work.heard)
        show = partial(self._show, attempt, reply, work, one)
        reply.wait_as(texts.while_reading(one.sign))
        show()

        def on_delta(delta: Delta) -> None:
            if reading.feed(delta.content):
                show()

        try:
            return await self._asking.request(
                attempt,
                reply,
                one.messages,
                on_delta=on_delta,
                sign=texts.while_reading(one.sign),
                max_completion_tokens=completion_tokens,
            )
        finally:
            reading.end()
            attempt.made = reviewing.show(work.heard, work.material.link_of)

    def _show(self, attempt: Attempt, reply: LiveReply, work: _Work, one: Pass) -> None:
        attempt.made = reviewing.show(work.heard, work.material.link_of)
        if attempt.made:
            reply.show(attempt.made)
            reply.say(one.sign)


def cut_short(attempt: Attempt) -> list[str]:
    """Why a finished review may not be all of it; a daily limit has words of its own."""
    reason = attempt.answer.finish_reason if attempt.answer else None
    if reason == "length" and attempt.cut_by is None:
        return [texts.REVIEW_CUT]
    return [texts.DECLINED] if reason == "content_filter" else []


def _ask(attempt: Attempt, remembered: Sequence[Remembered]) -> Remembered:
    """The message that the turn is about; one that was deleted meanwhile has nothing to review."""
    for message in remembered:
        if message.ts == attempt.turn.ts:
            return message
    raise NothingToReview(texts.REVIEW_OF_NOTHING)


async def _begun(material: Material, known: _Known, budget_tokens: int) -> _Work:
    """Dividing takes long for large changes, and must not keep others waiting."""
    plan = await asyncio.to_thread(_plan, material, budget_tokens)
    return _Work(material, known, plan, Heard(no_problems=known.no_problems))


def _plan(material: Material, budget_tokens: int) -> Plan:
    return reviewing.plan(
        material.files,
        material.subject,
        context_tokens=budget_tokens,
        attributes=material.attributes,
        missing_files=material.missing_files,
    )


def _answer(closed: Closed, work: _Work, found: Mapping[str, Any]) -> Answer:
    """The report as what the model has said, with what all of its passes have used."""
    answers = work.answers
    last = answers[-1] if answers else Answer("", finish_reason="stop")
    reasons = [one.finish_reason for one in answers if one.finish_reason != "stop"]
    return Answer(
        content=closed.report,
        finish_reason=reasons[0] if reasons else last.finish_reason,
        usage=_sum([one.usage for one in answers if one.usage is not None]),
        completion_id=last.completion_id,
        trace_id=last.trace_id,
        raw={"role": "assistant", "content": closed.report},
        review=found,
    )


def _kept(closed: Closed, work: _Work, suggested: str, run: str) -> dict[str, Any]:
    """What was found, and where it can be posted if it can: mere prose has no findings for that."""
    found = kept(closed.findings, len(work.heard.dropped), suggested)
    pull = work.material.pull
    if pull is None or not work.plan.passes or (work.heard.prose.strip() and not closed.findings):
        return found
    is_cut = any(one.finish_reason == "length" for one in work.answers)
    return found | postable.kept(
        pull,
        work.material.files,
        closed.findings,
        run=run,
        verdict=closed.verdict,
        coverage=f"{closed.coverage} {texts.REVIEW_CUT}" if is_cut else closed.coverage,
    )


def _sum(usages: Sequence[Usage]) -> Usage | None:
    if not usages:
        return None
    return Usage(
        prompt_tokens=sum(one.prompt_tokens or 0 for one in usages),
        completion_tokens=sum(one.completion_tokens or 0 for one in usages),
        cached_tokens=sum(one.cached_tokens or 0 for one in usages),
    )


def _log(attempt: Attempt, work: _Work) -> None:
    """How much of what Kimi has said was not true of the code."""
    faults = sorted({one.fault.name.lower() for one in work.heard.dropped})
    counts: dict[str, object] = {
        "files": len(work.plan.coverage),
        "passes": len(work.answers),
        "findings": len(work.heard.findings),
        "dropped": len(work.heard.dropped),
        "no_problems": len(work.heard.left_out),
        "faults": ", ".join(faults),
    }
    log.info("reviewed", extra=attempt.ids | counts)
