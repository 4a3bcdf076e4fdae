"""The local Slack's people write, edit, click and share as Slack lets them."""

from __future__ import annotations

import time
from typing import Any

import aiohttp
import pytest

from kimibot.sandbox.slack import BOT, BOT_TOKEN, LocalSlack, Unknown
from kimibot.sandbox.slack.typed import typed
from tests.sandbox.slack_app import (
    DEV,
    actions,
    button,
    http_app,
    markdown,
    menu,
    refusal,
    slack_and_app,
    socket_app,
)

NAMES = {"kimibot": "U0KIMIBOT", "ana": "U0ANA0001"}


def elements_of(text: str) -> list[dict[str, Any]]:
    _, blocks = typed(text, NAMES, "B1")
    found: list[dict[str, Any]] = blocks[0]["elements"]
    return found


@pytest.mark.parametrize(
    ("text", "element"),
    [
        ("@ana", {"type": "user", "user_id": "U0ANA0001"}),
        ("<@U0ANA0001>", {"type": "user", "user_id": "U0ANA0001"}),
        ("@here", {"type": "broadcast", "range": "here"}),
        ("<!channel>", {"type": "broadcast", "range": "channel"}),
        ("<#C0DEV0001>", {"type": "channel", "channel_id": "C0DEV0001"}),
        ("<!subteam^S0TEAM>", {"type": "usergroup", "usergroup_id": "S0TEAM"}),
        (":eyes:", {"type": "emoji", "name": "eyes"}),
        ("https://a.io/x?y=1&z", {"type": "link", "url": "https://a.io/x?y=1&z"}),
        ("<https://a.io|label>", {"type": "link", "url": "https://a.io", "text": "label"}),
        ("[label](https://a.io)", {"type": "link", "url": "https://a.io", "text": "label"}),
        ("*b*", {"type": "text", "text": "b", "style": {"bold": True}}),
        ("**b**", {"type": "text", "text": "b", "style": {"bold": True}}),
        ("_i_", {"type": "text", "text": "i", "style": {"italic": True}}),
        ("~s~", {"type": "text", "text": "s", "style": {"strike": True}}),
        ("`<@U0ANA0001>`", {"type": "text", "text": "<@U0ANA0001>", "style": {"code": True}}),
        ("a_b_c", {"type": "text", "text": "a_b_c"}),
        ("x@ana.io", {"type": "text", "text": "x@ana.io"}),
        ("@nobody", {"type": "text", "text": "@nobody"}),
        ("10:30:00", {"type": "text", "text": "10:30:00"}),
    ],
)
def test_what_is_typed_becomes_one_element(text: str, element: dict[str, Any]) -> None:
    assert elements_of(text) == [{"type": "rich_text_section", "elements": [element]}]


def test_code_blocks_are_kept_to_the_byte() -> None:
    code = "diff\n-  a && b <c>\n+\t\\`*_~ @ana\n\n  end"

    (block,) = elements_of(f"```\n{code}\n```")

    assert block["type"] == "rich_text_preformatted"
    assert block["elements"] == [{"type": "text", "text": code}]


def test_quotes_and_lists_are_elements_of_their_own() -> None:
    kinds = [
        (element["type"], element.get("style"), element.get("indent"))
        for element in elements_of("intro\n> said\n- one\n  - nested\n1. first\nend")
    ]

    assert kinds == [
        ("rich_text_section", None, None),
        ("rich_text_quote", None, None),
        ("rich_text_list", "bullet", 0),
        ("rich_text_list", "bullet", 1),
        ("rich_text_list", "ordered", 0),
        ("rich_text_section", None, None),
    ]


def test_the_text_beside_rich_text_is_escaped_mrkdwn() -> None:
    text, _ = typed("@ana *a & b* <c> `x<y`\n> q\n- i\n```\n1 < 2\n```", NAMES, "B1")

    assert text == ("<@U0ANA0001> *a &amp; b* &lt;c&gt; `x&lt;y`\n&gt; q\n• i\n```1 &lt; 2```")


def test_hostile_text_is_read_in_linear_time() -> None:
    start = time.perf_counter()
    for piece in ("[", "<@", "*a ", "`", "```", "_x", "https://", "@a", ":a", "~"):
        typed(piece * 30_000, NAMES, "B1")

    assert time.perf_counter() - start < 10


