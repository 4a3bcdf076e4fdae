"""Words to the bot, other apps, and people who may not ask, seen from the channel."""

from __future__ import annotations

from pathlib import Path

from kimibot import texts
from kimibot.addressing import MOST_APP_ASKS
from kimibot.sandbox.slack.people import BOT, MONITOR
from tests.whole_way.scene import DEV, Scene, body, note, open_scene

NOTES = (texts.CHANNEL_NOT_ALLOWED, texts.PERSON_NOT_ALLOWED, texts.EXTERNAL_PERSON)


async def told(s: Scene, root: str, *, channel: str = DEV) -> str:
    """What the reply to a root says, in the model's words or in ours."""
    [reply] = await s.reply(
        root, lambda r: bool(body(r[0])) or note(r[0]) in NOTES, channel=channel
    )
    return body(reply) or note(reply)


async def kinds(s: Scene) -> list[tuple[str, str]]:
    """Of each turn that has ended, what it was and how it ended."""
    rows = await s.rows("SELECT kind, outcome FROM turns WHERE ended_at IS NOT NULL ORDER BY ts")
    return [tuple(row) for row in rows]


async def test_a_muted_thread_is_left_alone_but_for_mentions_until_it_is_unmuted(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path) as s:
        root = await s.ask("@kimibot help")
        await s.outcome(root)
        await s.ask("@kimibot Mute!", thread=root)
        await s.outcome(root, count=2)
        await s.ask("a remark", thread=root)
        await s.until_stored(3)
        await s.ask("@kimibot a question", thread=root)
        await s.outcome(root, count=3)
        await s.ask("another remark", thread=root)
        await s.until_stored(6)
        await s.ask("unmute", thread=root)
        await s.outcome(root, count=4)
        await s.ask("a follow-up", thread=root)
        replies = await s.outcome(root, count=5)

        shown = [body(reply) for reply in replies]
        assert "What is stored and sent" in shown[0]
        assert (shown[1], shown[3]) == (texts.MUTED, texts.UNMUTED)
        assert [kind for kind, _ in await kinds(s)] == ["help", "mute", "ask", "unmute", "ask"]
        sent = str(s.kimi.requests[-1].body["messages"])
        assert len(s.kimi.requests) == 2
        assert "a remark" in sent
        assert "Mute!" not in sent
        assert texts.MUTED not in sent
        assert await s.slack.complaints() == []


async def test_what_was_forgotten_is_neither_sent_nor_read_again(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        s.kimi.play("The CANARY is yellow.")
        root = await s.ask("@kimibot which colour has the CANARY?")
        await s.outcome(root)
        await s.ask("@kimibot forget", thread=root)
        await s.outcome(root, count=2)
        await s.ask("@kimibot what did I ask?", thread=root)
        replies = await s.outcome(root, count=3)

        assert body(replies[1]) == texts.forgotten(2)
        assert "CANARY" not in str(s.kimi.requests[-1].body["messages"])
        assert await s.slack.calls("conversations.replies") == []
        assert await s.rows("SELECT 1 FROM messages WHERE text LIKE '%CANARY%'") == []
        assert await s.rows("SELECT 1 FROM messages WHERE raw LIKE '%CANARY%'") == []


async def test_an_app_that_always_answers_us_is_answered_six_times_and_told(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path, KIMIBOT_ALLOWED_BOTS=MONITOR.bot_id) as s:
        mention = f"<@{BOT.user_id}> the disk is full"
        root = await s.slack.say_as_app(DEV, mention)
        for count in range(1, MOST_APP_ASKS + 2):
            await s.outcome(root, count=count)
            await s.slack.say_as_app(DEV, mention, thread_ts=root)
        await s.until_stored(2 * MOST_APP_ASKS + 2)
        replies = await s.replies(root)

        ours = [reply for reply in replies if reply["bot_id"] == BOT.bot_id]
        assert len(ours) == MOST_APP_ASKS + 1
        assert body(ours[-1]) == texts.app_limit(MOST_APP_ASKS)
        assert len(s.kimi.requests) == MOST_APP_ASKS


async def test_another_app_is_not_answered_unless_it_is_listed(tmp_path: Path) -> None:
    async with open_scene(tmp_path) as s:
        await s.slack.say_as_app(DEV, f"<@{BOT.user_id}> the disk is full")
        await s.outcome(await s.ask("@kimibot hello"))

        assert len(await s.rows("SELECT 1 FROM turns")) == 1


async def test_guests_and_strangers_are_refused_and_a_member_whom_slack_does_not_show_is_not(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path) as s:
        guest = await s.slack.say("gus", "#general", "@kimibot hello")
        stranger = await s.slack.say("sam", "#shared", "@kimibot hello")
        assert await told(s, guest, channel="#general") == texts.EXTERNAL_PERSON
        assert await told(s, stranger, channel="#shared") == texts.EXTERNAL_PERSON

        await s.slack.fail("users.info", "user_not_found", times=None)
        await s.outcome(await s.ask("@kimibot hello", user="mei"))
        assert await kinds(s) == [("ask", "refused"), ("ask", "refused"), ("ask", "answered")]


async def test_guests_and_strangers_are_answered_where_the_operator_says_so(
    tmp_path: Path,
) -> None:
    async with open_scene(tmp_path, KIMIBOT_EXTERNAL_PEOPLE="on") as s:
        guest = await s.slack.say("gus", "#general", "@kimibot hello")
        stranger = await s.slack.say("sam", "#shared", "@kimibot hello")
        shown = [
            await told(s, guest, channel="#general"),
            await told(s, stranger, channel="#shared"),
        ]

        assert not set(shown) & set(NOTES)


async def test_only_listed_channels_and_people_are_answered(tmp_path: Path) -> None:
    async with open_scene(
        tmp_path,
        KIMIBOT_ALLOWED_CHANNELS="C0DEV0001, direct",
        KIMIBOT_ALLOWED_USERS="U0ANA0001",
    ) as s:
        elsewhere = await s.slack.say("ana", "#random", "@kimibot hello")
        assert await told(s, elsewhere, channel="#random") == texts.CHANNEL_NOT_ALLOWED
        assert await told(s, await s.ask("@kimibot hello", user="bo")) == texts.PERSON_NOT_ALLOWED
        root = await s.ask("@kimibot hello")
        assert await told(s, root) not in NOTES
        direct = await s.slack.open_direct("ana")
        private = await s.slack.say("ana", direct, "hello")
        assert await told(s, private, channel=direct) not in NOTES
