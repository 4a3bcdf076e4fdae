"""Reviews in a thread: what is pasted, attached, or named by its address, over real sockets."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kimibot import failures, texts
from kimibot.errors import GitHubLimited, NotThere
from kimibot.review import phrases
from kimibot.sandbox.github import (
    GITHUB_TOKEN,
    LocalGitHub,
    LocalPull,
    LocalRepository,
    Order,
    local_github,
)
from kimibot.sandbox.kimi import End
from kimibot.sandbox.kimi.telling import written
from tests.whole_way.scene import DEV, Scene, body, button, handles, note, open_scene

CODE = "```\ndef last(rows):\n    return rows[len(rows)]\n```"
OLD = b"def take(rows):\n    return rows[0]\n"
NEW = b"def take(rows):\n    return rows.pop(0)\n"
DIFF = (
    "```\ndiff --git a/src/rows.py b/src/rows.py\n--- a/src/rows.py\n+++ b/src/rows.py\n"
    "@@ -1,2 +1,2 @@\n def take(rows):\n-    return rows[0]\n+    return rows.pop(0)\n```"
)


def finding(path: str = "snippet", line: int = 2, **fields: Any) -> str:
    found = {"path": path, "line": line, "quote": "    return rows[len(rows)]"}
    found |= {"severity": "critical", "title": "Reads behind the end", "why": "It always fails."}
    return json.dumps(found | fields) + "\n"


IN_DIFF = finding("src/rows.py", quote="    return rows.pop(0)", title="`pop` changes `rows`")
VERDICT = '{"verdict": "Must not be merged: it fails always."}\n'


@asynccontextmanager
async def reviewed_scene(folder: Path, **environment: Any) -> AsyncIterator[tuple[Scene, Any]]:
    async with local_github() as github:
        tree = {"src/rows.py": OLD, "REVIEW.md": b"Never change what callers pass."}
        pull = LocalPull(tree, tree | {"src/rows.py": NEW}, title="Take rows")
        github.add(LocalRepository("acme/shop", {7: pull}))
        secret = LocalRepository("acme/vault", {1: pull}, is_private=True)
        github.add(secret)
        async with open_scene(folder, GITHUB_API_URL=github.api_url, **environment) as s:
            yield s, github


def page_of(github: LocalGitHub, path: str) -> str:
    return f"{github.url}/{path}"


def request(s: Scene, number: int = -1) -> str:
    """What the model was given to read."""
    return str(s.kimi.requests[number].body["messages"][-1]["content"])


async def test_pasted_code_is_reviewed_with_each_finding_at_its_line(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play(finding(line=9), VERDICT)
        root = await s.ask(f"@kimibot review this\n{CODE}")
        [reply] = await s.outcome(root)

        assert body(reply) == (
            "**Must not be merged: it fails always.**\n\nRead 1 of 1 file.\n\n"
            "**1. Critical: Reads behind the end** · `snippet:2`\n"
            "```\n    return rows[len(rows)]\n```\nIt always fails."
        )
        assert "    2   " in request(s)
        assert await s.rows("SELECT kind, outcome FROM turns") == [("review", "answered")]
        assert await s.slack.complaints() == []


async def test_what_is_invented_is_not_shown_and_what_is_no_json_is_not_lost(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path) as s:
        invented = finding(quote="    return rows.shift()", title="`shift` is slow")
        s.kimi.play(invented, "{broken\n", "I like it.\n", IN_DIFF)
        root = await s.ask(f"@kimibot please review\n{DIFF}")
        [reply] = await s.outcome(root)

        assert "shift" not in body(reply)
        assert body(reply).startswith("**1 problem found: 1 critical.**")
        assert "`src/rows.py:2`" in body(reply)
        assert body(reply).endswith(f"{phrases.ALSO}\n\n{{broken\nI like it.")


async def test_findings_are_shown_while_it_is_read_and_stay_when_somebody_stops_it(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play(finding(), "{", delay_seconds=60.0)
        root = await s.ask(f"@kimibot review this\n{CODE}")
        [growing] = await s.reply(root, lambda r: "Reads behind" in body(r[0]))
        await s.ask("stop", thread=root)
        [reply] = await s.outcome(root)

        assert note(growing) == "Reading `snippet`…"
        assert body(reply).startswith(body(growing))
        assert body(reply).endswith("It always fails.")
        assert note(reply).startswith("Stopped")
        assert button(reply) == ""


async def test_a_review_of_many_parts_is_put_in_order_at_its_end(tmp_path: Path) -> None:
    """The findings grow in the order in which they come, over several messages."""
    code = "".join(f"value_{n} = {n}\n" for n in range(15))
    lines = [
        finding(line=n + 1, quote=f"value_{n} = {n}", title=f"Number {n}", why="word " * 380,
                severity="minor" if n < 14 else "critical")
        for n in range(15)
    ]  # fmt: skip
    async with open_scene(tmp_path) as s:
        s.kimi.play(*lines, delay_seconds=2.0)
        root = await s.ask(f"@kimibot review\n```\n{code}```")
        replies = await s.outcome(root)

        shown = "\n\n".join(map(body, replies))
        assert len(replies) > 2
        assert shown.startswith("**15 problems found: 1 critical, 14 minor.**")
        assert "**1. Critical: Number 14**" in shown
        assert [shown.count(f"Number {n}**") for n in range(15)] == [1] * 15
        assert await s.slack.complaints() == []


async def test_a_follow_up_knows_the_code_and_the_findings(tmp_path: Path) -> None:
    async with reviewed_scene(tmp_path) as (s, github):
        s.kimi.play(IN_DIFF, VERDICT)
        root = await s.ask(f"@kimibot review {page_of(github, 'acme/shop/pull/7')}")
        await s.outcome(root)
        await s.ask("explain 1", thread=root)
        await s.outcome(root, count=2)

        said = s.kimi.requests[-1].body["messages"]
        assert [one["role"] for one in said] == ["system", "user", "assistant", "user"]
        assert "    2 +     return rows.pop(0)" in said[1]["content"]
        assert said[2]["content"].startswith("**Must not be merged")
        assert "**1. Critical: `pop` changes `rows`**" in said[2]["content"]


async def test_a_pull_request_is_read_with_the_rules_of_the_team(tmp_path: Path) -> None:
    async with reviewed_scene(tmp_path) as (s, github):
        s.kimi.play(IN_DIFF, VERDICT)
        root = await s.ask(f"@kimibot review {page_of(github, 'acme/shop/pull/7')}/files please")
        [reply] = await s.outcome(root)

        assert "Never change what callers pass." in request(s)
        assert "Take rows" in request(s)
        assert f"[`src/rows.py:2`]({github.url}/acme/shop/blob/" in body(reply)
        assert not any(one.has_token for one in github.requests)


@pytest.mark.parametrize(
    ("path", "error"),
    [("acme/vault/pull/1", NotThere()), ("acme/shop/pull/99", NotThere())],
)
async def test_what_can_not_be_read_is_said_with_the_way_out(
    path: str, error: NotThere, tmp_path: Path
) -> None:
    async with reviewed_scene(tmp_path) as (s, github):
        root = await s.ask(f"@kimibot review {page_of(github, path)}")
        [reply] = await s.outcome(root)

        assert note(reply) == failures.github_failed(error)
        assert s.kimi.requests == []
        assert await s.slack.complaints() == []


async def test_a_rate_limit_of_github_is_said_and_can_be_tried_again(tmp_path: Path) -> None:
    async with reviewed_scene(tmp_path) as (s, github):
        limited = {"retry-after": "120", "x-ratelimit-remaining": "0"}
        github.orders.append(Order("pulls/7", 403, "API rate limit exceeded", limited))
        root = await s.ask(f"@kimibot review {page_of(github, 'acme/shop/pull/7')}")
        [reply] = await s.outcome(root)
        error = GitHubLimited()
        error.retry_after_seconds = 120.0
        assert note(reply) == failures.github_failed(error)

        s.kimi.play(IN_DIFF, VERDICT)
        assert await s.slack.click("ana", DEV, reply["ts"], texts.TRY_AGAIN)
        await s.reply(root, lambda r: "Must not be merged" in body(r[0]))


async def test_a_private_repository_is_read_for_members_where_it_is_named(tmp_path: Path) -> None:
    access = {"GITHUB_TOKEN": GITHUB_TOKEN, "KIMIBOT_GITHUB_REPOS": "acme/vault"}
    async with reviewed_scene(tmp_path, KIMIBOT_EXTERNAL_PEOPLE="on", **access) as (s, github):
        s.kimi.play(IN_DIFF, VERDICT)
        root = await s.ask(f"@kimibot review {page_of(github, 'acme/vault/pull/1')}")
        [reply] = await s.outcome(root)
        other = await s.ask(f"@kimibot review {page_of(github, 'acme/shop/pull/7')}")
        [refused] = await s.outcome(other)
        where = "#general"
        guests = f"@kimibot review {page_of(github, 'acme/vault/pull/1')}"
        third = await s.slack.say("gus", where, guests)
        [hidden] = await s.reply(
            third, lambda r: "trace" not in note(r[0]) and "paste" in note(r[0]), channel=where
        )

        assert "Must not be merged" in body(reply)
        assert note(refused).startswith("I am not allowed to read this repository.")
        assert note(hidden) == failures.github_failed(NotThere())
        assert not any("acme/shop" in one.path for one in github.requests)


async def test_an_address_elsewhere_is_never_asked(tmp_path: Path) -> None:
    async with reviewed_scene(tmp_path) as (s, github):
        root = await s.ask("@kimibot review https://gitlab.example.com/acme/shop/pull/7")
        [reply] = await s.outcome(root)

        assert body(reply) == failures.elsewhere("gitlab.example.com")
        assert github.requests == []


async def test_without_code_anywhere_it_says_what_to_paste(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask("@kimibot review this, please")
        [reply] = await s.outcome(root)

        assert body(reply) == phrases.OF_NOTHING
        assert s.kimi.requests == []


async def test_what_was_said_before_in_the_thread_is_reviewed_with_its_files(
    tmp_path: Path,
) -> None:
    patch = DIFF.strip("`").strip() + "\n"
    async with open_scene(tmp_path) as s:
        s.kimi.play("Hm.")
        root = await s.slack.say(
            "ana", DEV, "@kimibot what is this?", files=[{"name": "fix.patch", "text": patch}]
        )
        await s.outcome(root)
        s.kimi.play(IN_DIFF, VERDICT)
        await s.ask("review it", thread=root)
        [_, reply] = await s.outcome(root, count=2)

        assert "`src/rows.py:2`" in body(reply)


async def test_anybodys_code_is_reviewed_by_the_menu_of_its_message(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        said = await s.slack.say("bo", DEV, f"I wrote this:\n{CODE}")
        s.kimi.play(finding(), VERDICT)
        assert await s.slack.shortcut("ana", DEV, said, "review")
        [reply] = await s.outcome(said)

        assert "`snippet:2`" in body(reply)
        assert await s.rows("SELECT kind, asker FROM turns") == [("review_message", "U0ANA0001")]


async def test_code_that_kimi_wrote_is_reviewed_by_the_menu_of_its_answer(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play(f"Take this again and again:\n{CODE}")
        root = await s.ask("@kimibot write me `last`")
        [answer] = await s.outcome(root)
        s.kimi.play(finding(), VERDICT)
        assert await s.slack.shortcut("bo", DEV, answer["ts"], "review")
        [_, review] = await s.outcome(root, count=2)
        s.kimi.play("Off by one.")
        await s.ask("@kimibot why?", thread=root)
        await s.outcome(root, count=3)

        assert "`snippet:2`" in body(review)
        said = s.kimi.requests[-1].body["messages"]
        assert [one["role"] for one in said[1:5]] == ["user", "assistant", "user", "assistant"]
        assert (said[2]["content"].endswith(CODE), "`snippet:2`" in said[4]["content"]) == (
            True,
            True,
        )


async def test_an_answer_without_code_is_looked_over_by_kimi(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        plan = "First we stop the old database, and only then we copy it to the new one. " * 4
        s.kimi.play(plan)
        root = await s.ask("@kimibot how do we move the database?")
        [answer] = await s.outcome(root)
        s.kimi.play("That stops everything for hours.")
        assert await s.slack.shortcut("bo", DEV, answer["ts"], "review")
        [_, review] = await s.outcome(root, count=2)

        assert body(review) == "That stops everything for hours."
        last = s.kimi.requests[-1].body["messages"][-1]
        assert last == {"role": "user", "content": texts.review_ours(plan)}


async def test_a_second_round_says_what_is_fixed_still_open_and_new(tmp_path: Path) -> None:
    async with reviewed_scene(tmp_path) as (s, github):
        pull = github.repositories["acme/shop"].pulls[7]
        pull.new = pull.new | {"src/rows.py": NEW + b"\n\ndef size(rows):\n    return rows\n"}
        at_size = finding("src/rows.py", 6, quote="    return rows", title="`size` is no number")
        s.kimi.play(IN_DIFF, at_size, VERDICT)
        root = await s.ask(f"@kimibot review {page_of(github, 'acme/shop/pull/7')}")
        await s.outcome(root)
        assert (await s.rows("SELECT 1 FROM messages WHERE review IS NOT NULL")) == [(1,)]

        added = b"\n\ndef size(rows):\n    return len(rows, 1)\n"
        pull.new = pull.new | {"src/rows.py": b"import os\n" + NEW + added}
        fresh = finding("src/rows.py", 7, quote="    return len(rows, 1)", title="`len` takes one")
        s.kimi.play('{"earlier": 1, "state": "open"}\n', fresh, VERDICT)
        await s.ask("review again", thread=root)
        [_, second] = await s.outcome(root, count=2)

        assert "1. src/rows.py: return rows.pop(0) | `pop` changes `rows`" in request(s)
        text = body(second)
        assert "**1. Critical: `pop` changes `rows`** · [`src/rows.py:3`]" in text
        assert [text.count(word) for word in ("· still open\n", "· new\n")] == [1, 1]
        assert text.endswith(f"{phrases.FIXED}\n- `size` is no number (`src/rows.py:6`)")


async def test_a_review_that_is_cut_off_keeps_what_it_has_found(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play(finding(), '{"path": "snip', end=End.CUT)
        root = await s.ask(f"@kimibot review this\n{CODE}")
        [reply] = await s.outcome(root)

        assert body(reply).endswith("It always fails.")
        assert note(reply).startswith("The answer was cut off here.")
        assert button(reply) == texts.TRY_AGAIN


async def test_a_finding_may_stand_at_the_head_of_the_function_that_was_changed(
    tmp_path: Path,
) -> None:
    """It is above the hunk: GitHub's diff does not have it."""
    steps = b"".join(b"    step_%d()\n" % n for n in range(12))
    tree = {"src/rows.py": b"import os\n\n\ndef take(rows):\n" + steps}
    async with reviewed_scene(tmp_path) as (s, github):
        pull = github.repositories["acme/shop"].pulls[7]
        pull.old, pull.new = tree, {"src/rows.py": tree["src/rows.py"] + b"    return rows[1]\n"}
        s.kimi.play(finding("src/rows.py", 4, quote="def take(rows):", title="It takes one"))
        root = await s.ask(f"@kimibot review {page_of(github, 'acme/shop/pull/7')}")
        [reply] = await s.outcome(root)

        assert "    4   def take(rows):" in request(s)
        assert f"[`src/rows.py:4`]({github.url}/acme/shop/blob/" in body(reply)


