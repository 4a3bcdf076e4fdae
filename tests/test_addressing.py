"""When a message is for us: mention, direct message, follow-up; when not; and when it stops us."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kimibot.addressing import FollowUps, is_follow_up, is_for_us, is_stop
from kimibot.conversation import Message, Speaker, ThreadFacts, Us
from tests.fakes import THREAD

US = Us(team="T0TEAM", user_id="U0KIMI", bot_id="B0KIMI")
MESSAGE = Message(THREAD, "1700000009.000100", Speaker.PERSON, "U0ANA", "and for lists?")
ALONE = ThreadFacts(
    1, speakers=frozenset({"U0ANA"}), previous_speaker=Speaker.US, previous_asker="U0ANA"
)
WITH_BO = replace(ALONE, speakers=frozenset({"U0ANA", "U0BO"}))


def test_a_mention_is_an_ask_wherever_it_stands() -> None:
    assert is_for_us(replace(MESSAGE, mentions=frozenset({"U0KIMI", "U0BO"})), US)


def test_a_direct_message_is_an_ask() -> None:
    assert is_for_us(replace(MESSAGE, is_direct=True), US)


def test_what_mentions_nobody_in_a_channel_is_no_ask_by_itself() -> None:
    assert not is_for_us(MESSAGE, US)


def test_another_bot_never_asks_us_not_even_with_a_mention() -> None:
    message = replace(MESSAGE, speaker=Speaker.APP, mentions=frozenset({"U0KIMI"}))

    assert not is_for_us(message, US)
    assert not is_follow_up(message, ALONE, FollowUps.ALWAYS)


def test_a_person_alone_with_us_is_answered_without_a_mention() -> None:
    assert is_follow_up(MESSAGE, ALONE, FollowUps.AUTO)


def test_among_more_people_only_whom_we_answered_right_before_is_answered() -> None:
    bo_asked_before = replace(WITH_BO, previous_asker="U0BO")
    bo_spoke_before = replace(WITH_BO, previous_speaker=Speaker.PERSON, previous_asker="")

    assert is_follow_up(MESSAGE, WITH_BO, FollowUps.AUTO)
    assert not is_follow_up(MESSAGE, bo_asked_before, FollowUps.AUTO)
    assert not is_follow_up(MESSAGE, bo_spoke_before, FollowUps.AUTO)


@pytest.mark.parametrize("follow_ups", list(FollowUps))
def test_a_message_to_somebody_else_is_left_alone(follow_ups: FollowUps) -> None:
    assert not is_follow_up(replace(MESSAGE, mentions=frozenset({"U0BO"})), ALONE, follow_ups)


@pytest.mark.parametrize("follow_ups", list(FollowUps))
def test_a_muted_thread_is_silent_until_somebody_mentions_us(follow_ups: FollowUps) -> None:
    assert not is_follow_up(MESSAGE, replace(ALONE, muted=True), follow_ups)


def test_always_answers_every_follow_up_and_mention_none() -> None:
    bo_spoke_before = replace(WITH_BO, previous_speaker=Speaker.PERSON, previous_asker="")

    assert is_follow_up(MESSAGE, bo_spoke_before, FollowUps.ALWAYS)
    assert not is_follow_up(MESSAGE, ALONE, FollowUps.MENTION)


@pytest.mark.parametrize("follow_ups", list(FollowUps))
def test_what_was_said_before_anybody_asked_us_is_no_ask_even_when_it_comes_late(
    follow_ups: FollowUps,
) -> None:
    assert not is_follow_up(MESSAGE, replace(ALONE, is_begun=False), follow_ups)


STOPS = [
    "stop",
    "Stop",
    "STOP!",
    " stop. ",
    "stop!!!",
    "**stop**",
    "_stop_",
    "~~stop~~",
    "<@U0KIMI> stop",
    "stop <@U0KIMI>",
    "<@U0KIMI>, stop!",
    "<@U0KIMI>\nstop",
    "stop :octagonal_sign:",
    ":x: stop",
    "🛑 stop 🛑",
    "¡stop!",
    "“stop”",
    "stop…",
    "ｓｔｏｐ",
    "Stopp!",
    "停止",
    "停止。",
    "<@U0KIMI> 停止！",
    "(stop)",
    "- stop",
]
NO_STOPS = [
    "stop the deploy",
    "how do I stop nginx?",
    "<@U0KIMI> stop the deploy",
    "don't stop",
    "please stop",
    "stop it",
    "non-stop",
    "stopped",
    "stops",
    "stop stop",
    "<@U0BO> stop",
    "> stop",
    "`stop`",
    "```\nstop\n```",
    "stop\n\nand then?",
    "停止する方法は？",
    "",
    "!!!",
    "<@U0KIMI>",
    ":octagonal_sign:",
    "stop" + "!" * 100_000,
]


@pytest.mark.parametrize("text", STOPS)
def test_the_word_alone_stops_us_however_it_is_dressed(text: str) -> None:
    assert is_stop(replace(MESSAGE, text=text), US)


@pytest.mark.parametrize("text", NO_STOPS, ids=lambda text: text[:20])
def test_a_message_that_merely_has_the_word_in_it_stops_nothing(text: str) -> None:
    assert not is_stop(replace(MESSAGE, text=text), US)


def test_another_bot_stops_nothing() -> None:
    assert not is_stop(replace(MESSAGE, text="stop", speaker=Speaker.APP), US)
