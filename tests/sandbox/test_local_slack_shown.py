"""The local Slack tells what the readers of a message see, and whom it pings."""

from __future__ import annotations

from typing import Any

import pytest

from kimibot.sandbox.slack.shown import markdown_mentions, shown
from tests.sandbox.slack_app import DEV, actions, button, markdown, section, slack_and_app


@pytest.mark.parametrize(
    ("source", "pings"),
    [
        ("hi <!channel>", ["<!channel>"]),
        ("hi <!here|here>", ["<!here|here>"]),
        ("hi <@U0ANA0001>", ["<@U0ANA0001>"]),
        ("hi <!subteam^S0TEAM|@team>", ["<!subteam^S0TEAM|@team>"]),
        ("hi &lt;!channel>", []),
        ("hi `<!channel>`", []),
        ("hi ``a ` <!channel>``", []),
        ("hi `<!channel>", ["<!channel>"]),
        ("`a` <!here> `<!here>`", ["<!here>"]),
        ("```\n<!channel>\n```", []),
        ("~~~~ts\n<!channel>\n```\n~~~~", []),
        ("```\n<!channel>", ["<!channel>"]),
        ("```\n<!channel>\n``", ["<!channel>"]),
        ("1. x\n   ```\n   <!channel>\n   ```", []),
        ("> ```\n> <!channel>\n> ```", []),
        ("    <!channel>", ["<!channel>"]),
        ("<#C0DEV0001> <T> @here", []),
    ],
)
def test_a_markdown_block_pings_outside_code_only(source: str, pings: list[str]) -> None:
    assert markdown_mentions(source) == pings


@pytest.mark.parametrize(
    ("message", "pings"),
    [
        ({"text": "<!channel>"}, ("<!channel>",)),
        ({"text": "&lt;!channel&gt;"}, ()),
        ({"text": "<!here>", "blocks": [markdown("quiet")]}, ("<!here>",)),
        ({"text": "", "blocks": [section("<@U0ANA0001>")]}, ("<@U0ANA0001>",)),
        ({"text": "", "blocks": [actions(button("a", "<!here>"))]}, ()),
        ({"text": "", "attachments": [{"text": "<!here>"}]}, ("<!here>",)),
    ],
)
def test_every_part_of_a_message_can_ping(message: dict[str, Any], pings: tuple[str, ...]) -> None:
    assert shown(message).pings == pings


def test_mentions_in_rich_text_ping_and_its_plain_text_does_not() -> None:
    parts = [
        {"type": "text", "text": "<!channel>"},
        {"type": "user", "user_id": "U0ANA0001"},
        {"type": "broadcast", "range": "here"},
    ]
    block = {
        "type": "rich_text",
        "elements": [{"type": "rich_text_section", "elements": parts}],
    }

    assert sorted(shown({"text": "", "blocks": [block]}).pings) == ["<!here>", "<@U0ANA0001>"]


def test_readers_see_entities_decoded_once_and_code_as_it_is() -> None:
    source = "a &lt;b&gt; &amp;lt; `x &amp; y`\n```\n&lt;T&gt;\n```"

    assert shown({"text": "", "blocks": [markdown(source)]}).text == (
        "a <b> &lt; `x &amp; y`\n```\n&lt;T&gt;\n```"
    )
    assert shown({"text": "1 &lt; 2 <https://a.io|A>"}).text == "1 < 2 A"


def test_buttons_are_not_part_of_the_text() -> None:
    seen = shown({"text": "t", "blocks": [markdown("m"), actions(button("stop", "Stop"))]})

    assert seen.text == "m"
    assert seen.buttons == ("Stop",)


async def test_pings_of_the_bot_are_counted_and_those_of_people_are_not() -> None:
    async with slack_and_app() as (slack, web):
        await slack.say("ana", "#dev", "<!channel>")
        ts = (await web.chat_postMessage(channel=DEV, text="fine"))["ts"]
        await web.chat_update(channel=DEV, ts=ts, text="<!here>")

        assert [ping.mention for ping in await slack.pings()] == ["<!here>"]
        assert (await slack.counters()).pings == 1


async def test_a_plain_broadcast_pings_only_where_names_are_linked() -> None:
    async with slack_and_app() as (slack, web):
        await web.chat_postMessage(channel=DEV, text="@here")
        assert await slack.pings() == []

        await web.chat_postMessage(channel=DEV, text="@here", parse="full")
        assert [ping.mention for ping in await slack.pings()] == ["@here"]


async def test_an_address_unfurls_unless_both_kinds_are_switched_off() -> None:
    async with slack_and_app() as (slack, web):
        address = "see https://a.io/x"
        await web.chat_postMessage(
            channel=DEV, text=address, unfurl_links=False, unfurl_media=False
        )
        assert await slack.unfurls() == []

        await web.chat_postMessage(channel=DEV, text=address, unfurl_links=False)
        assert (await slack.unfurls())[0]["addresses"] == ["https://a.io/x"]
