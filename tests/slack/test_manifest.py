"""The manifest asks for what the bot uses, within Slack's limits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import kimibot
from kimibot.sandbox.slack import people
from kimibot.slack.manifest import EVENTS, SCOPES, as_json, as_yaml, manifest

URL = "https://bot.example.com/slack/events"
BOTH = pytest.mark.parametrize("document", [manifest(), manifest(request_url=URL)])


@BOTH
def test_the_yaml_reads_as_the_same_document(document: dict[str, Any]) -> None:
    assert yaml.safe_load(as_yaml(document)) == document


@BOTH
def test_the_json_reads_as_the_same_document(document: dict[str, Any]) -> None:
    assert json.loads(as_json(document)) == document


@pytest.mark.parametrize("text", ["on", "no", "1:30", "a: b", "# x", "", "ja:nein", "null", "é\n"])
def test_a_word_that_yaml_would_take_for_something_else_stays_a_word(text: str) -> None:
    assert yaml.safe_load(as_yaml({"key": text, "keys": [text]})) == {"key": text, "keys": [text]}


def test_socket_mode_needs_no_address() -> None:
    settings = manifest()["settings"]

    assert settings["socket_mode_enabled"] is True
    assert "request_url" not in settings["event_subscriptions"] | settings["interactivity"]


def test_over_http_events_and_clicks_go_to_the_same_address() -> None:
    settings = manifest(request_url=URL)["settings"]

    assert settings["socket_mode_enabled"] is False
    assert settings["event_subscriptions"]["request_url"] == URL
    assert settings["interactivity"] == {"is_enabled": True, "request_url": URL}


def test_the_texts_keep_slacks_limits() -> None:
    shown = manifest()["display_information"]

    assert len(shown["name"]) <= 35
    assert len(shown["description"]) <= 140
    assert re.fullmatch("#[0-9a-f]{6}", shown["background_color"])


def test_every_event_has_its_scope() -> None:
    assert set(EVENTS.values()) <= set(SCOPES)


def test_each_shortcut_keeps_slacks_limits_and_is_on_the_page_of_the_demo() -> None:
    """https://docs.slack.dev/reference/app-manifest"""
    shortcuts = manifest()["features"]["shortcuts"]

    assert all(len(one["name"]) <= 24 and len(one["description"]) <= 150 for one in shortcuts)
    assert {one["callback_id"]: one["name"] for one in shortcuts} == people.SHORTCUTS


NEEDS = {
    "auth.test": "",
    "apps.connections.open": "",  # the app-level token's own
    "chat.delete": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.postMessage": "chat:write",
    "chat.update": "chat:write",
    "bots.info": "users:read",
    "conversations.history": "channels:history",
    "conversations.info": "channels:read",
    "conversations.open": "im:write",
    "conversations.replies": "channels:history",
    "files.info": "files:read",
    "files.completeUploadExternal": "files:write",
    "files.getUploadURLExternal": "files:write",
    "reactions.add": "reactions:write",
    "reactions.remove": "reactions:write",
    "team.info": "team:read",
    "users.info": "users:read",
}
"""The scope that a call needs, by method: https://docs.slack.dev/reference/methods"""


def methods_called() -> set[str]:
    """The methods that the room for Slack names in its code."""
    families = "apps|assistant|agents|auth|bots|chat|conversations|files|reactions|team|users|views"
    room = Path(kimibot.__file__).parent / "slack"
    code = "".join(path.read_text(encoding="utf-8") for path in room.glob("*.py"))
    return set(re.findall(rf'"((?:{families})(?:\.[a-zA-Z]+)+)"', code))


def test_every_method_that_is_called_has_its_scope() -> None:
    assert {NEEDS[method] for method in methods_called()} - {""} <= set(SCOPES)


def test_no_scope_is_asked_for_that_nothing_needs() -> None:
    needed = set(EVENTS.values()) | {NEEDS[method] for method in methods_called()}
    needed |= {"commands"} if manifest()["features"]["shortcuts"] else set()

    assert set(SCOPES) <= needed
