"""The page over HTTP: what each person sees and may do, who may ask, and what changes live."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from kimibot.sandbox.demo.processes import started
from kimibot.sandbox.page import Example, Group, local_examples, open_page, real_examples
from kimibot.sandbox.slack import BOT_TOKEN, LocalSlack, local_slack
from kimibot.sandbox.slack.people import ANA, BO, BOT, GUEST, STRANGER

GENERAL = "C0GENERAL"


@dataclass
class Page:
    """A page and the local Slack below it."""

    slack: LocalSlack
    url: str
    http: aiohttp.ClientSession

    async def look(self, view: str, **query: str) -> Any:
        async with self.http.get(f"{self.url}page/{view}", params=query) as response:
            assert response.status == 200, await response.text()
            return await response.json()

    async def order(self, name: str, **what: Any) -> tuple[int, Any]:
        async with self.http.post(f"{self.url}page/{name}", json=what) as response:
            return response.status, await response.json()

    async def say(self, text: str, *, person: str = ANA.id, thread_ts: str = "") -> str:
        what = {"as": person, "channel": GENERAL, "text": text, "thread_ts": thread_ts}
        status, answer = await self.order("say", **what)
        assert status == 200, answer
        return str(answer["ts"])

    async def post(self, method: str = "chat.postMessage", **arguments: Any) -> Any:
        """A call of the bot."""
        url = f"{self.slack.api_url}{method}"
        headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
        async with self.http.post(
            url, json={"channel": GENERAL, **arguments}, headers=headers
        ) as r:
            return await r.json()


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    async with (
        local_slack() as slack,
        open_page(slack) as url,
        aiohttp.ClientSession() as http,
    ):
        yield Page(slack, url, http)


@asynccontextmanager
async def changes(page: Page, person: str) -> AsyncIterator[AsyncIterator[Any]]:
    """The changes as the person's page gets them, from right now on."""
    query = {"as": person}
    async with page.http.get(f"{page.url}page/changes", params=query) as response:
        assert await response.content.readuntil(b"\n\n") == b"event: ready\ndata: {}\n\n"
        yield each_change(response)


async def each_change(response: aiohttp.ClientResponse) -> AsyncIterator[Any]:
    while True:
        yield json.loads((await response.content.readuntil(b"\n\n")).removeprefix(b"data: "))


# What one sees


async def test_the_page_and_its_files_come_with_a_strict_policy(page: Page) -> None:
    async with page.http.get(page.url) as response:
        text = await response.text()

    scripts = ("page", "attaching", "composer", "editing", "frame", "messages", "server")
    names = ["page.css", *(f"{name}.js" for name in scripts)]
    assert "<title>Local Slack</title>" in text
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    for name in [*names, "icon.svg"]:
        async with page.http.get(f"{page.url}page/{name}") as response:
            assert response.status == 200
            assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["page/nothing.js", "page/..%2froutes.py", "page/..%2f__init__.js"]
)
async def test_nothing_but_its_own_files_is_served(page: Page, path: str) -> None:
    async with page.http.get(f"{page.url}{path}") as response:
        assert response.status == 404


async def test_a_person_sees_their_channels_and_the_bot_first(page: Page) -> None:
    state = await page.look("state", **{"as": "ana"})

    assert state["viewer"] == ANA.id
    assert [one["name"] for one in state["channels"]][:2] == ["general", "dev"]
    assert state["directs"][0]["with"] == BOT.user_id
    assert {one["closed"] for one in state["channels"]} == {"", "archived", "read-only"}


async def test_a_guest_and_a_stranger_see_less(page: Page) -> None:
    guest = await page.look("state", **{"as": GUEST.id})
    stranger = await page.look("state", **{"as": STRANGER.id})

    assert [one["name"] for one in guest["channels"]] == ["general"]
    assert [one["name"] for one in stranger["channels"]] == ["shared"]
    assert stranger["directs"] == []