async def test_a_mention_typed_in_code_raises_no_app_mention() -> None:
    async with slack_and_app() as (slack, _):
        await slack.say("ana", "#dev", "`@kimibot` and ```@kimibot```")

        assert await slack.events("app_mention") == []


async def test_blocks_and_text_can_be_given_as_they_are_stored() -> None:
    async with slack_and_app() as (slack, _):
        await slack.say("ana", "#dev", "raw <b>", blocks=[])
        await slack.say("ana", "#dev", "", blocks=[markdown("m")])

        raw, rich = await slack.messages("#dev")
        assert raw["text"] == "raw <b>"
        assert "blocks" not in raw
        assert rich["blocks"] == [markdown("m")]


async def test_a_channel_opened_meanwhile_has_the_staff_and_the_bot_in_it() -> None:
    async with slack_and_app() as (slack, web):
        channel = await slack.open_channel("#new")
        await slack.say("ana", "#new", "@kimibot hi")
        posted = await web.chat_postMessage(channel=channel, text="hello")

        assert posted["ok"]
        assert [one["event"]["channel"] for one in await slack.events("app_mention")] == [channel]
        with pytest.raises(ValueError, match="name_taken"):
            await slack.open_channel("new")


async def test_a_stranger_carries_their_own_team() -> None:
    async with slack_and_app() as (slack, _):
        await slack.say("sam", "#shared", "@kimibot hi")

        mention, message = await slack.events()
        assert mention["team_id"] != mention["event"]["user_team"]
        assert message["is_ext_shared_channel"]


async def test_other_apps_post_in_both_shapes() -> None:
    async with slack_and_app() as (slack, _):
        await slack.say_as_app("#dev", "new", attachments=[{"text": "alert"}])
        await slack.say_as_app("#dev", "old", is_bot_message=True)

        new, old = [event["event"] for event in await slack.events("message")]
        assert new["bot_id"] == old["bot_id"] == "B0MONITOR"
        assert "subtype" not in new
        assert old["subtype"] == "bot_message"
        assert "user" not in old


async def test_people_edit_and_delete_only_what_is_theirs_and_there() -> None:
    async with slack_and_app() as (slack, _):
        ts = await slack.say("ana", "#dev", "hello")

        with pytest.raises(Unknown):
            await slack.edit("bo", "#dev", ts, "hijacked")
        await slack.edit("ana", "#dev", ts, "hello *again*")
        assert (await slack.messages("#dev"))[0]["text"] == "hello *again*"
        await slack.delete("ana", "#dev", ts)
        with pytest.raises(Unknown):
            await slack.delete("ana", "#dev", ts)


async def test_an_unfurl_changes_a_message_but_not_its_words() -> None:
    async with slack_and_app() as (slack, _):
        ts = await slack.say("ana", "#dev", "see https://a.io")
        await slack.unfurl("#dev", ts, {"from_url": "https://a.io", "title": "A"})

        changed = (await slack.events("message"))[-1]["event"]
        assert changed["hidden"]
        assert changed["message"]["text"] == changed["previous_message"]["text"]
        assert "edited" not in changed["message"]


async def test_reactions_of_people_are_events() -> None:
    async with slack_and_app() as (slack, web):
        ts = (await web.chat_postMessage(channel=DEV, text="hi"))["ts"]
        await slack.react("ana", "#dev", ts, "x")
        await slack.unreact("ana", "#dev", ts, "x")

        added, removed = (await slack.events())[-2:]
        assert added["event"]["reaction"] == "x"
        assert added["event"]["item"]["ts"] == ts
        assert added["event"]["item_user"] == BOT.user_id
        assert removed["event"]["type"] == "reaction_removed"


async def test_the_bots_own_reactions_come_back_as_events() -> None:
    async with slack_and_app() as (slack, web):
        ts = await slack.say("ana", "#dev", "hello")
        await web.reactions_add(channel=DEV, timestamp=ts, name="eyes")

        (added,) = await slack.events("reaction_added")
        assert added["event"]["user"] == BOT.user_id
        assert added["event"]["item_user"] == "U0ANA0001"


async def test_a_click_brings_message_user_and_a_response_url() -> None:
    async with slack_and_app() as (slack, web), socket_app(slack, web) as taken:
        root = await slack.say("ana", "#dev", "root")
        blocks = [markdown("answer"), actions(button("stop", value="turn 1"))]
        posted = await web.chat_postMessage(
            channel=DEV, thread_ts=root, text="answer", blocks=blocks
        )

        assert await slack.click("bo", "#dev", posted["ts"], "stop")

        payload = taken[-1].payload
        assert taken[-1].type == "interactive"
        assert payload["user"]["id"] == "U0BO00001"
        assert payload["container"]["thread_ts"] == root
        assert payload["message"]["ts"] == posted["ts"]
        assert payload["actions"][0]["value"] == "turn 1"
        assert payload["actions"][0]["block_id"] == payload["message"]["blocks"][1]["block_id"]


