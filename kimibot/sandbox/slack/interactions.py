"""Clicks on buttons, shortcuts on messages, and what they open: a trigger, and a response_url.

See https://docs.slack.dev/interactivity/handling-user-interaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kimibot.sandbox.slack import limits
from kimibot.sandbox.slack.arguments import Arguments
from kimibot.sandbox.slack.chat import bot_message, note_readers
from kimibot.sandbox.slack.content import content_of, require_content
from kimibot.sandbox.slack.messages import Fields
from kimibot.sandbox.slack.people import (
    BOT,
    TEAM_DOMAIN,
    TEAM_ID,
    VERIFICATION_TOKEN,
    Channel,
    Person,
)
from kimibot.sandbox.slack.refusals import Refused
from kimibot.sandbox.slack.workspace import Unknown, Workspace


@dataclass(slots=True)
class ResponseUrl:
    """Where an app may answer to one click, a few times."""

    channel: str
    ts: str
    user: str
    expires_at: float
    uses_left: int = limits.RESPONSE_URL_USES


@dataclass(slots=True)
class Interactions:
    """The triggers and response addresses that are open, and the views that apps opened."""

    workspace: Workspace
    triggers: dict[str, float] = field(default_factory=dict)
    used_triggers: set[str] = field(default_factory=set)
    response_urls: dict[str, ResponseUrl] = field(default_factory=dict)
    views: list[dict[str, Any]] = field(default_factory=list)

    def click(self, person: Person, channel: Channel, ts: str, action: Fields) -> Fields:
        """The block_actions payload of one click on an element of a message."""
        workspace = self.workspace
        message, is_ephemeral = _clicked(workspace, channel, ts)
        payload: Fields = self._payload("block_actions", person, channel, ts) | {
            "container": _container(channel, message, is_ephemeral=is_ephemeral),
            "state": {"values": _chosen(action)},
            "actions": [_action(action) | {"action_ts": workspace.messages.new_ts()}],
        }
        return payload if is_ephemeral else payload | {"message": message}

    def shortcut(self, person: Person, channel: Channel, ts: str, callback_id: str) -> Fields:
        """The message_action payload of a shortcut that is chosen on a message. Raises Unknown.

        https://docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload
        """
        message = self.workspace.messages.get(channel.id, ts)
        if message is None:
            raise Unknown(f"no such message: {ts}")
        return self._payload("message_action", person, channel, ts) | {
            "callback_id": callback_id,
            "action_ts": self.workspace.messages.new_ts(),
            "message_ts": ts,
            "message": message,
        }

    def open_view(self, arguments: Arguments) -> dict[str, Any]:
        """https://docs.slack.dev/reference/methods/views.open."""
        self._use_trigger(arguments.required("trigger_id"))
        view = arguments.parsed("view", "invalid_arguments")
        if not isinstance(view, dict) or view.get("type") != "modal":
            raise Refused("invalid_arguments", ["must be a modal: view"])
        if len(json.dumps(view).encode()) > limits.VIEW_BYTES:
            raise Refused("view_too_large")
        opened = view | {
            "id": self.workspace.new_id("V0"),
            "team_id": TEAM_ID,
            "app_id": BOT.app_id,
            "bot_id": BOT.bot_id,
            "state": {"values": {}},
            "hash": self.workspace.new_id(""),
        }
        self.views.append(opened)
        self.workspace.revision.bump()
        return {"ok": True, "view": opened}

    def respond(self, key: str, arguments: Arguments) -> None:
        """Answer through a response_url. Raises Refused(used_url) where it is used up or old."""
        address = self.response_urls.get(key)
        if address is None or address.uses_left == 0:
            raise Refused("used_url")
        if self.workspace.clock() > address.expires_at:
            raise Refused("expired_url")
        if "markdown_text" in arguments:
            raise Refused("no_text")
        if arguments.flag("delete_original"):
            _delete_original(self.workspace, address)
        else:
            _write(self.workspace, address, arguments)
        address.uses_left -= 1

    def _payload(self, kind: str, person: Person, channel: Channel, ts: str) -> Fields:
        return {
            "type": kind,
            "api_app_id": BOT.app_id,
            "token": VERIFICATION_TOKEN,
            "team": {"id": TEAM_ID, "domain": TEAM_DOMAIN},
            "enterprise": None,
            "is_enterprise_install": False,
            "user": _clicker(person),
            "channel": {"id": channel.id, "name": channel.name or "directmessage"},
            "trigger_id": self._new_trigger(),
            "response_url": self._new_response_url(person, channel, ts),
        }

    def _new_trigger(self) -> str:
        trigger = f"{self.workspace.new_id('')}.{self.workspace.new_id('')}"
        self.triggers[trigger] = self.workspace.clock() + limits.TRIGGER_SECONDS
        return trigger

    def _use_trigger(self, trigger: str) -> None:
        if trigger in self.used_triggers:
            raise Refused("exchanged_trigger_id")
        if self.workspace.clock() > self.triggers.pop(trigger, 0.0):
            raise Refused("expired_trigger_id")
        self.used_triggers.add(trigger)

    def _new_response_url(self, person: Person, channel: Channel, ts: str) -> str:
        key = self.workspace.new_id("")
        expires_at = self.workspace.clock() + limits.RESPONSE_URL_SECONDS
        self.response_urls[key] = ResponseUrl(channel.id, ts, person.id, expires_at)
        return f"{self.workspace.base_url}/actions/{TEAM_ID}/{key}"


