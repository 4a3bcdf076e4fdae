"""The page in a real browser: writing, completing, watching an answer grow, acting as others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from kimibot.sandbox.page import open_page, review_examples
from kimibot.sandbox.slack import BOT_TOKEN, LocalSlack, local_slack
from tests.sandbox.browsers import ARGUMENTS, chromium_path

pytestmark = pytest.mark.asyncio(loop_scope="module")  # a browser takes a second to start

GENERAL = "C0GENERAL"
HOSTILE = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'


@dataclass
class Seen:
    """An open page, and what its console complained of."""

    slack: LocalSlack
    page: Page
    http: aiohttp.ClientSession
    complaints: list[str] = field(default_factory=list)

    @property
    def composer(self) -> Any:
        return self.page.locator("#write textarea")

    async def bot(self, method: str, **arguments: Any) -> Any:
        headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
        url, body = f"{self.slack.api_url}{method}", {"channel": GENERAL, **arguments}
        async with self.http.post(url, json=body, headers=headers) as response:
            answer = await response.json()
        assert answer["ok"], answer
        return answer

    async def asked(self) -> str:
        """The ts of the newest message in #general, as soon as it is on the page."""
        await expect(self.page.locator("#messages article").last).to_be_visible()
        return str((await self.slack.messages(GENERAL))[-1]["ts"])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(
            executable_path=chromium_path(), args=list(ARGUMENTS)
        )
        yield started
        await started.close()


@pytest_asyncio.fixture(loop_scope="module")
async def seen(browser: Browser) -> AsyncIterator[Seen]:
    async with (
        local_slack() as slack,
        open_page(slack) as url,
        aiohttp.ClientSession() as http,
    ):
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        seen = Seen(slack, page, http)
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.on("console", lambda said: note(seen, said.type, said.text))
        await page.goto(url)
        await expect(page.locator("#messages .empty")).to_be_visible()
        yield seen
        await page.close()
    assert seen.complaints == []


def note(seen: Seen, kind: str, text: str) -> None:
    """A refused order is an answer, not a fault of the page."""
    if kind == "error" and "status of 400" not in text:
        seen.complaints.append(text)


def markdown(text: str) -> dict[str, Any]:
    return {"text": "x", "blocks": [{"type": "markdown", "text": text}]}


async def test_a_name_is_completed_and_the_answer_grows_in_its_thread(seen: Seen) -> None:
    await seen.composer.press_sequentially("@ki")
    await expect(seen.page.get_by_role("option", name="kimibot")).to_be_visible()
    await seen.composer.press("Tab")
    await seen.composer.press_sequentially("hello")
    await seen.composer.press("Enter")

    await expect(seen.page.locator("#messages .mention")).to_have_text("@kimibot")
    root = await seen.asked()
    posted = await seen.bot("chat.postMessage", thread_ts=root, **markdown("**Hel"))
    grown = seen.page.locator("#thread article").nth(1)
    await expect(grown).to_contain_text("Hel")
    await seen.bot("chat.update", ts=posted["ts"], **markdown("**Hello!**\n\n|a|\n|-|\n|1|"))
    await expect(grown.locator("strong")).to_have_text("Hello!")
    await expect(grown.locator("td")).to_have_text("1")
    await expect(seen.page.locator("#messages .replies")).to_contain_text("1 reply")
    await expect(seen.composer).to_have_value("")


async def test_the_page_itself_does_not_scroll_only_its_lists_do(seen: Seen) -> None:
    overhang = "document.documentElement.scrollHeight - document.documentElement.clientHeight"

    assert await seen.page.evaluate(overhang) == 0


