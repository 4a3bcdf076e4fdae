"""A review goes from its thread to the pull request, over real sockets, once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kimibot import failures, texts
from kimibot.errors import NotPosted, Unposted
from kimibot.review import phrases
from kimibot.sandbox.github import (
    GITHUB_TOKEN,
    LocalGitHub,
    LocalPull,
    LocalRepository,
    Order,
    local_github,
)
from tests.whole_way.scene import (
    DEV,
    POSTING,
    Fields,
    Scene,
    body,
    button,
    handles,
    note,
    open_scene,
)
from tests.whole_way.test_restart import Process, World, world
from tests.whole_way.test_reviews import IN_DIFF, NEW, OLD, VERDICT, finding, page_of

SUGGESTS = IN_DIFF[:-2] + ', "suggestion": "    return rows[0]"}\n'


def pull_of(github: LocalGitHub) -> LocalPull:
    return github.repositories["acme/shop"].pulls[7]


def posts(github: LocalGitHub) -> int:
    return sum(one.method == "POST" for one in github.requests)


@asynccontextmanager
async def own_github() -> AsyncIterator[LocalGitHub]:
    async with local_github() as github:
        pull = LocalPull({"src/rows.py": OLD}, {"src/rows.py": NEW}, title="Take rows")
        github.add(LocalRepository("acme/shop", {7: pull}, is_private=True))
        yield github


@asynccontextmanager
async def posting_scene(folder: Path, **environment: Any) -> AsyncIterator[tuple[Scene, Any]]:
    async with own_github() as github:
        more = POSTING | {"GITHUB_API_URL": github.api_url} | environment
        async with open_scene(folder, **more) as s:
            yield s, github


async def reviewed(s: Scene, github: LocalGitHub, *said: str) -> tuple[str, Fields]:
    """The thread of a review of the pull request, and the reply that shows it."""
    s.kimi.play(*(said or (SUGGESTS, VERDICT)))
    root = await s.ask(f"@kimibot review {page_of(github, 'acme/shop/pull/7')}")
    [reply] = await s.outcome(root)
    return root, reply


async def test_its_asker_posts_a_review_after_being_asked_back(tmp_path: Path) -> None:
    async with posting_scene(tmp_path) as (s, github):
        root, review = await reviewed(s, github)
        assert list(handles(review)) == [
            texts.SUGGEST_PATCH,
            texts.EXPLAIN,
            texts.NOT_A_PROBLEM,
            texts.POST_REVIEW,
        ]
        asked_back = handles(review)[texts.POST_REVIEW]["confirm"]
        assert "acme/shop#7" in asked_back["text"]["text"]
        await s.slack.click("bo", DEV, review["ts"], texts.POST_REVIEW)
        assert await s.rows("SELECT kind FROM turns") == [("review",)]
        assert await s.slack.click("ana", DEV, review["ts"], texts.POST_REVIEW)
        [left, told] = await s.outcome(root, count=2)

        [there] = pull_of(github).reviews
        [comment] = pull_of(github).comments
        assert body(told) == (
            f"Posted to [acme/shop#7]({github.url}/acme/shop/pull/7#pullrequestreview-1000): "
            "1 comment at the lines."
        )
        assert there["body"].startswith("**Must not be merged: it fails always.**\n\nRead 1 of 1")
        assert (comment["path"], comment["side"], comment["line"]) == ("src/rows.py", "RIGHT", 2)
        assert comment["body"].endswith("\n\n```suggestion\n    return rows[0]\n```")
        assert (there["state"], there["commit_id"]) == ("COMMENTED", pull_of(github).head_sha)
        assert await s.rows("SELECT kind, outcome FROM turns ORDER BY accepted_at") == [
            ("review", "answered"),
            ("post", "answered"),
        ]
        assert left["ts"] == review["ts"]
        assert len(s.kimi.requests) == 1
        assert await s.slack.complaints() == []


async def test_several_presses_post_once(tmp_path: Path) -> None:
    async with posting_scene(tmp_path) as (s, github):
        root, review = await reviewed(s, github)
        press = (s.slack.click("ana", DEV, review["ts"], texts.POST_REVIEW) for _ in range(3))
        await asyncio.gather(*press)
        await s.outcome(root, count=2)

        assert len(await s.replies(root)) == 2
        assert len(pull_of(github).reviews) == posts(github) == 1


async def test_a_review_whose_answer_is_lost_is_told_as_posted(tmp_path: Path) -> None:
    async with posting_scene(tmp_path) as (s, github):
        root, review = await reviewed(s, github)
        github.orders.append(Order("reviews", 502, method="POST", is_late=True))
        await s.slack.click("ana", DEV, review["ts"], texts.POST_REVIEW)
        [_, told] = await s.outcome(root, count=2)

        assert body(told).startswith("Posted to [acme/shop#7](")
        assert len(pull_of(github).reviews) == posts(github) == 1


async def test_what_github_refuses_for_a_line_is_posted_as_one_text(tmp_path: Path) -> None:
    async with posting_scene(tmp_path) as (s, github):
        root, review = await reviewed(s, github)
        github.orders.append(Order("reviews", 422, "Unprocessable Entity", method="POST"))
        await s.slack.click("ana", DEV, review["ts"], texts.POST_REVIEW)
        [_, told] = await s.outcome(root, count=2)

        assert body(told).endswith("): 1 finding in its text.")
        assert "`src/rows.py:2`" in pull_of(github).reviews[0]["body"]


async def test_after_newer_commits_it_says_so_and_posts_nothing(tmp_path: Path) -> None:
    async with posting_scene(tmp_path) as (s, github):
        root, review = await reviewed(s, github)
        pull_of(github).new = {"src/rows.py": NEW + b"# more\n"}
        await s.slack.click("ana", DEV, review["ts"], texts.POST_REVIEW)
        [_, told] = await s.outcome(root, count=2)

        assert note(told) == failures.not_posted(NotPosted(Unposted.MOVED)).text
        assert button(told) == ""
        assert pull_of(github).reviews == []


async def test_what_an_admin_has_to_mend_can_be_tried_again(tmp_path: Path) -> None:
    async with posting_scene(tmp_path) as (s, github):
        root, review = await reviewed(s, github)
        github.may_not_write = True
        await s.slack.click("ana", DEV, review["ts"], texts.POST_REVIEW)
        [_, told] = await s.outcome(root, count=2)
        assert "My token needs: pull_requests=write." in note(told)
        assert GITHUB_TOKEN not in str(await s.rows("SELECT * FROM turns"))

        github.may_not_write = False
        await s.slack.click("ana", DEV, told["ts"], texts.TRY_AGAIN)
        await s.reply(root, lambda r: body(r[-1]).startswith("Posted to"))
        assert len(pull_of(github).reviews) == 1


async def test_a_hostile_change_orders_nothing_through_the_bot(tmp_path: Path) -> None:
    hostile = finding(
        "src/rows.py",
        quote="    return rows.pop(0)",
        title="Ask @acme/core, fixes #1 <!channel>",
        why="![x](https://evil.example/p)\n/approve\n```suggestion\nrm -rf\n```\n<!-- hidden",
    )
    async with posting_scene(tmp_path) as (s, github):
        root, review = await reviewed(s, github, hostile, VERDICT)
        await s.slack.click("ana", DEV, review["ts"], texts.POST_REVIEW)
        await s.outcome(root, count=2)

        [comment] = pull_of(github).comments
        for order in ("@acme", "#1", "https://", "![", "\n/approve", "<!--", "```suggestion"):
            assert order not in comment["body"], order


async def test_what_somebody_held_for_no_problem_is_not_posted(tmp_path: Path) -> None:
    second = finding("src/rows.py", 1, quote="def take(rows):", title="`take` has no type")
    async with posting_scene(tmp_path) as (s, github):
        root, review = await reviewed(s, github, SUGGESTS, second, VERDICT)
        chosen = handles(review)[texts.NOT_A_PROBLEM]["options"][0]["value"]
        await s.slack.click("bo", DEV, review["ts"], texts.NOT_A_PROBLEM, chosen)
        await s.outcome(root, count=2)
        await s.slack.click("ana", DEV, review["ts"], texts.POST_REVIEW)
        await s.outcome(root, count=3)

        assert [one["line"] for one in pull_of(github).comments] == [2]
        left_out = phrases.NO_PROBLEM_HERE.format(count="1 finding")
        assert left_out in pull_of(github).reviews[0]["body"]


@pytest.mark.parametrize(
    "environment",
    [{"KIMIBOT_GITHUB_POST": "0"}, {"KIMIBOT_GITHUB_REPOS": ""}, {"GITHUB_TOKEN": ""}],
    ids=["switched off", "no repositories", "no token"],
)
async def test_without_leave_there_is_nothing_to_press(
    environment: dict[str, str], tmp_path: Path
) -> None:
    async with posting_scene(tmp_path, **environment) as (s, github):
        github.repositories["acme/shop"].is_private = False
        _, review = await reviewed(s, github)

        assert list(handles(review)) == [texts.SUGGEST_PATCH, texts.EXPLAIN, texts.NOT_A_PROBLEM]


async def test_a_review_of_a_closed_pull_request_is_posted_once_that_is_open_again(
    tmp_path: Path,
) -> None:
    async with posting_scene(tmp_path) as (s, github):
        pull_of(github).state = "closed"
        root, review = await reviewed(s, github)
        await s.slack.click("ana", DEV, review["ts"], texts.POST_REVIEW)
        [_, told] = await s.outcome(root, count=2)
        assert note(told) == failures.not_posted(NotPosted(Unposted.CLOSED)).text
        assert posts(github) == 0

        pull_of(github).state = "open"
        await s.slack.click("ana", DEV, told["ts"], texts.TRY_AGAIN)
        await s.reply(root, lambda r: body(r[-1]).startswith("Posted to"))
        assert len(pull_of(github).reviews) == 1


async def test_neither_guests_nor_merged_pull_requests_nor_pasted_code_can_be_posted(
    tmp_path: Path,
) -> None:
    async with posting_scene(tmp_path, KIMIBOT_EXTERNAL_PEOPLE="on") as (s, github):
        github.repositories["acme/shop"].is_private = False
        s.kimi.play(SUGGESTS, VERDICT, times=3)
        url = page_of(github, "acme/shop/pull/7")
        root = await s.slack.say("gus", "#general", f"@kimibot review {url}")
        [guests] = await s.reply(
            root, lambda r: texts.SUGGEST_PATCH in handles(r[0]), channel="#general"
        )
        pull_of(github).state, pull_of(github).is_merged = "closed", True
        merged = await s.ask(f"@kimibot review {url}")
        [of_merged] = await s.outcome(merged)
        diff = pull_of(github).diff().decode()
        pasted = await s.ask(f"@kimibot review\n```\n{diff}```")
        [of_pasted] = await s.outcome(pasted)

        for reply in (guests, of_merged, of_pasted):
            assert list(handles(reply)) == [texts.SUGGEST_PATCH, texts.EXPLAIN, texts.NOT_A_PROBLEM]


async def test_a_review_that_the_thread_was_told_to_forget_is_not_posted(tmp_path: Path) -> None:
    async with posting_scene(tmp_path) as (s, github):
        root, review = await reviewed(s, github)
        await s.ask("forget", thread=root)
        await s.outcome(root, count=2)
        await s.slack.click("ana", DEV, review["ts"], texts.POST_REVIEW)
        [whisper] = await s.slack.until(lambda: s.slack.ephemerals("ana"), 5.0)
        await s.ask("help", thread=root)
        await s.outcome(root, count=3)

        assert whisper["text"] == phrases.GONE
        assert pull_of(github).reviews == []


async def until_ended(bot: Process, count: int) -> None:
    """Until so many turns have ended."""
    async with asyncio.timeout(20):
        while sum("turn ended" in line for line in bot.lines) < count:
            bot.heard.clear()
            await bot.heard.wait()


async def press_in(w: World, github: LocalGitHub, bot: Process) -> str:
    """Has a review posted; its thread."""
    w.kimi.play(SUGGESTS, VERDICT)
    root = await w.slack.say("ana", DEV, f"@kimibot review {page_of(github, 'acme/shop/pull/7')}")
    [review] = await w.until_said(root, "Must not be merged")
    await until_ended(bot, 1)
    await w.slack.click("ana", DEV, review["ts"], texts.POST_REVIEW)
    return root


@pytest.mark.processes
async def test_a_kill_after_it_was_posted_and_before_that_was_kept_posts_it_once(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w, own_github() as github:
        start = partial(w.bot, **POSTING, GITHUB_API_URL=github.api_url)
        sent = asyncio.Event()
        github.on_review = sent.set
        late = Order("reviews", 200, method="POST", is_late=True, delay_seconds=30.0)
        github.orders.append(late)
        async with start() as bot:
            root = await press_in(w, github, bot)
            await asyncio.wait_for(sent.wait(), 20)
            await bot.end(signal.SIGKILL)
        async with start() as bot:
            replies = await w.until_said(root, "Posted to [acme/shop#7](")
            assert not any(GITHUB_TOKEN in line for line in bot.lines)

        assert len(replies) == 2
        assert len(pull_of(github).reviews) == posts(github) == 1
