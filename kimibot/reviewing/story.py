"""A review from its ask to its report: what is read, what is remembered of it, how it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from kimibot import history, texts
from kimibot.answers import Answer, Usage
from kimibot.asking import Asking
from kimibot.attempt import Attempt
from kimibot.conversation import Remembered, Speaker
from kimibot.errors import ContextTooLong, NoText, RequestRefused
from kimibot.history import MOST_BYTES
from kimibot.recalling import Recalling
from kimibot.reply.live_reply import LiveReply
from kimibot.review import phrases, postable, prompts, stages
from kimibot.review.material import Material
from kimibot.review.patching import patch
from kimibot.review.reading import Heard
from kimibot.review.rounds import asks_again, kept, read_findings, read_kept, without
from kimibot.review.sources import words_of
from kimibot.review.stages import Closed, Plan
from kimibot.reviewing.gathering import Attached, Gathering, Guests, NothingToReview, Submissions
from kimibot.reviewing.looking_up import LookingUp, latest
from kimibot.reviewing.passes import Known, Passes, Work

LOOK_UP_SHARE = 0.25
"""How much of what the model reads is kept free for what it looks up, and how much of the history
that may be when it is asked on."""

REMEMBERED_SHARE = 0.5
"""How much of what the model reads may be what was reviewed, when it is asked on."""

BYTES_PER_TOKEN = 5
"""As many as a token of our estimate may take in the body of a request, with what escapes them."""

_GONE_ON = ("stop", "tool_calls")

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
        self._passes = Passes(asking, completion_tokens)

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
        repository = material.repository if self._asking.takes_tools else None
        subject = known.told(material.subject)
        material = replace(material, subject=subject, repository=repository)
        try:
            return await self._try(attempt, reply, remembered, material, known)
        except (RequestRefused, NoText) as error:
            if repository is None or not _may_be_for_tools(error):
                raise
            log.info("no answer where tools are offered: reviewed without", extra=attempt.ids)
            material = replace(material, repository=None)
            return await self._try(attempt, reply, remembered, material, known)

    async def _known(self, attempt: Attempt, ask: Remembered) -> Known:
        """What the review before has found counts if it is asked for again."""
        thread_id = attempt.claim.thread_id
        no_problems = read_findings(await self._kept.no_problems(thread_id))
        if ask.speaker is Speaker.US or not asks_again(words_of(ask)):
            return Known(no_problems=no_problems)
        earlier = read_kept(await self._kept.last_review(thread_id) or {})
        return Known(without(earlier, no_problems), no_problems)

    async def _try(
        self,
        attempt: Attempt,
        reply: LiveReply,
        remembered: Sequence[Remembered],
        material: Material,
        known: Known,
    ) -> Answer:
        """Once more with half as much at once where all of it is too long."""
        try:
            work = await _begun(material, known, self._budget_tokens)
            return await self._carry_out(attempt, reply, remembered, work)
        except ContextTooLong:
            work = await _begun(material, known, self._budget_tokens // 2)
            return await self._carry_out(attempt, reply, remembered, work)

    async def _carry_out(
        self, attempt: Attempt, reply: LiveReply, remembered: Sequence[Remembered], work: Work
    ) -> Answer:
        await self._remember(attempt, remembered, work)
        await self._passes.carry_out(attempt, reply, work)
        closed = await asyncio.to_thread(_closed, work)
        attempt.made = closed.report
        found = await asyncio.to_thread(_kept, closed, work, attempt.turn.id)
        steps = latest(work.steps, round(self._budget_tokens * LOOK_UP_SHARE))
        return replace(_answer(closed, work, found), steps=steps)

    async def _remember(
        self, attempt: Attempt, remembered: Sequence[Remembered], work: Work
    ) -> None:
        """The ask goes into the thread's history with what is reviewed, so that it is known there
        when somebody asks on."""
        ask = _ask(attempt, remembered)
        if ask.speaker is Speaker.US:  # it stands there already, as our answer
            attempt.reading = await self._recalling.read(attempt, remembered, self._budget_tokens)
            return
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


def _may_be_for_tools(error: RequestRefused | NoText) -> bool:
    """Also of a model that would go on calling them, and has nothing to say when it may not."""
    return isinstance(error, RequestRefused) or error.code != "length"


def cut_short(attempt: Attempt) -> list[str]:
    """Why a finished review may not be all of it; a daily limit has words of its own."""
    reason = attempt.answer.finish_reason if attempt.answer else None
    if reason == "length" and attempt.cut_by is None:
        return [phrases.CUT]
    return [texts.DECLINED] if reason == "content_filter" else []


def _ask(attempt: Attempt, remembered: Sequence[Remembered]) -> Remembered:
    """The message that the turn is about; one that was deleted meanwhile has nothing to review."""
    for message in remembered:
        if message.ts == attempt.turn.ts:
            return message
    raise NothingToReview(phrases.OF_NOTHING)


async def _begun(material: Material, known: Known, budget_tokens: int) -> Work:
    """Dividing takes long for large changes, and must not keep others waiting."""
    has_tools = material.repository is not None
    share = round(budget_tokens * (1 - LOOK_UP_SHARE)) if has_tools else budget_tokens
    made = await asyncio.to_thread(_plan, material, share, has_tools=has_tools)
    looking_up = LookingUp(material.repository, budget_tokens)
    return Work(material, known, made, looking_up, Heard(no_problems=known.no_problems))


def _plan(material: Material, budget_tokens: int, *, has_tools: bool = False) -> Plan:
    return stages.plan(
        material.files,
        material.subject,
        context_tokens=budget_tokens,
        attributes=material.attributes,
        missing_files=material.missing_files,
        has_tools=has_tools,
    )


def _closed(work: Work) -> Closed:
    """Looking through lock files takes long, too."""
    return stages.close(
        work.plan,
        work.heard,
        link_of=work.material.link_of,
        earlier=work.known.earlier,
        also_read=tuple(work.looking_up.read),
    )


def _answer(closed: Closed, work: Work, found: Mapping[str, Any]) -> Answer:
    """The report as what the model has said, with what all of its passes have used."""
    answers = work.answers
    last = answers[-1] if answers else Answer("", finish_reason="stop")
    reasons = [one.finish_reason for one in answers if one.finish_reason not in _GONE_ON]
    return Answer(
        content=closed.report,
        finish_reason=reasons[0] if reasons else "stop",
        usage=_sum([one.usage for one in answers if one.usage is not None]),
        completion_id=last.completion_id,
        trace_id=last.trace_id,
        raw={"role": "assistant", "content": closed.report},
        review=found,
    )


def _kept(closed: Closed, work: Work, run: str) -> dict[str, Any]:
    """What was found, and where it can be posted if it can: mere prose has no findings for that."""
    suggested = patch(work.material.files, closed.findings)
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
        coverage=f"{closed.coverage} {phrases.CUT}" if is_cut else closed.coverage,
    )


def _sum(usages: Sequence[Usage]) -> Usage | None:
    if not usages:
        return None
    return Usage(
        prompt_tokens=sum(one.prompt_tokens or 0 for one in usages),
        completion_tokens=sum(one.completion_tokens or 0 for one in usages),
        cached_tokens=sum(one.cached_tokens or 0 for one in usages),
    )
