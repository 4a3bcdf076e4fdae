"""The conversation about a review: what its readers press below it, and what becomes of that."""

from __future__ import annotations

from pathlib import Path

from kimibot import texts
from tests.whole_way.scene import DEV, Fields, Scene, body, handles, open_scene
from tests.whole_way.test_reviews import CODE, IN_DIFF, VERDICT, finding, page_of, reviewed_scene

SECOND = finding(line=1, quote="def last(rows):", title="`last` has no default", severity="minor")


async def reviewed(s: Scene, *lines: str) -> tuple[str, Fields]:
    """The ask for a review, and the reply to it."""
    s.kimi.play(*lines, VERDICT)
    root = await s.ask(f"@kimibot review this\n{CODE}")
    [review] = await s.outcome(root)
    return root, review


async def test_anybody_has_a_finding_explained_and_the_model_knows_which(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root, review = await reviewed(s, finding(), SECOND)
        menu = handles(review)[texts.EXPLAIN]
        assert [option["text"]["text"] for option in menu["options"]] == [
            "1 · Reads behind the end",
            "2 · last has no default",
        ]

        s.kimi.play("`last` fails for each list.")
        second = menu["options"][1]["value"]
        assert await s.slack.click("bo", DEV, review["ts"], texts.EXPLAIN, second)
        [_, explained] = await s.outcome(root, count=2)

        assert body(explained) == "`last` fails for each list."
        said = s.kimi.requests[-1].body["messages"]
        assert "return rows[len(rows)]" in said[1]["content"]
        assert "**2. Minor: `last` has no default**" in said[2]["content"]
        assert "\n2. snippet:1: `last` has no default\n" in said[-1]["content"]
        assert "Reads behind the end" not in said[-1]["content"]
        [(asker, pressed)] = await s.rows("SELECT asker, pressed FROM turns WHERE pressed <> ''")
        assert (asker, pressed) == ("U0BO00001", "explain:2")
        assert await s.slack.complaints() == []


async def test_each_finding_is_explained_once_and_all_of_it_is_remembered(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root, review = await reviewed(s, finding(), SECOND)
        first, second = (one["value"] for one in handles(review)[texts.EXPLAIN]["options"])
        for value in (first, second):
            s.kimi.play(f"Because of {value[-1]}.")
            assert await s.slack.click("bo", DEV, review["ts"], texts.EXPLAIN, value)
        await s.outcome(root, count=3)
        assert await s.slack.click("ana", DEV, review["ts"], texts.EXPLAIN, first)
        [whisper] = await s.slack.until(lambda: s.slack.ephemerals("ana"), 5.0)
        await s.ask("and now?", thread=root)
        await s.outcome(root, count=4)

        assert whisper["text"] == texts.PICKED_ALREADY
        said = s.kimi.requests[-1].body["messages"]
        roles = [message["role"] for message in said]
        assert roles == ["system", *["user", "assistant"] * 3, "user"]
        assert [said[4]["content"], said[6]["content"]] == ["Because of 1.", "Because of 2."]


async def test_a_single_finding_is_explained_by_a_button(tmp_path: Path) -> None:
    async with reviewed_scene(tmp_path) as (s, github):
        s.kimi.play(IN_DIFF, VERDICT)
        root = await s.ask(f"@kimibot review {page_of(github, 'acme/shop/pull/7')}")
        [review] = await s.outcome(root)
        assert handles(review)[texts.EXPLAIN]["type"] == "button"

        s.kimi.play("Callers see a shorter list.")
        assert await s.slack.click("ana", DEV, review["ts"], texts.EXPLAIN)
        [_, explained] = await s.outcome(root, count=2)

        assert body(explained) == "Callers see a shorter list."
        assert "`pop` changes `rows`" in s.kimi.requests[-1].body["messages"][-1]["content"]


async def test_what_is_not_a_problem_is_noted_and_not_brought_up_again(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root, review = await reviewed(s, finding(), SECOND)
        value = handles(review)[texts.NOT_A_PROBLEM]["options"][1]["value"]
        assert await s.slack.click("bo", DEV, review["ts"], texts.NOT_A_PROBLEM, value)
        [_, noted] = await s.outcome(root, count=2)
        assert body(noted) == texts.NOTED_NO_PROBLEM.format(number=2)
        assert len(s.kimi.requests) == 1

        s.kimi.play(finding(), SECOND, VERDICT)
        await s.ask("review again", thread=root)
        *_, second = await s.outcome(root, count=3)

        data = str(s.kimi.requests[-1].body["messages"][-1]["content"])
        assert "1. snippet: return rows[len(rows)] | Reads behind the end" in data
        assert "1. snippet: def last(rows): | `last` has no default" in data
        assert "**1. Critical: Reads behind the end**" in body(second)
        assert "no default" not in body(second)
        assert body(second).endswith(texts.REVIEW_NO_PROBLEM.format(count="1 finding"))
        assert await s.slack.complaints() == []
