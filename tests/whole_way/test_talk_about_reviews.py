"""The conversation about a review: what its readers press below it, and what becomes of that."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from kimibot import texts
from kimibot.review import phrases
from kimibot.sandbox.slack import BOT_TOKEN
from tests.review.repositories import begin, write
from tests.whole_way.scene import DEV, Fields, Scene, body, button, handles, note, open_scene
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

        assert body(explained) == (
            "About finding 2: `last has no default`\n\n`last` fails for each list."
        )
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


async def test_what_a_guest_may_not_have_explained_is_explained_to_a_member(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play(finding(), SECOND, VERDICT)
        root = await s.slack.say("ana", "#general", f"@kimibot review this\n{CODE}")
        await s.outcome(root)
        [review] = await s.replies(root, "#general")
        second = handles(review)[texts.EXPLAIN]["options"][1]["value"]
        for count, who in enumerate(["gus", "ana"], 2):
            s.kimi.play("`last` fails for each list.")
            assert await s.slack.click(who, "#general", review["ts"], texts.EXPLAIN, second)
            await s.outcome(root, count=count)

        [_, refused, explained] = await s.replies(root, "#general")
        assert note(refused) == texts.EXTERNAL_PERSON
        assert body(explained).endswith("\n\n`last` fails for each list.")


async def test_a_single_finding_is_explained_by_a_button(tmp_path: Path) -> None:
    async with reviewed_scene(tmp_path) as (s, github):
        s.kimi.play(IN_DIFF, VERDICT)
        root = await s.ask(f"@kimibot review {page_of(github, 'acme/shop/pull/7')}")
        [review] = await s.outcome(root)
        assert handles(review)[texts.EXPLAIN]["type"] == "button"

        s.kimi.play("Callers see a shorter list.")
        assert await s.slack.click("ana", DEV, review["ts"], texts.EXPLAIN)
        [_, explained] = await s.outcome(root, count=2)

        assert body(explained).endswith("\n\nCallers see a shorter list.")
        assert "`pop` changes `rows`" in s.kimi.requests[-1].body["messages"][-1]["content"]


async def test_the_model_explains_a_line_that_is_gone_as_one_that_was_removed(
    tmp_path: Path,
) -> None:
    gone = finding("src/rows.py", side="old", quote="    return rows[0]")
    async with reviewed_scene(tmp_path) as (s, github):
        s.kimi.play(gone, VERDICT)
        root = await s.ask(f"@kimibot review {page_of(github, 'acme/shop/pull/7')}")
        [review] = await s.outcome(root)
        s.kimi.play("Nothing reads the first row any more.")
        assert await s.slack.click("ana", DEV, review["ts"], texts.EXPLAIN)
        await s.outcome(root, count=2)

        said = s.kimi.requests[-1].body["messages"][-1]["content"]
        assert "\n1. src/rows.py:2 (removed): Reads behind the end\n" in said


async def test_what_is_not_a_problem_is_noted_and_not_brought_up_again(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root, review = await reviewed(s, finding(), SECOND)
        value = handles(review)[texts.NOT_A_PROBLEM]["options"][1]["value"]
        assert await s.slack.click("bo", DEV, review["ts"], texts.NOT_A_PROBLEM, value)
        [_, noted] = await s.outcome(root, count=2)
        assert body(noted) == phrases.NOTED_NO_PROBLEM.format(
            number=2, title="`last has no default`"
        )
        assert len(s.kimi.requests) == 1

        s.kimi.play(finding(), SECOND, VERDICT)
        await s.ask("review again", thread=root)
        *_, second = await s.outcome(root, count=3)

        data = str(s.kimi.requests[-1].body["messages"][-1]["content"])
        assert "1. snippet: return rows[len(rows)] | Reads behind the end" in data
        assert "1. snippet: def last(rows): | `last` has no default" in data
        assert "**1. Critical: Reads behind the end**" in body(second)
        assert "no default" not in body(second)
        assert body(second).endswith(phrases.NO_PROBLEM_HERE.format(count="1 finding"))
        assert await s.slack.complaints() == []


BEFORE = "// größe\r\nfunction first(rows) {\r\n  return rows[1]\r\n}\r\nfirst([])".encode()
BUGGY = BEFORE.replace(b"first([])", b"first(null)")
IN_FIRST = finding(
    "src/ä b.js", 3, quote="  return rows[1]", title="The second", suggestion="  return rows[0]"
)
AT_THE_END = finding(
    "src/ä b.js", 5, quote="first(null)", title="Fails", suggestion="first([1])\nfirst([2])"
)
FIXED_END = BUGGY.replace(b"first(null)", b"first([1])\r\nfirst([2])")


async def reviewed_change(s: Scene, github: Any) -> tuple[str, Fields]:
    """The review of a pull request whose file is an odd one in every way."""
    pull = github.repositories["acme/shop"].pulls[7]
    pull.old, pull.new = {"src/ä b.js": BEFORE}, {"src/ä b.js": BUGGY}
    s.kimi.play(IN_FIRST, AT_THE_END, VERDICT)
    root = await s.ask(f"@kimibot review {page_of(github, 'acme/shop/pull/7')}")
    [review] = await s.outcome(root)
    return root, review


async def applied(folder: Path, message: Fields) -> bytes:
    """What the code is once the patch was downloaded and applied to what was reviewed."""
    [file] = message["files"]
    async with httpx.AsyncClient() as http:
        headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
        patch = await http.get(file["url_private_download"], headers=headers)
    repository = begin(folder / "repository")
    write(repository.folder, {"src/ä b.js": BUGGY, "review.patch": patch.content})
    repository.git("apply", "review.patch")
    return (repository.folder / "src/ä b.js").read_bytes()


async def test_what_a_review_suggests_is_given_to_its_asker_as_a_patch_that_applies(
    tmp_path: Path,
) -> None:
    async with reviewed_scene(tmp_path) as (s, github):
        root, review = await reviewed_change(s, github)
        assert button(review) == texts.SUGGEST_PATCH
        await s.slack.click("bo", DEV, review["ts"], texts.SUGGEST_PATCH)
        assert await s.slack.click("ana", DEV, review["ts"], texts.SUGGEST_PATCH)
        [_, said, shared] = await s.outcome(root, count=2)

        assert body(said) == phrases.PATCH
        [file] = shared["files"]
        assert re.fullmatch(r"review-[0-9a-f]{8}-[0-9a-f]{4}\.patch", file["name"])
        assert file["title"] == phrases.PATCH_TITLE
        fixed = FIXED_END.replace(b"rows[1]", b"rows[0]")
        assert await applied(tmp_path, shared) == fixed
        assert len(s.kimi.requests) == 1
        await s.ask("and why?", thread=root)
        await s.outcome(root, count=3)
        assert "Must not be merged" in str(s.kimi.requests[-1].body["messages"])
        assert await s.slack.complaints() == []


async def test_the_patch_for_one_finding_is_given_to_whoever_names_it(tmp_path: Path) -> None:
    async with reviewed_scene(tmp_path) as (s, github):
        root, _ = await reviewed_change(s, github)
        await s.ask("show the fix for 2 as a patch", thread=root)
        [_, said, shared] = await s.outcome(root, count=2)

        assert body(said) == phrases.PATCH_OF_ONE.format(number=2)
        assert await applied(tmp_path, shared) == FIXED_END
        assert len(s.kimi.requests) == 1


async def test_the_patch_leaves_out_what_is_not_a_problem(tmp_path: Path) -> None:
    async with reviewed_scene(tmp_path) as (s, github):
        root, review = await reviewed_change(s, github)
        await s.ask("1 is not a problem", thread=root)
        await s.outcome(root, count=2)
        assert await s.slack.click("ana", DEV, review["ts"], texts.SUGGEST_PATCH)
        *_, shared = await s.outcome(root, count=3)

        assert await applied(tmp_path, shared) == FIXED_END


async def test_half_a_pair_of_surrogates_in_the_code_costs_no_review(tmp_path: Path) -> None:
    """A model copies it as it stands there, where JSON wants another backslash."""
    line = r'HALF = "\ud83d"'
    quoted = finding("src/rows.py", 1, quote=line, suggestion=r'HALF = "\ude00"')
    async with reviewed_scene(tmp_path) as (s, github):
        pull = github.repositories["acme/shop"].pulls[7]
        pull.old, pull.new = {"src/rows.py": b""}, {"src/rows.py": f"{line}\n".encode()}
        s.kimi.play(quoted.replace(r"\\u", r"\u"), VERDICT)
        root = await s.ask(f"@kimibot review {page_of(github, 'acme/shop/pull/7')}")
        [review] = await s.outcome(root)

        assert f"```python\n{line}\n```" in body(review)
        assert button(review) == texts.SUGGEST_PATCH


@pytest.mark.parametrize("method", ["files.getUploadURLExternal", "files.completeUploadExternal"])
async def test_where_files_are_not_taken_the_patch_is_in_the_reply(
    method: str, tmp_path: Path
) -> None:
    async with open_scene(tmp_path) as s:
        await s.slack.fail(method, "file_uploads_disabled", times=None)
        root, review = await reviewed(s, finding("a.py", suggestion="    return rows[-1]"))
        assert texts.SUGGEST_PATCH not in handles(review)  # a snippet has no name to apply it to
        diff = CODE.replace(
            "```\n", "```\n--- a/src/rows.py\n+++ b/src/rows.py\n@@ -0,0 +1,2 @@\n+", 1
        )
        diff = diff.replace("\n    return", "\n+    return")
        s.kimi.play(finding("src/rows.py", suggestion="    return rows[-1]"), VERDICT)
        root = await s.ask(f"@kimibot review this\n{diff}")
        [review] = await s.outcome(root)
        assert await s.slack.click("ana", DEV, review["ts"], texts.SUGGEST_PATCH)
        [_, given] = await s.outcome(root, count=2)

        assert body(given) == (
            f"{phrases.PATCH}\n\n```diff\n"
            "diff --git a/src/rows.py b/src/rows.py\n--- a/src/rows.py\n"
            "+++ b/src/rows.py\n@@ -1,2 +1,2 @@\n def last(rows):\n-    return rows[len(rows)]\n"
            "+    return rows[-1]\n```"
        )


async def test_a_patch_whose_sharing_gets_no_answer_is_shared_once(tmp_path: Path) -> None:
    async with reviewed_scene(tmp_path, KIMIBOT_SLACK_TIMEOUT_SECONDS="1") as (s, github):
        root, review = await reviewed_change(s, github)
        await s.slack.delay("files.completeUploadExternal", 1.5)
        assert await s.slack.click("ana", DEV, review["ts"], texts.SUGGEST_PATCH)
        [_, said, shared] = await s.outcome(root, count=2)

        assert (body(said), len(shared["files"])) == (phrases.PATCH, 1)


async def test_what_is_said_to_be_no_problem_counts_as_if_it_was_pressed(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root, _ = await reviewed(s, finding(), SECOND)
        await s.ask("finding 2 is not a problem", thread=root)
        [_, noted] = await s.outcome(root, count=2)

        assert body(noted) == phrases.NOTED_NO_PROBLEM.format(
            number=2, title="`last has no default`"
        )
        assert await s.rows("SELECT number, said_by FROM feedback") == [(2, "U0ANA0001")]
        assert len(s.kimi.requests) == 1


@pytest.mark.parametrize("dressed", ["2 is not a problem :+1:", "<@U0KIMIBOT> ②’s not a problem"])
async def test_the_number_of_a_finding_counts_however_it_is_dressed(
    dressed: str, tmp_path: Path
) -> None:
    async with open_scene(tmp_path) as s:
        root, _ = await reviewed(s, finding(), SECOND)
        await s.ask(dressed, thread=root)
        await s.outcome(root, count=2)

        assert await s.rows("SELECT number FROM feedback") == [(2,)]
        assert len(s.kimi.requests) == 1


async def test_what_is_a_problem_after_all_is_brought_up_again(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root, _ = await reviewed(s, finding(), SECOND)
        s.kimi.play("It fails for an empty list.")
        await s.ask("2 is a problem", thread=root)
        await s.outcome(root, count=2)
        await s.ask("2 is not a problem", thread=root)
        await s.outcome(root, count=3)
        s.kimi.play(finding(), SECOND, VERDICT)
        await s.ask("review again", thread=root)
        await s.outcome(root, count=4)
        await s.ask("finding 2 is a problem after all", thread=root)
        *_, noted = await s.outcome(root, count=5)
        s.kimi.play(finding(), SECOND, VERDICT)
        await s.ask("review again", thread=root)
        _, answered, _, without, _, again = await s.outcome(root, count=6)

        assert body(answered) == "It fails for an empty list.", "it was one all the time"
        assert body(noted) == phrases.NOTED_PROBLEM.format(number=2, title="`last has no default`")
        assert ["no default" in body(one) for one in (without, again)] == [False, True]
        assert await s.rows("SELECT 1 FROM feedback") == []


async def test_who_names_a_finding_that_is_not_there_hears_how_many_are(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root, review = await reviewed(s, finding())
        for count, words in enumerate(["9 is not a problem", "show the fix for 9 as a patch"], 2):
            await s.ask(words, thread=root)
            *_, reply = await s.outcome(root, count=count)
            assert body(reply) == "The review has no finding 9: it has 1."
        beyond = handles(review)[texts.NOT_A_PROBLEM]["value"].replace(":1", ":3")
        assert await s.slack.click("bo", DEV, review["ts"], texts.NOT_A_PROBLEM, beyond)
        *_, reply = await s.outcome(root, count=4)

        assert body(reply) == "The review has no finding 3: it has 1."
        assert len(s.kimi.requests) == 1
        assert await s.rows("SELECT 1 FROM feedback") == []


async def test_of_a_review_that_found_nothing_no_finding_is_noted(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root, _ = await reviewed(s)
        await s.ask("2 is not a problem", thread=root)
        [_, reply] = await s.outcome(root, count=2)

        assert body(reply) == "The review has no finding 2: it has none."


async def test_words_that_fit_no_review_or_no_patch_are_for_the_model(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("Hello.")
        plain = await s.ask("@kimibot hello")
        await s.outcome(plain)
        root, _ = await reviewed(s, finding(), SECOND)
        for thread, words in [(plain, "9 is not a problem"), (root, "patch for 2")]:
            s.kimi.play("I see.")
            await s.ask(words, thread=thread)
            *_, reply = await s.outcome(thread, count=2)
            assert body(reply) == "I see."
            assert words in s.kimi.requests[-1].body["messages"][-1]["content"]

        assert await s.rows("SELECT 1 FROM feedback") == []


async def test_who_may_not_ask_has_nothing_explained_nor_noted(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMIBOT_ALLOWED_USERS="U0ANA0001") as s:
        root, review = await reviewed(s, finding())
        for count, action in enumerate([texts.EXPLAIN, texts.NOT_A_PROBLEM], 2):
            assert await s.slack.click("bo", DEV, review["ts"], action)
            *_, refused = await s.outcome(root, count=count)
            assert note(refused) == texts.PERSON_NOT_ALLOWED

        assert len(s.kimi.requests) == 1
        assert await s.rows("SELECT 1 FROM feedback") == []
