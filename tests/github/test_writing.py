"""A review comes onto its pull request once, whatever GitHub says, or does not say."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial

import pytest

from kimibot.errors import (
    AccessRefused,
    ClaimLost,
    GitHubError,
    GitHubLimited,
    NotPosted,
    NotThere,
    RepositoryRefused,
    TokenRefused,
    Unposted,
)
from kimibot.github.client import GitHub, open_github
from kimibot.github.drafting import drafted, in_one_text, marker
from kimibot.github.submitting import Submissions
from kimibot.review import postable
from kimibot.review.addresses import Address
from kimibot.review.changes import Anchor, PullRequest, Side
from kimibot.review.findings import Finding
from kimibot.review.postable import Postable, Posted
from kimibot.review.report import summed_up
from kimibot.review.rounds import kept
from kimibot.review.said import Severity
from kimibot.sandbox.github import (
    GITHUB_TOKEN,
    LocalGitHub,
    LocalPull,
    LocalRepository,
    Order,
    local_github,
)
from kimibot.sandbox.github.reviewing import add_review

LINES = [b"line %d\n" % number for number in range(1, 61)]
OLD = {"a.py": b"".join(LINES)}
NEW = {"a.py": b"".join([*LINES[:19], b"changed\n", *LINES[20:40], *LINES[41:]])}
PULL = Address("acme", "shop", 7)
PLACES = {
    "added": Anchor("a.py", Side.NEW, 20),
    "removed": Anchor("a.py", Side.OLD, 20),
    "context": Anchor("a.py", Side.NEW, 18),
    "first of a hunk": Anchor("a.py", Side.NEW, 17),
    "last of a hunk": Anchor("a.py", Side.NEW, 43),
    "removed alone": Anchor("a.py", Side.OLD, 41),
    "before a hunk": Anchor("a.py", Side.NEW, 16),
    "after a hunk": Anchor("a.py", Side.NEW, 44),
    "context on the old side": Anchor("a.py", Side.OLD, 18),
}
OUTSIDE = ("before a hunk", "after a hunk", "context on the old side")
Opener = Callable[..., AbstractAsyncContextManager[GitHub]]


@pytest.fixture
async def local() -> AsyncIterator[LocalGitHub]:
    async with local_github() as github:
        github.add(LocalRepository("acme/shop", {7: LocalPull(OLD, NEW)}))
        yield github


async def at_once(_seconds: float = 0.0) -> None:
    """No test waits for what would pass."""


@pytest.fixture
def opened(local: LocalGitHub) -> Opener:
    return partial(
        open_github,
        api_url=local.api_url,
        token=GITHUB_TOKEN,
        patterns=("acme/*",),
        posts=True,
        sleep=at_once,
    )


def pull_of(local: LocalGitHub) -> LocalPull:
    return next(iter(local.repositories.values())).pulls[7]


def posts(local: LocalGitHub) -> int:
    return len(posted_to(local))


def posted_to(local: LocalGitHub) -> list[str]:
    return [one.path for one in local.requests if one.method == "POST"]


def found_at(anchor: Anchor, suggestion: str = "") -> Finding:
    return Finding(anchor, Severity.MAJOR, "Wrong", "It is.", "line", suggestion)


def review_of(pull: PullRequest, *findings: Finding) -> Postable:
    """As it comes back from where it was stored."""
    more = postable.kept(
        pull, (), findings, run="run1", verdict="So-so.", coverage="Read 1 of 1 file."
    )
    read = postable.read(json.loads(json.dumps(kept(findings, 0) | more)))
    assert read is not None
    return read


async def reviewed(github: GitHub, *places: str) -> Postable:
    """A review of the pull request as it is now, with a finding at each of the places."""
    material = await Submissions(github).read(PULL, "", is_guest=False)
    assert material.pull is not None
    return review_of(material.pull, *(found_at(PLACES[name]) for name in places))


async def post(opened: Opener, *places: str) -> tuple[Posted, Postable]:
    async with opened() as github:
        review = await reviewed(github, *places)
        return await github.writing.post(review, is_guest=False, sure=at_once), review


async def refusal(opened: Opener, local: LocalGitHub) -> NotPosted | GitHubError:
    """Why it was not posted; nothing of it may be there."""
    with pytest.raises((NotPosted, GitHubError)) as raised:
        await post(opened, "added")
    assert not [one for one in pull_of(local).reviews if "kimibot:review" in one["body"]]
    assert isinstance(raised.value, NotPosted | GitHubError)
    return raised.value


async def test_each_finding_stands_at_its_line_where_that_is_in_the_diff(
    local: LocalGitHub, opened: Opener
) -> None:
    posted, review = await post(opened, *PLACES)

    there = [(one["path"], one["side"], one["line"]) for one in pull_of(local).comments]
    inside = [anchor for name, anchor in PLACES.items() if name not in OUTSIDE]
    assert there == [(path, side.value, line) for path, side, line in inside]
    [on_github] = pull_of(local).reviews
    assert [f"`a.py:{PLACES[name].line}`" in on_github["body"] for name in OUTSIDE] == [True] * 3
    assert on_github["state"] == "COMMENTED"
    assert on_github["commit_id"] == pull_of(local).head_sha
    assert marker(review) in on_github["body"]
    assert posted == Posted(
        "acme/shop",
        7,
        f"{local.url}/acme/shop/pull/7#pullrequestreview-1000",
        at_lines=6,
        in_text=3,
    )
    assert posts(local) == 1


async def post_as(opened: Opener, run: str, *findings: Finding) -> Posted:
    """Another review of the same commit, from another thread or round."""
    async with opened() as github:
        pull = (await Submissions(github).read(PULL, "", is_guest=False)).pull
        assert pull is not None
        review = replace(review_of(pull, *findings), run=run)
        return await github.writing.post(review, is_guest=False, sure=at_once)


async def test_what_another_review_has_said_at_a_line_does_not_stand_there_twice(
    local: LocalGitHub, opened: Opener
) -> None:
    said = [found_at(PLACES[name]) for name in ("added", "before a hunk")]
    new = [replace(said[0], title="Quite another thing"), found_at(PLACES["removed"])]
    reworded = replace(said[0], title="This is wrong", severity=Severity.CRITICAL)
    await post_as(opened, "run1", *said)

    posted = await post_as(opened, "run2", reworded, said[1], *new)

    assert [one["line"] for one in pull_of(local).comments] == [20, 20, 20]
    assert (posted.is_new, posted.at_lines, posted.in_text, posted.standing) == (True, 2, 0, 2)
    second = pull_of(local).reviews[1]["body"]
    assert "a.py:16" not in second
    assert "2 findings left out: on the pull request already." in second


async def test_the_verdict_is_on_what_is_posted_where_some_of_it_stands_there_already(
    local: LocalGitHub, opened: Opener
) -> None:
    both = (found_at(PLACES["added"]), found_at(PLACES["removed"]))
    await post_as(opened, "run1", both[0])

    await post_as(opened, "run2", *both)

    first, second = (one["body"].split("\n")[0] for one in pull_of(local).reviews)
    assert (first, second) == ("**So-so.**", f"**{summed_up(both[1:])}**")


async def test_where_all_of_it_stands_there_nothing_is_posted(
    local: LocalGitHub, opened: Opener
) -> None:
    await post(opened, "added", "before a hunk")

    with pytest.raises(NotPosted) as raised:
        await post_as(opened, "run2", *(found_at(PLACES[n]) for n in ("added", "before a hunk")))

    assert raised.value.why is Unposted.STANDING
    assert posts(local) == 1


async def test_what_others_say_at_a_line_and_what_has_become_old_keeps_nothing_back(
    local: LocalGitHub, opened: Opener
) -> None:
    await post_as(opened, "run1", found_at(PLACES["added"]), found_at(PLACES["removed"]))
    of_mallory, old = pull_of(local).comments
    of_mallory["user"], old["line"] = {"login": "mallory"}, None

    posted = await post_as(opened, "run2", found_at(PLACES["added"]), found_at(PLACES["removed"]))

    assert (posted.at_lines, posted.standing) == (2, 0)


async def test_a_review_that_left_something_out_is_known_again_as_it_was_posted(
    local: LocalGitHub, opened: Opener
) -> None:
    both = (found_at(PLACES["added"]), found_at(PLACES["before a hunk"]))
    await post_as(opened, "run1", both[0])
    first = await post_as(opened, "run2", *both)
    body = pull_of(local).reviews[1]["body"]

    again = await post_as(opened, "run2", *both)

    assert (again.is_new, again.url) == (False, first.url)
    assert (again.at_lines, again.in_text, again.standing) == (0, 1, 1)
    assert pull_of(local).reviews[1]["body"] == body


async def test_a_review_that_is_there_is_not_posted_again(
    local: LocalGitHub, opened: Opener
) -> None:
    first, _ = await post(opened, "added")
    pull_of(local).reviews[:0] = [{"id": n, "state": "COMMENTED"} for n in range(150)]
    second, _ = await post(opened, "added")

    assert (first.is_new, second.is_new) == (True, False)
    assert first.url == second.url
    assert posts(local) == 1


async def test_a_marker_that_somebody_has_copied_is_not_taken_for_ours(
    local: LocalGitHub, opened: Opener
) -> None:
    async with opened() as github:
        review = await reviewed(github, "added")
        copied = {"id": 1, "state": "COMMENTED", "body": marker(review)}
        copied |= {"user": {"login": "mallory"}, "commit_id": review.head_sha}
        pull_of(local).reviews.append(copied)
        posted = await github.writing.post(review, is_guest=False, sure=at_once)

    assert posted.is_new
    assert len(pull_of(local).reviews) == 2


async def test_an_app_whose_login_is_not_told_finds_its_review_by_the_marker(
    local: LocalGitHub, opened: Opener
) -> None:
    local.login = ""
    await post(opened, "added")
    second, _ = await post(opened, "added")

    assert not second.is_new
    assert posts(local) == 1


@pytest.mark.parametrize(
    "lost",
    [
        {"status": 502},
        {"status": 500, "message": "Server Error"},
        {"status": 0},
        {"status": 200, "message": "nothing like a review"},
    ],
    ids=["bad gateway", "server error", "no answer", "unreadable"],
)
async def test_a_review_whose_answer_is_lost_is_found_and_not_posted_twice(
    lost: dict[str, str | int], local: LocalGitHub, opened: Opener
) -> None:
    local.orders.append(Order("reviews", int(lost["status"]), method="POST", is_late=True))
    posted, _ = await post(opened, "added", "before a hunk")

    assert (posted.is_new, posted.at_lines, posted.in_text) == (True, 1, 1)
    assert len(pull_of(local).reviews) == posts(local) == 1


async def test_a_review_that_was_not_taken_is_looked_for_but_not_sent_again(
    local: LocalGitHub, opened: Opener
) -> None:
    local.orders.append(Order("reviews", 502, method="POST"))
    error = await refusal(opened, local)

    assert isinstance(error, NotPosted)
    assert error.why is Unposted.UNCLEAR
    assert posts(local) == 1
    looks = [one for one in local.requests if one.path.endswith("/reviews")]
    assert len(looks) == 1 + 1 + 3, "once before, and three times after it was sent"


async def test_where_it_can_not_be_looked_for_either_nothing_is_claimed(
    local: LocalGitHub, opened: Opener
) -> None:
    local.orders.append(Order("reviews", 502, method="POST", is_late=True))
    limited = Order("reviews", 403, "API rate limit exceeded", {"retry-after": "60"}, times=0)
    local.orders.append(limited)
    local.on_review = lambda: setattr(limited, "times", 9)
    with pytest.raises(NotPosted) as raised:
        await post(opened, "added")
    limited.times = 0
    again, _ = await post(opened, "added")

    assert raised.value.why is Unposted.UNCLEAR
    assert not again.is_new
    assert posts(local) == 1


async def test_a_slow_answer_counts_as_none(local: LocalGitHub, opened: Opener) -> None:
    late = Order("reviews", 200, method="POST", is_late=True, delay_seconds=30.0)
    local.orders.append(late)
    posted, _ = await post(partial(opened, timeout_seconds=1.5), "added")

    assert posted.is_new
    assert len(pull_of(local).reviews) == 1


async def test_what_is_being_sent_is_not_given_up_when_the_turn_is(
    local: LocalGitHub, opened: Opener
) -> None:
    """Whoever goes on finds it then: with half of it under way, it would be posted twice."""
    sent = asyncio.Event()
    local.on_review = sent.set
    local.orders.append(Order("reviews", 502, method="POST", is_late=True, delay_seconds=0.2))
    async with opened() as github:
        review = await reviewed(github, "added")
        posting = asyncio.create_task(github.writing.post(review, is_guest=False, sure=at_once))
        await sent.wait()
        began = asyncio.get_running_loop().time()
        posting.cancel("draining")
        with pytest.raises(asyncio.CancelledError, match="draining"):
            await posting
        waited_seconds = asyncio.get_running_loop().time() - began
        again = await github.writing.post(review, is_guest=False, sure=at_once)

    assert waited_seconds > 0.1, "it went on before the answer was there"
    assert not again.is_new
    assert len(pull_of(local).reviews) == posts(local) == 1


async def test_nothing_is_sent_while_the_thread_may_be_somebody_elses(
    local: LocalGitHub, opened: Opener
) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    async with opened() as github:
        review = await reviewed(github, "added")
        posting = github.writing.post(review, is_guest=False, sure=never)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(posting, 0.3)

    assert posts(local) == 0


@pytest.mark.parametrize(
    "refused",
    [
        Order("reviews", 422, "Unprocessable Entity", method="POST"),
        Order("reviews", 301, "", {"Location": "/elsewhere"}, method="POST"),
    ],
    ids=["for its comments", "under its old name"],
)
async def test_before_it_is_sent_once_more_the_thread_must_still_be_ours(
    refused: Order, local: LocalGitHub, opened: Opener
) -> None:
    """Whoever has taken it over may have posted it by then."""

    async def sure_once() -> None:
        if posts(local):
            raise ClaimLost("turn")

    local.orders.append(refused)
    async with opened() as github:
        review = await reviewed(github, "added")
        with pytest.raises(ClaimLost):
            await github.writing.post(review, is_guest=False, sure=sure_once)

    assert posts(local) == 1
    assert pull_of(local).reviews == []


async def test_what_an_owner_before_may_still_be_sending_is_waited_for(
    local: LocalGitHub, opened: Opener
) -> None:
    """GitHub works on it for up to ten seconds after who has sent it was killed."""
    waited: list[float] = []
    sent: list[Postable] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            add_review(pull_of(local), drafted(sent[0]).payload)

    async with opened(sleep=wait) as github:
        sent.append(await reviewed(github, "added"))
        posted = await github.writing.post(
            sent[0], is_guest=False, sure=at_once, is_taken_over=True
        )

    assert not posted.is_new
    assert sum(waited) > 10
    assert posts(local) == 0
    assert len(pull_of(local).reviews) == 1


async def test_what_no_owner_before_has_sent_is_posted_after_all(
    local: LocalGitHub, opened: Opener
) -> None:
    async with opened() as github:
        review = await reviewed(github, "added")
        posted = await github.writing.post(review, is_guest=False, sure=at_once, is_taken_over=True)

    assert posted.is_new
    assert posts(local) == 1


async def test_after_newer_commits_nothing_is_posted(local: LocalGitHub, opened: Opener) -> None:
    async with opened() as github:
        review = await reviewed(github, "added")
        pull_of(local).new = NEW | {"b.py": b"1\n"}
        with pytest.raises(NotPosted) as raised:
            await github.writing.post(review, is_guest=False, sure=at_once)

    assert raised.value.why is Unposted.MOVED
    assert posts(local) == 0


async def test_a_push_while_a_change_is_read_leaves_no_lines_under_the_name_of_another_commit(
    local: LocalGitHub, opened: Opener
) -> None:
    def push(path: str, has_answered: bool) -> None:
        if has_answered and "/compare/" in path:
            pull_of(local).new = {"a.py": b"pushed\n" + NEW["a.py"]}

    local.watcher = push
    async with opened() as github:
        material = await Submissions(github).read(PULL, "", is_guest=False)

    pull = material.pull
    assert pull is not None
    assert next(line.content for _, line in material.files[0].places()) == b"pushed"
    assert pull.head_sha == pull_of(local).head_sha
    assert pull.head_sha in material.link_of(PLACES["added"])


async def test_what_was_posted_before_newer_commits_is_still_found(
    local: LocalGitHub, opened: Opener
) -> None:
    async with opened() as github:
        review = await reviewed(github, "added")
        await github.writing.post(review, is_guest=False, sure=at_once)
        pull_of(local).new = NEW | {"b.py": b"1\n"}
        again = await github.writing.post(review, is_guest=False, sure=at_once)

    assert not again.is_new


async def test_a_comment_that_github_refuses_costs_no_finding(
    local: LocalGitHub, opened: Opener
) -> None:
    local.orders.append(Order("reviews", 422, "Unprocessable Entity", method="POST"))
    posted, _ = await post(opened, "added", "removed")

    [there] = pull_of(local).reviews
    assert pull_of(local).comments == []
    assert there["body"].count("**Major: Wrong**") == 2
    assert (posted.at_lines, posted.in_text, posts(local)) == (0, 2, 2)


async def test_a_text_that_stays_behind_without_its_comments_gets_what_they_said(
    local: LocalGitHub, opened: Opener
) -> None:
    pull_of(local).keeps_refused_text = True
    async with opened() as github:
        pull = (await Submissions(github).read(PULL, "", is_guest=False)).pull
        assert pull is not None
        wrong = PullRequest(
            pull.full_name, 7, pull.head_sha, pull.places | {PLACES["after a hunk"]}
        )
        review = review_of(wrong, found_at(PLACES["after a hunk"]))
        posted = await github.writing.post(review, is_guest=False, sure=at_once)

    [there] = pull_of(local).reviews
    assert there["body"] == in_one_text(review).body
    assert (posted.at_lines, posted.in_text, posts(local)) == (0, 1, 1)


async def test_between_a_refusal_and_the_second_try_the_head_is_looked_at_again(
    local: LocalGitHub, opened: Opener
) -> None:
    async with opened() as github:
        review = await reviewed(github, "added")
        refused = Order("reviews", 422, "Unprocessable Entity", method="POST", is_late=True)
        local.orders.append(refused)

        def push() -> None:
            pull_of(local).reviews.clear()
            pull_of(local).new = NEW | {"b.py": b"1\n"}

        local.on_review = push
        with pytest.raises(NotPosted) as raised:
            await github.writing.post(review, is_guest=False, sure=at_once)

    assert raised.value.why is Unposted.MOVED
    assert posts(local) == 1


async def test_what_github_takes_in_no_form_is_given_up(local: LocalGitHub, opened: Opener) -> None:
    local.orders.append(Order("reviews", 422, "Validation Failed", method="POST", times=9))
    error = await refusal(opened, local)

    assert isinstance(error, NotPosted)
    assert error.why is Unposted.REFUSED
    assert posts(local) == 2


async def test_a_review_of_ours_that_was_never_sent_is_left_alone(
    local: LocalGitHub, opened: Opener
) -> None:
    stale = {"id": 5, "state": "PENDING", "body": "half", "user": {"login": local.login}}
    pull_of(local).reviews.append(stale)
    error = await refusal(opened, local)

    assert isinstance(error, NotPosted)
    assert error.why is Unposted.PENDING
    assert pull_of(local).reviews == [stale]
    assert posts(local) == 0


async def test_a_locked_conversation_is_told_from_a_missing_permission(
    local: LocalGitHub, opened: Opener
) -> None:
    pull_of(local).is_locked = True
    error = await refusal(opened, local)
    assert isinstance(error, NotPosted)
    assert error.why is Unposted.LOCKED

    pull_of(local).is_locked, local.may_not_write = False, True
    error = await refusal(opened, local)
    assert isinstance(error, AccessRefused)
    assert error.needed == "pull_requests=write"


@pytest.mark.parametrize(
    ("status", "headers", "kind"),
    [
        (401, {}, TokenRefused),
        (404, {}, NotThere),
        (410, {}, NotThere),
        (403, {"retry-after": "60"}, GitHubLimited),
        (429, {}, GitHubLimited),
    ],
)
async def test_other_refusals_are_what_they_are_and_end_it(
    status: int,
    headers: dict[str, str],
    kind: type[GitHubError],
    local: LocalGitHub,
    opened: Opener,
) -> None:
    local.orders.append(Order("reviews", status, "no", headers, method="POST"))

    assert type(await refusal(opened, local)) is kind
    assert posts(local) == 1


@pytest.mark.parametrize(("is_merged", "why"), [(False, Unposted.CLOSED), (True, Unposted.MERGED)])
async def test_a_closed_pull_request_is_left_alone(
    is_merged: bool, why: Unposted, local: LocalGitHub, opened: Opener
) -> None:
    async with opened() as github:
        review = await reviewed(github, "added")
        pull_of(local).state, pull_of(local).is_merged = "closed", is_merged
        with pytest.raises(NotPosted) as raised:
            await github.writing.post(review, is_guest=False, sure=at_once)

    assert raised.value.why is why
    assert posts(local) == 0


async def test_what_was_reviewed_while_it_was_closed_is_posted_once_it_is_open_again(
    local: LocalGitHub, opened: Opener
) -> None:
    pull_of(local).state = "closed"
    async with opened() as github:
        review = await reviewed(github, "added")
        pull_of(local).state = "open"
        posted = await github.writing.post(review, is_guest=False, sure=at_once)

    assert posted.is_new


async def test_a_repository_that_has_moved_gets_it_under_its_new_name(
    local: LocalGitHub, opened: Opener
) -> None:
    async with opened() as github:
        review = await reviewed(github, "added")
        pull = pull_of(local)
        local.repositories.clear()
        local.add(LocalRepository("acme/market", {7: pull}, moved_from="acme/shop"))
        posted = await github.writing.post(review, is_guest=False, sure=at_once)

    assert posted.full_name == "acme/market"
    assert len(pull.reviews) == 1


async def test_a_repository_that_has_moved_out_of_what_is_allowed_gets_nothing(
    local: LocalGitHub, opened: Opener
) -> None:
    async with opened() as github:
        review = await reviewed(github, "added")
        pull = pull_of(local)
        local.repositories.clear()
        local.add(LocalRepository("other/shop", {7: pull}, moved_from="acme/shop"))
        with pytest.raises(RepositoryRefused):
            await github.writing.post(review, is_guest=False, sure=at_once)

    assert posts(local) == 0


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_that_keeps_the_method_is_followed_on_the_same_host(
    status: int, local: LocalGitHub, opened: Opener
) -> None:
    there = {"Location": f"{local.api_url}/repositories/7/pulls/7/reviews"}
    local.orders.append(Order("/repos/acme/shop/pulls/7/reviews", status, "", there, 1, "POST"))
    posted, _ = await post(opened, "added")

    assert posted.is_new
    assert len(pull_of(local).reviews) == 1
    assert posted_to(local)[1:] == ["/repositories/7/pulls/7/reviews"]


@pytest.mark.parametrize("status", [301, 302])
async def test_after_any_other_redirect_the_name_is_asked_for_once_more(
    status: int, local: LocalGitHub, opened: Opener
) -> None:
    there = {"Location": f"{local.api_url}/repositories/7/pulls/7/reviews"}
    local.orders.append(Order("reviews", status, "", there, method="POST"))
    posted, _ = await post(opened, "added")

    assert posted.is_new
    assert len(pull_of(local).reviews) == 1
    assert posted_to(local)[1:] == ["/repos/acme/shop/pulls/7/reviews"]


async def test_the_token_goes_to_no_other_host(local: LocalGitHub, opened: Opener) -> None:
    async with local_github() as other:
        there = {"Location": f"{other.api_url}/repos/acme/shop/pulls/7/reviews"}
        local.orders.append(Order("reviews", 307, "", there, method="POST"))
        await refusal(opened, local)

        assert other.requests == []


async def test_nothing_is_posted_for_guests_and_where_it_is_not_switched_on(
    local: LocalGitHub, opened: Opener
) -> None:
    async with opened() as github:
        review = await reviewed(github, "added")
        guests = await Submissions(github).read(PULL, "", is_guest=True)
        with pytest.raises(RepositoryRefused):
            await github.writing.post(review, is_guest=True, sure=at_once)
    async with opened(posts=False) as github:
        off = await Submissions(github).read(PULL, "", is_guest=False)
        with pytest.raises(RepositoryRefused):
            await github.writing.post(review, is_guest=False, sure=at_once)

    assert guests.pull is off.pull is None
    assert posts(local) == 0


@pytest.mark.parametrize(
    ("address", "switched", "is_merged"),
    [
        (PULL, {"token": ""}, False),
        (PULL, {"patterns": ()}, False),
        (PULL, {}, True),
        (Address("acme", "shop", None, (LocalPull(OLD, NEW).head_sha,)), {}, False),
        (Address("acme", "shop", 7, (LocalPull(OLD, NEW).head_sha,)), {}, False),
    ],
    ids=["no token", "no repositories", "merged", "a commit", "a commit of it"],
)
async def test_only_a_pull_request_as_a_whole_that_is_not_merged_can_get_one(
    address: Address,
    switched: dict[str, str],
    is_merged: bool,
    local: LocalGitHub,
    opened: Opener,
) -> None:
    pull_of(local).is_merged = is_merged
    async with opened(**switched) as github:
        material = await Submissions(github).read(address, "", is_guest=False)

    assert material.pull is None


async def test_where_the_hunks_were_made_here_no_line_is_sure_to_be_in_the_diff(
    local: LocalGitHub, opened: Opener
) -> None:
    pull_of(local).new = NEW | {f"z{n}.py": b"1\n" for n in range(300)}
    local.patch_budget = 0
    async with opened() as github:
        material = await Submissions(github).read(PULL, "", is_guest=False)

    assert material.files[0].hunks
    assert material.pull is not None
    assert material.pull.places == frozenset()


async def test_what_is_read_above_a_change_is_no_line_of_its_diff(
    local: LocalGitHub, opened: Opener
) -> None:
    body = [b"    x%d = %d\n" % (n, n) for n in range(20)]
    pull_of(local).old = {"a.py": b"".join([b"def take():\n", *body])}
    pull_of(local).new = {"a.py": b"".join([b"def take():\n", *body[:15], b"    y = 1\n"])}
    async with opened() as github:
        material = await Submissions(github).read(PULL, "", is_guest=False)

    read = {anchor for file in material.files for anchor, _ in file.places()}
    above = Anchor("a.py", Side.NEW, 1)
    assert material.pull is not None
    assert above in read
    assert above not in material.pull.places
    assert material.pull.places < read


async def test_no_token_and_nothing_of_the_review_is_logged(
    local: LocalGitHub, opened: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    local.orders.append(Order("reviews", 422, "Unprocessable Entity", method="POST"))
    with caplog.at_level(logging.INFO, logger="kimibot"):
        _, review = await post(opened, "added")

    assert "review refused" in caplog.text
    for secret in (GITHUB_TOKEN, "Wrong", drafted(review).body[:20]):
        assert secret not in caplog.text