async def test_files_are_chosen_taken_back_and_sent(seen: Seen) -> None:
    files: Any = [
        {"name": name, "mimeType": "text/plain", "buffer": b"a = 1"} for name in ("a.py", "b.py")
    ]
    await seen.page.locator("#write input[type=file]").set_input_files(files)
    await seen.page.get_by_role("button", name="Remove b.py").click()
    await seen.composer.press("Enter")

    file = seen.page.locator("#messages .file")
    await expect(file).to_contain_text("a.py")
    await expect(file).to_have_count(1)
    await expect(seen.page.locator("#write .attached")).to_be_hidden()
    [message] = await seen.slack.messages(GENERAL)
    assert message["files"][0]["size"] == 5


async def test_what_is_asked_opens_its_thread_where_one_writes_on(seen: Seen) -> None:
    await seen.composer.fill("@kimibot hello")
    await seen.composer.press("Enter")

    await expect(seen.page.locator("#thread article")).to_have_count(1)
    reply = seen.page.locator("#reply textarea")
    await expect(reply).to_be_focused()
    await reply.press_sequentially("and now?")
    await reply.press("Enter")
    await expect(seen.page.locator("#thread article")).to_have_count(2)
    await expect(seen.page.locator("#messages article")).to_have_count(1)


async def test_a_direct_message_to_the_bot_opens_its_thread(seen: Seen) -> None:
    await seen.page.locator("#directs button", has_text="kimibot").click()
    await seen.composer.fill("hello")
    await seen.composer.press("Enter")

    await expect(seen.page.locator("#thread article")).to_have_count(1)


async def test_what_is_said_to_others_opens_nothing(seen: Seen) -> None:
    await seen.composer.fill("hello @bo, is @kimibots a word?")
    await seen.composer.press("Enter")

    await expect(seen.page.locator("#messages article")).to_have_count(1)
    await expect(seen.composer).to_have_value("")
    await expect(seen.page.locator("#thread")).to_be_hidden()


async def test_a_question_about_what_was_before_goes_into_the_thread_before(seen: Seen) -> None:
    follow_up = seen.page.get_by_role("button", name="What did I ask before?")
    await follow_up.click()
    await expect(seen.composer).to_have_value("@kimibot What did I ask before?")

    await seen.composer.fill("@kimibot hello")
    await seen.composer.press("Enter")
    await expect(seen.page.locator("#thread article")).to_have_count(1)
    await seen.page.get_by_role("button", name="What to try").click()
    await follow_up.click()

    await expect(seen.page.locator("#thread article")).to_have_count(1)
    reply = seen.page.locator("#reply textarea")
    await expect(reply).to_have_value("What did I ask before?")
    await expect(reply).to_be_focused()


@pytest.mark.parametrize("width", [1001, 1100, 1280])
async def test_the_hint_below_the_text_is_never_cut_off(seen: Seen, width: int) -> None:
    await seen.page.set_viewport_size({"width": width, "height": 700})

    cut = "[...document.querySelectorAll('.hint')].some((one) => one.scrollWidth > one.clientWidth)"
    assert not await seen.page.evaluate(cut)
    await expect(seen.page.locator("#write .hint")).to_contain_text("@ for a name")


async def test_a_reply_is_written_into_the_thread(seen: Seen) -> None:
    await seen.slack.say("bo", GENERAL, "a question")
    await seen.page.locator("#messages article").hover()
    await seen.page.get_by_role("button", name="Reply in thread").click()
    reply = seen.page.locator("#reply textarea")
    await expect(reply).to_be_focused()

    await reply.press_sequentially("an answer")
    await reply.press("Enter")

    await expect(seen.page.locator("#thread article")).to_have_count(2)
    await expect(seen.page.locator("#messages article")).to_have_count(1)
    await seen.page.keyboard.press("Escape")
    await expect(seen.page.locator("#thread")).to_be_hidden()


async def test_enter_breaks_the_line_with_shift_and_inside_a_code_block(seen: Seen) -> None:
    await seen.composer.press_sequentially("look")
    await seen.composer.press("Shift+Enter")
    await seen.composer.press_sequentially("```")
    await seen.composer.press("Enter")
    await seen.composer.press_sequentially("x = 1")
    await seen.composer.press("Enter")
    await seen.composer.press_sequentially("```")
    await seen.composer.press("Enter")

    await expect(seen.page.locator("#messages figure.code code")).to_have_text("x = 1")


