"""The story of one turn: recall the thread, stream the model into a live reply, end it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from kimibot import texts
from kimibot.assembling import Assembling
from kimibot.attempt import Attempt
from kimibot.conversation import (
    Answer,
    ChatMessage,
    Claim,
    Delta,
    Ending,
    Remembered,
    Retry,
    Stop,
    StopCause,
    Thread,
    Turn,
)
from kimibot.errors import (
    ContextTooLong,
    DatabaseUnavailable,
    FateUnknown,
    KimiError,
    MessageGone,
    NotConnected,
    NoText,
    RateLimited,
    SlackError,
    StorageError,
)
from kimibot.lease import Lease
from kimibot.live_reply import LiveReply
from kimibot.recalling import Recalling, Rows, Sources
from kimibot.reply_parts import Posted, Sure
from kimibot.stop_signal import StopRequested, StopSignal
from kimibot.views import Button

log = logging.getLogger(__name__)

DRAINING = "draining"
"""The message of the cancellation that ends a turn because the process is going down."""

LAST_WORDS_SECONDS = 5.0
NAME_SECONDS = 0.3
TAKE_BACK_SECONDS = 60.0
MOST_TAKEOVERS = 3


class Memory(Rows, Protocol):
    """What our rows hold of a thread. All raise DatabaseUnavailable."""

    async def note_reply(
        self, claim: Claim, turn_id: str, reply_ts: Sequence[str], shown_at: datetime
    ) -> None:
        """Keep the parts posted so far. Raises ClaimLost when the thread is not ours any more."""


class Model(Protocol):
    """Kimi. A stream raises KimiError, also in its middle, and nothing else."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def effort(self) -> str: ...

    @property
    def max_completion_tokens(self) -> int: ...

    @property
    def ahead(self) -> int: ...

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_completion_tokens: int | None = None,
        on_retry: Callable[[Retry], None] | None = None,
        on_wait: Callable[[int], None] = ...,
    ) -> AbstractAsyncContextManager[AsyncIterator[Delta]]: ...


class Workspace(Sources, Protocol):
    """What Slack knows beyond our rows."""

    async def find(self, thread: Thread, turn_id: str) -> Sequence[str]:
        """The messages of a turn's reply, oldest first. Raises SlackError."""

    async def tell(self, user: str, text: str) -> None:
        """A direct message. Raises SlackError."""


