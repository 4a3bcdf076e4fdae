"""Reviews in which Kimi looks at more than the diff, over real sockets."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kimibot.review import phrases
from kimibot.reviewing.looking_up import ALREADY_GIVEN, LAST_LOOK
from kimibot.sandbox.github import (
    GITHUB_TOKEN,
    LocalGitHub,
    LocalPull,
    LocalRepository,
    Order,
    local_github,
)
from kimibot.sandbox.kimi import Chunk, KimiOptions, LocalKimi, local_kimi
from kimibot.sandbox.slack import LocalSlack, local_slack
from kimibot.service import open_bot
from tests.whole_way.scene import Scene, body, bot_settings, note

HELPERS = b"def pick_first(rows):\n    return rows.pop(0)\n"
OLD = {
    "src/rows.py": b"def take(rows):\n    return rows[0]\n",
    "src/helpers.py": HELPERS,
    "src/other.py": b"x = 1\n",
    ".env": b"KEY=never-to-be-read\n",
}
NEW = OLD | {"src/rows.py": b"def take(rows):\n    return pick(rows)\n"}
ACCESS = {"GITHUB_TOKEN": GITHUB_TOKEN, "KIMIBOT_GITHUB_REPOS": "acme/shop"}
READ_HELPERS = ("read_file", {"path": "src/helpers.py", "version": "head"})
FINDING = json.dumps(
    {
        "path": "src/rows.py",
        "line": 2,
        "quote": "    return pick(rows)",
        "severity": "critical",
        "title": "`pick_first` takes the row away from its caller",
        "why": "It pops.",
    }
)
VERDICT = '\n{"verdict": "Must not be merged."}\n'


@asynccontextmanager
async def opened(
    folder: Path, slack: LocalSlack, kimi: LocalKimi, github: LocalGitHub, **more: str
) -> AsyncIterator[Scene]:
    """A bot on the folder's database; a second one goes on where the first has ended."""
    environment: dict[str, Any] = {"GITHUB_API_URL": github.api_url, **ACCESS, **more}
    async with open_bot(bot_settings(slack, kimi, folder, **environment)) as bot:
        yield Scene(slack, kimi, bot)


@asynccontextmanager
async def world() -> AsyncIterator[tuple[LocalSlack, LocalKimi, LocalGitHub]]:
    async with (
        local_slack() as slack,
        local_kimi(options=KimiOptions(speed=20)) as kimi,
        local_github() as github,
    ):
        github.add(LocalRepository("acme/shop", {7: LocalPull(OLD, NEW)}, is_private=True))
        yield slack, kimi, github


@asynccontextmanager
async def scene(folder: Path, **more: str) -> AsyncIterator[tuple[Scene, LocalGitHub]]:
    async with world() as (slack, kimi, github), opened(folder, slack, kimi, github, **more) as s:
        yield s, github


async def ask_for_review(s: Scene, github: LocalGitHub) -> str:
    return await s.ask(f"@kimibot review {github.url}/acme/shop/pull/7")


def said(s: Scene, number: int = -1) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = s.kimi.requests[number].body["messages"]
    return messages


def roles(s: Scene, number: int = -1) -> list[str]:
    return [message["role"] for message in said(s, number)]


