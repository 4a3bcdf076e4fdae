"""What a turn has to know: our rows of the thread, what Slack can add, and the names of all."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from kimibot import history, texts
from kimibot.answers import Answer
from kimibot.attempt import Attempt
from kimibot.conversation import Excerpt, Message, Remembered, Speaker, Thread
from kimibot.errors import SlackError
from kimibot.turns import Claim, Kind

log = logging.getLogger(__name__)

UNREAD = "unread"
"""That not all of the thread was to be had: it is told so once."""

OVERLAP_SECONDS = 600.0
"""Slack delivers an event once more after six minutes: https://docs.slack.dev/apis/events-api"""


class Rows(Protocol):
    """What is kept of a thread. Both raise DatabaseUnavailable."""

    async def recall(self, thread_id: int) -> list[Remembered]:
        """Its messages up to the newest ask that runs: what was sent to the model, in that order,
        then the rest by time."""

    async def add_messages(self, thread_id: int, messages: Sequence[Message]) -> None:
        """Keep those that are not there yet."""


class Sources(Protocol):
    """What Slack can add."""

    async def names(self, ids: Collection[str]) -> Mapping[str, str]:
        """Names of people, as far as they are to be had soon. Never fails."""

    async def read_thread(self, thread: Thread, since_ts: str, until_ts: str) -> Excerpt:
        """What others have said in it after `since_ts`, or as much of it as is to be had soon: the
        newest before `until_ts` first. Raises SlackError."""

    def connected_since(self) -> float:
        """Since when we have heard every event, in seconds since the epoch."""


class NothingLeft(Exception):
    """What was to be continued was forgotten or deleted meanwhile."""


class Recalling:
    """Reads a thread for the model, without a hole as far as Slack allows."""

    def __init__(
        self,
        rows: Rows,
        sources: Sources,
        *,
        system_prompt: str,
        is_same_model: Callable[[Claim], bool],
        takes_images: bool,
        now: Callable[[], datetime],
    ) -> None:
        self._rows = rows
        self._sources = sources
        self._system_prompt = system_prompt
        self._is_same_model = is_same_model
        self._takes_images = takes_images
        self._now = now

    async def recall(self, attempt: Attempt) -> list[Remembered]:
        """Our rows of the thread; Slack fills in what was said when we were not there.

        Raises NothingLeft where there is no answer left to go on with.
        """
        claim, looked_at = attempt.claim, self._now()
        remembered = await self._rows.recall(claim.thread_id)
        if self._has_gaps(claim, remembered):
            if await self._fill_gaps(attempt, remembered):
                attempt.complete_at = looked_at
            remembered = await self._rows.recall(claim.thread_id)
        else:
            attempt.complete_at = looked_at
        if not _has_what_is_continued(claim, remembered):
            raise NothingLeft
        attempt.instruction = attempt.instruction or _about_ours(claim, remembered)
        return _to_be_read(claim, remembered)

    async def _fill_gaps(self, attempt: Attempt, remembered: Sequence[Remembered]) -> bool:
        """Whether all is there now; if it is not, the thread is told so once."""
        claim = attempt.claim
        until_ts = max(turn.ts for turn in claim.turns)
        try:
            excerpt = await self._sources.read_thread(
                claim.thread, _since(claim, remembered), until_ts
            )
        except SlackError as error:
            log.warning("thread not read: %s", error, extra=attempt.ids)
            attempt.tell_once(UNREAD, texts.HISTORY_UNREAD)
            return False
        if not excerpt.is_whole:
            log.warning("thread read in part", extra=attempt.ids | {"messages": excerpt.count})
            attempt.tell_once(UNREAD, texts.history_in_part(excerpt.count, excerpt.part))
        await self._rows.add_messages(claim.thread_id, excerpt.messages)
        return excerpt.is_whole

    async def read(
        self,
        attempt: Attempt,
        remembered: Sequence[Remembered],
        budget_tokens: int,
        *,
        is_plain: bool = False,
    ) -> history.Reading:
        """What is sent to the model, within the budget; it is told of what is missing.

        With `is_plain` that is text alone: no pictures, and no steps to earlier answers.
        """
        claim = attempt.claim
        names = await self._sources.names(history.named_in(remembered))
        return history.read(
            self._system_prompt,
            remembered,
            budget_tokens=budget_tokens,
            name_of=lambda id_: names.get(id_, id_),
            with_reasoning=self._is_same_model(claim),
            open_ts={turn.ts for turn in claim.turns if not turn.pressed},
            with_images=self._takes_images and not is_plain,
            with_steps=not is_plain,
            replaced_ts={ts for turn in claim.turns for ts in turn.reply_ts},
            instruction=attempt.instruction or texts.INSTRUCTIONS.get(claim.turns[0].kind, ""),
            is_missing_some=UNREAD in attempt.told,
        )

    async def earlier_answer(self, claim: Claim) -> Answer | None:
        """What an earlier attempt of the oldest turn has said before it was cut off."""
        reply_ts = claim.turns[0].reply_ts
        if claim.turns[0].attempt == 1 or not reply_ts:
            return None
        for message in await self._rows.recall(claim.thread_id):
            if message.speaker is Speaker.US and message.ts in reply_ts:
                return Answer(message.text, raw=message.raw or {})
        return None

    def _has_gaps(self, claim: Claim, remembered: Sequence[Remembered]) -> bool:
        """The thread began before us, or something may have been said while we heard nothing.

        A thread whose root we have, and in which we have heard everything since, has none. What
        is to stay forgotten is not missed.
        """
        begins_ts = claim.forgotten_ts or claim.thread.root_ts
        if not claim.forgotten_ts and all(message.ts != begins_ts for message in remembered):
            return True
        complete_at = claim.complete_at.timestamp() if claim.complete_at else 0.0
        return max(float(begins_ts), complete_at) < self._sources.connected_since()


