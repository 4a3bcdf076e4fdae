"""Our own words are escaped, and show a time in the reader's own time zone."""

from __future__ import annotations

from datetime import date

import pytest

from kimibot import texts
from kimibot.allowance import Limit, Taken, Whose
from kimibot.slack.dates import with_dates, without_dates

DATE = "<!date^1796083200^{date_short_pretty} at {time}|at 00:00 UTC>"


def test_a_time_is_left_for_slack_to_show() -> None:
    assert with_dates(f"1 < 2 & {DATE}.") == f"1 &lt; 2 &amp; {DATE}."


def test_where_slack_shows_no_times_the_one_in_utc_stands() -> None:
    assert (
        without_dates(f"The count starts again {DATE}.") == "The count starts again at 00:00 UTC."
    )


@pytest.mark.parametrize(
    "text",
    [
        "<!channel>",
        "<!here|at 00:00 UTC>",
        "<@U0ANA0001>",
        "<!subteam^S1|x>",
        "<!date^1^{time}^https://example.com|x>",
        "<!date^1^{time}|<!here>",
        "<!date^1^<!here>|x>",
    ],
)
def test_nothing_else_of_slacks_markup_gets_through(text: str) -> None:
    shown = with_dates(text)

    assert "<" not in shown
    assert without_dates(text) == text


@pytest.mark.parametrize("whose", Whose)
def test_every_text_about_a_days_tokens_has_its_time_shown(whose: Whose) -> None:
    limit, day = Limit(whose, 10_000, Taken(9_000, 0)), date(2026, 11, 30)

    for told in (
        texts.used_up(limit, day),
        texts.nearly_used_up(limit, day),
        texts.reached_daily_limit(limit, day),
    ):
        assert DATE in with_dates(told)
