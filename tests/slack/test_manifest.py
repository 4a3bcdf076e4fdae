"""The manifest asks for what the bot uses, within Slack's limits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import kimibot
from kimibot.slack.manifest import EVENTS, SCOPES, as_json, as_yaml, manifest

URL = "https://bot.example.com/slack/events"
BOTH = pytest.mark.parametrize("document", [manifest(), manifest(request_url=URL)])
SOURCES = sorted(Path(kimibot.__file__).parent.rglob("*.py"))


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


USES = {
    "chat:write": "chat.postMessage",
    "im:write": "conversations.open",
    "users:read": "users.info",
}
"""What each scope that no event needs is there for, as a Web API method."""


def test_every_scope_is_there_for_an_event_or_a_method() -> None:
    assert set(SCOPES) == set(EVENTS.values()) | set(USES)


NEEDS = {
    "reactions": "reactions:write",
    "files": "files:read",
    "views": None,
    "assistant": "assistant:write",
    "agents": "assistant:write",
    "bots": "users:read",
    "users": "users:read",
    "team": "team:read",
}
"""By family of methods, the scope that a call of it needs: https://docs.slack.dev/reference/methods"""


def methods_called() -> set[str]:
    """The SDK's methods that the bot's own sources call, as `family_name`."""
    found: set[str] = set()
    for path in SOURCES:
        if "sandbox" not in path.parts:
            called = rf"client\.((?:{'|'.join(NEEDS)})_\w+)\("
            found |= set(re.findall(called, path.read_text(encoding="utf-8")))
    return found


def test_every_method_that_is_called_has_its_scope() -> None:
    needed = {NEEDS[method.split("_")[0]] for method in methods_called()}

    assert needed - {None} <= set(SCOPES)