def _has_what_is_continued(claim: Claim, remembered: Sequence[Remembered]) -> bool:
    turn = claim.turns[0]
    if turn.kind is Kind.ABOUT and turn.pressed:
        return _answer_at(remembered, turn.ts) is not None
    is_there = any(one.speaker is Speaker.US and one.ts <= turn.ts for one in remembered)
    return is_there or turn.kind is not Kind.CONTINUE


def _about_ours(claim: Claim, remembered: Sequence[Remembered]) -> str:
    """What the model is told where an answer of ours is asked about, which it may have to find."""
    turn = claim.turns[0]
    tell = {Kind.ABOUT: texts.about_ours, Kind.REVIEW_MESSAGE: texts.review_ours}.get(turn.kind)
    answer = _answer_at(remembered, turn.ts) if turn.pressed and tell else None
    return tell(answer.text) if tell and answer else ""


def _answer_at(remembered: Sequence[Remembered], ts: str) -> Remembered | None:
    ours = (one for one in remembered if one.speaker is Speaker.US and one.ts == ts)
    return next(ours, None)


def _to_be_read(claim: Claim, remembered: Sequence[Remembered]) -> list[Remembered]:
    """Without the words to the bot itself, and without what came after the asks to be answered:
    an ask among it would be answered here, and once more by its own turn."""
    newest_ts = max(turn.ts for turn in claim.turns)

    def comes_after(message: Remembered) -> bool:
        is_new = message.place is None and message.speaker is not Speaker.US
        return is_new and message.ts > newest_ts

    return [one for one in remembered if one.is_for_model and not comes_after(one)]


def _since(claim: Claim, remembered: Sequence[Remembered]) -> str:
    """From where on something may be missing, as Slack writes times; "" where it may be all.

    Our clock and Slack's may differ, and an event may have been under way.
    """
    begins_ts = claim.forgotten_ts or claim.thread.root_ts
    is_begun = claim.forgotten_ts or any(message.ts == begins_ts for message in remembered)
    if claim.complete_at is None or not is_begun:
        return claim.forgotten_ts
    return max(begins_ts, f"{claim.complete_at.timestamp() - OVERLAP_SECONDS:.6f}")
