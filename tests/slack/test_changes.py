"""What Slack tells of messages that are there already: deletions and reactions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kimibot.conversation import Deletion, Message, Reaction, Speaker, Thread, Us
from kimibot.slack.changes import read_deletion, read_edit, read_reaction

US = Us(team="T1", user_id="U_BOT", bot_id="B_BOT", app_id="A_BOT")
ROOT, TS = "1700000000.000100", "1700000001.000200"
STEADY = settings(max_examples=200, derandomize=True, deadline=None, database=None)


def delivery(event: Any) -> dict[str, Any]:
    return {"type": "event_callback", "event_id": "Ev1", "team_id": "T1", "event": event}


def said(**fields: Any) -> dict[str, Any]:
    return {"type": "message", "user": "U1", "text": "hello", "ts": TS, **fields}


def deleted(previous: Any, **fields: Any) -> dict[str, Any]:
    event = {
        "type": "message",
        "subtype": "message_deleted",
        "channel": "C1",
        "hidden": True,
        "ts": "1700000009.000900",
        "deleted_ts": TS,
        "previous_message": previous,
    }
    return delivery(event | fields)


def entombed() -> dict[str, Any]:
    """A root with replies is deleted."""
    tombstone = {
        "type": "message",
        "subtype": "tombstone",
        "user": "USLACKBOT",
        "text": "This message was deleted.",
        "hidden": True,
        "ts": ROOT,
        "thread_ts": ROOT,
    }
    event = {
        "type": "message",
        "subtype": "message_changed",
        "channel": "C1",
        "hidden": True,
        "ts": "1700000009.000900",
        "message": tombstone,
        "previous_message": said(ts=ROOT, thread_ts=ROOT, text="<@U_BOT> hello"),
    }
    return delivery(event)


def test_a_deleted_message_is_read_with_what_it_said() -> None:
    thread = Thread("T1", "C1", ROOT)
    message = Message(thread, TS, Speaker.PERSON, "U1", "hello")

    assert read_deletion(deleted(said(thread_ts=ROOT)), US) == Deletion(thread, TS, message)


def test_a_deleted_root_is_a_thread_of_its_own() -> None:
    deletion = read_deletion(deleted(said()), US)

    assert deletion is not None
    assert deletion.thread.root_ts == deletion.ts == TS


def test_a_tombstone_in_the_place_of_a_root_is_a_deletion() -> None:
    deletion = read_deletion(entombed(), US)

    assert deletion is not None
    assert (deletion.thread.root_ts, deletion.ts) == (ROOT, ROOT)
    assert deletion.message is not None
    assert deletion.message.mentions == {"U_BOT"}


def test_a_deleted_message_of_ours_is_ours_and_says_nothing() -> None:
    ours = said(user="U_BOT", bot_id="B_BOT", thread_ts=ROOT)

    assert read_deletion(deleted(ours), US) == Deletion(
        Thread("T1", "C1", ROOT), TS, message=None, is_ours=True
    )


@pytest.mark.parametrize("previous", [None, {}, [], "x", {"ts": "no"}])
def test_a_deletion_without_the_message_still_names_what_is_gone(previous: Any) -> None:
    deletion = read_deletion(deleted(previous), US)

    assert deletion == Deletion(Thread("T1", "C1", TS), TS)


@pytest.mark.parametrize(
    "payload",
    [
        delivery(said(channel="C1")),
        delivery({"type": "message", "subtype": "message_changed", "message": said()}),
        deleted(said(), channel=""),
        deleted(said(), deleted_ts="yesterday"),
        delivery(None),
        {},
    ],
)
def test_whatever_else_happens_is_no_deletion(payload: dict[str, Any]) -> None:
    assert read_deletion(payload, US) is None


def reacted(**fields: Any) -> dict[str, Any]:
    event = {
        "type": "reaction_added",
        "user": "U1",
        "reaction": "x",
        "item_user": "U_BOT",
        "item": {"type": "message", "channel": "C1", "ts": TS},
    }
    return delivery(event | fields)


def test_a_reaction_to_a_message_of_ours_is_read() -> None:
    assert read_reaction(reacted(), US) == Reaction("T1", "C1", TS, "x", "U1")


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "reaction_removed"},
        {"user": "U_BOT"},
        {"user": ""},
        {"item_user": "U2"},
        {"item_user": None},
        {"item": {"type": "file", "file": "F1"}},
        {"item": {"type": "message", "channel": "C1", "ts": "%"}},
        {"item": None},
    ],
)
def test_whatever_else_happens_is_no_reaction_to_us(fields: dict[str, Any]) -> None:
    assert read_reaction(reacted(**fields), US) is None


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)


@STEADY
@given(st.dictionaries(st.sampled_from(["type", "subtype", "channel", "message"]), ANYTHING))
def test_no_payload_makes_the_reading_fail(event: dict[str, Any]) -> None:
    for kind in ("message_deleted", "message_changed"):
        read_deletion(delivery(event | {"subtype": kind, "previous_message": event}), US)
    read_reaction(delivery(event | {"type": "reaction_added", "item": event}), US)


def edited(before: Any, now: Any, **fields: Any) -> dict[str, Any]:
    event = {
        "type": "message",
        "subtype": "message_changed",
        "channel": "C1",
        "hidden": True,
        "ts": "1700000009.000900",
        "event_ts": "1700000009.000900",
        "message": now,
        "previous_message": before,
    }
    return delivery(event | fields)


MENDED = {"text": "hello <@U_BOT>", "edited": {"user": "U1", "ts": "1700000005.000000"}}


def test_an_edit_is_read_with_what_was_said_before_and_when() -> None:
    thread = Thread("T1", "C1", ROOT)
    mended = said(thread_ts=ROOT, **MENDED)

    edit = read_edit(edited(said(thread_ts=ROOT), mended), US)

    assert edit is not None
    assert edit.edited_ts == "1700000005.000000"
    assert edit.before == Message(thread, TS, Speaker.PERSON, "U1", "hello")
    assert edit.message == Message(
        thread,
        TS,
        Speaker.PERSON,
        "U1",
        "hello <@U_BOT>",
        mentions=frozenset({"U_BOT"}),
        event_id="Ev1",
    )


PREVIEW = {"from_url": "https://x.y", "text": "A page", "service_name": "x"}


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({}, {"attachments": [PREVIEW]}),
        ({}, {"reply_count": 1, "thread_ts": TS, "latest_reply": "1700000009.000900"}),
        ({}, {"attachments": [{"is_app_unfurl": True, "text": "an issue"}]}),
        (
            {"files": [{"id": "F1", "name": "a.py"}]},
            {"files": [{"id": "F1", "name": "a.py", "thumb_64": "x"}]},
        ),
    ],
)
def test_what_slack_finds_out_about_a_message_is_no_edit(before: Any, now: Any) -> None:
    assert read_edit(edited(said(**before), said(**now)), US) is None


@pytest.mark.parametrize(
    "now",
    [
        {"text": "hullo"},
        {"blocks": [{"type": "markdown", "text": "hullo"}]},
        {"files": [{"id": "F2", "name": "b.py"}]},
        {"bot_id": "B_SENTRY", "attachments": [{"color": "green", "text": "resolved"}]},
    ],
)
def test_other_words_blocks_files_and_reports_are_an_edit(now: dict[str, Any]) -> None:
    before = said(**({"bot_id": now["bot_id"]} if "bot_id" in now else {}))

    edit = read_edit(edited(before, before | now), US)

    assert edit is not None
    assert edit.edited_ts == "1700000009.000900"


A, B = {"id": "F1", "name": "a.py"}, {"id": "F2", "name": "b.py"}


@pytest.mark.parametrize(
    ("before", "now", "gone"),
    [
        ({"files": [A, B]}, {"files": [A]}, {"F2"}),
        ({"files": [A]}, {}, {"F1"}),
        ({"files": [A, B]}, {"files": [A, {"id": "F2", "mode": "tombstone"}]}, {"F2"}),
        ({"files": [A]}, {"files": [A], "text": "hullo"}, set()),
        ({}, {"files": [A]}, set()),
    ],
)
def test_an_edit_knows_which_files_it_has_taken_out(before: Any, now: Any, gone: set[str]) -> None:
    edit = read_edit(edited(said(**before), said(**now)), US)

    assert edit is not None
    assert edit.files_gone == gone


def test_without_the_message_before_only_deleted_files_are_known_to_be_gone() -> None:
    deleted = {"id": "F2", "mode": "tombstone"}

    edit = read_edit(edited({}, said(files=[A, deleted])), US)

    assert edit is not None
    assert edit.files_gone == {"F2"}


@pytest.mark.parametrize(
    "author", [{"user": "U_BOT"}, {"bot_id": "B_BOT"}, {"user": "U9", "app_id": "A_BOT"}]
)
def test_an_edit_of_our_own_is_none(author: dict[str, str]) -> None:
    assert read_edit(edited(said(**author), said(text="more", **author)), US) is None


def test_a_mention_that_an_edit_brings_is_an_edit_too() -> None:
    mention = said(channel="C1", **MENDED) | {"type": "app_mention"}
    at_first = {key: value for key, value in mention.items() if key != "edited"}

    edit = read_edit(delivery(mention), US)

    assert edit is not None
    assert (edit.before, edit.edited_ts) == (None, "1700000005.000000")
    assert edit.message.text == "hello <@U_BOT>"
    assert read_edit(delivery(at_first), US) is None


def test_a_tombstone_is_no_edit() -> None:
    assert read_edit(entombed(), US) is None


@STEADY
@given(
    st.recursive(
        st.none() | st.booleans() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "subtype",
                        "message",
                        "previous_message",
                        "ts",
                        "channel",
                        "edited",
                        "text",
                        "type",
                    ]
                ),
                inner,
            )
        ),
    )
)
def test_no_payload_makes_the_reading_of_edits_fail(event: Any) -> None:
    read_edit(delivery(event), US)
