"""What of Slack's behaviour can be switched in this local Slack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from kimibot.sandbox.slack import limits

ALL_EVENTS = frozenset(
    {
        "app_mention",
        "member_joined_channel",
        "message.channels",
        "message.groups",
        "message.im",
        "message.mpim",
        "reaction_added",
        "reaction_removed",
        "tokens_revoked",
        "app_uninstalled",
    }
)

ALL_SCOPES = frozenset(
    {
        "app_mentions:read",
        "channels:history",
        "channels:read",
        "chat:write",
        "commands",
        "files:read",
        "files:write",
        "groups:history",
        "groups:read",
        "im:history",
        "im:read",
        "im:write",
        "mpim:history",
        "mpim:read",
        "reactions:read",
        "reactions:write",
        "team:read",
        "users:read",
    }
)


@dataclass(slots=True)
class Options:
    """The switches, all set to what Slack does.

    `events` are the app's subscriptions and `scopes` what the bot token was granted.
    `request_url` turns deliveries from Socket Mode to signed HTTP requests. With `twin_gap_seconds`
    the second event of a mention comes later than the first, and `mention_first` says which is
    first. `redelivery_seconds` are the waits before each repeated delivery.
    """

    rate_limits: bool = True
    clamped_history: bool = False
    text_limits: bool = True
    split_long_text: bool = True
    markdown_limits: bool = True
    block_count_limit: bool = True
    block_element_limits: bool = True
    require_text: bool = True
    check_threads: bool = True
    check_channels: bool = True
    check_authors: bool = True
    check_scopes: bool = True
    api_latency_seconds: float = 0.0
    events: frozenset[str] = ALL_EVENTS
    scopes: frozenset[str] = ALL_SCOPES
    mention_first: bool = True
    twin_gap_seconds: float = 0.0
    mention_on_edit: bool = True
    request_url: str = ""
    ack_timeout_seconds: float = limits.ACK_SECONDS
    redelivery_seconds: tuple[float, ...] = limits.REDELIVERY_SECONDS
    server_ping_seconds: float = 5.0
    stall_handshakes: bool = False

    def change(self, changes: Mapping[str, Any]) -> None:
        """Set some switches. Raises ValueError for a name that is none."""
        known = {field.name for field in fields(self)}
        if unknown := sorted(set(changes) - known):
            raise ValueError(f"no such option: {', '.join(unknown)}")
        for name, value in changes.items():
            setattr(self, name, _as_type_of(getattr(self, name), value))


def _as_type_of(old: object, new: Any) -> Any:
    if isinstance(old, frozenset):
        return frozenset(new)
    if isinstance(old, tuple):
        return tuple(new)
    return new
