"""What people attach reaches the model, over real sockets; what does not is told."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

from PIL import Image

from kimibot import texts
from kimibot.sandbox.kimi import KimiOptions
from tests.whole_way.scene import DEV, Scene, body, note, open_scene

CODE = "def f(a):\n    return a[0]  # ```\n"
SCRIPT = {"name": "app.py", "text": CODE, "mimetype": "text/x-python"}


def last_said(scene: Scene, request: int = -1) -> Any:
    return scene.kimi.requests[request].body["messages"][-1]["content"]


async def test_a_mention_with_a_file_is_answered_from_what_is_in_it(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.slack.say("ana", DEV, "@kimibot what is wrong?", files=[SCRIPT])
        [reply] = await s.outcome(root)
        await s.slack.say("ana", DEV, "and here?", thread_ts=root, files=[SCRIPT])
        await s.outcome(root, count=2)

        first = s.kimi.requests[0].body["messages"]
        assert first[1]["content"].endswith(
            f"what is wrong?\n\n[attached file: app.py]\n````python\n{CODE}````"
        )
        assert note(reply) == ""
        assert s.kimi.requests[1].body["messages"][:2] == first
        assert last_said(s).endswith(
            f"and here?\n\n[attached file: app.py]\n````python\n{CODE}````"
        )
        assert await s.slack.complaints() == []


async def test_a_patch_is_read_whole_although_slack_shows_only_its_beginning(
    tmp_path: Path,
) -> None:
    patch = "--- a/x.py\n+++ b/x.py\n" + "".join(f"+line {n}\n" for n in range(2_000))
    async with open_scene(tmp_path) as s:
        files = [{"name": "fix.patch", "text": patch}]
        root = await s.slack.say("ana", DEV, "@kimibot is that right?", files=files)
        await s.outcome(root)

        message, *_ = await s.slack.messages(DEV)
        assert message["files"][0]["preview_is_truncated"]
        assert f"[attached file: fix.patch]\n```diff\n{patch}```" in last_said(s)


async def test_a_file_without_a_word_is_an_ask_in_a_direct_message(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        direct = await s.slack.open_direct("ana")
        root = await s.slack.say("ana", direct, files=[SCRIPT])
        await s.reply(root, lambda r: bool(body(r[0])), channel=direct)

        assert CODE in last_said(s)


async def test_a_file_of_an_ask_that_had_to_wait_is_fetched_when_its_turn_comes(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("one ", "moment", delay_seconds=60.0)  # three seconds at this speed
        root = await s.ask("@kimibot think")
        await s.reply(root, lambda r: "one" in body(r[0]))
        await s.slack.say("ana", DEV, "@kimibot and this?", thread_ts=root, files=[SCRIPT])

        async def stored() -> list[Any] | None:
            return await s.rows("SELECT id FROM attachments") or None

        await s.until(stored, 5.0)
        await s.outcome(root, count=2)

        assert CODE in last_said(s)


async def test_one_bad_file_spoils_no_other_and_each_is_told_with_its_reason(
    tmp_path: Path,
) -> None:
    files: list[dict[str, Any]] = [
        SCRIPT,
        {"name": "gone.txt", "text": "x", "fault": "not_found"},
        {"name": "slow.txt", "text": "x", "fault": "stall"},
        {"name": "huge.log", "text": "x", "overrides": {"size": 50 * 2**20}},
        {"name": "shot.png", "text": "x", "fault": "login_page", "mimetype": "image/png"},
        {"name": "far.txt", "text": "x", "fault": "redirect:http://127.0.0.1:9/far.txt"},
        {"name": "meta.txt", "text": "x", "overrides": url("http://169.254.169.254/latest")},
        {"name": "data.zip", "base64": base64.b64encode(b"PK\x03\x04\0\0").decode()},
        {"name": "ninth.txt", "text": "nine"},
        {"name": "tenth.txt", "text": "ten"},
    ]
    async with open_scene(tmp_path) as s:
        root = await s.slack.say("ana", DEV, "@kimibot read these", files=files)
        [reply] = await s.outcome(root, seconds=20)

        told = note(reply).splitlines()
        assert sorted(told) == [
            "Not read: data.zip. I read text, code, PDF and pictures only.",
            "Not read: far.txt, meta.txt. I read only files that are stored in Slack.",
            "Not read: gone.txt. Slack does not have it any more.",
            "Not read: huge.log. I read files of up to 20 MB, and pictures of up to 40 megapixels.",
            "Not read: ninth.txt, tenth.txt. I read at most 8 files at once.",
            "Not read: shot.png. Slack asked me to sign in instead of giving me the file. Please "
            "tell the admin of this bot: the app may have to be installed again with the scope "
            "`files:read`.",
            "Not read: slow.txt. It took too long.",
        ]
        assert CODE in last_said(s)
        assert "[attached, but you can't read it: ninth.txt – too many files at once]" in last_said(
            s
        )
        assert "Sign in" not in last_said(s)


async def test_a_turn_that_waits_for_a_file_can_be_stopped(tmp_path: Path) -> None:
    slow = {"name": "slow.txt", "text": "x", "fault": "stall"}
    async with open_scene(tmp_path, KIMIBOT_SLACK_TIMEOUT_SECONDS="14") as s:
        root = await s.slack.say("ana", DEV, "@kimibot read this", files=[slow])
        await s.reply(root, lambda r: "Thinking" in note(r[0]))
        await s.ask("stop", thread=root)
        [reply] = await s.outcome(root, seconds=5)

        assert note(reply).startswith("Stopped")
        assert s.kimi.requests == []


async def test_nothing_is_left_of_a_file_when_its_message_is_deleted(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask("@kimibot hello")
        await s.outcome(root)
        ts = await s.slack.say("ana", DEV, "and this?", thread_ts=root, files=[SCRIPT])
        await s.outcome(root, count=2)
        await s.slack.delete("ana", DEV, ts)
        await s.until_gone("attachments")
        await s.ask("and now?", thread=root)
        await s.outcome(root, count=3)

        assert "return a[0]" in str(s.kimi.requests[1].body)
        assert "return a[0]" not in str(s.kimi.requests[2].body)


async def test_without_its_scope_the_answer_names_the_scope(tmp_path: Path) -> None:
    scopes = frozenset({"app_mentions:read", "channels:history", "chat:write", "users:read"})
    async with open_scene(tmp_path, slack={"scopes": scopes}) as s:
        root = await s.slack.say("ana", DEV, "@kimibot what is wrong?", files=[SCRIPT])
        [reply] = await s.outcome(root)

        assert "This app lacks the scope `files:read`" in note(reply)


async def test_a_file_of_which_the_event_holds_the_id_alone_is_looked_up(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        hidden = SCRIPT | {"is_hidden": True}
        root = await s.slack.say("ana", DEV, "@kimibot what is wrong?", files=[hidden])
        await s.outcome(root)

        assert f"[attached file: app.py]\n````python\n{CODE}" in last_said(s)


async def test_a_picture_goes_to_the_model_each_time_in_the_same_place(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.slack.say("ana", DEV, "@kimibot what is this?", files=[SHOT])
        [reply] = await s.outcome(root)
        await s.ask("and now?", thread=root)
        await s.outcome(root, count=2)

        first, second = (request.body["messages"] for request in s.kimi.requests)
        words, picture = first[1]["content"]
        assert words["text"].endswith("what is this?\n\n[attached picture: shot.png]")
        assert picture["image_url"]["url"].startswith("data:image/png;base64,")
        assert note(reply) == ""
        assert second[: len(first)] == first


async def test_a_model_that_takes_no_pictures_after_all_answers_without_them(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path, kimi=KimiOptions(speed=20, sees=False)) as s:
        root = await s.slack.say("ana", DEV, "@kimibot what is this?", files=[SHOT])
        [reply] = await s.outcome(root)

        assert body(reply)
        assert note(reply) == texts.PICTURES_REFUSED


async def test_a_picture_is_received_and_not_read_where_it_is_switched_off(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMI_IMAGES="off") as s:
        root = await s.slack.say("ana", DEV, "@kimibot what is this?", files=[SHOT])
        [reply] = await s.outcome(root)

        assert "a picture; you can't see pictures" in last_said(s)
        assert "I received it, but the model here does not see pictures." in note(reply)


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (20, 20), "red").save(out, "PNG")
    return out.getvalue()


SHOT = {"name": "shot.png", "base64": base64.b64encode(png()).decode(), "mimetype": "image/png"}


def url(address: str) -> dict[str, str]:
    return {"url_private": address, "url_private_download": address}


async def test_a_file_that_is_deleted_in_slack_is_not_sent_to_kimi_again(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.slack.say("ana", DEV, "@kimibot what is wrong?", files=[SCRIPT])
        await s.outcome(root)
        [message, *_] = await s.slack.messages(DEV)
        gone = [{"id": message["files"][0]["id"], "mode": "tombstone"}]
        channel = s.slack.parts.workspace.channel(DEV)
        s.slack.parts.workspace.messages.change(channel.id, root, {"files": gone})
        await s.slack.until(lambda: s.slack.ephemerals("ana"), 5.0)

        await s.slack.say("ana", DEV, "@kimibot and now?", thread_ts=root)
        await s.outcome(root, count=2)

        said = s.kimi.requests[1].body["messages"]
        assert said[1]["content"].endswith("what is wrong?")
        assert await s.rows("SELECT 1 FROM attachments") == []
