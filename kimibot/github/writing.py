"""Puts a review on its pull request, once, whatever becomes of the answer.

GitHub knows no key for that: our marker in the text is looked for before and after all that is
sent. https://docs.github.com/en/rest/pulls/reviews
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import TypeAdapter

from kimibot.errors import (
    AccessRefused,
    GitHubError,
    GitHubFault,
    GitHubUnreachable,
    NotPosted,
    RepositoryRefused,
    Unposted,
)
from kimibot.github.access import Access
from kimibot.github.drafting import Draft, drafted, in_one_text, marker
from kimibot.github.facts import (
    COMMENTS,
    REVIEWS,
    Author,
    CommentShape,
    PullShape,
    ReviewShape,
    as_faults,
)
from kimibot.github.fetching import Fetching, RepositoryMoved, Sleep
from kimibot.github.standing import without_standing
from kimibot.review.postable import Postable, Posted

LOOK_AGAIN_SECONDS = (1.0, 4.0, 6.0)
"""GitHub ends a request after 10 s: a review that is not there then never will be."""

TAKEN_OVER_SECONDS = (1.0, 4.0, 8.0)
"""The same for who can't know when it was sent: it may have taken a while until it was."""

BETWEEN_WRITES_SECONDS = 1.0
"""https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api"""

UNPROCESSABLE = 422

log = logging.getLogger(__name__)

Sure = Callable[[], Awaitable[None]]
"""Returns once nobody else may be at the same work."""

