"""How a turn ends when it does not end with the whole answer: what is said, and what stays."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Protocol

from kimibot import failures, texts
from kimibot.admission import Refusal
from kimibot.allowance import Denial, Whose
from kimibot.attempt import Attempt
from kimibot.errors import (
    CutOff,
    GitHubError,
    GitHubFault,
    GitHubLimited,
    GitHubUnreachable,
    KimiError,
    SlackError,
    TooSlow,
)
from kimibot.handles import continue_button
from kimibot.reply.live_reply import LiveReply
from kimibot.turns import Kind, Stop, StopCause, Turn
from kimibot.views import Button

log = logging.getLogger(__name__)

LAST_WORDS_SECONDS = 5.0
NAME_SECONDS = 0.3
TAKE_BACK_SECONDS = 60.0
MOST_TAKEOVERS = 3


class People(Protocol):
    """Whom to name and whom to tell."""

    async def names(self, ids: Collection[str]) -> Mapping[str, str]:
        """Names of people, as far as they are to be had soon. Never fails."""

    async def tell(self, user: str, text: str) -> None:
        """A direct message. Raises SlackError."""


class Closing:
    """Each says how the turn ended, in the attempt and below the reply. All raise SlackError."""

    def __init__(
        self, people: People, *, max_ask_age_seconds: float, now: Callable[[], datetime]
    ) -> None:
        self._people = people
        self._max_ask_age_seconds = max_ask_age_seconds
        self._now = now

    def is_too_old(self, turn: Turn) -> bool:
        """Whether an answer now would only surprise."""
        age = self._now() - turn.accepted_at
        return age.total_seconds() > self._max_ask_age_seconds

    async def stop(self, attempt: Attempt, reply: LiveReply, stop: Stop) -> None:
        """What there is of the answer stays, marked; a deleted ask takes its reply with it."""
        attempt.stop(stop)
        if stop.cause is StopCause.ASK_DELETED:
            await self._take_back(attempt, reply)
        else:
            note = texts.stopped(await self._name(stop.by))
            if attempt.turn.kind is Kind.POST:
                note = f"{note} {texts.NOTHING_POSTED}"
            await reply.finish(attempt.text_to_keep, note, *_go_on(attempt))

    async def _take_back(self, attempt: Attempt, reply: LiveReply) -> None:
        """As far as Slack allows: nobody is to be told under a message that is gone."""
        try:
            async with asyncio.timeout(TAKE_BACK_SECONDS):
                await reply.take_back(texts.STOPPED)
        except (SlackError, TimeoutError) as error:
            log.info("reply not taken back: %s", error, extra=attempt.ids)

    async def _name(self, person: str) -> str:
        """The person's name if it is at hand: a stop must not wait for it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(NAME_SECONDS):
                names = await self._people.names([person] if person else [])
                return names.get(person, "")
        return ""

    async def apologise(self, attempt: Attempt, reply: LiveReply) -> None:
        """Each asker gets an apology of their own, with a button that they may press."""
        attempt.fail_without(attempt.claim.turns[1:], "too_old")
        await reply.finish(attempt.text_to_keep, texts.TOO_OLD, try_again(attempt.turn))

    async def give_up(self, attempt: Attempt, reply: LiveReply) -> None:
        """Whatever ended those who tried might be this very turn: it must not go on for ever.

        Those that waited for it through all of that fail with it, in the same words.
        """
        others = attempt.claim.turns[1:]
        attempt.fail_without([t for t in others if not has_failed_too_often(t)], "interrupted")
        note = texts.with_trace(texts.GIVEN_UP, attempt.turn.id)
        await reply.finish(attempt.text_to_keep, note, try_again(attempt.turn))

    async def deny(self, attempt: Attempt, reply: LiveReply, denial: Denial) -> None:
        """The day's tokens are used up, or may all be needed by what runs.

        Where they are the asker's own, what others have asked meanwhile is answered.
        """
        limit, others = denial.limit, attempt.claim.turns[1:]
        is_own = limit.whose is Whose.PERSON
        spared = [turn for turn in others if is_own and turn.asker != attempt.turn.asker]
        attempt.refuse(spared, "daily_tokens")
        text = (
            texts.in_use(limit) if denial.is_for_now else texts.used_up(limit, self._now().date())
        )
        await reply.finish(attempt.text_to_keep, text)

    async def refuse(self, attempt: Attempt, reply: LiveReply, refusal: Refusal) -> None:
        """The asker may not ask us."""
        attempt.refuse_alone(refusal.code)
        await reply.finish(attempt.text_to_keep, refusal.text)

    async def explain(self, attempt: Attempt, reply: LiveReply, error: KimiError) -> None:
        """Kimi failed: what there is of the answer stays, our words go below it."""
        attempt.fail(error.name, error.trace_id)
        _log_failure(attempt, error)
        note = failures.failure(error, attempt.trace_id)
        handles = [try_again(attempt.turn)] if note.can_retry else []
        handles += _go_on(attempt) if isinstance(error, CutOff | TooSlow) else []
        await reply.finish(attempt.text_to_keep, note.text, *handles)

    async def excuse(self, attempt: Attempt, reply: LiveReply, error: GitHubError) -> None:
        """GitHub did not give us what is to be reviewed."""
        attempt.fail(error.name, attempt.turn.id)
        details: dict[str, object] = {
            "error_code": error.name,
            "status": error.status,
            "detail": error.detail,
        }
        log.warning("github failed", extra=attempt.ids | details)
        passes = isinstance(error, GitHubLimited | GitHubFault | GitHubUnreachable)
        handles = [try_again(attempt.turn)] if passes else []
        await reply.finish(attempt.text_to_keep, failures.github_failed(error), *handles)

    async def confess(self, attempt: Attempt, reply: LiveReply) -> None:
        attempt.fail("unforeseen", attempt.turn.id)
        note = texts.with_trace(texts.UNFORESEEN, attempt.turn.id)
        await reply.finish(attempt.text_to_keep, note, try_again(attempt.turn))

    async def hand_over(self, attempt: Attempt, reply: LiveReply) -> None:
        """We are going down: say so below what there is; the next owner goes on in place."""
        with suppress(SlackError, TimeoutError):
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                await reply.leave(attempt.text_to_keep, texts.RESTARTING)

    async def tell_the_asker(self, attempt: Attempt, error: SlackError) -> None:
        """Slack does not take the reply: the asker hears of it in a direct message."""
        log.warning("reply refused: %s", error, extra=attempt.ids)
        text = failures.closed_thread(attempt.claim.thread.channel, error.code)
        try:
            await self._people.tell(attempt.turn.asker, text)
        except SlackError as second:
            log.warning("asker not told: %s", second, extra=attempt.ids)


def has_failed_too_often(turn: Turn) -> bool:
    return turn.takeovers >= MOST_TAKEOVERS


def try_again(turn: Turn) -> Button:
    """For a turn that has failed, or was stopped before there was anything."""
    return Button(texts.TRY_AGAIN, texts.TRY_AGAIN_LABEL, turn.id)


def _go_on(attempt: Attempt) -> list[Button]:
    """For an answer of which something is kept to go on from. What was made of the model's words
    it can't go on with. What a press has asked for can't be asked for by that press again."""
    if attempt.text and attempt.answer and attempt.made is None:
        return [continue_button(attempt.turn.id)]
    return [try_again(attempt.turn)] if attempt.turn.pressed and not attempt.text else []


def _log_failure(attempt: Attempt, error: KimiError) -> None:
    of_error: dict[str, object] = {
        "error_code": error.name,
        "status": error.status,
        "code": error.code,
        "detail": error.detail,
    }
    log.warning("kimi failed", extra=attempt.ids | of_error)