async def test_a_channel_shows_roots_and_a_thread_its_replies(page: Page) -> None:
    root = await page.say("a question")
    await page.say("a reply", thread_ts=root)

    in_channel = await page.look("channel", channel=GENERAL, **{"as": BO.id})
    in_thread = await page.look("thread", channel=GENERAL, ts=root, **{"as": BO.id})

    assert [one["ts"] for one in in_channel] == [root]
    assert "1 reply" in in_channel[0]["html"]
    assert ["a reply" in one["html"] for one in in_thread] == [False, True]


async def test_what_only_one_person_sees_is_shown_to_nobody_else(page: Page) -> None:
    await page.post("chat.postEphemeral", user=ANA.id, text="between us")

    for_ana = await page.look("channel", channel=GENERAL, **{"as": ANA.id})
    for_bo = await page.look("channel", channel=GENERAL, **{"as": BO.id})

    assert "Only visible to you" in for_ana[0]["html"]
    assert for_bo == []


async def test_a_channel_of_others_is_not_shown(page: Page) -> None:
    query = {"as": STRANGER.id, "channel": GENERAL}
    async with page.http.get(f"{page.url}page/channel", params=query) as response:
        assert response.status == 400


@pytest.mark.parametrize("view", ["state", "changes", "channel"])
async def test_an_unknown_person_gets_an_answer_and_sees_nothing(page: Page, view: str) -> None:
    async with page.http.get(f"{page.url}page/{view}", params={"as": "nobody"}) as response:
        assert response.status == 404


# What changes


async def test_an_answer_grows_before_the_eyes(page: Page) -> None:
    root = await page.say("hello <@U0KIMIBOT>")

    async with changes(page, ANA.id) as told:
        block = {"type": "markdown", "text": "**Hel"}
        posted = await page.post(thread_ts=root, text="Hel", blocks=[block])
        added, root_changed = await anext(told), await anext(told)
        block = {"type": "markdown", "text": "**Hello**"}
        await page.post("chat.update", ts=posted["ts"], text="Hello", blocks=[block])
        grown = await anext(told)

    assert (added["kind"], added["root"]) == ("added", root)
    assert (root_changed["kind"], root_changed["ts"]) == ("changed", root)
    assert "1 reply" in root_changed["html"]
    assert (grown["kind"], grown["ts"]) == ("changed", posted["ts"])
    assert "<strong>Hello</strong>" in grown["html"]


async def test_a_deleted_message_goes_and_a_deleted_root_stays_as_a_place(page: Page) -> None:
    single, root = await page.say("one"), await page.say("two")
    await page.say("reply", thread_ts=root)

    async with changes(page, ANA.id) as told:
        for ts in (single, root):
            await page.order("delete", ts=ts, channel=GENERAL, **{"as": ANA.id})
        gone, left = await anext(told), await anext(told)

    assert gone["kind"] == "deleted"
    assert left["kind"] == "changed"
    assert "This message was deleted." in left["html"]


async def test_a_stranger_is_told_nothing_of_other_channels(page: Page) -> None:
    async with changes(page, STRANGER.id) as told:
        await page.say("private talk")
        await page.slack.say("sam", "#shared", "hello")

        assert "hello" in (await anext(told))["html"]


# What one may do


async def test_a_message_can_be_written_edited_and_taken_back_as_source(page: Page) -> None:
    ts = await page.say("@bo look: https://example.com/a?b=1&c=2 `x<y`")
    what = {"as": ANA.id, "channel": GENERAL, "ts": ts}

    source = await page.order("source", **what)
    edited = await page.order("edit", text="better", **what)

    assert source == (200, {"text": "@bo look: https://example.com/a?b=1&c=2 `x<y`"})
    assert edited == (200, {})
    assert (await page.slack.messages(GENERAL))[0]["text"] == "better"


def attached(name: str, content: bytes, mimetype: str = "") -> dict[str, str]:
    return {"name": name, "mimetype": mimetype, "base64": base64.b64encode(content).decode()}