class Replies(Protocol):
    """Opens the live reply to a turn."""

    def __call__(
        self,
        thread: Thread,
        turn_id: str,
        *,
        reply_ts: Sequence[str],
        on_posted: Posted,
        sure: Sure,
        is_taken_over: bool,
    ) -> LiveReply: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What a turn may use: tokens to read, and how old an ask may be when its turn comes."""

    budget_tokens: int
    max_ask_age_seconds: float


class Answering:
    """Answers the open asks of a thread with one reply."""

    def __init__(
        self,
        *,
        memory: Memory,
        model: Model,
        workspace: Workspace,
        replies: Replies,
        system_prompt: str,
        limits: Limits,
        now: Callable[[], datetime],
    ) -> None:
        self._memory = memory
        self._model = model
        self._workspace = workspace
        self._replies = replies
        self._recalling = Recalling(
            memory,
            workspace,
            system_prompt=system_prompt,
            is_same_model=self._is_same_model,
            now=now,
        )
        self._limits = limits
        self._now = now

    async def answer(self, claim: Claim, lease: Lease, signal: StopSignal) -> Ending:
        """Answer the oldest of the claim's turns, in sight of the others, until `signal`.

        Whatever Kimi does ends in an Ending whose text the thread shows. Raises StorageError when
        the database or the claim is gone, and SlackError when Slack can't say what an earlier
        attempt has posted: then the turn stays open for the next owner.
        """
        attempt = Attempt(claim, lease, signal)
        reply_ts = await self._parts_left(attempt)
        attempt.earlier = await self._recalling.earlier_answer(claim)
        if attempt.turn.stop == Stop(StopCause.ASK_DELETED) and not reply_ts:
            attempt.stop(attempt.turn.stop)
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
            await self._tell_the_asker(attempt, error)
        return self._ending(attempt)

    async def _parts_left(self, attempt: Attempt) -> tuple[str, ...]:
        """What an earlier attempt has posted: the stored parts, and those it could not store."""
        turn = attempt.turn
        if turn.attempt == 1:
            return turn.reply_ts
        try:
            found = await self._workspace.find(attempt.claim.thread, turn.id)
        except (RateLimited, NotConnected, FateUnknown):
            if not turn.reply_ts:
                raise
            return turn.reply_ts
        except SlackError:  # it will not get better: what is stored has to do
            return turn.reply_ts
        return tuple(found) or turn.reply_ts

    def _open_reply(self, attempt: Attempt, reply_ts: Sequence[str]) -> LiveReply:
        async def on_posted(posted: Sequence[str]) -> None:
            attempt.shown_at = attempt.shown_at or self._now()
            with suppress(DatabaseUnavailable):  # the parts also carry the turn's id themselves
                await self._memory.note_reply(
                    attempt.claim, attempt.turn.id, posted, attempt.shown_at
                )

        thread, turn = attempt.claim.thread, attempt.turn
        reply = self._replies(
            thread,
            turn.id,
            reply_ts=reply_ts,
            on_posted=on_posted,
            sure=attempt.lease.sure,
            is_taken_over=turn.takeovers > 0,
        )
        if self._model.ahead:
            reply.wait_as(texts.waiting(self._model.ahead))
        return reply

    async def _fill(self, attempt: Attempt, reply: LiveReply) -> None:
        try:
            if attempt.turn.stop is not None:
                await self._stop(attempt, reply, attempt.turn.stop)
            elif _has_failed_too_often(attempt.turn):
                await self._give_up(attempt, reply)
            elif self._is_too_old(attempt.turn):
                await self._apologise(attempt, reply)
            else:
                await self._answer(attempt, reply)
        except StopRequested as request:
            await self._stop(attempt, reply, request.stop)
        except KimiError as error:
            await self._explain(attempt, reply, error)
        except asyncio.CancelledError as error:
            if DRAINING in error.args:
                await self._hand_over(attempt, reply)
            raise
        except (SlackError, StorageError):
            raise
        except Exception:  # a fault of our own: the asker must hear of it all the same
            log.exception("turn failed", extra=attempt.ids)
            await self._confess(attempt, reply)

    async def _answer(self, attempt: Attempt, reply: LiveReply) -> None:
        """The happy path: recall, stream, show the whole of it."""
        answer = await attempt.signal.unless_requested(self._recall_and_ask(attempt, reply))
        attempt.succeed(answer)
        await reply.finish(attempt.text, "\n".join(attempt.notes + _notes(answer)))

    async def _recall_and_ask(self, attempt: Attempt, reply: LiveReply) -> Answer:
        return await self._ask(attempt, reply, await self._recalling.recall(attempt))

    async def _ask(
        self, attempt: Attempt, reply: LiveReply, remembered: Sequence[Remembered]
    ) -> Answer:
        """Ask the model; a thread that is too long and an answer without text get a second try."""
        budget_tokens = self._limits.budget_tokens
        try:
            return await self._stream(attempt, reply, remembered, budget_tokens)
        except ContextTooLong:
            attempt.notes.append(texts.OLDER_PART_LEFT_OUT)
            return await self._stream(attempt, reply, remembered, budget_tokens // 2)
        except NoText as error:
            attempt.assembling = Assembling()
            doubled = self._model.max_completion_tokens * (2 if error.code == "length" else 1)
            return await self._stream(attempt, reply, remembered, budget_tokens, doubled)

    async def _stream(
        self,
        attempt: Attempt,
        reply: LiveReply,
        remembered: Sequence[Remembered],
        budget_tokens: int,
        max_completion_tokens: int | None = None,
    ) -> Answer:
        attempt.reading = await self._recalling.read(attempt.claim, remembered, budget_tokens)
        async with self._model.stream(
            attempt.reading.messages,
            max_completion_tokens=max_completion_tokens,
            on_retry=lambda retry: reply.say(texts.retrying(retry)),
            on_wait=lambda ahead: reply.wait_as(texts.waiting(ahead)),
        ) as deltas:
            async for delta in deltas:
                attempt.add(delta, self._now())
                reply.show(attempt.text)
        answer = attempt.assembling.finish()
        if not attempt.text and answer.finish_reason != "content_filter":
            raise NoText(code=answer.finish_reason or "", trace_id=answer.trace_id)
        return answer

    def _is_same_model(self, claim: Claim) -> bool:
        """Whether the thread was answered by this model before, or never."""
        model = self._model
        return (claim.provider or model.provider, claim.model or model.model) == (
            model.provider,
            model.model,
        )

    def _is_too_old(self, turn: Turn) -> bool:
        age = self._now() - turn.accepted_at
        return age.total_seconds() > self._limits.max_ask_age_seconds

    async def _stop(self, attempt: Attempt, reply: LiveReply, stop: Stop) -> None:
        """What there is of the answer stays, marked; a deleted ask takes its reply with it."""
        attempt.stop(stop)
        if stop.cause is StopCause.ASK_DELETED:
            await self._take_back(attempt, reply)
        else:
            await reply.finish(attempt.text_to_keep, texts.stopped(await self._name(stop.by)))

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
                names = await self._workspace.names([person] if person else [])
                return names.get(person, "")
        return ""

    async def _apologise(self, attempt: Attempt, reply: LiveReply) -> None:
        others = [turn.id for turn in attempt.claim.turns[1:] if not self._is_too_old(turn)]
        attempt.fail_alone("too_old", others)
        await reply.finish(attempt.text_to_keep, texts.TOO_OLD, _try_again(attempt.turn))

    async def _give_up(self, attempt: Attempt, reply: LiveReply) -> None:
        """Whatever ended those who tried might be this very turn: it must not go on for ever."""
        others = [turn.id for turn in attempt.claim.turns[1:] if not _has_failed_too_often(turn)]
        attempt.fail_alone("interrupted", others)
        note = texts.with_trace(texts.GIVEN_UP, attempt.turn.id)
        await reply.finish(attempt.text_to_keep, note, _try_again(attempt.turn))

    async def _explain(self, attempt: Attempt, reply: LiveReply, error: KimiError) -> None:
        """Kimi failed: what there is of the answer stays, our words go below it."""
        attempt.fail(error.name, error.trace_id)
        _log_failure(attempt, error)
        note = texts.failure(error, attempt.trace_id)
        button = _try_again(attempt.turn) if note.can_retry else None
        await reply.finish(attempt.text_to_keep, note.text, button)

    async def _confess(self, attempt: Attempt, reply: LiveReply) -> None:
        attempt.fail("unforeseen", attempt.turn.id)
        note = texts.with_trace(texts.UNFORESEEN, attempt.turn.id)
        await reply.finish(attempt.text_to_keep, note, _try_again(attempt.turn))

    async def _hand_over(self, attempt: Attempt, reply: LiveReply) -> None:
        """We are going down: say so below what there is; the next owner goes on in place."""
        with suppress(SlackError, TimeoutError):
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                await reply.finish(attempt.text_to_keep, texts.RESTARTING)

    async def _tell_the_asker(self, attempt: Attempt, error: SlackError) -> None:
        """Slack does not take the reply: the asker hears of it in a direct message."""
        log.warning("reply refused: %s", error, extra=attempt.ids)
        text = texts.CLOSED_THREAD.format(channel=attempt.claim.thread.channel, code=error.code)
        try:
            await self._workspace.tell(attempt.turn.asker, text)
        except SlackError as second:
            log.warning("asker not told: %s", second, extra=attempt.ids)

    def _ending(self, attempt: Attempt) -> Ending:
        model = self._model
        return attempt.ending(model.provider, model.model, model.effort)


def _has_failed_too_often(turn: Turn) -> bool:
    return turn.takeovers >= MOST_TAKEOVERS


def _notes(answer: Answer) -> list[str]:
    """Why a finished answer is not the whole answer."""
    if answer.finish_reason == "length":
        return [texts.REACHED_LIMIT]
    return [texts.DECLINED] if answer.finish_reason == "content_filter" else []


def _try_again(turn: Turn) -> Button:
    return Button(texts.TRY_AGAIN, texts.TRY_AGAIN_LABEL, turn.id)


def _log_failure(attempt: Attempt, error: KimiError) -> None:
    of_error: dict[str, object] = {
        "error_code": error.name,
        "status": error.status,
        "code": error.code,
        "detail": error.detail,
    }
    log.warning("kimi failed", extra=attempt.ids | of_error)
