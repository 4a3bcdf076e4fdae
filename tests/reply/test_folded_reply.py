"""A reply with long code: folded while it grows, whole at the end, its file after the text."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from kimibot.conversation import Thread
from kimibot.errors import FateUnknown, MessageGone, NotConnected, RateLimited, SlackError
from kimibot.pacing import Pacing, now
from kimibot.reply.live_reply import LiveReply
from kimibot.slack.long_code import LongCode
from kimibot.slack.parts import part, settled
from kimibot.views import Button, CodeFile, Cut, FoundFiles
from tests.fakes import Channel
from tests.reply import opening
from tests.virtual_time import in_virtual_time

CODE = "".join(f"line_{number} = {number}\n" for number in range(900))
TEXT = f"Look:\n\n```python\n{CODE}```\n\nThat was all."
BUTTON = Button("try_again", "Try again", "turn-1")
LOST = FateUnknown("files.completeUploadExternal", "timeout")


@dataclass
class Shelf:
    """The files of a thread. `faults` are raised in turn by `share`; one in `lost` after the call
    was applied, one in `late` before it is, so many seconds later."""

    shared_files: dict[str, list[str]] = field(default_factory=dict)
    faults: list[SlackError] = field(default_factory=list)
    lost: list[SlackError] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    refusal: SlackError | None = None
    unreadable: SlackError | None = None
    looks: int = 0
    shares: int = 0

    def name(self, turn_id: str, file: CodeFile) -> str:
        return f"{turn_id}-{file.number}-{hash(file.code)}"

    async def upload(self, name: str, file: CodeFile) -> str:
        if self.refusal is not None:
            raise self.refusal
        return name

    async def share(self, thread: Thread, files: Sequence[tuple[str, CodeFile]]) -> None:
        self.shares += 1
        names = [name for name, _ in files]
        if self.faults:
            raise self.faults.pop(0)
        if self.late:
            asyncio.get_running_loop().call_later(self.late.pop(0), self.put, names)
            raise LOST
        self.put(names)
        if self.lost:
            raise self.lost.pop(0)

    async def shared(self, thread: Thread, turn_id: str) -> Sequence[FoundFiles]:
        self.looks += 1
        if self.unreadable is not None:
            raise self.unreadable
        return [FoundFiles(ts, frozenset(names)) for ts, names in self.shared_files.items()]

    async def take_out(self, thread: Thread, ts: str) -> None:
        del self.shared_files[ts]

    def put(self, names: list[str], ts: str = "") -> None:
        self.shared_files[ts or f"1800000000.{len(self.shared_files):06d}"] = names


class Splitter:
    part = staticmethod(part)
    settled = staticmethod(settled)


def open_reply(channel: Channel, shelf: Shelf, **more: Any) -> LiveReply:
    return opening.open_reply(channel, splitter=Splitter(), folding=LongCode, uploads=shelf, **more)


async def grow(reply: LiveReply, text: str, *, step: int = 300, seconds: float = 0.1) -> None:
    for end in range(0, len(text), step):
        reply.show(text[:end])
        await asyncio.sleep(seconds)


@in_virtual_time
async def test_growing_code_never_leaves_more_than_its_beginning_behind() -> None:
    channel, shelf = Channel(), Shelf()
    async with open_reply(channel, shelf) as reply:
        await grow(reply, TEXT)
        await reply.finish(TEXT)

    assert channel.bodies() == [part(LongCode().ended(TEXT).text, Cut()).body]
    assert [view.note for _, _, view in channel.history if "so far" in view.note]
    assert len(shelf.shared_files) == 1
    assert reply.reply_ts[-1] < min(shelf.shared_files)


@in_virtual_time
@pytest.mark.parametrize("seed", range(3))
async def test_many_replies_with_long_code_end_exact_when_edits_are_scarce(seed: int) -> None:
    """Some of it is long, some is not; all of it is shown once."""
    chance = random.Random(seed)
    channel, shelf, pacing = Channel(), Shelf(), Pacing()
    texts = [_text(chance, number) for number in range(12)]

    async def answer(number: int) -> None:
        turn_id = f"turn-{number}"
        async with open_reply(channel, shelf, pacing=pacing, turn_id=turn_id) as reply:
            step = chance.randrange(40, 400)
            await grow(reply, texts[number], step=step, seconds=chance.uniform(0.05, 0.3))
            await reply.finish(texts[number])

    await asyncio.gather(*(answer(number) for number in range(12)))

    for number, text in enumerate(texts):
        mine = [ts for ts in sorted(channel.shown) if channel.marks[ts][0] == f"turn-{number}"]
        said = _bare("\n".join(channel.shown[ts].body for ts in mine))
        assert said == _bare(LongCode().ended(text).text)
        assert all(not channel.shown[ts].note for ts in mine)


def _text(chance: random.Random, number: int) -> str:
    pieces = [f"Answer {number}.\n\n"]
    for _ in range(chance.randrange(2, 6)):
        prose = f"Words of {number} that say something. " * chance.randrange(1, 90)
        lines = chance.choice([5, 60, 150, 250, 700])
        code = "".join(
            f"code_{number}_{line} = {chance.randrange(10**6)}\n" for line in range(lines)
        )
        pieces.append(f"{prose}\n\n```py\n{code}```\n\n")
    return "".join([*pieces, "The end."])


def _bare(text: str) -> str:
    """The text without spaces and without fences, which open and close within a cut block."""
    return "".join(line for line in text.split("\n") if not line.startswith("```")).replace(" ", "")


@in_virtual_time
async def test_a_handed_over_reply_leaves_the_files_to_the_next_owner() -> None:
    channel, shelf = Channel(), Shelf()
    async with open_reply(channel, shelf) as reply:
        await grow(reply, TEXT)
        await reply.leave(TEXT[:9_000], "I am being restarted.")

    [view] = channel.shown.values()
    assert view.note.splitlines()[0].endswith("lines so far")
    assert view.note.splitlines()[1] == "I am being restarted."
    assert view.body.count("\n") == 43
    assert shelf.shares == 0


@in_virtual_time
async def test_a_button_is_shown_once_the_files_are_there() -> None:
    channel, shelf = Channel(), Shelf(late=[5.0])
    async with open_reply(channel, shelf) as reply:
        finishing = asyncio.create_task(reply.finish(TEXT, "It broke off.", BUTTON))
        await asyncio.sleep(3)
        [before] = channel.shown.values()
        await finishing

    [after] = channel.shown.values()
    assert (before.note, before.handles) == ("It broke off.", ())
    assert (after.note, after.handles) == ("It broke off.", (BUTTON,))


@in_virtual_time
@pytest.mark.parametrize(
    "shelf",
    [
        Shelf(lost=[LOST]),
        Shelf(late=[1.0]),
        Shelf(late=[15.0]),
        Shelf(faults=[LOST]),
        Shelf(faults=[RateLimited("files.completeUploadExternal", 1), LOST, LOST]),
        Shelf(faults=[NotConnected("files.completeUploadExternal", "refused")]),
    ],
    ids=["lost", "late", "very late", "not applied", "not applied twice", "not connected"],
)
async def test_whatever_befalls_the_call_there_is_one_file(shelf: Shelf) -> None:
    async with open_reply(Channel(), shelf) as reply:
        await reply.finish(TEXT)
    await asyncio.sleep(60)

    assert len(shelf.shared_files) == 1


@in_virtual_time
async def test_a_file_whose_sharing_was_confirmed_is_not_looked_for() -> None:
    shelf = Shelf()
    async with open_reply(Channel(), shelf) as reply:
        await reply.finish(TEXT)

    assert (shelf.shares, shelf.looks) == (1, 0)


async def _left_by_an_owner(channel: Channel, shelf: Shelf, text: str) -> tuple[str, ...]:
    async with open_reply(channel, shelf) as before:
        await before.finish(text)
    return before.reply_ts


@in_virtual_time
async def test_the_file_of_the_owner_before_is_not_shared_again() -> None:
    channel, shelf = Channel(), Shelf()
    left = await _left_by_an_owner(channel, shelf, TEXT)
    async with open_reply(channel, shelf, reply_ts=left, is_taken_over=True) as reply:
        await reply.finish(TEXT)

    assert (shelf.shares, len(shelf.shared_files)) == (1, 1)


@in_virtual_time
async def test_what_the_owner_before_shares_after_the_take_over_is_not_doubled() -> None:
    channel, shelf = Channel(), Shelf()
    left = await _left_by_an_owner(channel, shelf, "Look:")
    async with open_reply(channel, shelf, reply_ts=left, is_taken_over=True) as reply:
        [file] = LongCode().ended(TEXT).files
        asyncio.get_running_loop().call_later(9, shelf.put, [shelf.name("turn-1", file)])
        await reply.finish(TEXT)
    await asyncio.sleep(60)

    assert (shelf.shares, len(shelf.shared_files)) == (0, 1)


@in_virtual_time
@pytest.mark.parametrize("now_said", ["Just this.", TEXT.replace("line_899", "row_899")])
async def test_files_with_other_code_are_taken_out(now_said: str) -> None:
    channel, shelf = Channel(), Shelf()
    left = await _left_by_an_owner(channel, shelf, TEXT)
    async with open_reply(channel, shelf, reply_ts=left, is_taken_over=True) as reply:
        await reply.finish(now_said)

    files = [shelf.name("turn-1", file) for file in LongCode().ended(now_said).files]
    assert list(shelf.shared_files.values()) == ([files] if files else [])


@in_virtual_time
async def test_a_file_in_front_of_a_part_is_shared_anew_behind_it() -> None:
    channel, shelf = Channel(), Shelf()
    [file] = LongCode().ended(TEXT).files
    shelf.put([shelf.name("turn-1", file)], "1600000000.000000")
    left = await _left_by_an_owner(channel, Shelf(), "Look:")
    async with open_reply(channel, shelf, reply_ts=left, is_taken_over=True) as reply:
        await reply.finish(TEXT)

    assert [ts > reply.reply_ts[-1] for ts in shelf.shared_files] == [True]


@in_virtual_time
@pytest.mark.parametrize("fault", ["refusal", "never", "unreadable"])
async def test_without_a_file_the_code_follows_in_further_parts(fault: str) -> None:
    channel, shelf = Channel(), Shelf()
    if fault == "refusal":
        shelf.refusal = SlackError("files.getUploadURLExternal", "missing_scope")
    elif fault == "never":
        shelf.faults = [LOST] * 99
    else:
        shelf.late, shelf.unreadable = [1.0], SlackError("conversations.replies", "missing_scope")
    async with open_reply(channel, shelf) as reply:
        await reply.finish(TEXT, "The end.")

    shown = "".join(channel.bodies())
    assert all(line in shown for line in CODE.splitlines())
    assert [channel.shown[ts].note for ts in reply.reply_ts][-1] == "The end."
    assert shelf.shares <= 3


@in_virtual_time
async def test_a_thread_that_is_gone_takes_its_files_with_it() -> None:
    shelf = Shelf(faults=[MessageGone("files.completeUploadExternal", "invalid_thread_ts")])
    with pytest.raises(MessageGone):
        async with open_reply(Channel(), shelf) as reply:
            await reply.finish(TEXT)


@in_virtual_time
async def test_a_reply_that_is_taken_back_leaves_no_file() -> None:
    channel, shelf = Channel(), Shelf()
    left = await _left_by_an_owner(channel, shelf, TEXT)
    async with open_reply(channel, shelf, reply_ts=left, is_taken_over=True) as reply:
        await reply.take_back("Stopped.")

    assert (channel.shown, shelf.shared_files) == ({}, {})


@in_virtual_time
async def test_the_last_words_do_not_wait_for_the_count_of_lines() -> None:
    channel = Channel()
    async with open_reply(channel, Shelf()) as reply:
        await grow(reply, TEXT[:12_000], step=100)
        finished_at = now()
        await reply.finish(TEXT)

    assert now() - finished_at < 0.5


PATCH = CodeFile(1, "patch", "--- a\n+++ b\n", stem="review")


async def hand_over(shelf: Shelf, *, is_taken_over: bool = False, left: int = 0) -> Channel:
    """A file that is handed over, also where an earlier attempt has left so many parts."""
    channel = Channel()
    async with open_reply(channel, shelf) as reply:
        await reply.finish("\n\n".join(["word " * 1_500] * left))
    reply_ts = sorted(channel.shown) if is_taken_over else ()
    async with open_reply(channel, shelf, reply_ts=reply_ts, is_taken_over=is_taken_over) as reply:
        await reply.hand_over("As a patch.", PATCH, otherwise="```\n--- a\n```")
    return channel


@in_virtual_time
async def test_a_file_that_was_shared_before_a_crash_is_not_shared_again() -> None:
    shelf = Shelf()
    shelf.put([shelf.name("turn-1", PATCH)])

    channel = await hand_over(shelf, is_taken_over=True, left=2)

    assert (channel.bodies(), shelf.shares) == (["As a patch."], 0)
    assert len(shelf.shared_files) == 1


@in_virtual_time
@pytest.mark.parametrize("lost", [[], [LOST]])
async def test_a_file_is_handed_over_once_also_where_nobody_hears_of_it(
    lost: list[SlackError],
) -> None:
    shelf = Shelf(lost=lost)

    channel = await hand_over(shelf)

    assert channel.bodies()[-1] == "As a patch."
    assert list(shelf.shared_files.values()) == [[shelf.name("turn-1", PATCH)]]


@in_virtual_time
async def test_where_a_file_is_not_taken_what_is_in_it_is_shown() -> None:
    shelf = Shelf(refusal=SlackError("files.getUploadURLExternal", "missing_scope"))

    channel = await hand_over(shelf, is_taken_over=True, left=1)

    assert (channel.bodies(), shelf.shared_files) == (["```\n--- a\n```"], {})