async def send_files(page: Page, *files: dict[str, str]) -> list[str]:
    """The addresses of the files as Ana's page has them, after she has sent them."""
    what = {"as": ANA.id, "channel": GENERAL, "text": "", "files": files}
    assert (await page.order("say", **what))[0] == 200
    [message] = await page.look("channel", channel=GENERAL, **{"as": ANA.id})
    return re.findall(r'href="/(page/file/[^"]+)"', message["html"])


async def test_files_are_sent_shown_and_read_in_the_conversation(page: Page) -> None:
    code, html = attached("a&b.py", b"a = 1"), attached("r.html", b"<script>x</script>")
    shot = attached("s.png", b"\x89PNG", "image/png")
    addresses = await send_files(page, code, html, shot)

    told = []
    for address in addresses:
        async with page.http.get(page.url + address) as response:
            assert "default-src 'none'" in response.headers["Content-Security-Policy"]
            told.append((response.content_type, await response.read()))
    assert told == [
        ("text/plain", b"a = 1"),
        ("text/plain", b"<script>x</script>"),
        ("image/png", b"\x89PNG"),
    ]


async def test_a_file_is_downloaded_under_its_name_and_a_picture_is_shown(page: Page) -> None:
    patch, shot = attached("review é.patch", b"+x"), attached("s.png", b"\x89PNG", "image/png")

    told = []
    for address in await send_files(page, patch, shot):
        async with page.http.get(page.url + address) as response:
            told.append(response.headers["Content-Disposition"])
    assert told == [
        "attachment; filename*=UTF-8''review%20%C3%A9.patch",
        "inline; filename*=UTF-8''s.png",
    ]


async def test_a_file_is_not_shown_outside_its_conversation(page: Page) -> None:
    [address] = await send_files(page, attached("a.zip", b"PK\xff"))

    async with page.http.get(page.url + address) as response:
        assert response.headers["Content-Disposition"] == "attachment; filename*=UTF-8''a.zip"
    async with page.http.get(page.url + address.replace(ANA.id, STRANGER.id)) as response:
        assert response.status == 404


async def test_more_files_than_slack_takes_are_refused(page: Page) -> None:
    files = [attached(f"{number}.txt", b"x") for number in range(11)]
    what = {"as": ANA.id, "channel": GENERAL, "text": "see", "files": files}

    assert await page.order("say", **what) == (400, {"error": "A message holds at most 10 files."})


@pytest.mark.parametrize("name", ["edit", "delete", "source"])
async def test_somebody_elses_message_stays_as_it_is(page: Page, name: str) -> None:
    ts = await page.say("mine")

    status, answer = await page.order(name, ts=ts, channel=GENERAL, text="yours", **{"as": BO.id})

    assert (status, answer["error"]) == (400, "This is somebody else's message.")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ({"channel": "old"}, "Nobody can write in #old."),
        ({"channel": "news"}, "Nobody can write in #news."),
        ({"as": GUEST.id, "channel": "dev"}, "You are not a member"),
        ({"channel": "nowhere"}, "no such channel"),
        ({"as": "nobody"}, "no such person"),
        ({"as": BOT.user_id}, "You are not a member"),
        ({"text": "  "}, "There is nothing to send."),
        ({"text": "x" * 40_001}, "at most 40,000 characters"),
    ],
)
async def test_a_message_that_can_not_be_sent_says_why(
    page: Page, what: dict[str, str], words: str
) -> None:
    status, answer = await page.order(
        "say", **{"as": ANA.id, "channel": GENERAL, "text": "x", **what}
    )

    assert status in (400, 404)
    assert words in answer["error"]


async def test_a_press_that_no_app_takes_says_so(page: Page) -> None:
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
    blocks = [{"type": "actions", "elements": [button]}]
    posted = await page.post(text="x", blocks=blocks)

    pressed = await page.order(
        "click", channel=GENERAL, ts=posted["ts"], action_id="go", **{"as": ANA.id}
    )

    assert pressed == (400, {"error": "The app did not react in time."})