async def test_a_choice_in_a_menu_brings_the_option_that_was_chosen() -> None:
    async with slack_and_app() as (slack, web), socket_app(slack, web) as taken:
        blocks = [actions(menu("explain", ("1 · One", "t:1"), ("2 · Two", "t:2")))]
        ts = (await web.chat_postMessage(channel=DEV, text="t", blocks=blocks))["ts"]

        assert await slack.click("bo", "#dev", ts, "explain", "t:2")
        with pytest.raises(Unknown):
            await slack.click("bo", "#dev", ts, "explain", "t:3")
        with pytest.raises(Unknown):
            await slack.click("bo", "#dev", ts, "explain")

        [action] = taken[-1].payload["actions"]
        option = {"text": {"type": "plain_text", "text": "2 · Two"}, "value": "t:2"}
        assert action["selected_option"] == option
        assert "value" not in action
        shown = taken[-1].payload["state"]["values"][action["block_id"]]["explain"]
        assert shown == {"type": "static_select", "selected_option": option}


async def test_a_shortcut_brings_the_message_whoever_wrote_it_and_who_chose_it() -> None:
    async with slack_and_app() as (slack, web), socket_app(slack, web) as taken:
        root = await slack.say("ana", "#dev", "root")
        ts = await slack.say_as_app("#dev", "It is red.", thread_ts=root)

        assert await slack.shortcut("bo", "#dev", ts, "ask_about")

        payload = taken[-1].payload
        assert (taken[-1].type, payload["type"]) == ("interactive", "message_action")
        assert (payload["callback_id"], payload["user"]["id"]) == ("ask_about", "U0BO00001")
        assert (payload["message_ts"], payload["message"]["text"]) == (ts, "It is red.")
        assert payload["message"]["thread_ts"] == root
        with pytest.raises(Unknown):
            await slack.shortcut("bo", "#dev", "1.1", "ask_about")


async def test_a_click_that_nobody_acks_is_lost() -> None:
    async with slack_and_app(ack_timeout_seconds=0.05, redelivery_seconds=(0.0,)) as (slack, web):
        blocks = [actions(button("stop"))]
        ts = (await web.chat_postMessage(channel=DEV, text="t", blocks=blocks))["ts"]
        await slack.at_rest(quiet_seconds=0.1)

        assert not await slack.click("bo", "#dev", ts, "stop")
        with pytest.raises(Unknown):
            await slack.click("bo", "#dev", ts, "no_such_button")
        clicks = [d for d in await slack.deliveries() if d.kind == "block_actions"]
        assert len(clicks) == 1


async def test_a_trigger_opens_one_view_within_three_seconds() -> None:
    now = [1_800_000_000.0]
    async with slack_and_app(clock=lambda: now[0]) as (slack, web), socket_app(slack, web) as got:
        first, late = await click_twice(slack, web, got)
        view = {"type": "modal", "title": {"type": "plain_text", "text": "v"}, "blocks": []}

        opened = await web.views_open(trigger_id=first["trigger_id"], view=view)
        again = web.views_open(trigger_id=first["trigger_id"], view=view)
        assert await refusal(again) == "exchanged_trigger_id"
        now[0] += 3.1
        expired = web.views_open(trigger_id=late["trigger_id"], view=view)
        assert await refusal(expired) == "expired_trigger_id"
        assert [shown["id"] for shown in await slack.views()] == [opened["view"]["id"]]


async def test_a_response_url_serves_five_times_without_markdown_text() -> None:
    async with (
        slack_and_app() as (slack, web),
        socket_app(slack, web) as got,
        aiohttp.ClientSession() as http,
    ):
        click, _ = await click_twice(slack, web, got)
        url = click["response_url"]

        async with http.post(url, json={"markdown_text": "m"}) as response:
            assert (await response.json())["error"] == "no_text"
        async with http.post(url, json={"text": "new", "replace_original": True}) as response:
            assert (await response.json())["ok"]
        assert (await slack.messages(DEV))[0]["text"] == "new"
        statuses = [(await http.post(url, json={"text": "more"})).status for _ in range(5)]
        assert statuses == [200] * 4 + [404]
        assert len(await slack.ephemerals("bo")) == 4


