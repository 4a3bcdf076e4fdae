"""What people are told of our limits is what holds."""

from __future__ import annotations

from kimibot import failures, texts
from kimibot.attachments import Unread
from kimibot.closing import MOST_TAKEOVERS
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