async def test_what_is_chosen_in_a_menu_goes_to_the_app_or_was_never_there(page: Page) -> None:
    menu = {
        "type": "static_select",
        "action_id": "explain",
        "placeholder": {"type": "plain_text", "text": "Explain…"},
        "options": [{"text": {"type": "plain_text", "text": "2 · Two"}, "value": "t:2"}],
    }
    posted = await page.post(text="x", blocks=[{"type": "actions", "elements": [menu]}])
    what = {"channel": GENERAL, "ts": posted["ts"], "action_id": "explain", "as": ANA.id}

    assert (await page.order("click", **what, value="t:2"))[0] == 400
    assert (await page.order("click", **what, value="t:9"))[0] == 404


# Who may ask


async def test_another_host_name_is_refused(page: Page) -> None:
    async with page.http.get(page.url, headers={"Host": "evil.example:80"}) as response:
        assert response.status == 403


async def test_an_order_that_a_foreign_form_could_send_is_refused(page: Page) -> None:
    order = json.dumps({"as": ANA.id, "channel": GENERAL, "text": "x"})
    headers = {"Content-Type": "text/plain"}
    async with page.http.post(f"{page.url}page/say", data=order, headers=headers) as response:
        assert response.status == 415


@pytest.mark.parametrize("order", ["[]", "{", "{}", "null"])
async def test_an_order_that_makes_no_sense_is_refused(page: Page, order: str) -> None:
    headers = {"Content-Type": "application/json"}
    async with page.http.post(f"{page.url}page/say", data=order, headers=headers) as response:
        assert response.status == 400


# Examples


def test_examples_begin_with_what_people_ask() -> None:
    groups = local_examples()

    assert [group.title for group in groups] == ["Just ask", "When things go wrong"]
    assert groups[0].examples[0].text == "hello"
    assert "401" in [example.text for example in groups[1].examples]


def test_nobody_is_invited_to_ask_the_real_kimi_for_an_error() -> None:
    texts = {example.text for group in real_examples() for example in group.examples}

    assert texts < {e.text for g in local_examples() for e in g.examples}
    assert "401" not in texts


@pytest.mark.parametrize("groups", [local_examples(), real_examples()], ids=["local", "real"])
def test_one_example_belongs_into_the_thread_before(groups: tuple[Group, ...]) -> None:
    examples = [example for group in groups for example in group.examples]

    assert [e.text for e in examples if e.in_thread] == ["What did I ask before?"]


async def test_the_page_of_the_demo_begins_with_the_review_of_its_pull_request() -> None:
    pull_url = "http://127.0.0.1:3/acme/shop/pull/7"
    command = ["-m", "kimibot.sandbox.page", "--port", "0", "--real-kimi", "--pull-request"]
    async with (
        started("the page", [*command, pull_url]) as process,
        aiohttp.ClientSession() as http,
    ):
        url = await process.address("page")
        async with http.get(f"{url}page/state", params={"as": "ana"}) as response:
            first = (await response.json())["examples"][0]

    assert first["title"] == "Review a pull request"
    assert [one["text"] for one in first["examples"]] == [f"review {pull_url}", "review again"]
    assert [one["in_thread"] for one in first["examples"]] == [False, True]


async def test_other_examples_can_be_given() -> None:
    examples = [Group("Ours", (Example("why?", "a reason"),))]
    async with (
        local_slack() as slack,
        open_page(slack, examples=examples) as url,
        aiohttp.ClientSession() as http,
    ):
        state = await Page(slack, url, http).look("state", **{"as": "ana"})

    shown = {
        "title": "Ours",
        "examples": [{"text": "why?", "shows": "a reason", "in_thread": False}],
    }
    assert state["examples"] == [shown]


async def test_an_open_page_does_not_hold_up_the_end() -> None:
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(local_slack())
        http = await stack.enter_async_context(aiohttp.ClientSession())
        async with open_page(slack) as url:
            asked = http.get(f"{url}page/changes", params={"as": "ana"})
            response = await stack.enter_async_context(asked)
            await response.content.readuntil(b"\n\n")

        with pytest.raises(aiohttp.ClientError):
            await response.content.read()
