"""What people are told of our limits is what holds."""

from __future__ import annotations

import pytest

from kimibot import failures, texts
from kimibot.attachments import Unread
from kimibot.closing import MOST_TAKEOVERS
from kimibot.errors import AccessRefused, GitHubError, GitHubLimited, NotPosted, Unposted
from kimibot.fetching import MOST_FILES
from kimibot.files.images import MOST_PIXELS
from kimibot.slack.files import MOST_BYTES


def test_the_limits_of_files_are_told_as_they_are() -> None:
    [too_many, too_large] = failures.unread_files(
        [("a.py", Unread.TOO_MANY), ("b.py", Unread.TOO_LARGE)]
    )

    assert f"{MOST_FILES} files" in too_many
    assert f"{MOST_BYTES // 1024**2} MB" in too_large
    assert f"{MOST_PIXELS // 1_000_000} megapixels" in too_large


def test_a_turn_is_given_up_after_as_many_tries_as_it_says() -> None:
    words = {2: "twice", 3: "three times", 4: "four times"}

    assert words[MOST_TAKEOVERS] in texts.GIVEN_UP


def posting_faults() -> list[GitHubError | NotPosted]:
    of_github = [kind() for kind in GitHubError.__subclasses__()]
    return [*of_github, *(NotPosted(why) for why in Unposted)]


@pytest.mark.parametrize("fault", posting_faults(), ids=lambda one: getattr(one, "why", one).name)
def test_a_review_that_is_not_posted_is_told_with_the_way_out(
    fault: GitHubError | NotPosted,
) -> None:
    """What to do now, and the button where doing it can help."""
    note = failures.not_posted(fault)

    assert note.can_retry == ("try again" in note.text.lower() or "can change" in note.text)
    assert any(way in note.text for way in ("admin", "ry again", "review it again"))
    assert failures.PASTE_INSTEAD not in note.text


def test_what_a_token_lacks_and_how_long_a_limit_lasts_is_told() -> None:
    refused, limited = AccessRefused("x"), GitHubLimited("x")
    refused.needed = "pull_requests=write"
    limited.retry_after_seconds = 61.0

    assert "needs: pull_requests=write." in failures.not_posted(refused).text
    assert failures.not_posted(limited).text.endswith("try again in 2 min.")
