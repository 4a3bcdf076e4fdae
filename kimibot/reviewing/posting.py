"""Puts a review that was shown in a thread on its pull request, and says what has become of it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from kimibot import failures
from kimibot.attempt import Attempt
from kimibot.closing import try_again
from kimibot.errors import GitHubError, NotPosted
from kimibot.reply.live_reply import LiveReply
from kimibot.review import phrases, postable
from kimibot.review.postable import Postable, Posted
from kimibot.review.rounds import read_findings
from kimibot.reviewing.gathering import Guests
from kimibot.stop_signal import StopRequested
from kimibot.turns import Kind, Turn

log = logging.getLogger(__name__)


class PullRequests(Protocol):
    """GitHub, as far as it is written to."""

    async def post(
        self,
        review: Postable,
        *,
        is_guest: bool,
        sure: Callable[[], Awaitable[None]],
        is_taken_over: bool,
    ) -> Posted:
        """Puts a review there, or finds that it is there. It is there once, however often and by
        whomever this is called; `sure` returns once nobody else may be at it, and what is taken
        over may still be on its way there. Raises GitHubError and NotPosted."""


class Reviews(Protocol):
    """What our rows hold of reviews. Both raise DatabaseUnavailable."""

    async def review_of_part(self, thread_id: int, ts: str) -> Mapping[str, Any] | None:
        """What the review has found whose reply has this part."""

    async def no_problems(self, thread_id: int) -> Sequence[Mapping[str, Any]]:
        """The findings of a thread's reviews that people have said to be no problems."""


class Posting:
    """Nothing of it is a word of the model's to this thread, so none is kept as one."""

    def __init__(self, pulls: PullRequests, reviews: Reviews, guests: Guests) -> None:
        self._pulls = pulls
        self._reviews = reviews
        self._guests = guests

    async def post(self, attempt: Attempt, reply: LiveReply) -> None:
        """Post the review above the press, or say why not.

        It is stopped only before it is sent, as a review can't be taken back: who wanted that is
        told that it was too late. Raises StopRequested, after which nothing is there, SlackError
        and StorageError.
        """
        attempt.earlier = None
        reply.wait_as(phrases.under_way(phrases.POSTING))
        try:
            told = await self._post(attempt)
        except (GitHubError, NotPosted) as error:
            await _explain(attempt, reply, error)
            return
        attempt.tell()
        await reply.finish(*told)

    async def _post(self, attempt: Attempt) -> tuple[str, str]:
        """What is to be said of it then, and below that. Raises as `post`, and GitHubError and
        NotPosted."""
        review, turn = await self._review(attempt), attempt.turn
        if review is None:
            return phrases.GONE, ""
        posted = await self._pulls.post(
            review,
            is_guest=await self._guests.is_external(turn.asker, turn.asker_team),
            sure=partial(_sure, attempt),
            is_taken_over=turn.takeovers > 0,
        )
        return _told(attempt, posted)

    async def _review(self, attempt: Attempt) -> Postable | None:
        """As it is to be posted, None where it was not kept."""
        thread_id = attempt.claim.thread_id
        stored = await self._reviews.review_of_part(thread_id, attempt.turn.ts)
        review = postable.read(stored or {})
        if review is None:
            return None
        no_problems = await self._reviews.no_problems(thread_id)
        return postable.without(review, read_findings(no_problems))


async def _explain(attempt: Attempt, reply: LiveReply, error: GitHubError | NotPosted) -> None:
    attempt.fail(error.name, attempt.turn.id)
    details: dict[str, object] = {"error_code": error.name, "detail": str(error)}
    log.warning("review not posted", extra=attempt.ids | details)
    note = failures.not_posted(error)
    await reply.finish("", note.text, *([try_again(attempt.turn)] if note.can_retry else []))


def may_have_posted(turn: Turn) -> bool:
    """Whether an attempt before this one may have put a review there, whatever is wanted now."""
    return turn.kind is Kind.POST and turn.attempt > 1


async def _sure(attempt: Attempt) -> None:
    """The last moment at which nothing has been sent."""
    await attempt.lease.sure()
    if attempt.signal.requested is not None:
        raise StopRequested(attempt.signal.requested)


def _told(attempt: Attempt, posted: Posted) -> tuple[str, str]:
    """What an earlier attempt has put there was put there by this very press."""
    link = f"[{posted.full_name}#{posted.number}]({posted.url})"
    if not posted.is_new and not may_have_posted(attempt.turn):
        return phrases.posted_already(link), ""
    text = phrases.posted(
        link, at_lines=posted.at_lines, in_text=posted.in_text, standing=posted.standing
    )
    return text, phrases.STOPPED_TOO_LATE if attempt.signal.requested else ""