async def test_a_change_too_large_for_one_diff_is_read_file_by_file(tmp_path: Path) -> None:
    async with reviewed_scene(tmp_path) as (s, github):
        pull = github.repositories["acme/shop"].pulls[7]
        pull.new = pull.new | {f"src/new_{n:03}.py": b"x = 1\n" for n in range(320)}
        s.kimi.play(VERDICT, times=8)
        root = await s.ask(f"@kimibot review {page_of(github, 'acme/shop/pull/7')}")
        [reply] = await s.outcome(root)

        assert "Read 321 of 321 files." in body(reply)
        assert len(s.kimi.requests) == 6


async def test_the_local_kimi_finds_the_planted_bug_and_suggests_what_mends_it(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask(f"@kimibot Please review this:\n```\n{written('snippet')}\n```")
        [reply] = await s.outcome(root)

        assert "**1. Critical: `=+` is not `+=`** · `snippet:4`" in body(reply)
        assert "        total += value" in body(reply)
        assert "**2. Major: An empty list divides by zero** · `snippet:5`" in body(reply)


async def test_where_nothing_needs_reading_it_says_why_and_asks_nobody(tmp_path: Path) -> None:
    lock = "```\n--- a/uv.lock\n+++ b/uv.lock\n@@ -1 +1 @@\n-a\n+b\n```"
    async with open_scene(tmp_path) as s:
        root = await s.ask(f"@kimibot review\n{lock}")
        [reply] = await s.outcome(root)

        assert phrases.NOTHING_READ in body(reply)
        assert "`uv.lock` (lock file)" in body(reply)
        assert s.kimi.requests == []


async def test_a_review_that_reaches_its_limit_says_that_there_may_be_more(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play(finding(), finish_reason="length")
        root = await s.ask(f"@kimibot review\n{CODE}")
        [reply] = await s.outcome(root)

        assert "`snippet:2`" in body(reply)
        assert note(reply) == phrases.CUT
        assert list(handles(reply)) == [texts.EXPLAIN, texts.NOT_A_PROBLEM]


async def test_code_beside_an_address_that_can_not_be_read_is_reviewed_alone(
    tmp_path: Path,
) -> None:
    async with reviewed_scene(tmp_path) as (s, _):
        s.kimi.play(finding(), VERDICT)
        root = await s.ask(f"@kimibot review this fix for acme/shop#99\n{CODE}")
        [reply] = await s.outcome(root)

        assert "`snippet:2`" in body(reply)
        assert note(reply) == failures.github_failed(NotThere())


async def test_a_text_that_is_to_be_reviewed_is_an_ordinary_ask(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("It could be shorter.")
        letter = "Dear customer, we are sorry that your parcel has been lost. " * 5
        root = await s.ask(f"@kimibot review my letter: {letter}")
        [reply] = await s.outcome(root)

        assert body(reply) == "It could be shorter."
        assert letter.strip() in request(s)
