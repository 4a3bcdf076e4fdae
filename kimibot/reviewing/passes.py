"""Carries the passes of a review out: asks, looks up what is asked for, and shows what is found."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from kimibot.answers import Answer, ChatMessage, Delta
from kimibot.asking import Asking
from kimibot.assembling import Assembling
from kimibot.attempt import Attempt
from kimibot.errors import NoText
from kimibot.reply.live_reply import LiveReply
from kimibot.review import phrases, stages
from kimibot.review.findings import Finding
from kimibot.review.material import Material
from kimibot.review.prompts import Subject
from kimibot.review.reading import Heard
from kimibot.review.report import looking_at
from kimibot.review.rounds import listed
from kimibot.review.stages import Pass, Plan
from kimibot.reviewing.looking_up import Dialogue, LookingUp

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Known:
    """What reviews before this one have found: what may still be open, and what is no problem."""

    earlier: Sequence[Finding] = ()
    no_problems: Sequence[Finding] = ()

    def told(self, subject: Subject) -> Subject:
        """With it, for the model."""
        earlier, no_problems = listed(self.earlier), listed(self.no_problems)
        return replace(subject, earlier=earlier, no_problems=no_problems)


@dataclass(slots=True)
class Work:
    """A review under way: what it is of, and what has come of it.

    `answers` are all that came back, those that ask for more included, and `steps` what was looked
    up in each of the passes.
    """

    material: Material
    known: Known
    plan: Plan
    looking_up: LookingUp
    heard: Heard
    answers: list[Answer] = field(default_factory=list)
    steps: list[Sequence[ChatMessage]] = field(default_factory=list)


class Passes:
    """One request after the other, each with the rounds that it takes."""

    def __init__(self, asking: Asking, completion_tokens: int) -> None:
        self._asking = asking
        self._completion_tokens = completion_tokens

    async def carry_out(self, attempt: Attempt, reply: LiveReply, work: Work) -> None:
        """All passes of the plan; what is found is shown as it comes, and heard in `work`.

        Raises KimiError and Denied: what was found until then is in the attempt.
        """
        try:
            for one in work.plan.passes:
                await self._pass(attempt, reply, work, one)
        finally:
            attempt.made = attempt.made or work.heard.prose.strip()
            _log(attempt, work)

    async def _pass(self, attempt: Attempt, reply: LiveReply, work: Work, one: Pass) -> None:
        """Round after round, as long as Kimi wants to see more of the repository."""
        dialogue, sign = work.looking_up.dialogue(one.messages), one.sign
        while True:
            prose, verdicts = work.heard.prose, len(work.heard.verdicts)
            answer = await self._hear_out(attempt, reply, work, dialogue, sign)
            work.answers.append(answer)
            if not dialogue.goes_on(answer):
                break
            # What is said beside a call is about the look, and no part of the review yet.
            work.heard.prose = prose
            del work.heard.verdicts[verdicts:]
            sign = await self._look_up(attempt, reply, dialogue, answer)
            evidence = work.plan.evidence.with_read(work.looking_up.read)
            work.plan = replace(work.plan, evidence=evidence)
        work.steps.append(dialogue.steps)

    async def _look_up(
        self, attempt: Attempt, reply: LiveReply, dialogue: Dialogue, answer: Answer
    ) -> str:
        """The sign of what was looked up, which stands there until there is more to show."""
        targets: list[str] = []

        def on_lookup(target: str) -> None:
            targets.append(target)
            _sign(attempt, reply, looking_at(targets))

        await dialogue.go_on(answer, on_lookup)
        return looking_at(targets) if targets else phrases.LOOKING

    async def _hear_out(
        self, attempt: Attempt, reply: LiveReply, work: Work, dialogue: Dialogue, sign: str
    ) -> Answer:
        """An answer without text gets a second try, as others do."""
        try:
            return await self._hear(attempt, reply, work, dialogue, sign)
        except NoText as error:
            doubled = self._completion_tokens * (2 if error.code == "length" else 1)
            return await self._hear(attempt, reply, work, dialogue, sign, doubled)

    async def _hear(
        self,
        attempt: Attempt,
        reply: LiveReply,
        work: Work,
        dialogue: Dialogue,
        sign: str,
        completion_tokens: int | None = None,
    ) -> Answer:
        attempt.assembling = Assembling()
        reading = stages.begin(work.plan, work.heard)
        show = partial(_show, attempt, reply, work, sign)
        show()

        def on_delta(delta: Delta) -> None:
            if reading.feed(delta.content):
                show()

        try:
            return await self._asking.request(
                attempt,
                reply,
                dialogue.messages,
                on_delta=on_delta,
                sign=phrases.under_way(sign),
                max_completion_tokens=completion_tokens,
                toolbox=dialogue.toolbox,
            )
        finally:
            reading.end()
            attempt.made = stages.show(work.heard, work.material.link_of)


def _show(attempt: Attempt, reply: LiveReply, work: Work, sign: str) -> None:
    attempt.made = stages.show(work.heard, work.material.link_of)
    if attempt.made:
        reply.show(attempt.made)
    _sign(attempt, reply, sign)


def _sign(attempt: Attempt, reply: LiveReply, sign: str) -> None:
    """Below what there is, or in its place."""
    reply.wait_as(phrases.under_way(sign))
    if attempt.made:
        reply.say(sign)


def _log(attempt: Attempt, work: Work) -> None:
    """How much of what Kimi has said was not true of the code."""
    faults = sorted({one.fault.name.lower() for one in work.heard.dropped})
    counts: dict[str, object] = {
        "files": len(work.plan.coverage),
        "passes": len(work.answers) - work.looking_up.rounds,
        "look_ups": work.looking_up.rounds,
        "findings": len(work.heard.findings),
        "dropped": len(work.heard.dropped),
        "no_problems": len(work.heard.left_out),
        "faults": ", ".join(faults),
    }
    log.info("reviewed", extra=attempt.ids | counts)
