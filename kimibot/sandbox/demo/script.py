"""`kimibot demo --script`: a fixed conversation in the terminal, checked at every step.

A mention, a follow-up from memory, a word to the bot, an attached file, a review of a file and one
of a pull request, with an explanation, a patch and what is fixed later, a message that is asked
about, an error with Try again, an edit, an answer that is cut short, continued and stopped, and a
kill -9 in mid-answer.
"""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from pathlib import Path

import aiohttp

from kimibot.sandbox.demo.channel import (
    Channel,
    Fields,
    Say,
    Unexpected,
    body,
    has_button,
    note,
)
from kimibot.sandbox.demo.processes import (
    Counterparts,
    Process,
    bot_environment,
    counterparts,
    started_bot,
)
from kimibot.sandbox.kimi.telling import written
from kimibot.sandbox.slack import BOT_TOKEN, LocalSlackControls

READABLE, AT_ONCE = 6.0, 100.0
"""How fast the local Kimi is: where something happens in mid-answer, and where nothing does."""

SHORT_ASK = "@kimibot When do I answer 409 and when 422?"
LONG_ASK = "@kimibot How would you build a job queue on PostgreSQL?"
ROWS: Fields = {"name": "rows.csv", "text": "row,price\n1,9\n"}
MEAN: Fields = {"name": "mean.py", "text": f"{written('snippet')}\n"}
SHORT_LEASE = {
    "KIMIBOT_LEASE_SECONDS": "3",
    "KIMIBOT_RENEW_SECONDS": "0.75",
    "KIMIBOT_SLACK_TIMEOUT_SECONDS": "1.5",
    "KIMIBOT_SWEEP_SECONDS": "0.25",
}
"""So that the restarted bot takes over what the killed one left, without a long wait."""


async def play_script(*, say: Say) -> int:
    """Play it; 0 when the channel showed everything it should, 1 otherwise."""
    with tempfile.TemporaryDirectory(prefix="kimibot-script-") as folder:
        try:
            async with AsyncExitStack() as stack:
                all_of_them = counterparts(port=0, with_local_kimi=True, stack=stack)
                parts = await stack.enter_async_context(all_of_them)
                environment = bot_environment(parts, f"sqlite:///{folder}/script.db") | SHORT_LEASE
                start = partial(started_bot, environment, Path(folder))
                slack = await stack.enter_async_context(LocalSlackControls(parts.slack_url))
                around = _Around(await stack.enter_async_context(aiohttp.ClientSession()), parts)
                channels = Channel(slack, "#dev", say), Channel(slack, "#general", say)
                await _Play(*channels, around, start, say).all()
        except (Unexpected, RuntimeError, TimeoutError) as error:
            say(f"FAILED: {error or 'nothing happened in time'}")
            return 1
    say("All as it should be.")
    return 0


class _Around:
    """What happens outside of Slack."""

    def __init__(self, http: aiohttp.ClientSession, parts: Counterparts) -> None:
        self._http = http
        self.pull_url = parts.pull_url
        self._kimi_url = (parts.kimi_url or "").removesuffix("/kimi")

    async def content(self, file: Fields) -> str:
        """What is in a file of the channel."""
        headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
        async with self._http.get(file["url_private_download"], headers=headers) as response:
            return await response.text()

    async def kimi_writes(self, speed: float) -> None:
        """From the next answer on, so many times as fast as usual."""
        await self._post(f"{self._kimi_url}/control/pace", {"speed": speed})

    async def push_fix(self) -> None:
        """Let the author of the pull request push."""
        await self._post(f"{self.pull_url}/push", {})

    async def pull_page(self) -> str:
        """What can be seen there of the pull request."""
        async with self._http.get(self.pull_url) as response:
            response.raise_for_status()
            return await response.text()

    async def _post(self, url: str, order: Mapping[str, float]) -> None:
        async with self._http.post(url, json=order) as response:
            response.raise_for_status()