async def test_what_is_said_runs_no_script(seen: Seen) -> None:
    await seen.slack.say("bo", GENERAL, HOSTILE)
    await seen.bot("chat.postMessage", **markdown(f"{HOSTILE}\n\n```html\n{HOSTILE}\n```"))
    await seen.bot("chat.postMessage", text=HOSTILE.replace("<", "&lt;").replace(">", "&gt;"))

    await expect(seen.page.locator("#messages article")).to_have_count(3)
    await expect(seen.page.locator("#messages article").first).to_contain_text("<script>")
    assert await seen.page.evaluate("window.hit") is None
    assert await seen.page.locator("#messages img").count() == 0


async def test_one_can_be_somebody_else(seen: Seen) -> None:
    await seen.page.get_by_label("You are").select_option(label="Gus Guest (guest)")
    await expect(seen.page.locator("#channels button")).to_have_count(1)

    await seen.composer.fill("hi from Gus")
    await seen.composer.press("Enter")

    await expect(seen.page.locator("#messages .author")).to_have_text("Gus Guest")
    await seen.page.go_back()
    await expect(seen.page.locator("#channels button")).not_to_have_count(1)


async def test_news_elsewhere_are_counted_until_they_are_read(seen: Seen) -> None:
    await seen.slack.say("bo", "#dev", "one")
    await seen.slack.say("bo", "#dev", "two")
    entry = seen.page.locator("#channels button", has_text="dev")
    await expect(entry.locator(".news")).to_have_text("2")

    await entry.click()

    await expect(seen.page.locator("#messages article")).to_have_count(2)
    await expect(entry.locator(".news")).to_have_count(0)


async def test_a_draft_stays_with_its_channel(seen: Seen) -> None:
    await seen.composer.fill("half a thought")
    await seen.page.locator("#channels button", has_text="dev").click()
    await expect(seen.composer).to_have_value("")

    await seen.page.locator("#channels button", has_text="general").click()

    await expect(seen.composer).to_have_value("half a thought")


async def test_ones_own_message_can_be_edited_and_deleted(seen: Seen) -> None:
    ts = await seen.slack.say("ana", GENERAL, "helo @bo")
    await expect(seen.page.locator("#messages article")).to_be_visible()
    await seen.composer.press("ArrowUp")
    editor = seen.page.get_by_label("Edit message").and_(seen.page.locator("textarea"))
    await expect(editor).to_have_value("helo @bo")
    await seen.slack.say("bo", GENERAL, "a reply meanwhile", thread_ts=ts)
    await expect(seen.page.locator("#messages .replies")).to_be_visible()

    await editor.fill("hello @bo")
    await editor.press("Enter")

    article = seen.page.locator("#messages article")
    await expect(article).to_contain_text("hello @bo (edited)")
    await article.hover()
    await seen.page.get_by_role("button", name="Delete message").click()
    await seen.page.get_by_role("button", name="Delete", exact=True).click()
    await expect(article).to_contain_text("This message was deleted.")


async def test_an_example_is_put_where_the_bot_can_hear_it(seen: Seen) -> None:
    await seen.page.locator("#channels button", has_text="without-bot").click()
    await expect(seen.page.locator("#about")).to_contain_text("kimibot is not here")

    await seen.page.get_by_role("button", name="hello").click()

    await expect(seen.page.locator("#title")).to_have_text("# general")
    await expect(seen.composer).to_have_value("@kimibot hello")
    await expect(seen.composer).to_be_focused()