Result = TypeVar("Result")
Shaped = TypeVar("Shaped", CommentShape, ReviewShape)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where it goes, for whom, and under whose name: "" where GitHub does not say that of its
    apps. `sure` is awaited right before anything is sent."""

    review: Postable
    full_name: str
    login: str
    is_guest: bool
    sure: Sure

    @property
    def pull_path(self) -> str:
        return f"/repos/{self.full_name}/pulls/{self.review.number}"

    def is_ours(self, author: Author | None) -> bool:
        return not self.login or (author is not None and author.login.lower() == self.login.lower())


class Writing:
    """Writes to GitHub: the only one that does."""

    def __init__(
        self, fetching: Fetching, access: Access, web_url: str, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._fetching = fetching
        self._access = access
        self._web_url = web_url
        self._sleep = sleep

    async def post(
        self, review: Postable, *, is_guest: bool, sure: Sure, is_taken_over: bool = False
    ) -> Posted:
        """The review as it is there now. Raises GitHubError, and NotPosted where GitHub can be
        reached but the review is not to be, or can't be, put there.

        What is being sent is not given up when this is cancelled: it could not be taken back. Where
        it `is_taken_over`, it may be on its way from somebody else.
        """
        login = await self._login(review, is_guest)
        place = _Place(review, review.full_name, login, is_guest, sure)
        reviews = await self._reviews(place, is_taken_over=is_taken_over)
        if there := _ours_among(reviews, place):
            place = await self._without_standing(place, reviews, there.id)
            return self._posted(place, there, await self._whole(place, there), is_new=False)
        place = await self._without_standing(await self._checked(place), reviews)
        if place.review.standing and not place.review.remarks:
            raise NotPosted(Unposted.STANDING)
        return await self._send(place)

    async def _reviews(self, place: _Place, *, is_taken_over: bool) -> list[ReviewShape]:
        """Those that are there: with ours, if somebody before us has sent it."""
        found = await self._all(place, "reviews", REVIEWS)
        for seconds in TAKEN_OVER_SECONDS if is_taken_over else ():
            if _ours_among(found, place):
                break
            await self._sleep(seconds)
            found = await self._all(place, "reviews", REVIEWS)
        return found

    async def _login(self, review: Postable, is_guest: bool) -> str:
        self._check_access(review.full_name, is_guest)
        try:
            fetched = await self._fetching.get("/user", with_token=True)
        except AccessRefused:  # the token of an app is nobody's
            return ""
        with as_faults():
            return Author.model_validate_json(fetched.body).login

    def _check_access(self, full_name: str, is_guest: bool) -> None:
        if not self._access.may_post(full_name, is_guest=is_guest):
            raise RepositoryRefused("reviews are not posted there for this person")

    async def _look(self, place: _Place) -> ReviewShape | None:
        return _ours_among(await self._all(place, "reviews", REVIEWS), place)

    async def _without_standing(
        self, place: _Place, reviews: Sequence[ReviewShape], own_id: int = 0
    ) -> _Place:
        """The place with what no other review of ours has said there: what stands at a line of now
        or in a text. Where GitHub does not say who we are, nothing is known to be ours."""
        if not (place.login and place.review.remarks):
            return place
        comments = await self._all(place, "comments", COMMENTS)
        ours = [one for one in comments if place.is_ours(one.user)]
        left = without_standing(
            place.review,
            [one for one in ours if one.pull_request_review_id != own_id],
            [one.body or "" for one in reviews if place.is_ours(one.user) and one.id != own_id],
        )
        return replace(place, review=left)

    async def _all(
        self, place: _Place, what: str, shapes: TypeAdapter[tuple[Shaped, ...]]
    ) -> list[Shaped]:
        found: list[Shaped] = []
        async for page in self._fetching.pages(f"{place.pull_path}/{what}", with_token=True):
            with as_faults():
                found += shapes.validate_json(page.body)
        return found

    async def _checked(self, place: _Place) -> _Place:
        """The place by the repository's name of now, if the pull request is as it was reviewed."""
        pull = await self._pull(place)
        name = pull.base.repo.full_name if pull.base.repo else place.full_name
        self._check_access(name, place.is_guest)
        if pull.merged:
            raise NotPosted(Unposted.MERGED)
        if pull.head.sha != place.review.head_sha:
            raise NotPosted(Unposted.MOVED)
        if pull.state != "open":
            raise NotPosted(Unposted.CLOSED)
        return replace(place, full_name=name)

    async def _pull(self, place: _Place) -> PullShape:
        fetched = await self._fetching.get(place.pull_path, with_token=True)
        with as_faults():
            return PullShape.model_validate_json(fetched.body)

    async def _send(self, place: _Place) -> Posted:
        """GitHub takes all comments or none, and does not say which one it minds."""
        try:
            return await self._sent(place, drafted(place.review))
        except GitHubFault as error:
            if error.status != UNPROCESSABLE:
                raise
            log.warning("review refused: %s", error.detail)
        if there := await self._look(place):
            return self._posted(place, there, await self._whole(place, there))
        return await self._send_without_comments(place)

    async def _send_without_comments(self, place: _Place) -> Posted:
        """Once more, with all that was found in the text."""
        place = await self._checked(place)
        await self._sleep(BETWEEN_WRITES_SECONDS)
        try:
            return await self._sent(place, in_one_text(place.review))
        except GitHubFault as error:
            if error.status == UNPROCESSABLE:
                raise NotPosted(Unposted.REFUSED) from error
            raise

    async def _sent(self, place: _Place, draft: Draft) -> Posted:
        """Sent once, to where the repository is."""
        try:
            return await self._sent_there(place, draft)
        except RepositoryMoved:
            return await self._sent_there(await self._checked(place), draft)

    async def _sent_there(self, place: _Place, draft: Draft) -> Posted:
        """Between two such steps nothing is on its way, and somebody else may go on."""
        await place.sure()
        return await _to_its_end(self._written_or_found(place, draft))

    async def _written_or_found(self, place: _Place, draft: Draft) -> Posted:
        """Where it is not known what has become of it, it is looked for."""
        try:
            there = await self._written(place, draft)
        except (GitHubUnreachable, GitHubFault) as error:
            if error.status is not None and 300 <= error.status < 500:
                raise
            there = await self._found_again(place, error)
            draft = await self._whole(place, there)
        return self._posted(place, there, draft)

    async def _written(self, place: _Place, draft: Draft) -> ReviewShape:
        try:
            return await self._write(place, draft)
        except AccessRefused as error:
            if (await self._pull(place)).locked:
                raise NotPosted(Unposted.LOCKED) from error
            raise

    async def _write(self, place: _Place, draft: Draft) -> ReviewShape:
        fetched = await self._fetching.write("POST", f"{place.pull_path}/reviews", draft.payload)
        with as_faults():
            return ReviewShape.model_validate_json(fetched.body)

    async def _found_again(self, place: _Place, error: GitHubError) -> ReviewShape:
        """Nothing is sent a second time: who asked for it may, and it is looked for first then."""
        for seconds in LOOK_AGAIN_SECONDS:
            await self._sleep(seconds)
            try:
                there = await self._look(place)
            except GitHubError:  # also a limit: what has become of it is not known all the same
                continue
            if there is not None:
                return there
        raise NotPosted(Unposted.UNCLEAR) from error

    async def _whole(self, place: _Place, there: ReviewShape) -> Draft:
        """What of the review stands where. Of one that was refused for its comments, the text was
        seen to stay behind alone: then it gets what was to stand at lines.

        (max-sixty/tend#123; others saw nothing stay.)
        """
        draft, path = drafted(place.review), f"{place.pull_path}/reviews/{there.id}"
        if not draft.comments:
            return draft
        fetched = await self._fetching.get(f"{path}/comments", with_token=True)
        with as_faults():
            if COMMENTS.validate_json(fetched.body):
                return draft
        whole = in_one_text(place.review)
        if there.body != whole.body:
            await self._fetching.write("PUT", path, {"body": whole.body})
        return whole

    def _posted(
        self, place: _Place, there: ReviewShape, draft: Draft, *, is_new: bool = True
    ) -> Posted:
        """The address is made here: what GitHub says of itself is not to be a link of ours."""
        number = place.review.number
        url = f"{self._web_url}/{place.full_name}/pull/{number}#pullrequestreview-{there.id}"
        at_lines = len(draft.comments)
        return Posted(
            full_name=place.full_name,
            number=number,
            url=url,
            is_new=is_new,
            at_lines=at_lines,
            in_text=len(place.review.remarks) - at_lines,
            standing=place.review.standing,
        )


def _ours_among(reviews: Sequence[ReviewShape], place: _Place) -> ReviewShape | None:
    """Our review where it is there already. Raises NotPosted where another one of ours waits to be
    sent: GitHub takes no second one."""
    if ours := next((one for one in reviews if _is_it(one, place)), None):
        return ours
    if any(one.state == "PENDING" for one in reviews):  # those of others are not shown to us
        raise NotPosted(Unposted.PENDING)
    return None


def _is_it(found: ReviewShape, place: _Place) -> bool:
    """The marker alone could have been copied by anybody who has seen it."""
    is_same_commit = found.commit_id == place.review.head_sha
    return (
        place.is_ours(found.user) and is_same_commit and marker(place.review) in (found.body or "")
    )


async def _to_its_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Also when cancelled: only then is it known what others have to look for."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # looked at, so that asyncio does not report it once more
        raise
