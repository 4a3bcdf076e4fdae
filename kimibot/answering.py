"""The story of one turn: recall the thread, stream the model into a live reply, end it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Protocol

from kimibot import texts
from kimibot.admission import Admission
from kimibot.answers import Answer
from kimibot.asking import Asking, Limits, Model, is_same_model, notes
from kimibot.attempt import Attempt
from kimibot.closing import Closing, People, has_failed_too_often
from kimibot.conversation import Remembered, Thread
from kimibot.errors import (
    DatabaseUnavailable,
    FateUnknown,
    GitHubError,
    KimiError,
    MessageGone,
    NotConnected,
    RateLimited,
    SlackError,
    StorageError,
)
from kimibot.fetching import Fetching, Files, Shelf
from kimibot.granting import Denied, Granting
from kimibot.handles import below, below_review
from kimibot.lease import Lease
from kimibot.own_words import OwnWords
from kimibot.recalling import NothingLeft, Recalling, Rows, Sources
from kimibot.reply.live_reply import LiveReply
from kimibot.reply.parts import ReplyTo
from kimibot.reviewing.discussing import Discussing, Reviews
from kimibot.reviewing.gathering import NoCode, NothingToReview, Submissions
from kimibot.reviewing.posting import Posting, may_have_posted
from kimibot.reviewing.story import Askers, Kept, Reviewing, cut_short
from kimibot.stop_signal import StopRequested, StopSignal
from kimibot.turns import (
    FOR_THE_MODEL,
    ON_REVIEWS,
    REVIEWS,
    Claim,
    Ending,
    Kind,
    Stop,
    StopCause,
    Turn,
    answered_together,
)

log = logging.getLogger(__name__)

DEAF = "deaf"

DRAINING = "draining"
"""The message of the cancellation that ends a turn because the process is going down."""


class Memory(Rows, Shelf, Kept, Reviews, Protocol):
    """What our rows hold of a thread. All raise DatabaseUnavailable."""

    async def note_reply(
        self, claim: Claim, turn_id: str, reply_ts: Sequence[str], shown_at: datetime
    ) -> None:
        """Keep the parts posted so far. Raises ClaimLost when the thread is not ours any more."""


class Workspace(Sources, People, Askers, Protocol):
    """What Slack knows beyond our rows."""

    async def left(self, thread: Thread, turn_id: str) -> Sequence[tuple[str, str]]:
        """The messages of a turn's reply with the text in them, oldest first. Raises SlackError."""

    def is_deaf_in(self, channel: str, spoken_at: float) -> bool:
        """Whether what is said in a channel without a mention surely does not reach us, judged by
        what we said there ourselves at that time, in seconds since the epoch."""


