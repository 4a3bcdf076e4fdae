"""Where two features meet: the promises of each hold beside the other."""

from __future__ import annotations

from pathlib import Path

from kimibot import texts
from tests.whole_way.scene import DEV, body, button, open_scene
from tests.whole_way.test_files import SCRIPT


async def test_a_forgotten_answer_is_not_continued(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("One, two, ", finish_reason="length")
        root = await s.ask("@kimibot count to four")
        [cut] = await s.outcome(root)
        assert button(cut) == texts.CONTINUE
        await s.ask("@kimibot forget", thread=root)
        await s.outcome(root, count=2)

        assert await s.slack.click("ana", DEV, cut["ts"], texts.CONTINUE)
        await s.ask("@kimibot hello", thread=root)
        await s.outcome(root, count=3)

        kinds = await s.rows("SELECT kind FROM turns ORDER BY accepted_at")
        assert [kind for (kind,) in kinds] == ["ask", "forget", "ask"]


async def test_a_file_without_a_word_can_be_tried_again(tmp_path: Path) -> None:
    async with open_scene(tmp_path, KIMI_MAX_RETRIES="0") as s:
        s.kimi.refuse(500, "")
        direct = await s.slack.open_direct("ana")
        root = await s.slack.say("ana", direct, files=[SCRIPT])
        [failed] = await s.reply(root, lambda r: button(r[0]) == texts.TRY_AGAIN, channel=direct)
        s.kimi.play("Nothing is wrong.")
        await s.slack.click("ana", direct, failed["ts"], texts.TRY_AGAIN)

        await s.reply(root, lambda r: body(r[0]) == "Nothing is wrong.", channel=direct)


async def test_words_added_to_a_file_alone_are_read(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        direct = await s.slack.open_direct("ana")
        root = await s.slack.say("ana", direct, files=[SCRIPT])
        await s.outcome(root)
        await s.slack.edit("ana", direct, root, "This one is in Python 2.")
        await s.slack.say("ana", direct, "and now?", thread_ts=root)
        await s.outcome(root, count=2)

        assert "This one is in Python 2." in str(s.kimi.requests[-1].body["messages"])