async def test_the_address_of_the_pull_request_is_shown_whole_and_asked_in_one_press(
    browser: Browser,
) -> None:
    pull_url = "http://127.0.0.1:38639/acme/shop/pull/7"
    async with (
        local_slack() as slack,
        open_page(slack, examples=[review_examples(pull_url)]) as url,
    ):
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await page.goto(url)
        example = page.locator(".example strong", has_text=pull_url)
        await expect(example).to_be_visible()
        is_whole = await example.evaluate(
            "one => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight"
        )
        await example.click()
        await expect(page.locator("#write textarea")).to_have_value(f"@kimibot review {pull_url}")
        await page.close()

    assert is_whole


async def test_nobody_can_write_in_a_closed_channel(seen: Seen) -> None:
    await seen.page.locator("#channels button", has_text="old").click()

    await expect(seen.composer).to_be_disabled()
    await expect(seen.composer).to_have_attribute(
        "placeholder", "#old is archived: nobody can write here"
    )


async def test_a_press_that_nobody_takes_is_told(seen: Seen) -> None:
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
    await seen.bot("chat.postMessage", text="x", blocks=[{"type": "actions", "elements": [button]}])

    await seen.page.get_by_role("button", name="Go", exact=True).click()

    await expect(seen.page.get_by_role("status")).to_have_text("The app did not react in time.")


async def test_a_press_counts_only_after_the_question_that_it_comes_with(seen: Seen) -> None:
    texts = {"title": "Post it?", "text": "All see it.", "confirm": "Post it", "deny": "Not now"}
    confirm = {name: {"type": "plain_text", "text": text} for name, text in texts.items()}
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
    actions = {"type": "actions", "elements": [button | {"confirm": confirm}]}
    await seen.bot("chat.postMessage", text="x", blocks=[actions])
    go = seen.page.get_by_role("button", name="Go", exact=True)

    await go.click()
    await expect(seen.page.get_by_role("dialog")).to_contain_text("All see it.")
    await seen.page.get_by_role("button", name="Not now").click()
    await expect(seen.page.get_by_role("status")).to_be_empty()
    await go.click()
    await seen.page.get_by_role("button", name="Post it", exact=True).click()

    await expect(seen.page.get_by_role("status")).to_have_text("The app did not react in time.")


async def test_a_choice_in_a_menu_is_pressed(seen: Seen) -> None:
    menu = {
        "type": "static_select",
        "action_id": "explain",
        "placeholder": {"type": "plain_text", "text": "Explain…"},
        "options": [{"text": {"type": "plain_text", "text": "2 · Two"}, "value": "t:2"}],
    }
    await seen.bot("chat.postMessage", text="x", blocks=[{"type": "actions", "elements": [menu]}])

    await seen.page.get_by_label("Explain…").select_option("2 · Two")

    await expect(seen.page.get_by_role("status")).to_have_text("The app did not react in time.")
    await expect(seen.page.get_by_label("Explain…")).to_have_value("")


async def test_the_page_fits_a_narrow_window(seen: Seen) -> None:
    await seen.bot("chat.postMessage", **markdown("```\n" + "x" * 400 + "\n```\n\n" + "y" * 400))
    await seen.page.set_viewport_size({"width": 400, "height": 700})

    await expect(seen.page.locator("#messages figure")).to_be_visible()
    width = await seen.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 400
    await seen.page.get_by_role("button", name="Conversations").click()
    await expect(seen.page.locator("#sidebar")).to_be_visible()
    await seen.page.locator("#channels button", has_text="dev").click()
    await expect(seen.page.locator("#sidebar")).to_be_hidden()


async def test_a_page_whose_server_was_away_says_so_and_catches_up(browser: Browser) -> None:
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(local_slack())
        page = await stack.enter_async_context(await browser.new_page())
        async with open_page(slack) as url:
            await page.goto(url)
            await expect(page.locator("#messages .empty")).to_be_visible()
        await expect(page.locator("#offline")).to_be_visible()
        await slack.say("bo", GENERAL, "said meanwhile")

        async with open_page(slack, urlsplit(url).port or 0):
            await expect(page.locator("#messages")).to_contain_text(
                "said meanwhile", timeout=15_000
            )
            await expect(page.locator("#offline")).to_be_hidden()
