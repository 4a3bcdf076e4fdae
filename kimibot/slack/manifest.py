"""The Slack app's manifest: the scopes and events that the code uses, and no others.

Fields and their limits: https://docs.slack.dev/reference/app-manifest
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

SCOPES: Mapping[str, str] = MappingProxyType(
    {
        "app_mentions:read": "hear that somebody mentions it",
        "channels:history": "read the threads of public channels, and hear follow-ups there",
        "groups:history": "the same in private channels",
        "im:history": "the same in direct messages",
        "mpim:history": "the same in group direct messages",
        "chat:write": "reply, and edit its replies while the model writes",
        "files:read": "read the files that people attach",
        "files:write": "attach long code as files",
        "im:write": "tell the asker in a direct message where a reply is refused",
        "reactions:read": "hear the reaction with which the asker stops an answer",
        "reactions:write": "mark the asks that have to wait",
        "commands": "offer its shortcuts in the menu of each message",
        "users:read": "tell the model the names of those who speak, and guests from members",
        "channels:read": "tell the model the names of channels that are spoken of",
        "team:read": "tell the model of which company people from outside are",
    }
)
"""The bot's scopes, each with what it is for."""

SHORTCUTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "ask_about": ("Ask Kimi about this", "Kimi explains this message, or answers it"),
        "review": ("Review with Kimi", "Kimi reviews the code or the pull request in this message"),
    }
)
"""What stands in the menu of each message: by callback id, its name and what it does."""

EVENTS: Mapping[str, str] = MappingProxyType(
    {
        "app_mention": "app_mentions:read",
        "message.channels": "channels:history",
        "message.groups": "groups:history",
        "message.im": "im:history",
        "message.mpim": "mpim:history",
        "reaction_added": "reactions:read",
    }
)
"""The events that the bot subscribes to, each with the scope that it needs."""


def manifest(*, request_url: str | None = None) -> dict[str, Any]:
    """The app's manifest: for HTTP with events sent to `request_url`, else for Socket Mode."""
    url = {} if request_url is None else {"request_url": request_url}
    return {
        "_metadata": {"major_version": 2, "minor_version": 1},
        "display_information": {
            "name": "kimibot",
            "description": "Answers in the thread with Kimi K3, while the model writes",
            "background_color": "#1f2430",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": False,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "kimibot", "always_online": True},
            "shortcuts": [
                {"name": name, "type": "message", "callback_id": id_, "description": description}
                for id_, (name, description) in SHORTCUTS.items()
            ],
        },
        "oauth_config": {"scopes": {"bot": list(SCOPES)}},
        "settings": {
            "event_subscriptions": {**url, "bot_events": list(EVENTS)},
            "interactivity": {"is_enabled": True, **url},
            "org_deploy_enabled": False,
            "socket_mode_enabled": request_url is None,
            "token_rotation_enabled": False,
        },
    }


def as_yaml(document: Mapping[str, Any]) -> str:
    """A manifest as YAML: mappings, lists of scalars or of mappings, and scalars are all it has."""
    return "\n".join(_yaml_lines(document, "")) + "\n"


def as_json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2) + "\n"


def _yaml_lines(document: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _yaml_lines(value, indent + "  ")
        elif isinstance(value, list):
            yield f"{indent}{key}:"
            for item in value:
                yield from _yaml_item(item, indent + "  ")
        else:
            yield f"{indent}{key}: {_yaml_scalar(value)}"


def _yaml_item(item: Any, indent: str) -> Iterator[str]:
    if not isinstance(item, Mapping):
        yield f"{indent}- {_yaml_scalar(item)}"
        return
    first, *others = _yaml_lines(item, indent + "  ")
    yield f"{indent}- {first.lstrip()}"
    yield from others


def _yaml_scalar(value: Any) -> str:
    """JSON's scalars are YAML's too; names like `message.im` and `im:read` need no quotes."""
    if isinstance(value, str) and re.fullmatch(r"[a-z_]+[.:][a-z_:]+", value):
        return value
    return json.dumps(value)