async def test_a_bug_is_found_that_only_another_file_shows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its name stands in no line of the diff: without the look it would count as invented."""
    caplog.set_level(logging.INFO)
    async with scene(tmp_path) as (s, github):
        s.kimi.call(READ_HELPERS, ("list_files", {"folder": "src", "version": "base"}))
        s.kimi.play(FINDING, VERDICT)
        s.kimi.count(100, 10, times=2)
        root = await ask_for_review(s, github)
        [reply] = await s.outcome(root)

        assert "`pick_first` takes the row away" in body(reply)
        assert phrases.NOT_CERTAIN not in body(reply)
        assert "Read 1 of 1 file. Also read: `src/helpers.py` (1 file)." in body(reply)
        call, helpers, listed = said(s)[2:]
        assert call["reasoning_content"] == "I need to look at more of it."
        assert [one["id"] for one in call["tool_calls"]] == [
            helpers["tool_call_id"],
            listed["tool_call_id"],
        ]
        assert helpers["content"].endswith("    2       return rows.pop(0)")
        assert "other.py (6 bytes)" in listed["content"]
        assert all(one.has_token for one in github.requests)
        assert "look_ups" in vars(next(r for r in caplog.records if r.message == "reviewed"))
        assert "pick_first" not in str([vars(record) for record in caplog.records])
        assert await s.rows("SELECT prompt_tokens, completion_tokens FROM usage") == [(200, 20)]
        assert await s.slack.complaints() == []


async def test_keys_are_refused_before_github_is_asked_for_anything(tmp_path: Path) -> None:
    async with scene(tmp_path) as (s, github):
        paths = (".env", "deploy/key.pem", "../x", "src/../../.env")
        s.kimi.call(*[("read_file", {"path": path, "version": "head"}) for path in paths])
        s.kimi.call(("read_file", "{no JSON"), ("run_shell", {"command": "ls"}))
        s.kimi.play(VERDICT)
        root = await ask_for_review(s, github)
        [reply] = await s.outcome(root)

        results = [one["content"] for one in said(s) if one["role"] == "tool"]
        assert ["keys" in one or ".." in one for one in results[:4]] == [True] * 4
        assert "The arguments are no JSON. Expected is" in results[4]
        assert "There is no such tool." in results[5]
        assert not any("trees" in one.path for one in github.requests)
        assert "never-to-be-read" not in json.dumps(said(s))
        assert "Must not be merged." in body(reply)
        assert "Also read" not in body(reply)


async def test_who_asks_for_the_same_again_and_again_has_to_write_the_review(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as (s, github):
        s.kimi.call(READ_HELPERS, times=4)
        s.kimi.play(FINDING, VERDICT)
        root = await ask_for_review(s, github)
        [reply] = await s.outcome(root)

        results = [one["content"] for one in said(s) if one["role"] == "tool"]
        assert results[1:3] == [ALREADY_GIVEN] * 2
        assert results[3].endswith(LAST_LOOK)
        choices = [one.body.get("tool_choice") for one in s.kimi.requests]
        assert choices == [None] * 4 + ["none"]
        assert s.kimi.requests[-1].body["tools"] == s.kimi.requests[0].body["tools"]
        assert "`pick_first` takes the row away" in body(reply)


async def test_what_kimi_says_before_it_looks_is_no_part_of_the_review(tmp_path: Path) -> None:
    early = 'Let me look at the helpers.\n{"verdict": "Too early."}\n'
    async with scene(tmp_path) as (s, github):
        s.kimi.call(READ_HELPERS, content=early)
        s.kimi.play(FINDING, VERDICT)
        root = await ask_for_review(s, github)
        [reply] = await s.outcome(root)

        assert said(s)[2]["content"] == early
        assert body(reply).startswith("**Must not be merged.**")
        assert "Let me look" not in body(reply)


async def test_a_follow_up_sends_what_was_looked_up_exactly_as_it_was(tmp_path: Path) -> None:
    async with scene(tmp_path) as (s, github):
        s.kimi.call(READ_HELPERS)
        s.kimi.play(FINDING, VERDICT)
        root = await ask_for_review(s, github)
        await s.outcome(root)
        await s.ask("why 1?", thread=root)
        await s.outcome(root, count=2)

        assert roles(s) == ["system", "user", "assistant", "tool", "assistant", "user"]
        assert json.dumps(said(s)[2:4]) == json.dumps(said(s, 1)[2:4])
        assert "tools" not in s.kimi.requests[-1].body


async def test_another_model_gets_neither_the_reasoning_nor_the_calls_of_the_one_before(
    tmp_path: Path,
) -> None:
    async with world() as (slack, kimi, github):
        async with opened(tmp_path, slack, kimi, github) as s:
            kimi.call(READ_HELPERS)
            kimi.play(FINDING, VERDICT)
            root = await ask_for_review(s, github)
            await s.outcome(root)
        async with opened(tmp_path, slack, kimi, github, KIMI_MODEL="kimi-k3.1-pro") as s:
            await s.ask("why 1?", thread=root)
            await s.outcome(root, count=2)

            assert s.kimi.requests[-1].body["model"] == "kimi-k3.1-pro"
            assert roles(s) == ["system", "user", "assistant", "user"]
            assert "reasoning_content" not in json.dumps(said(s))


async def test_what_is_being_read_is_shown_and_a_stop_ends_it_there(tmp_path: Path) -> None:
    async with scene(tmp_path) as (s, github):
        s.kimi.call(READ_HELPERS)
        github.orders.append(Order("git/trees", 502, delay_seconds=60.0))
        root = await ask_for_review(s, github)
        await s.reply(root, lambda r: "Reading `src/helpers.py`" in json.dumps(r[0]))
        await s.ask("stop", thread=root)
        [reply] = await s.outcome(root)

        assert note(reply).startswith("Stopped")
        assert len(s.kimi.requests) == 1
        assert await s.rows("SELECT kind, outcome FROM turns WHERE kind = 'review'") == [
            ("review", "stopped")
        ]


async def test_where_tools_are_refused_it_is_reviewed_without_them(tmp_path: Path) -> None:
    async with scene(tmp_path) as (s, github):
        s.kimi.refuse(400, '{"error": {"type": "invalid_request_error", "message": "tools"}}')
        s.kimi.play(VERDICT)
        root = await ask_for_review(s, github)
        [reply] = await s.outcome(root)

        assert ["tools" in one.body for one in s.kimi.requests] == [True, False]
        assert "your tools" not in json.dumps(said(s))
        assert "Must not be merged." in body(reply)


async def test_who_has_no_word_to_say_after_the_last_look_reviews_without_tools(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as (s, github):
        s.kimi.call(READ_HELPERS, times=6)
        s.kimi.play(FINDING.replace("pick_first", "pick"), VERDICT)
        root = await ask_for_review(s, github)
        [reply] = await s.outcome(root)

        choices = [one.body.get("tool_choice") for one in s.kimi.requests]
        assert choices == [None] * 4 + ["none"] * 2 + [None]
        assert "tools" not in s.kimi.requests[-1].body
        assert "`pick` takes the row away" in body(reply)
        assert await s.rows("SELECT outcome FROM turns") == [("answered",)]


async def test_where_a_follow_up_with_calls_is_refused_it_goes_without_them(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as (s, github):
        s.kimi.call(READ_HELPERS)
        s.kimi.play(FINDING, VERDICT)
        root = await ask_for_review(s, github)
        await s.outcome(root)
        s.kimi.refuse(400, '{"error": {"type": "invalid_request_error", "message": "tools"}}')
        s.kimi.play("Because it pops.")
        await s.ask("why 1?", thread=root)
        [_, answer] = await s.outcome(root, count=2)

        assert "tool" in roles(s, -2)
        assert roles(s) == ["system", "user", "assistant", "user"]
        assert body(answer) == "Because it pops."


@pytest.mark.parametrize("more", [{"KIMIBOT_GITHUB_REPOS": ""}, {"KIMI_MODEL": "whatever"}])
async def test_without_token_or_tools_a_request_is_as_it_was(
    more: dict[str, str], tmp_path: Path
) -> None:
    async with scene(tmp_path, **more) as (s, github):
        github.repositories["acme/shop"].is_private = False
        s.kimi.play(VERDICT)
        root = await ask_for_review(s, github)
        await s.outcome(root)

        assert "tools" not in s.kimi.requests[-1].body
        assert "your tools" not in json.dumps(s.kimi.requests[-1].body)


async def test_an_answer_of_nothing_but_thoughts_after_a_look_gets_a_second_try(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as (s, github):
        s.kimi.call(READ_HELPERS)
        s.kimi.play(Chunk(reasoning="hm"))
        s.kimi.play(FINDING, VERDICT)
        root = await ask_for_review(s, github)
        [reply] = await s.outcome(root)

        assert [len(one.body["messages"]) for one in s.kimi.requests] == [2, 4, 4]
        assert "`pick_first` takes the row away" in body(reply)
