"""A shortcut on a message: who has chosen it, and what the message says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kimibot.conversation import Asker, Message, Shortcut, Speaker, Thread, Us
from kimibot.slack.shortcuts import read_shortcut

US = Us(team="T1", user_id="U_BOT", bot_id="B_BOT", app_id="A_BOT")
ROOT, TS = "1700000000.000100", "1700000001.000200"
THREAD = Thread("T1", "C1", ROOT)


def chosen(message: Any, **fields: Any) -> dict[str, Any]:
    user, channel = {"id": "U_ANA", "team_id": "T1"}, {"id": "C1", "name": "dev"}
    return {"type": "message_action", "user": user, "channel": channel, "message": message} | fields


def said(**fields: Any) -> dict[str, Any]:
    return {"type": "message", "ts": TS, "thread_ts": ROOT, "text": "It is red."} | fields


def test_the_message_is_read_whoever_wrote_it() -> None:
    by_person = read_shortcut(chosen(said(user="U_BO")), US)
    by_app = read_shortcut(chosen(said(user="U_CI", bot_id="B_CI")), US)

    assert by_person == Shortcut(
        Asker("U_ANA", "T1"), THREAD, TS, Message(THREAD, TS, Speaker.PERSON, "U_BO", "It is red.")
    )
    assert by_app is not None
    assert by_app.message is not None
    assert by_app.message.speaker is Speaker.APP


def test_a_message_without_a_thread_is_the_root_of_its_own() -> None:
    message = said(user="U_BO")
    del message["thread_ts"]

    shortcut = read_shortcut(chosen(message), US)

    assert shortcut is not None
    assert shortcut.thread == Thread("T1", "C1", TS)


@pytest.mark.parametrize(
    ("message", "is_ours"),
    [
        (said(user="U_BOT", bot_id="B_BOT"), True),
        (said(subtype="channel_join", user="U_BO"), False),
    ],
)
def test_of_what_is_ours_or_was_said_by_nobody_only_the_place_is_known(
    message: Any, is_ours: bool
) -> None:
    shortcut = read_shortcut(chosen(message), US)

    assert shortcut == Shortcut(Asker("U_ANA", "T1"), THREAD, TS, None, is_ours)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(max_examples=200, derandomize=True, deadline=None, database=None)
@given(JSON, JSON, JSON)
def test_no_payload_raises(message: Any, user: Any, channel: Any) -> None:
    read_shortcut({"message": message, "user": user, "channel": channel}, US)
