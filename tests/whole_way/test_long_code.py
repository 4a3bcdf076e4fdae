"""Code that is too long for a thread is in it as a file: whole, once, and below the reply."""

from __future__ import annotations

from pathlib import Path

import pytest

from kimibot.sandbox.kimi import Chunk, End
from tests.whole_way.scene import DEV, Fields, Scene, body, button, note, open_scene
from tests.whole_way.test_restart import World, world

LINES = [f"line_{number} = {number}\n" for number in range(900)]
CODE = "".join(LINES)
ANSWER = f"Look:\n\n```python\n{CODE}```\n\nThat was all."
SHARE = "files.completeUploadExternal"


def codes(slack: Scene | World, thread: list[Fields]) -> list[str]:
    """What is in the files of the thread, oldest first."""
    files = slack.slack.parts.workspace.files
    ids = [file["id"] for message in thread for file in message.get("files") or []]
    return [file.content.decode() for file in map(files.get, ids) if file is not None]


def is_once_and_below(s: Scene | World, thread: list[Fields]) -> bool:
    """One reply of one part, and then the file with all of the code."""
    [reply, shared] = thread
    shown = body(reply)
    return (
        shown.startswith(f"Look:\n\n```python\n{''.join(LINES[:40])}```\n_… 900 lines in all.")
        and shown.endswith("That was all.")
        and codes(s, [shared]) == [CODE]
    )


async def test_long_code_is_attached_and_its_first_lines_stay(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play(ANSWER)
        root = await s.ask("@kimibot write it")
        thread = await s.outcome(root)
        [file] = thread[-1]["files"]
        s.kimi.play("Fine.")
        await s.ask("again", thread=root)
        await s.outcome(root, count=2)

        assert is_once_and_below(s, thread)
        assert (file["filetype"], file["title"], file["mode"]) == ("python", "Code 1", "snippet")
        assert file["name"].endswith(".py")
        assert s.kimi.requests[-1].body["messages"][-2]["content"] == ANSWER


async def test_the_file_of_an_answer_is_asked_about_as_the_answer_is(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play(ANSWER)
        root = await s.ask("@kimibot write it")
        [_, shared] = await s.outcome(root)
        s.kimi.play("It has nine hundred lines.")

        assert await s.slack.shortcut("bo", DEV, shared["ts"], "ask_about")

        [*_, told] = await s.outcome(root, count=2)
        assert body(told) == "It has nine hundred lines."
        assert s.kimi.requests[-1].body["messages"][-2]["content"] == ANSWER


async def test_growing_code_shows_how_many_lines_there_are(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        pieces = ["".join(LINES[at : at + 30]) for at in range(0, 900, 30)]
        s.kimi.play("Look:\n\n```python\n", *pieces, "```\n\nThat was all.", delay_seconds=4.0)
        thread = await s.outcome(await s.ask("@kimibot write it"))

        calls = await s.slack.calls("chat.update")
        shown = [{"blocks": call.arguments["blocks"]} for call in calls]
        counted = [each for each in shown if note(each).endswith("lines so far")]
        assert len(counted) > 1
        assert all(body(each).count("\n") == 43 for each in counted)
        assert is_once_and_below(s, thread)


@pytest.mark.parametrize("method", ["files.getUploadURLExternal", SHARE])
@pytest.mark.parametrize("fault", ["lost answer", "internal error", "429", "late"])
async def test_a_call_that_goes_wrong_costs_no_file_and_doubles_none(
    tmp_path: Path, method: str, fault: str
) -> None:
    async with open_scene(tmp_path, KIMIBOT_SLACK_TIMEOUT_SECONDS="1") as s:
        if fault == "lost answer":
            await s.slack.drop_response(method)
        elif fault == "internal error":
            await s.slack.fail(method, "internal_error")
        elif fault == "429":
            await s.slack.fail(method, status=429, retry_after_seconds=1)
        else:
            await s.slack.delay(method, 1.5)
        s.kimi.play(ANSWER)
        thread = await s.outcome(await s.ask("@kimibot write it"))

        assert is_once_and_below(s, thread)


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("files.getUploadURLExternal", "missing_scope"),
        ("files.getUploadURLExternal", "file_uploads_disabled"),
        (SHARE, "posting_to_channel_denied"),
    ],
)
async def test_where_files_are_not_taken_all_of_the_code_is_in_the_reply(
    tmp_path: Path, method: str, code: str
) -> None:
    async with open_scene(tmp_path) as s:
        await s.slack.fail(method, code, times=None)
        s.kimi.play(ANSWER, times=2)
        root = await s.ask("@kimibot write it")
        thread = await s.outcome(root)
        await s.ask("again", thread=root)
        again = (await s.outcome(root, count=2))[len(thread) :]

        shown = "\n".join(body(part) for part in thread)
        assert codes(s, thread + again) == []
        assert all(shown.count(line) >= 1 for line in LINES)
        assert shown.index("That was all.") < shown.index("Code 1")
        told_for_good = code != "posting_to_channel_denied"
        assert ("lines in all" in "".join(map(body, again))) is not told_for_good


async def test_what_there_is_of_stopped_code_is_attached(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("Look:\n\n```python\n", CODE, Chunk(content="more = 1\n", wait_seconds=60.0))
        root = await s.ask("@kimibot write it")
        await s.reply(root, lambda found: "900 lines so far" in note(found[-1]))
        await s.ask("stop", thread=root)
        thread = await s.outcome(root)

        assert codes(s, thread) == [CODE]
        assert note(thread[0]).startswith("Stopped")
        assert "lines in all" in body(thread[0])


async def test_a_second_try_takes_the_files_of_the_first_out(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMIBOT_SLACK_TIMEOUT_SECONDS="1", KIMI_MAX_RETRIES="0") as s:
        s.kimi.play(f"Look:\n\n```python\n{CODE}", end=End.RESET)
        root = await s.ask("@kimibot write it")
        failed = await s.outcome(root)
        assert (codes(s, failed), button(failed[0])) == ([CODE], "try_again")

        s.kimi.play("Just this.")
        await s.slack.click("ana", DEV, failed[0]["ts"], "try_again")
        [reply] = await s.reply(root, lambda found: len(found) == 1, seconds=20.0)
        assert body(reply) == "Just this."


@pytest.mark.processes
@pytest.mark.parametrize("last", ["line_899", "row_899"])
async def test_a_kill_right_after_the_file_is_shared_leaves_one_file(
    tmp_path: Path, last: str
) -> None:
    """Of the answer that is shown in the end, be it the same as before or another."""
    async with world(tmp_path) as w:
        async with w.bot() as bot:

            def kill_when_shared(call: str, is_done: bool) -> None:
                if call == SHARE and is_done:
                    bot.process.kill()
                    raise ConnectionAbortedError

            w.slack.watch(kill_when_shared)
            w.kimi.play(ANSWER)
            root = await w.slack.say("ana", DEV, "@kimibot write it")
            await bot.process.wait()
        assert codes(w, await w.replies(root)) == [CODE]
        w.slack.watch(lambda *_: None)
        w.kimi.play(ANSWER.replace("line_899", last))
        async with w.bot() as bot:
            await bot.says("turn ended")

        thread = await w.replies(root)
        assert len(thread) == 2
        assert codes(w, thread[1:]) == [CODE.replace("line_899", last)]
