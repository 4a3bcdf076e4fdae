"""Reasoning as one person sees it: in few messages, safe, and with a word on what is missing."""

from __future__ import annotations

import pytest

from kimibot import texts
from kimibot.conversation import Thread
from kimibot.pacing import Pacing
from kimibot.sandbox.slack import BOT_TOKEN, TEAM_ID, local_slack
from kimibot.slack.web_api import WebApi, open_web_api
from kimibot.slack.whispers import MOST_MESSAGES, SlackWhispers, reasoning_views
from kimibot.views import Style

LIMITS = {Style.MARKDOWN: 9_000, Style.PLAIN: 3_900}


@pytest.mark.parametrize("style", Style)
def test_short_reasoning_is_one_message_that_says_what_it_is(style: Style) -> None:
    [view] = reasoning_views("First I look.\n\nThen I think.", style)

    assert "First I look." in view.body
    assert view.note == texts.REASONING_IS_YOURS


@pytest.mark.parametrize("style", Style)
def test_long_reasoning_is_cut_into_messages_that_slack_takes(style: Style) -> None:
    size = 3 * LIMITS[style]
    reasoning = "So it is. " * (size // 10)

    views = list(reasoning_views(reasoning, style))

    assert 1 < len(views) <= MOST_MESSAGES
    assert all(len(view.body.encode()) <= LIMITS[style] for view in views)
    assert " ".join(view.body for view in views) == reasoning.strip()
    assert [bool(view.note) for view in views] == [False] * (len(views) - 1) + [True]


@pytest.mark.parametrize("style", Style)
def test_endless_reasoning_ends_with_the_number_of_characters_that_are_left_out(
    style: Style,
) -> None:
    reasoning = "So it is. " * 100_000

    views = list(reasoning_views(reasoning, style))

    assert len(views) == MOST_MESSAGES
    seen = sum(len(view.body) + 1 for view in views)
    assert views[-1].note == texts.reasoning_left_out(1_000_000 - seen)


async def test_it_goes_out_as_plain_text_where_slack_refuses_the_blocks_and_pings_nobody() -> None:
    async with (
        local_slack() as slack,
        open_web_api(BOT_TOKEN, base_url=slack.api_url, timeout_seconds=8) as client,
    ):
        ts = await slack.say("ana", "#dev", "@kimibot why?")
        channels = (await slack.state())["channels"]
        dev = next(str(one["id"]) for one in channels if one.get("name") == "dev")
        whispers = SlackWhispers(WebApi(client, Pacing()), Pacing())
        await slack.fail("chat.postEphemeral", "invalid_blocks", only_with="blocks")
        await whispers.show_reasoning(
            Thread(TEAM_ID, dev, ts), "U0ANA0001", "<!here> & <@U0BO00001>"
        )

        [message] = await slack.ephemerals("ana")
        assert message["text"].startswith("&lt;!here&gt; &amp; &lt;@U0BO00001&gt;\n\n")
        assert await slack.pings() == []
