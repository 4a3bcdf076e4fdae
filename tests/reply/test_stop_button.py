"""The button that stops a growing answer: there while it can be pressed, gone at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial

from kimibot.budget import FEW_LIVE
from kimibot.pacing import Pacing
from kimibot.views import Button, Handle
from tests.fakes import Channel, sign
from tests.reply import opening
from tests.virtual_time import in_virtual_time

STOP = Button("stop", "Stop", "turn-1")
open_reply = partial(opening.open_reply, stop_button=STOP)


def buttons(channel: Channel) -> list[Handle | None]:
    """The button of each part, of which none has two."""
    shown = [channel.shown[ts].handles for ts in sorted(channel.shown)]
    assert all(len(of_part) < 2 for of_part in shown)
    return [of_part[0] if of_part else None for of_part in shown]


@in_virtual_time
async def test_the_button_stands_below_the_sign_and_the_growing_text_and_goes_at_the_end() -> None:
    channel = Channel()
    async with open_reply(channel) as reply:
        await asyncio.sleep(1)
        assert buttons(channel) == [STOP]
        reply.show("word")
        await asyncio.sleep(5)
        assert (buttons(channel), channel.bodies()) == ([STOP], ["word"])
        await reply.finish("word by word")

    assert buttons(channel) == [None]


@in_virtual_time
async def test_only_the_open_part_has_the_button() -> None:
    channel = Channel()
    async with open_reply(channel) as reply:
        reply.show("x" * 250)
        await asyncio.sleep(30)

        assert buttons(channel) == [None, None, STOP]


@in_virtual_time
async def test_a_crowd_of_answers_spends_no_edits_on_buttons_below_text() -> None:
    pacing, channels = Pacing(), [Channel() for _ in range(FEW_LIVE + 1)]
    async with AsyncExitStack() as stack:
        replies = [
            await stack.enter_async_context(open_reply(channel, pacing=pacing))
            for channel in channels
        ]
        await asyncio.sleep(5)
        assert [buttons(channel) for channel in channels] == [[STOP]] * len(channels)
        for reply in replies:
            reply.show("word")
        await asyncio.sleep(30)
        assert [buttons(channel) for channel in channels] == [[None]] * len(channels)
        for reply in replies:
            await reply.finish("word by word")


@in_virtual_time
async def test_however_many_answers_end_no_button_is_left_anywhere() -> None:
    pacing, channels = Pacing(), [Channel() for _ in range(12)]

    async def answer(channel: Channel, start_seconds: float) -> None:
        await asyncio.sleep(start_seconds)
        async with open_reply(channel, pacing=pacing, characters=3000) as reply:
            text = ""
            for number in range(300):
                text += f"word number {number} of many, "
                reply.show(text)
                await asyncio.sleep(0.1)
            await reply.finish(text)

    await asyncio.gather(*(answer(channel, 0.7 * n) for n, channel in enumerate(channels)))

    assert all(button is None for channel in channels for button in buttons(channel))


@in_virtual_time
async def test_a_reply_that_is_taken_back_leaves_nothing() -> None:
    channel = Channel()
    async with open_reply(channel) as reply:
        reply.show("x" * 250)
        await asyncio.sleep(30)
        assert len(channel.shown) == 3
        await reply.take_back("Stopped.")

        assert (channel.shown, reply.reply_ts) == ({}, ())


@in_virtual_time
async def test_a_reply_that_is_taken_back_while_its_sign_is_being_posted_leaves_nothing() -> None:
    channel = Channel(latency_seconds=2)
    async with open_reply(channel) as reply:
        await asyncio.sleep(1)
        await reply.take_back("Stopped.")

    assert channel.shown == {}


@in_virtual_time
async def test_a_part_counts_as_none_before_slack_is_asked_to_delete_it() -> None:
    channel = Channel()
    told: list[tuple[tuple[str, ...], int]] = []

    async def on_posted(parts: Sequence[str]) -> None:
        told.append((tuple(parts), len(channel.shown)))

    async with open_reply(channel, on_posted=on_posted) as reply:
        await asyncio.sleep(1)
        await reply.take_back("Stopped.")

    assert told[-1] == ((), 1)


@in_virtual_time
async def test_a_sign_of_waiting_takes_the_place_of_the_first_one() -> None:
    channel = Channel()
    reply = open_reply(channel)
    reply.wait_as(lambda elapsed_seconds: f"Queued, {elapsed_seconds:.0f} s")
    async with reply:
        await asyncio.sleep(1)
        assert [view.note for view in channel.shown.values()] == ["Queued, 0 s"]
        reply.wait_as(sign)
        await asyncio.sleep(5)

        assert [view.note for view in channel.shown.values()] == ["Thinking…"]
        await reply.finish("word")
