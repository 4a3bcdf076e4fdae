"""`kimibot demo --script`: a fixed conversation in the terminal, checked at every step.

A mention, a follow-up from memory, a word to the bot, an attached file, a review, an edit, an
answer that is cut short, continued and stopped, a message that is asked about, an error
with Try again, and a kill -9 in mid-answer.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

from kimibot.sandbox.demo.processes import Process, bot_environment, counterparts, started
from kimibot.sandbox.kimi.telling import written
from kimibot.sandbox.slack import LocalSlackControls

Say = Callable[[str], None]
Fields = dict[str, Any]

CHANNEL = "#dev"
ASKER = "ana"
STEP_SECONDS = 60.0
AT_REST_SECONDS = 2.0
KIMI_OPTIONS = ("--speed", "6")
ROWS: Fields = {"name": "rows.csv", "text": "row,price\n1,9\n"}
MEAN: Fields = {"name": "mean.py", "text": f"{written('snippet')}\n"}
SHORT_LEASE = {
    "KIMIBOT_LEASE_SECONDS": "4",
    "KIMIBOT_RENEW_SECONDS": "1",
    "KIMIBOT_SLACK_TIMEOUT_SECONDS": "2",
    "KIMIBOT_SWEEP_SECONDS": "0.5",
}
"""So that the restarted bot takes over what the killed one left, without a long wait."""


class Unexpected(Exception):
    """The thread does not show what it should."""


async def play_script(*, say: Say) -> int:
    """Play it; 0 when the thread showed everything it should, 1 otherwise."""
    with tempfile.TemporaryDirectory(prefix="kimibot-script-") as folder:
        try:
            async with AsyncExitStack() as stack:
                both = counterparts(
                    port=0, with_local_kimi=True, stack=stack, kimi_options=KIMI_OPTIONS
                )
                parts = await stack.enter_async_context(both)
                environment = bot_environment(parts, Path(folder) / "script.db") | SHORT_LEASE
                slack = await stack.enter_async_context(LocalSlackControls(parts.slack_url))
                await _Play(slack, environment, say).all()
        except (Unexpected, RuntimeError, TimeoutError) as error:
            say(f"FAILED: {error or 'nothing happened in time'}")
            return 1
    say("All as it should be.")
    return 0


class _Play:
    """The conversation, step by step."""

    def __init__(self, slack: LocalSlackControls, environment: Mapping[str, str], say: Say) -> None:
        self._slack = slack
        self._environment = environment
        self._say = say

    async def all(self) -> None:
        async with self._bot() as bot:
            await bot.wait_for("socket open")
            self._say(f"The bot is connected (process {bot.pid}).")
            await self._mention_and_follow_up()
            await self._word_to_the_bot()
            await self._file_and_review()
            await self._edit()
            await self._cut_short_and_continued()
            await self._asked_about()
            await self._error_and_try_again()
            root = await self._kill_in_mid_answer(bot)
        async with self._bot() as bot:
            await bot.wait_for("socket open")
            self._say(f"\nThe bot is back (process {bot.pid}).")
            await self._answered_in_place(root)
            self._ended_cleanly(await bot.end())

    async def _mention_and_follow_up(self) -> None:
        root = await self._ask("@kimibot When do I answer 409 and when 422?")
        await self._answer(root, replies=1)
        await self._ask("What did I ask before?", root)
        if "422" not in await self._answer(root, replies=2):
            raise Unexpected("the follow-up does not know the first question")

    async def _word_to_the_bot(self) -> None:
        root = await self._ask("@kimibot help")
        if "What is stored" not in await self._answer(root, replies=1):
            raise Unexpected("the help does not say what is stored")

    async def _file_and_review(self) -> None:
        root = await self._ask("@kimibot What is in this?", files=[ROWS])
        if "2 lines" not in await self._answer(root, replies=1):
            raise Unexpected("the attached file was not read")
        await self._ask("@kimibot review this", root, files=[MEAN])
        review = await self._answer(root, replies=2)
        if "1. Critical" not in review or "mean.py:4" not in review:
            raise Unexpected("the review does not say what is wrong, and where")

    async def _edit(self) -> None:
        root = await self._ask("@kimibot How would you build a job queue on PostgreSQL?")
        await self._reply(root, lambda reply: len(_body(reply)) > 100)
        self._say("  ana      (edits it) @kimibot When do I answer 409 and when 422?")
        edited = "@kimibot When do I answer 409 and when 422?"
        await self._slack.edit(ASKER, CHANNEL, root, edited)
        anew = await self._reply(root, lambda reply: "422" in _body(reply))
        self._show(anew)
        if "SKIP LOCKED" in _body(anew):
            raise Unexpected("the answer to what was asked before is still there")

    async def _cut_short_and_continued(self) -> None:
        root = await self._ask("@kimibot Give me a truncated answer")
        cut = await self._reply(root, lambda reply: _has_button(reply, "continue"))
        self._show(cut)
        self._say("  ana      (presses Continue)")
        await self._slack.click(ASKER, CHANNEL, cut["ts"], "continue")
        going_on = await self._reply(root, lambda reply: len(_body(reply)) > 100, replies=2)
        if "stand-in" in _body(going_on):
            raise Unexpected("the answer was not continued")
        await self._slack.click(ASKER, CHANNEL, going_on["ts"], "stop")
        stopped = await self._reply(root, lambda reply: "Stopped by" in _note(reply), replies=2)
        self._show(stopped)
        self._say("           (by Stop, which ana has pressed)")

    async def _asked_about(self) -> None:
        root = await self._ask("Who knows when it is a 409?")
        self._say("  ana      (chooses Ask Kimi about this)")
        await self._slack.shortcut(ASKER, CHANNEL, root, "ask_about")
        self._show(await self._reply(root, lambda reply: "409" in _body(reply)))

    async def _error_and_try_again(self) -> None:
        root = await self._ask("@kimibot Show me a flaky 500")
        failed = await self._reply(root, lambda reply: _has_button(reply, "try_again"))
        self._show(failed)
        if "trace:" not in _note(failed):
            raise Unexpected("the error has no trace id")
        self._say("  ana      (presses Try again)")
        await self._slack.click(ASKER, CHANNEL, failed["ts"], "try_again")
        await self._reply(root, lambda reply: bool(_body(reply)) and not _note(reply))
        await self._answer(root, replies=1)
        if len(await self._replies(root)) != 1:
            raise Unexpected("the second try does not take the place of the first")

    async def _kill_in_mid_answer(self, bot: Process) -> str:
        root = await self._ask("@kimibot How would you build a job queue on PostgreSQL?")
        half = await self._reply(root, lambda reply: len(_body(reply)) > 300)
        os.kill(bot.pid, signal.SIGKILL)
        await bot.running.wait()
        self._show(half)
        self._say(f"           (kill -9 {bot.pid}, in mid-answer)")
        return root

    async def _answered_in_place(self, root: str) -> None:
        before = await self._replies(root)
        await self._answer(root, replies=1)
        replies = await self._replies(root)
        if [reply["ts"] for reply in replies][: len(before)] != [reply["ts"] for reply in before]:
            raise Unexpected("the half-written reply was not replaced in its place")
        count = len(replies)
        messages = "1 message" if count == 1 else f"{count} messages, each of them once"
        self._say(f"           (in the same place: {messages})")

    async def _ask(self, text: str, root: str | None = None, files: Sequence[Fields] = ()) -> str:
        named = "".join(f"  [{file['name']}]" for file in files)
        self._say(f"\n  {ASKER:8} {text}{named}")
        return await self._slack.say(ASKER, CHANNEL, text, thread_ts=root, files=files)

    async def _answer(self, root: str, *, replies: int) -> str:
        """The newest reply, once there are so many and it has stopped growing."""
        reply = await self._reply(root, lambda reply: bool(_body(reply)), replies)
        while not await self._is_at_rest():
            reply = (await self._replies(root))[-1]
        self._show(reply)
        return _body(reply)

    async def _reply(
        self, root: str, is_wanted: Callable[[Fields], bool], replies: int = 1
    ) -> Fields:
        async def look() -> Fields | None:
            found = await self._replies(root)
            return found[-1] if len(found) >= replies and is_wanted(found[-1]) else None

        return await self._slack.until(look, STEP_SECONDS)

    async def _replies(self, root: str) -> list[Fields]:
        """The bot's messages in the thread, oldest first."""
        thread = await self._slack.thread(CHANNEL, root)
        return [message for message in thread if message.get("bot_id")]

    async def _is_at_rest(self) -> bool:
        before = await self._slack.revision()
        return await self._slack.wait_for_change(before, AT_REST_SECONDS) == before

    def _show(self, reply: Fields) -> None:
        words = [word for word in (_shortened(_body(reply)), _note(reply)) if word]
        self._say(f"  kimibot  {(chr(10) + ' ' * 11).join(words)}")

    def _ended_cleanly(self, code: int) -> None:
        self._say(f"\nThe bot was told to end, and ended with {code}.")
        if code != 0:
            raise Unexpected("SIGTERM does not end in 0")

    def _bot(self) -> AbstractAsyncContextManager[Process]:
        return started("the bot", ["-m", "kimibot", "run"], environment=self._environment)


def _body(reply: Fields) -> str:
    """The text of the model in a reply, without our own words below it."""
    blocks = reply.get("blocks") or []
    return "".join(block["text"] for block in blocks if block["type"] == "markdown")


def _note(reply: Fields) -> str:
    """Our own words in a reply."""
    blocks = reply.get("blocks") or []
    elements = [e for block in blocks if block["type"] == "context" for e in block["elements"]]
    return " · ".join(element["text"].replace("\n", " · ") for element in elements)


def _has_button(reply: Fields, action_id: str) -> bool:
    blocks = reply.get("blocks") or []
    elements = [e for block in blocks if block["type"] == "actions" for e in block["elements"]]
    return any(element["action_id"] == action_id for element in elements)


def _shortened(text: str) -> str:
    lines = text.strip().splitlines()
    if not lines:
        return ""
    more = f"  … ({len(lines)} lines)" if len(lines) > 1 else ""
    return lines[0][:90] + more