async def click_twice(slack: LocalSlack, web: Any, got: list[Any]) -> list[dict[str, Any]]:
    """Two clicks of Bo on a button of one message."""
    blocks = [actions(button("stop"))]
    ts = (await web.chat_postMessage(channel=DEV, text="t", blocks=blocks))["ts"]
    await slack.click("bo", "#dev", ts, "stop")
    await slack.click("bo", "#dev", ts, "stop")
    return [request.payload for request in got if request.type == "interactive"]


async def test_clicks_reach_an_http_app_as_a_form() -> None:
    forms: list[str] = []

    async def answer(request: aiohttp.web.Request) -> aiohttp.web.Response:
        forms.append(request.content_type)
        return aiohttp.web.Response()

    async with slack_and_app() as (slack, web), http_app(slack, answer):
        blocks = [actions(button("stop"))]
        ts = (await web.chat_postMessage(channel=DEV, text="t", blocks=blocks))["ts"]

        assert await slack.click("bo", "#dev", ts, "stop")
        assert "application/x-www-form-urlencoded" in forms


async def test_a_shared_file_is_described_and_downloaded_with_the_token() -> None:
    async with slack_and_app() as (slack, web), aiohttp.ClientSession() as http:
        file = {"name": "fix.diff", "text": "--- a\n+++ b\n"}
        await slack.say("ana", "#dev", "@kimibot look", files=[file])

        mention, message = [event["event"] for event in await slack.events()]
        assert mention["files"] == message["files"]
        assert message["subtype"] == "file_share"
        described = message["files"][0]
        assert described["filetype"] == "diff"
        assert (await web.files_info(file=described["id"]))["file"]["size"] == 12
        headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
        async with http.get(described["url_private"], headers=headers) as response:
            assert await response.text() == file["text"]


async def test_without_token_or_scope_a_download_is_sent_to_sign_in() -> None:
    async with slack_and_app() as (slack, _), aiohttp.ClientSession() as http:
        await slack.say("ana", "#dev", "look", files=[{"name": "a.txt", "text": "secret"}])
        url = (await slack.messages(DEV))[0]["files"][0]["url_private_download"]

        async with http.get(url, allow_redirects=False) as response:
            assert response.status == 302
        await slack.configure(scopes=["chat:write"])
        headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
        async with http.get(url, headers=headers) as response:
            assert "Sign in" in await response.text()


async def test_a_hidden_file_is_described_to_whoever_asks_for_it() -> None:
    async with slack_and_app() as (slack, web):
        file = {"name": "a.py", "text": "1", "is_hidden": True}
        await slack.say("ana", "#dev", "look", files=[file])
        [held] = (await slack.messages(DEV))[0]["files"]

        assert held.keys() == {"id", "created", "file_access"}
        assert held["file_access"] == "check_file_info"
        assert (await web.files_info(file=held["id"]))["file"]["name"] == "a.py"


@pytest.mark.parametrize(
    ("fault", "status"), [("login_page", 200), ("not_found", 404), ("redirect:/signin", 302)]
)
async def test_a_download_can_fail_in_slacks_ways(fault: str, status: int) -> None:
    async with slack_and_app() as (slack, _), aiohttp.ClientSession() as http:
        await slack.say("ana", "#dev", "look", files=[{"name": "a.png", "base64": "iVBORw=="}])
        file = (await slack.messages(DEV))[0]["files"][0]
        await slack.file_fault(file["id"], fault, "image/png")

        headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
        url = file["url_private"]
        async with http.get(url, headers=headers, allow_redirects=False) as response:
            assert response.status == status
            if fault == "login_page":
                assert response.content_type == "image/png"
                assert b"Sign in" in await response.read()


async def test_the_sdk_uploads_a_snippet_into_a_thread() -> None:
    async with slack_and_app() as (slack, web):
        root = await slack.say("ana", "#dev", "root")

        answer = await web.files_upload_v2(
            channel=DEV, thread_ts=root, filename="a.py", content="print(1)", initial_comment="code"
        )

        message = (await slack.thread(DEV, root))[1]
        assert message["text"] == "code"
        assert message["files"][0]["id"] == answer["files"][0]["id"]
        assert message["files"][0]["size"] == 8
        assert message["bot_id"] == BOT.bot_id