def find_action(message: Fields, action_id: str) -> Fields:
    """The element with this action_id, with the id of its block. Raises Unknown."""
    for block in message.get("blocks") or []:
        for element in _elements(block):
            if element.get("action_id") == action_id:
                return element | {"block_id": block.get("block_id", "")}
    raise Unknown(f"no such button: {action_id}")


def ephemeral(workspace: Workspace, channel: Channel, ts: str) -> Fields | None:
    """An ephemeral message, or None."""
    for message in workspace.messages.ephemerals:
        if message["ts"] == ts and message["channel"] == channel.id:
            return message
    return None


def _clicked(workspace: Workspace, channel: Channel, ts: str) -> tuple[Fields, bool]:
    message = workspace.messages.get(channel.id, ts)
    if message is not None:
        return message, False
    private = ephemeral(workspace, channel, ts)
    if private is None:
        raise Unknown(f"no such message: {ts}")
    return private, True


def _clicker(person: Person) -> Fields:
    return {
        "id": person.id,
        "username": person.name,
        "name": person.name,
        "team_id": person.team_id,
    }


def _container(channel: Channel, message: Fields, *, is_ephemeral: bool) -> Fields:
    container = {
        "type": "message",
        "message_ts": message["ts"],
        "channel_id": channel.id,
        "is_ephemeral": is_ephemeral,
    }
    thread_ts = message.get("thread_ts")
    return container | ({"thread_ts": thread_ts} if thread_ts else {})


def choose(element: Fields, value: str | None) -> Fields:
    """What becomes of an element that somebody presses: of a menu, its option with this value; of a
    button, which has a value of its own, the same with this one. Raises Unknown."""
    if element.get("type") != "static_select":
        return element if value is None else element | {"value": value}
    for option in element.get("options") or []:
        if option.get("value") == value:
            return element | {"selected_option": option}
    raise Unknown(f"no such option: {value}")


def _action(element: Fields) -> Fields:
    """https://docs.slack.dev/reference/interaction-payloads/block_actions-payload"""
    is_menu = element.get("type") == "static_select"
    own = ("selected_option", "placeholder") if is_menu else ("text", "value", "style")
    names = ("type", "action_id", "block_id", *own)
    return {name: element[name] for name in names if name in element}


def _chosen(element: Fields) -> Fields:
    """What stands in the menus of the message now, by block and action."""
    if "selected_option" not in element:
        return {}
    shown = {"type": element["type"], "selected_option": element["selected_option"]}
    return {element["block_id"]: {element["action_id"]: shown}}


def _elements(block: Fields) -> Iterator[Fields]:
    yield from block.get("elements") or []
    if block.get("accessory"):
        yield block["accessory"]


def _delete_original(workspace: Workspace, address: ResponseUrl) -> None:
    workspace.messages.delete(address.channel, address.ts)
    workspace.messages.delete_ephemeral(address.ts)


def _write(workspace: Workspace, address: ResponseUrl, arguments: Arguments) -> None:
    content = content_of(workspace, arguments)
    require_content(workspace, content)
    fields = {"blocks": None} | content.fields()
    if not arguments.flag("replace_original"):
        _write_new(workspace, address, arguments, content.fields())
        return
    changed = workspace.messages.change_ephemeral(address.ts, fields)
    changed = changed or workspace.messages.change(address.channel, address.ts, fields)
    if changed is not None:
        note_readers(workspace, address.channel, changed, arguments, is_new=False)


def _write_new(
    workspace: Workspace, address: ResponseUrl, arguments: Arguments, content: Fields
) -> None:
    thread_ts = arguments.text("thread_ts")
    fields = bot_message(BOT) | content | ({"thread_ts": thread_ts} if thread_ts else {})
    if arguments.text("response_type") == "in_channel":
        message = workspace.messages.add(address.channel, fields)
    else:
        message = workspace.messages.add_ephemeral(address.channel, fields | {"to": address.user})
    note_readers(workspace, address.channel, message, arguments)