class _Play:
    """The conversation, step by step. The pull request has a channel of its own: in each, Slack
    takes only a post a second."""

    def __init__(
        self,
        channel: Channel,
        reviews: Channel,
        around: _Around,
        start: Callable[[], AbstractAsyncContextManager[Process]],
        say: Say,
    ) -> None:
        self._channel = channel
        self._reviews = reviews
        self._around = around
        self._bot = start
        self._say = say

    async def all(self) -> None:
        async with self._bot() as bot:
            await bot.wait_for("socket open")
            self._say(f"The bot is connected (process {bot.pid}).")
            await self._around.kimi_writes(AT_ONCE)
            await self._mention_and_follow_up()
            await self._word_to_the_bot()
            await self._file_and_review()
            await self._pull_request(bot)
            await self._asked_about()
            await self._error_and_try_again()
            await self._around.kimi_writes(READABLE)
            await self._edit()
            await self._cut_short_and_continued()
            root = await self._kill_in_mid_answer(bot)
        await self._around.kimi_writes(AT_ONCE)
        async with self._bot() as bot:
            await bot.wait_for("socket open")
            self._say(f"\nThe bot is back (process {bot.pid}).")
            await self._answered_in_place(root)
            await asyncio.gather(
                self._channel.nothing_more_came(), self._reviews.nothing_more_came()
            )
            self._ended_cleanly(await bot.end())

    async def _mention_and_follow_up(self) -> None:
        root = await self._channel.ask(SHORT_ASK)
        await self._channel.answer(root)
        await self._channel.ask("What did I ask before?", root)
        _expect(
            "422" in await self._channel.answer(root, replies=2),
            "the follow-up does not know the first question",
        )

    async def _word_to_the_bot(self) -> None:
        root = await self._channel.ask("@kimibot help")
        help_text = await self._channel.answer(root)
        _expect("What is stored" in help_text, "the help does not say what is stored")

    async def _file_and_review(self) -> None:
        root = await self._channel.ask("@kimibot What is in this?", files=[ROWS])
        seen = await self._channel.answer(root)
        _expect("2 lines" in seen, "the attached file was not read")
        await self._channel.ask("@kimibot review this", root, files=[MEAN])
        review = await self._channel.answer(root, replies=2)
        _expect(
            "1. Critical" in review and "mean.py:4" in review,
            "the review does not say what is wrong, and where",
        )

    async def _pull_request(self, bot: Process) -> None:
        root = await self._reviews.ask(f"@kimibot review {self._around.pull_url}")
        review = await self._reviews.reply(root, lambda one: has_button(one, "suggest_patch"))
        self._reviews.show_findings(review)
        _expect(
            "Also read: `shop/links.py` (1 file)." in body(review),
            "the review does not say that it looked at more than the diff",
        )
        await self._only_what_is_there(bot, body(review))
        await self._reviews.pick(review, "explain", 1)
        explained = await self._reviews.answer(root, replies=2)
        _expect("25 orders" in explained, "the finding is not explained")
        await self._reviews.press(review, "suggest_patch", "Suggest patch")
        shared = await self._reviews.reply(root, lambda one: bool(one.get("files")), replies=4)
        self._reviews.show((await self._reviews.replies(root))[-2])
        self._say(f"           [{shared['files'][0]['name']}]")
        patch = await self._around.content(shared["files"][0])
        _expect(
            "-    first = number * size\n+    first = (number - 1) * size" in patch,
            "the patch does not mend the bug",
        )
        await self._posted(root, review)
        await self._fixed_since(root)

    async def _posted(self, root: str, review: Fields) -> None:
        await self._reviews.press(review, "post_review", "Post to the pull request")
        posted = await self._reviews.answer(root, replies=5)
        _expect(posted.startswith("Posted to [acme/shop#7]("), "the review was not posted")
        page = await self._around.pull_page()
        _expect("Page 1 leaves out" in page, "what was posted is not on the pull request")

    async def _only_what_is_there(self, bot: Process, review: str) -> None:
        _expect("`shop/orders.py:53`" in review, "the review does not find the bug")
        _expect("load_page" not in review, "what Kimi has made up is shown")
        await bot.wait_for(r" reviewed .*\bdropped=1\b")
        self._say("           (Kimi also spoke of a line that is nowhere: that is not shown)")

    async def _fixed_since(self, root: str) -> None:
        await self._around.push_fix()
        self._say("           (the author of the pull request pushes a fix of the first)")
        await self._reviews.ask("review again", root)
        again = await self._reviews.reply(root, lambda one: "Fixed" in body(one), replies=6)
        self._reviews.show_findings(again)
        self._say(f"           {body(again).splitlines()[-2]} {body(again).splitlines()[-1]}")
        open_part, _, fixed = body(again).partition("Fixed since")
        _expect("Page 1 leaves out" in fixed, "what is fixed is not told as fixed")
        _expect("still open" in open_part, "what is still open is not told")

    async def _asked_about(self) -> None:
        root = await self._channel.ask("Who knows when it is a 409?")
        await self._channel.choose(root, "ask_about", "Ask Kimi about this")
        _expect("409" in await self._channel.answer(root), "the message is not answered")

    async def _error_and_try_again(self) -> None:
        root = await self._channel.ask("@kimibot Show me a flaky 500")
        failed = await self._channel.reply(root, lambda reply: has_button(reply, "try_again"))
        self._channel.show(failed)
        _expect("trace:" in note(failed), "the error has no trace id")
        await self._channel.press(failed, "try_again", "Try again")
        await self._channel.answer(root)
        _expect(
            len(await self._channel.replies(root)) == 1,
            "the second try does not take the place of the first",
        )

    async def _edit(self) -> None:
        root = await self._channel.ask(LONG_ASK)
        await self._channel.reply(root, lambda reply: len(body(reply)) > 100)
        await self._channel.edit(root, SHORT_ASK)
        anew = await self._channel.reply(root, lambda reply: "422" in body(reply), is_growing=False)
        self._channel.show(anew)
        _expect(
            "SKIP LOCKED" not in body(anew),
            "the answer to what was asked before is still there",
        )

    async def _cut_short_and_continued(self) -> None:
        root = await self._channel.ask("@kimibot Give me a truncated answer")
        cut = await self._channel.reply(root, lambda reply: has_button(reply, "continue"))
        self._channel.show(cut)
        await self._channel.press(cut, "continue", "Continue")
        going_on = await self._channel.reply(root, lambda reply: len(body(reply)) > 100, replies=2)
        _expect("stand-in" not in body(going_on), "the answer was not continued")
        await self._channel.press(going_on, "stop", "Stop")
        stopped = await self._channel.reply(
            root, lambda reply: "Stopped by" in note(reply), replies=2
        )
        self._channel.show(stopped)

    async def _kill_in_mid_answer(self, bot: Process) -> str:
        root = await self._channel.ask(LONG_ASK)
        half = await self._channel.reply(root, lambda reply: len(body(reply)) > 300)
        os.kill(bot.pid, signal.SIGKILL)
        await bot.running.wait()
        self._channel.show(half)
        self._say(f"           (kill -9 {bot.pid}, in mid-answer)")
        return root

    async def _answered_in_place(self, root: str) -> None:
        before = [reply["ts"] for reply in await self._channel.replies(root)]
        end = written("long").splitlines()[-1]
        last = await self._channel.reply(root, lambda one: end in body(one), is_growing=False)
        self._channel.show(last)
        after = [reply["ts"] for reply in await self._channel.replies(root)]
        _expect(
            after[: len(before)] == before, "the half-written reply was not replaced in its place"
        )
        count = len(after)
        messages = "1 message" if count == 1 else f"{count} messages, each of them once"
        self._say(f"           (in the same place: {messages})")

    def _ended_cleanly(self, code: int) -> None:
        self._say(f"\nThe bot was told to end, and ended with {code}.")
        _expect(code == 0, "SIGTERM does not end in 0")


def _expect(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise Unexpected(otherwise)