class Answering:
    """Answers the open asks of a thread with one reply."""

    def __init__(
        self,
        *,
        memory: Memory,
        model: Model,
        workspace: Workspace,
        open_reply: Callable[[ReplyTo], LiveReply],
        files: Files,
        submissions: Submissions,
        granting: Granting,
        admission: Admission,
        own_words: OwnWords,
        posting: Posting,
        system_prompt: str,
        limits: Limits,
        shows_reasoning: bool,
        now: Callable[[], datetime],
    ) -> None:
        self._memory = memory
        self._model = model
        self._workspace = workspace
        self._open = open_reply
        self._recalling = Recalling(
            memory,
            workspace,
            system_prompt=system_prompt,
            is_same_model=partial(is_same_model, model),
            takes_images=model.takes_images,
            now=now,
        )
        self._fetching = Fetching(files, memory, takes_images=model.takes_images)
        self._asking = Asking(
            model, self._recalling, granting, budget_tokens=limits.budget_tokens, now=now
        )
        self._reviewing = Reviewing(
            self._asking,
            self._recalling,
            submissions,
            memory,
            workspace,
            budget_tokens=limits.budget_tokens,
            completion_tokens=model.max_completion_tokens,
        )
        self._discussing = Discussing(memory)
        self._closing = Closing(workspace, max_ask_age_seconds=limits.max_ask_age_seconds, now=now)
        self._shows_reasoning = shows_reasoning
        self._granting = granting
        self._admission = admission
        self._own_words = own_words
        self._posting = posting
        self._now = now

    async def answer(self, claim: Claim, lease: Lease, signal: StopSignal) -> Ending:
        """Answer the oldest of the claim's turns, in sight of the others, until `signal`.

        Whatever Kimi does ends in an Ending whose text the thread shows. Raises StorageError when
        the database or the claim is gone, and SlackError when Slack can't say what an earlier
        attempt has posted: then the turn stays open for the next owner. Raises StopRequested when
        an ask was edited: then its turn is to begin anew.
        """
        attempt = Attempt(claim, lease, signal)
        async with self._granting.counting(attempt):
            return await self._bring_to_its_end(attempt)

    async def _bring_to_its_end(self, attempt: Attempt) -> Ending:
        claim = attempt.claim
        attempt.leave_apart(claim.turns[len(answered_together(claim.turns)) :])
        reply_ts = await self._parts_left(attempt)
        attempt.earlier = await self._recalling.earlier_answer(claim) or attempt.earlier
        if attempt.turn.stop == Stop(StopCause.ASK_DELETED) and not reply_ts:
            attempt.stop(attempt.turn.stop)
            return self._ending(attempt)
        if not reply_ts and await self._is_none_of_ours(attempt):
            return self._ending(attempt)
        try:
            async with self._open_reply(attempt, reply_ts) as reply:
                try:
                    await self._fill(attempt, reply)
                finally:
                    attempt.reply_ts = reply.reply_ts
        except MessageGone as error:
            attempt.vanish(error.code)
        except SlackError as error:
            attempt.fail(error.code)
            await self._closing.tell_the_asker(attempt, error)
        return self._ending(attempt)

    async def _is_none_of_ours(self, attempt: Attempt) -> bool:
        """Who did not address us, and may not ask us, does not hear of that."""
        turn = attempt.turn
        if not turn.is_follow_up or turn.stop is not None:
            return False
        refusal = await self._admission.refusal(attempt.claim.thread, turn)
        if refusal is not None:
            attempt.refuse_alone(refusal.code)
        return refusal is not None

    async def _parts_left(self, attempt: Attempt) -> tuple[str, ...]:
        """What an earlier attempt has posted: the stored parts, and those it could not store."""
        turn = attempt.turn
        if turn.attempt == 1:
            return turn.reply_ts
        try:
            found = await self._workspace.left(attempt.claim.thread, turn.id)
        except (RateLimited, NotConnected, FateUnknown):
            if not turn.reply_ts:
                raise
            return turn.reply_ts
        except SlackError:  # it will not get better: what is stored has to do
            return turn.reply_ts
        attempt.remember_left(_beginning_of(turn, [text for _, text in found]))
        return tuple(ts for ts, _ in found) or turn.reply_ts

    def _open_reply(self, attempt: Attempt, reply_ts: Sequence[str]) -> LiveReply:
        async def on_posted(posted: Sequence[str]) -> None:
            attempt.shown_at = attempt.shown_at or self._now()
            with suppress(DatabaseUnavailable):  # the parts also carry the turn's id themselves
                await self._memory.note_reply(
                    attempt.claim, attempt.turn.id, posted, attempt.shown_at
                )

        reply = self._open(
            ReplyTo(
                attempt.claim.thread,
                attempt.turn.id,
                on_posted,
                attempt.lease.sure,
                reply_ts,
                is_taken_over=attempt.turn.attempt > 1,  # or handed over: a call may be late
            )
        )
        if self._model.ahead:
            reply.wait_as(texts.waiting(self._model.ahead))
        return reply

    async def _fill(self, attempt: Attempt, reply: LiveReply) -> None:
        """Whatever goes wrong is said in the reply, or raised for the next owner of the turn."""
        try:
            await self._take_up(attempt, reply)
        except StopRequested as request:
            if request.stop.cause is StopCause.ASK_EDITED:
                raise
            await self._closing.stop(attempt, reply, request.stop)
        except Denied as denied:
            await self._closing.deny(attempt, reply, denied.denial)
        except KimiError as error:
            await self._closing.explain(attempt, reply, error)
        except GitHubError as error:
            await self._closing.excuse(attempt, reply, error)
        except asyncio.CancelledError as error:
            if DRAINING in error.args:
                await self._closing.hand_over(attempt, reply)
            raise
        except (SlackError, StorageError):
            raise
        except Exception:  # a fault of our own: the asker must hear of it all the same
            log.exception("turn failed", extra=attempt.ids)
            await self._closing.confess(attempt, reply)

    async def _take_up(self, attempt: Attempt, reply: LiveReply) -> None:
        """Unless it was over before it began: stopped, failed too often, or asked too long ago."""
        stop = attempt.turn.stop
        if stop is not None and may_have_posted(attempt.turn):
            attempt.signal.request(stop)
            await self._posting.post(attempt, reply)
        elif stop is not None:
            await self._closing.stop(attempt, reply, stop)
        elif has_failed_too_often(attempt.turn):
            await self._closing.give_up(attempt, reply)
        elif self._closing.is_too_old(attempt.turn):
            await self._closing.apologise(attempt, reply)
        else:
            await self._attend(attempt, reply)

    async def _attend(self, attempt: Attempt, reply: LiveReply) -> None:
        """To who may ask: by the model, or in our own words."""
        refusal = await self._admission.admit(attempt)
        if refusal is not None:
            await self._closing.refuse(attempt, reply, refusal)
        elif attempt.turn.kind in ON_REVIEWS:
            if not await self._discussing.attend(attempt, reply):
                await self._answer(attempt, reply)
        elif attempt.turn.kind is Kind.POST:
            await self._posting.post(attempt, reply)
        elif attempt.turn.kind in REVIEWS:
            await self._review(attempt, reply)
        elif attempt.turn.kind in FOR_THE_MODEL:
            await self._answer(attempt, reply)
        else:
            await self._own_words.answer(attempt, reply)

    async def _answer(self, attempt: Attempt, reply: LiveReply) -> None:
        """The happy path: recall, stream, show the whole of it."""
        try:
            answer = await attempt.signal.unless_requested(self._recall_and_ask(attempt, reply))
        except NothingLeft:
            attempt.tell()
            await reply.finish(texts.NOTHING_TO_CONTINUE)
            return
        attempt.succeed(answer)
        self._tell_if_deaf(attempt)
        told = attempt.notes + notes(attempt) + await self._granting.last_words(attempt)
        handles = below(answer, attempt.turn.id, shows_reasoning=self._shows_reasoning)
        await reply.finish(attempt.text, "\n".join(told), *handles)

    def _tell_if_deaf(self, attempt: Attempt) -> None:
        spoken_at, channel = attempt.shown_at, attempt.claim.thread.channel
        if spoken_at and self._workspace.is_deaf_in(channel, spoken_at.timestamp()):
            attempt.tell_once(DEAF, texts.MENTION_ME)

    async def _recall_and_ask(self, attempt: Attempt, reply: LiveReply) -> Answer:
        return await self._asking.ask(attempt, reply, await self._recall(attempt))

    async def _review(self, attempt: Attempt, reply: LiveReply) -> None:
        """The findings have grown in the order in which they came; the report has its own."""
        try:
            answer = await attempt.signal.unless_requested(self._recall_and_review(attempt, reply))
        except NothingToReview as nothing:
            attempt.tell()
            await reply.finish(str(nothing))
            return
        except NoCode:
            attempt.made = None
            await self._answer(attempt, reply)
            return
        attempt.succeed(answer)
        told = attempt.notes + cut_short(attempt) + await self._granting.last_words(attempt)
        handles = below_review(answer, attempt.turn.id)
        await reply.finish(attempt.text, "\n".join(told), *handles, is_new_text=True)

    async def _recall_and_review(self, attempt: Attempt, reply: LiveReply) -> Answer:
        return await self._reviewing.review(attempt, reply, await self._recall(attempt))

    async def _recall(self, attempt: Attempt) -> list[Remembered]:
        remembered = await self._recalling.recall(attempt)
        return await self._fetching.fetch(attempt, remembered)

    def _ending(self, attempt: Attempt) -> Ending:
        model = self._model
        return attempt.ending(model.provider, model.model, model.effort, self._now().date())


def _beginning_of(turn: Turn, part_texts: Sequence[str]) -> str:
    """As much of what is left in the parts as is sure to be one text without a gap.

    The second attempt wrote over the first one's parts, from the top: what stands below the first
    part may be older than it, and belong to another text.
    """
    kept = part_texts if turn.attempt == 2 else part_texts[:1]
    return "\n\n".join(text for text in kept if text)
