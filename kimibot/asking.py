"""Asks the model and shows what it says, with the second tries that can help."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from kimibot import failures, texts
from kimibot.answers import NO_TOOLS, Answer, ChatMessage, Delta, Retry, Toolbox, Usage
from kimibot.assembling import Assembling
from kimibot.attempt import Attempt
from kimibot.conversation import Remembered
from kimibot.errors import ContextTooLong, KimiError, NoFirstEvent, NoText, RequestRefused
from kimibot.granting import Granting
from kimibot.history import Reading
from kimibot.picturing import has_pictures
from kimibot.recalling import Recalling
from kimibot.reply.live_reply import LiveReply
from kimibot.turns import Claim

LEFT_OUT = "left_out"
"""That the older part of the thread is too long for the model: it is told so once."""

Sign = Callable[[float], str]
"""What stands there while there is no text, after so many seconds."""


class Model(Protocol):
    """Kimi. A stream raises KimiError, also in its middle, and nothing else."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def effort(self) -> str: ...

    @property
    def takes_images(self) -> bool: ...

    @property
    def takes_tools(self) -> bool: ...

    @property
    def max_completion_tokens(self) -> int: ...

    @property
    def ahead(self) -> int: ...

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_completion_tokens: int | None = None,
        toolbox: Toolbox = ...,
        on_retry: Callable[[Retry], None] | None = None,
        on_wait: Callable[[int], None] = ...,
    ) -> AbstractAsyncContextManager[AsyncIterator[Delta]]: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What a turn may use: tokens to read, and how old an ask may be when its turn comes."""

    budget_tokens: int
    max_ask_age_seconds: float


@dataclass(frozen=True, slots=True)
class _Try:
    """How the model is asked: with how many tokens to read, how many to write if that is not as
    always, and whether with text alone."""

    budget_tokens: int
    max_completion_tokens: int | None = None
    is_plain: bool = False


class Asking:
    """Asks with what was recalled, within a budget of tokens to read."""

    def __init__(
        self,
        model: Model,
        recalling: Recalling,
        granting: Granting,
        *,
        budget_tokens: int,
        now: Callable[[], datetime],
    ) -> None:
        self._model = model
        self._recalling = recalling
        self._granting = granting
        self._budget_tokens = budget_tokens
        self._now = now

    @property
    def takes_tools(self) -> bool:
        """Whether the model can call functions."""
        return self._model.takes_tools

    async def ask(
        self, attempt: Attempt, reply: LiveReply, remembered: Sequence[Remembered]
    ) -> Answer:
        """The whole answer, shown while it grows.

        A thread that is too long, pictures or earlier look-ups that are refused, and an answer
        without text get a second try, each once. Raises KimiError, and Denied when no more tokens
        may be used today.
        """
        this = _Try(self._budget_tokens)
        while True:
            try:
                return await self._stream(attempt, reply, remembered, this)
            except KimiError as error:
                this = await self._next(attempt, remembered, this, error)

    async def _next(
        self, attempt: Attempt, remembered: Sequence[Remembered], failed: _Try, error: KimiError
    ) -> _Try:
        """What can help and was not tried before. Raises the error where there is nothing."""
        if isinstance(error, ContextTooLong) and failed.budget_tokens == self._budget_tokens:
            return await self._with_less(attempt, remembered, failed, error)
        if isinstance(error, RequestRefused) and not failed.is_plain and _showed_more(attempt):
            attempt.notes += [texts.PICTURES_REFUSED] if _showed_pictures(attempt) else []
            return replace(failed, is_plain=True)
        if isinstance(error, NoText) and failed.max_completion_tokens is None:
            doubled = self._model.max_completion_tokens * (2 if error.code == "length" else 1)
            return replace(failed, max_completion_tokens=doubled)
        raise error

    async def _with_less(
        self,
        attempt: Attempt,
        remembered: Sequence[Remembered],
        failed: _Try,
        error: ContextTooLong,
    ) -> _Try:
        """Half as much to read, if there is anything to leave out."""
        before, less = attempt.reading, replace(failed, budget_tokens=failed.budget_tokens // 2)
        after = await self._read(attempt, remembered, less)
        if before is not None and after.messages == before.messages:
            error.excess_tokens = before.excess_tokens
            raise error
        return less

    async def _read(
        self, attempt: Attempt, remembered: Sequence[Remembered], this: _Try
    ) -> Reading:
        return await self._recalling.read(
            attempt, remembered, this.budget_tokens, is_plain=this.is_plain
        )

    async def _stream(
        self,
        attempt: Attempt,
        reply: LiveReply,
        remembered: Sequence[Remembered],
        this: _Try,
    ) -> Answer:
        attempt.reading = reading = await self._read(attempt, remembered, this)
        attempt.assembling = Assembling()
        if reading.left_out:
            attempt.tell_once(LEFT_OUT, texts.OLDER_PART_LEFT_OUT)
        answer = await self.request(
            attempt,
            reply,
            reading.messages,
            on_delta=lambda _: reply.show(attempt.text),
            max_completion_tokens=this.max_completion_tokens,
        )
        attempt.notes += failures.shortened_files(reading.shortened)
        return answer

    async def request(
        self,
        attempt: Attempt,
        reply: LiveReply,
        messages: Sequence[ChatMessage],
        *,
        on_delta: Callable[[Delta], None],
        sign: Sign = texts.thinking,
        max_completion_tokens: int | None = None,
        toolbox: Toolbox = NO_TOOLS,
    ) -> Answer:
        """One request with as many tokens as are granted for it; its answer, which has some text,
        or calls of the tools that it offers.

        `on_delta` shows what has come; until then there is `sign`. Raises KimiError and Denied.
        """
        wanted_tokens = max_completion_tokens or self._model.max_completion_tokens
        granted = await self._granting.grant(attempt, messages, wanted_tokens, toolbox)
        async with self._sending(attempt, reply, messages, granted, sign, toolbox) as deltas:
            async for delta in deltas:
                attempt.add(delta, self._now())
                on_delta(delta)
                if _is_over(delta.usage, granted):
                    attempt.assembling.add(Delta(finish_reason="length"))
                    break
        answer = attempt.assembling.finish()
        if not _says_something(answer, toolbox):
            raise NoText(code=answer.finish_reason or "", trace_id=answer.trace_id)
        return answer

    @asynccontextmanager
    async def _sending(
        self,
        attempt: Attempt,
        reply: LiveReply,
        messages: Sequence[ChatMessage],
        max_completion_tokens: int,
        sign: Sign,
        toolbox: Toolbox,
    ) -> AsyncIterator[AsyncIterator[Delta]]:
        """What was refused, or never began for want of a place, has used no tokens.

        An endpoint that goes on beyond the limit that it was given is not listened to any longer.
        """
        sent = attempt.spending.send(messages, attempt.assembling, toolbox)

        def on_wait(ahead: int) -> None:
            sent.counts = ahead == 0
            reply.wait_as(texts.waiting(ahead) if ahead else sign)

        try:
            async with self._model.stream(
                messages,
                max_completion_tokens=max_completion_tokens,
                toolbox=toolbox,
                on_retry=lambda retry: reply.say(texts.retrying(retry)),
                on_wait=on_wait,
            ) as deltas:
                sent.has_begun = True
                yield deltas
        except KimiError as error:
            sent.counts = sent.has_begun or isinstance(error, NoFirstEvent)
            raise


def _is_over(usage: Usage | None, max_completion_tokens: int) -> bool:
    return usage is not None and (usage.completion_tokens or 0) > max_completion_tokens


def _says_something(answer: Answer, toolbox: Toolbox) -> bool:
    """A call that nobody offered, or that was cut off, says nothing."""
    is_called = bool(answer.tool_calls) and bool(toolbox) and toolbox.may_call
    is_text = bool(answer.content.strip()) or answer.finish_reason == "content_filter"
    return is_text or (is_called and answer.finish_reason != "length")


def _showed_more(attempt: Attempt) -> bool:
    """Whether there was more than text."""
    return _showed_pictures(attempt) or _showed_steps(attempt)


def _showed_steps(attempt: Attempt) -> bool:
    """An endpoint may want the tools of earlier calls declared, which are for reviews."""
    messages = attempt.reading.messages if attempt.reading else ()
    return any(message["role"] == "tool" for message in messages)


def _showed_pictures(attempt: Attempt) -> bool:
    return attempt.reading is not None and has_pictures(attempt.reading.messages)


def notes(attempt: Attempt) -> list[str]:
    """Why a finished answer is not the whole answer; a daily limit has words of its own."""
    reason = attempt.answer.finish_reason if attempt.answer else None
    if reason == "length" and attempt.cut_by is None:
        return [texts.REACHED_LIMIT]
    return [texts.DECLINED] if reason == "content_filter" else []


def is_same_model(model: Model, claim: Claim) -> bool:
    """Whether the thread was answered by this model before, or never."""
    return (claim.provider or model.provider, claim.model or model.model) == (
        model.provider,
        model.model,
    )
