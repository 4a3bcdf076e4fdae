"""A growing answer in the thread: one message, serial edits, an exact end, nothing lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack

import pytest

from kimibot.budget import Budget
from kimibot.errors import (
    BlocksRefused,
    ClaimLost,
    FateUnknown,
    MessageGone,
    NotConnected,
    RateLimited,
    ReplyRefused,
    SlackError,
)
from kimibot.pacing import Pacing, now
from kimibot.reply.parts import EMPTY
from kimibot.views import Button, Style, View
from tests.fakes import THREAD, Channel
from tests.reply.opening import open_reply
from tests.virtual_time import in_virtual_time

BUTTON = Button("try_again", "Try again", "turn-1")
SECOND = Button("show", "Show", "turn-1")


@in_virtual_time
async def test_a_sign_is_posted_before_there_is_any_text() -> None:
    channel = Channel()
    async with open_reply(channel):
        await asyncio.sleep(0.1)

        assert [view.note for view in channel.shown.values()] == ["Thinking…"]


@in_virtual_time
async def test_the_elapsed_seconds_are_shown_while_the_model_thinks() -> None:
    channel = Channel()
    async with open_reply(channel):
        await asyncio.sleep(31)

        assert [view.note for view in channel.shown.values()] == ["Thinking… 30 s"]
        assert channel.count("edit") == 3


@in_virtual_time
async def test_an_answer_that_is_there_at_once_ends_as_one_message() -> None:
    channel = Channel(latency_seconds=0.8)
    async with open_reply(channel) as reply:
        reply.show("Four")
        await reply.finish("Forty-two.")

    assert channel.bodies() == ["Forty-two."]
    assert channel.count("post") == 1


@in_virtual_time
async def test_a_line_of_our_own_stands_above_the_text_from_its_first_word_on() -> None:
    channel = Channel()
    async with open_reply(channel) as reply:
        reply.open_with("About this:")
        await asyncio.sleep(1)
        assert channel.bodies() == [""], "alone it says nothing"
        reply.show("Forty")
        await asyncio.sleep(5)
        assert channel.bodies() == ["About this:\n\nForty"]
        await reply.finish("Forty-two.")

    assert channel.bodies() == ["About this:\n\nForty-two."]


@in_virtual_time
async def test_edits_of_one_reply_are_strictly_serial_and_the_last_one_wins() -> None:
    channel = Channel(latency_seconds=2.0)
    async with open_reply(channel, characters=10_000) as reply:
        for words in range(1, 200):
            reply.show("word " * words)
            await asyncio.sleep(0.05)
        await reply.finish("word " * 200)

    assert channel.most_at_once == 1
    assert channel.bodies() == ["word " * 200]


@in_virtual_time
async def test_stale_texts_are_skipped() -> None:
    channel = Channel()
    async with open_reply(channel, characters=10_000) as reply:
        for words in range(1, 1000):
            reply.show("word " * words)
            await asyncio.sleep(0.02)
        await reply.finish("word " * 1000)

    assert 5 < channel.count("edit") < 40


@in_virtual_time
async def test_of_each_text_that_is_shown_it_is_told_how_many_were_skipped() -> None:
    channel, told = Channel(latency_seconds=0.8), list[int]()
    async with open_reply(channel, on_shown=told.append) as reply:
        for number in range(60):
            reply.show(f"{'word ' * number}.")
            await asyncio.sleep(0.05)
        await reply.finish(f"{'word ' * 59}.")

    assert len(told) > 1
    assert len(told) + sum(told) == 60
    assert len(told) <= channel.count("edit") + channel.count("post")


@in_virtual_time
async def test_the_last_text_does_not_wait_while_one_answer_is_live() -> None:
    channel = Channel()
    async with open_reply(channel, characters=100_000) as reply:
        for words in range(1, 3000):
            reply.show("word " * words)
            await asyncio.sleep(0.02)
        finished_at = now()
        await reply.finish("word " * 3000)

        assert now() - finished_at <= 0.15


@in_virtual_time
async def test_a_long_answer_goes_on_in_further_parts_and_nothing_is_lost() -> None:
    channel = Channel()
    text = "".join(f"{n:05d}," for n in range(200))
    async with open_reply(channel) as reply:
        for end in range(0, len(text), 37):
            reply.show(text[:end])
            await asyncio.sleep(0.2)
        await reply.finish(text)

    assert "".join(channel.bodies()) == text
    assert len(channel.bodies()) == 12
    assert reply.reply_ts == tuple(sorted(channel.shown))


@in_virtual_time
async def test_a_text_that_takes_the_place_of_another_leaves_nothing_of_it() -> None:
    """Whatever call is under way when it comes, over whichever parts the other was spread."""
    for wait_seconds in (0.0, 0.3, 0.5, 0.9, 1.3, 2.5, 8.0):
        for length in (40, 130, 350):
            await take_the_place(wait_seconds, length)


async def take_the_place(wait_seconds: float, length: int) -> None:
    channel = Channel(latency_seconds=0.4)
    async with open_reply(channel) as reply:
        for end in range(10, 260, 10):
            reply.show("a" * end)
            reply.say("Reading…")
            await asyncio.sleep(0.02)
        await asyncio.sleep(wait_seconds)
        await reply.finish("b" * length, "", BUTTON, is_new_text=True)

    assert "".join(channel.bodies()) == "b" * length
    assert len(channel.shown) == -(-length // 100)
    assert channel.most_at_once == 1


@in_virtual_time
async def test_a_text_takes_the_place_of_another_also_where_edits_are_scarce() -> None:
    channel, pacing = Channel(), Pacing()
    async with AsyncExitStack() as stack:
        replies = [
            await stack.enter_async_context(open_reply(channel, pacing=pacing)) for _ in range(30)
        ]
        for end in range(20, 260, 40):
            for reply in replies:
                reply.show("a" * end)
            await asyncio.sleep(0.5)
        await asyncio.gather(*(one.finish("b" * 150, is_new_text=True) for one in replies))

    assert "".join(channel.bodies()) == "b" * 150 * 30


@in_virtual_time
async def test_a_note_and_the_buttons_stand_below_the_partial_text_in_the_last_part_only() -> None:
    channel = Channel()
    async with open_reply(channel) as reply:
        await reply.finish("x" * 250, "The answer was cut off here.", BUTTON, SECOND)

    *earlier, last = (channel.shown[ts] for ts in sorted(channel.shown))
    assert (last.body, last.note) == ("x" * 50, "The answer was cut off here.")
    assert last.handles == (BUTTON, SECOND)
    assert all(not view.note and not view.handles for view in earlier)


@in_virtual_time
async def test_a_429_delays_the_text_but_costs_none_of_it() -> None:
    channel = Channel(
        faults={
            "edit": [RateLimited("chat.update", 5) for _ in range(3)],
            "post": [RateLimited("chat.postMessage", 2)],
        }
    )
    async with open_reply(channel) as reply:
        reply.show("half an")
        await asyncio.sleep(0.1)
        await reply.finish("half an answer, and the other half")

    assert channel.bodies() == ["half an answer, and the other half"]


@in_virtual_time
async def test_a_post_without_a_response_is_looked_for_and_never_made_twice() -> None:
    channel = Channel(lost={"post": [FateUnknown("chat.postMessage", "timeout")]})
    async with open_reply(channel) as reply:
        await reply.finish("only once")

    assert channel.bodies() == ["only once"]
    assert channel.count("post") == 1


@in_virtual_time
async def test_a_post_that_was_not_applied_is_made_again_after_a_look() -> None:
    channel = Channel(faults={"post": [FateUnknown("chat.postMessage", "timeout")]})
    async with open_reply(channel) as reply:
        await reply.finish("in the end")

    assert channel.bodies() == ["in the end"]
    assert [name for name, _ in channel.calls][:3] == ["post", "find", "post"]


@in_virtual_time
async def test_a_lost_response_for_the_second_part_does_not_double_it() -> None:
    channel = Channel()
    async with open_reply(channel) as reply:
        await asyncio.sleep(0.1)
        channel.lost["post"] = [FateUnknown("chat.postMessage", "timeout")]
        await reply.finish("a" * 150)

    assert channel.bodies() == ["a" * 100, "a" * 50]


@in_virtual_time
async def test_an_edit_is_tried_again_while_slack_can_not_be_reached() -> None:
    channel = Channel(
        faults={
            "edit": [NotConnected("chat.update", "refused")] * 5
            + [FateUnknown("chat.update", "timeout")] * 5
        }
    )
    async with open_reply(channel) as reply:
        await reply.finish("there")

    assert channel.bodies() == ["there"]


@in_virtual_time
async def test_an_edit_that_is_applied_late_does_not_undo_the_last_one() -> None:
    channel = Channel(late={"edit": [(FateUnknown("chat.update", "timeout"), 10.0)]})
    async with open_reply(channel) as reply:
        await asyncio.sleep(0.1)
        reply.show("early words ")
        await asyncio.sleep(1)
        await reply.finish("early words and the rest")
    await asyncio.sleep(30)

    assert channel.bodies() == ["early words and the rest"]


@in_virtual_time
async def test_a_post_that_is_applied_late_does_not_stay_beside_the_reply() -> None:
    channel = Channel(late={"post": [(FateUnknown("chat.postMessage", "timeout"), 12.0)]})
    async with open_reply(channel) as reply:
        await reply.finish("once")
    await asyncio.sleep(30)

    assert channel.bodies() == ["once"]


@in_virtual_time
async def test_what_the_owner_before_sends_after_a_take_over_is_put_right() -> None:
    channel = Channel()
    async with open_reply(channel) as before:
        await before.finish("half of")
    async with open_reply(channel, reply_ts=before.reply_ts, is_taken_over=True) as reply:
        finishing = asyncio.create_task(reply.finish("half of it, and the rest"))
        await asyncio.sleep(3)
        stray = await channel.post(THREAD, View("stray"), "turn-1", 2)
        await channel.edit(THREAD, before.reply_ts[0], View("half of"))
        await finishing

    assert channel.bodies() == ["half of it, and the rest"]
    assert stray not in channel.shown


@in_virtual_time
async def test_an_answer_that_was_confirmed_does_not_fail_for_a_last_look_that_is_refused() -> None:
    channel = Channel(lost={"edit": [FateUnknown("chat.update", "timeout")]})
    channel.unreadable = ReplyRefused("conversations.replies", "missing_scope")
    async with open_reply(channel) as reply:
        await asyncio.sleep(0.1)
        await reply.finish("all of it")

    assert channel.bodies() == ["all of it"]


@in_virtual_time
async def test_a_reply_whose_calls_were_all_answered_is_not_sent_again() -> None:
    channel = Channel()
    async with open_reply(channel) as reply:
        await asyncio.sleep(0.1)
        finished_at = now()
        await reply.finish("fine")

    assert now() - finished_at < 0.1


@in_virtual_time
async def test_a_part_that_slack_lets_nobody_delete_is_emptied_and_fails_nothing() -> None:
    refusal = SlackError("chat.delete", "compliance_exports_prevent_deletion")
    channel = Channel(faults={"delete": [refusal]})
    async with open_reply(channel) as first:
        await first.finish("b" * 150)
    left = first.reply_ts

    async with open_reply(channel, reply_ts=left) as second:
        await second.finish("short")

    assert second.reply_ts == left[:1]
    assert channel.shown[left[0]].body == "short"
    assert (channel.shown[left[1]].body, channel.shown[left[1]].note) == ("", EMPTY)


@in_virtual_time
async def test_the_late_twin_of_a_post_is_not_taken_for_a_later_part() -> None:
    lost = FateUnknown("chat.postMessage", "timeout")
    channel = Channel(late={"post": [(lost, 2.0)]})
    async with open_reply(channel) as reply:
        await asyncio.sleep(5)
        channel.lost["post"] = [lost]
        await reply.finish("a" * 100 + "b" * 50)
    await asyncio.sleep(30)

    assert channel.bodies() == ["a" * 100, "b" * 50]


@in_virtual_time
async def test_plain_text_keeps_its_button_unless_slack_refuses_that_too() -> None:
    refused = BlocksRefused("chat.update", "invalid_blocks")
    for refusals in (1, 2):
        channel = Channel(faults={"edit": [refused] * refusals})
        async with open_reply(channel) as reply:
            await asyncio.sleep(0.1)
            await reply.finish("half", "cut off", BUTTON)

        [view] = channel.shown.values()
        assert (view.style, view.body, view.note) == (Style.PLAIN, "half", "cut off")
        assert view.handles == ((BUTTON,) if refusals == 1 else ())


@in_virtual_time
async def test_refused_blocks_become_plain_text_and_lose_nothing() -> None:
    channel = Channel(faults={"edit": [BlocksRefused("chat.update", "invalid_blocks")]})
    text = "".join(f"{n:04d}" for n in range(60))
    async with open_reply(channel) as reply:
        await asyncio.sleep(0.1)
        await reply.finish(text)

    assert "".join(channel.bodies()) == text
    assert {view.style for view in channel.shown.values()} == {Style.PLAIN}


@in_virtual_time
async def test_an_earlier_attempts_parts_are_filled_in_place_and_the_rest_deleted() -> None:
    channel = Channel()
    async with open_reply(channel) as first:
        await first.finish("b" * 250)
    left = first.reply_ts

    async with open_reply(channel, reply_ts=left) as second:
        await second.finish("short")

    assert channel.bodies() == ["short"]
    assert second.reply_ts == left[:1]


@in_virtual_time
async def test_each_new_part_is_told_as_soon_as_it_has_its_ts() -> None:
    told: list[tuple[str, ...]] = []

    async def on_posted(reply_ts: Sequence[str]) -> None:
        told.append(tuple(reply_ts))

    channel = Channel()
    async with open_reply(channel, on_posted=on_posted) as reply:
        await reply.finish("c" * 250)

    assert [len(parts) for parts in told] == [1, 2, 3]


@in_virtual_time
async def test_a_refused_reply_is_raised_to_whoever_shows_more() -> None:
    channel = Channel(faults={"post": [ReplyRefused("chat.postMessage", "is_archived")]})
    with pytest.raises(ReplyRefused):
        async with open_reply(channel) as reply:
            await asyncio.sleep(0.1)
            reply.show("nobody will see this")


@in_virtual_time
async def test_a_code_that_nobody_knows_is_tried_again_before_it_is_believed() -> None:
    unknown = SlackError("chat.update", "some_new_code")
    channel = Channel(faults={"edit": [unknown]})
    async with open_reply(channel) as reply:
        await asyncio.sleep(0.1)
        await reply.finish("all the same")

    assert channel.bodies() == ["all the same"]

    channel = Channel(faults={"edit": [unknown] * 5})
    with pytest.raises(SlackError, match="some_new_code"):
        async with open_reply(channel) as reply:
            await asyncio.sleep(0.1)
            await reply.finish("never")


@in_virtual_time
async def test_a_reply_that_somebody_deleted_is_not_posted_again() -> None:
    channel = Channel()
    with pytest.raises(MessageGone):
        async with open_reply(channel) as reply:
            await asyncio.sleep(0.1)
            channel.shown.clear()
            await reply.finish("gone")

    assert channel.count("post") == 1


@in_virtual_time
async def test_a_lost_claim_stops_the_reply() -> None:
    async def on_posted(_: Sequence[str]) -> None:
        raise ClaimLost

    with pytest.raises(ClaimLost):
        async with open_reply(Channel(), on_posted=on_posted) as reply:
            await asyncio.sleep(0.1)
            await reply.finish("not ours any more")


@in_virtual_time
async def test_after_ten_minutes_of_refusals_the_reply_gives_up() -> None:
    channel = Channel(faults={"edit": [RateLimited("chat.update", 1)] * 5_000})
    started_at = now()
    with pytest.raises(SlackError, match="not_shown_in_time"):
        async with open_reply(channel) as reply:
            await asyncio.sleep(0.1)
            channel.faults["post"] = [RateLimited("chat.postMessage", 1)] * 5_000
            await reply.finish("never")

    assert now() - started_at == pytest.approx(600, abs=1)


@in_virtual_time
async def test_leaving_the_block_early_leaves_no_task_behind() -> None:
    channel = Channel(latency_seconds=60)
    async with open_reply(channel) as reply:
        reply.show("half")

    assert asyncio.all_tasks() == {asyncio.current_task()}


@in_virtual_time
async def test_the_first_words_of_one_answer_are_visible_within_150_ms() -> None:
    channel = Channel()
    async with open_reply(channel) as reply:
        await asyncio.sleep(5)
        shown_at = now()
        reply.show("First")
        await asyncio.sleep(0.15)

    assert next(at for at, _, view in channel.history if view.body) - shown_at <= 0.15


@in_virtual_time
async def test_twelve_answers_at_once_stay_within_slacks_budget_and_all_end_exact() -> None:
    channel = Channel()
    pacing = Pacing()

    async def answer(number: int) -> None:
        async with open_reply(channel, pacing=pacing, characters=50_000) as reply:
            for words in range(1, 600):
                reply.show(f"{number} " * words)
                await asyncio.sleep(0.1)
            await reply.finish(f"{number} " * 600)

    await asyncio.gather(*(answer(number) for number in range(12)))

    for number in range(12):
        words = "".join(body for body in channel.bodies() if body.startswith(f"{number} "))
        assert words == f"{number} " * 600
    assert never_empties(channel.edited_at())


def never_empties(calls: Iterable[float], rate: float = 50 / 60, burst: float = 25) -> bool:
    """Whether a bucket of Slack's size would have let all these calls pass."""
    level, before = burst, 0.0
    for at in calls:
        level = min(burst, level + (at - before) * rate) - 1
        before = at
        if level < 0:
            return False
    return True


@in_virtual_time
async def test_a_button_can_be_pressed_from_the_moment_it_is_shown() -> None:
    channel, again = Channel(), Button("try_again", "Try again", "turn-1")
    async with open_reply(channel) as before:
        await before.finish("half of")
    async with open_reply(channel, reply_ts=before.reply_ts, is_taken_over=True) as reply:
        finishing = asyncio.create_task(reply.finish("half of", "It broke off.", again))
        await asyncio.sleep(3)
        shown_while_it_runs = channel.shown[before.reply_ts[0]]
        await finishing

    assert shown_while_it_runs == View("half of", "It broke off.")
    assert channel.shown[before.reply_ts[0]] == View("half of", "It broke off.", (again,))


@in_virtual_time
async def test_a_reply_that_ends_while_it_waits_for_an_edit_leaves_nothing_running() -> None:
    empty = Pacing({"chat.update": Budget(rate_per_second=0.01, burst=1, start=0)})
    async with open_reply(Channel(), pacing=empty) as reply:
        await asyncio.sleep(0.1)
        reply.show("Four")
        await asyncio.sleep(0.1)

    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}
