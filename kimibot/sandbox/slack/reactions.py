"""reactions.add and reactions.remove, and the reactions of people."""

from __future__ import annotations

from typing import Any

from kimibot.sandbox.slack.access import channel_to_read
from kimibot.sandbox.slack.arguments import Arguments
from kimibot.sandbox.slack.people import BOT
from kimibot.sandbox.slack.refusals import Refused
from kimibot.sandbox.slack.workspace import Workspace

Answer = dict[str, Any]


def add(workspace: Workspace, arguments: Arguments) -> Answer:
    """https://docs.slack.dev/reference/methods/reactions.add."""
    channel, ts, name = _target(workspace, arguments)
    if not react(workspace, channel, ts, name, BOT.user_id):
        raise Refused("already_reacted")
    return {"ok": True}


def remove(workspace: Workspace, arguments: Arguments) -> Answer:
    """https://docs.slack.dev/reference/methods/reactions.remove."""
    channel, ts, name = _target(workspace, arguments)
    if not unreact(workspace, channel, ts, name, BOT.user_id):
        raise Refused("no_reaction")
    return {"ok": True}


def react(workspace: Workspace, channel: str, ts: str, name: str, user: str) -> bool:
    """False if that person has reacted so already, or there is no such message."""
    users = _users(workspace, channel, ts, name)
    if users is None or user in users:
        return False
    event = {"type": "reaction_added", "user": user}
    _set(workspace, channel, ts, name, [*users, user], event)
    return True


def unreact(workspace: Workspace, channel: str, ts: str, name: str, user: str) -> bool:
    """False if that person has not reacted so, or there is no such message."""
    users = _users(workspace, channel, ts, name)
    if not users or user not in users:
        return False
    event = {"type": "reaction_removed", "user": user}
    _set(workspace, channel, ts, name, [other for other in users if other != user], event)
    return True


def _target(workspace: Workspace, arguments: Arguments) -> tuple[str, str, str]:
    channel = channel_to_read(workspace, arguments.required("channel"))
    name = arguments.text("name")
    if not name or ":" in name:
        raise Refused("invalid_name")
    ts = arguments.text("timestamp")
    if not ts:
        raise Refused("no_item_specified")
    if workspace.messages.get(channel.id, ts) is None:
        raise Refused("message_not_found")
    return channel.id, ts, name


def _users(workspace: Workspace, channel: str, ts: str, name: str) -> list[str] | None:
    message = workspace.messages.get(channel, ts)
    if message is None:
        return None
    for reaction in message.get("reactions", []):
        if reaction["name"] == name:
            return list(reaction["users"])
    return []


def _set(
    workspace: Workspace, channel: str, ts: str, name: str, users: list[str], event: Answer
) -> None:
    message = workspace.messages.get(channel, ts) or {}
    others = [r for r in message.get("reactions", []) if r["name"] != name]
    these = [{"name": name, "users": users, "count": len(users)}] if users else []
    item = {"type": "message", "channel": channel, "ts": ts}
    author = {"item_user": message["user"]} if "user" in message else {}
    reaction = event | {"reaction": name, "item": item} | author
    workspace.messages.react(channel, ts, others + these, reaction)
