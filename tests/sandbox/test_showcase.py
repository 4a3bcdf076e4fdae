"""The pull request of the demo has a real bug, its fix mends it, and its pages show both."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any

import httpx
import pytest

from kimibot.sandbox.github import LocalGitHub, LocalPull, local_github, showcase
from kimibot.sandbox.github.pages import PUSH_LABEL
from kimibot.sandbox.github.patches import lines_of
from kimibot.sandbox.github.reviewing import add_review

PULL = "/acme/shop/pull/7"


@pytest.fixture
def pull() -> LocalPull:
    return showcase().pulls[7]


@pytest.fixture
async def github() -> AsyncIterator[LocalGitHub]:
    async with local_github() as local:
        local.add(showcase())
        yield local


@pytest.fixture
async def reader(github: LocalGitHub) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=github.url, follow_redirects=True) as http:
        yield http


def page(tree: Mapping[str, bytes], number: int) -> list[int]:
    """The numbers of the orders on that page, of forty of which the newest has number 40."""
    orders: Any = ModuleType("orders")
    sys.modules[orders.__name__] = orders  # a dataclass looks for the module that it is in
    try:
        exec(tree["shop/orders.py"], orders.__dict__)
    finally:
        del sys.modules[orders.__name__]
    day = datetime(2026, 1, 1)
    made = [orders.Order(n, "ana", day + timedelta(n), 100) for n in range(1, 41)]
    return [one.number for one in orders.page_of(orders.newest_first(made), number).orders]


def test_its_bug_hides_the_newest_orders_until_the_fix_is_pushed(pull: LocalPull) -> None:
    newest, older = list(range(40, 20, -1)), list(range(20, 0, -1))
    assert (page(pull.new, 1), page(pull.new, 2)) == (older, [])

    pull.push()

    assert (page(pull.new, 1), page(pull.new, 2)) == (newest, older)


def test_the_comment_on_it_stands_at_a_line_that_it_changes(pull: LocalPull) -> None:
    [comment] = pull.comments
    file = next(one for one in pull.files if one.path == comment["path"])

    changed = {number for _, number, side in lines_of(file.hunks()) if side == comment["side"]}

    assert comment["line"] in changed


def test_only_what_is_ready_is_pushed(pull: LocalPull) -> None:
    pull.push()
    head = pull.head_sha

    pull.push()

    assert pull.head_sha == head


async def test_the_place_of_a_finding_opens_the_file_as_it_was_also_after_a_push(
    reader: httpx.AsyncClient, github: LocalGitHub
) -> None:
    old_head = github.repositories["acme/shop"].pulls[7].head_sha
    pushed = await reader.post(f"{PULL}/push")

    shown = await reader.get(f"/acme/shop/blob/{old_head}/shop/orders.py")

    assert pushed.url.path == PULL
    assert '<span id="L53"><i>  53</i>      first = number * size</span>' in shown.text
    assert (await reader.get(f"/acme/shop/blob/{old_head}/shop/none.py")).status_code == 404


async def test_the_page_shows_the_change_and_offers_the_fix_once(
    reader: httpx.AsyncClient,
) -> None:
    before = (await reader.get(PULL)).text
    after = (await reader.post(f"{PULL}/push")).text

    assert '<span class="added">+    first = number * size</span>' in before
    assert "page by page" in before
    assert "it is in our e-mails" in before
    assert [PUSH_LABEL in before, PUSH_LABEL in after] == [True, False]
    assert "(number - 1)" in after


async def test_what_a_change_says_is_no_markup_on_its_page(
    reader: httpx.AsyncClient, github: LocalGitHub
) -> None:
    pull = github.repositories["acme/shop"].pulls[7]
    pull.title, pull.new = "<script>x</script>", {"a.py": b"<b>&amp;</b>"}

    shown = (await reader.get(PULL)).text

    assert "<script>" not in shown
    assert "&lt;b&gt;&amp;amp;&lt;/b&gt;" in shown


async def test_the_page_shows_the_reviews_that_were_sent_where_their_addresses_end(
    reader: httpx.AsyncClient, github: LocalGitHub
) -> None:
    pull = github.repositories["acme/shop"].pulls[7]
    sent = {"event": "COMMENT", "body": "<i>So-so.</i>", "commit_id": pull.head_sha}
    review = add_review(pull, sent)
    add_review(pull, {"body": "not sent yet"})

    shown = (await reader.get(PULL)).text

    assert f'id="pullrequestreview-{review["id"]}"' in shown
    assert "&lt;i&gt;So-so." in shown
    assert "not sent yet" not in shown


async def test_the_page_draws_a_review_and_hides_the_comments_in_it(
    reader: httpx.AsyncClient, github: LocalGitHub
) -> None:
    pull = github.repositories["acme/shop"].pulls[7]
    body = "**So-so** <script>x</script>\n\n```html\n<!-- code -->\n```\n\n<!-- a mark -->"
    add_review(pull, {"event": "COMMENT", "body": body, "commit_id": pull.head_sha})

    shown = (await reader.get(PULL)).text

    assert "<strong>So-so</strong> &lt;script&gt;x" in shown
    assert "&lt;!-- code --&gt;" in shown
    assert "a mark" not in shown


async def test_nobody_sees_pages_of_a_private_repository(
    reader: httpx.AsyncClient, github: LocalGitHub
) -> None:
    github.repositories["acme/shop"].is_private = True

    assert (await reader.get(PULL)).status_code == 404
    assert (await reader.post(f"{PULL}/push")).status_code == 404
