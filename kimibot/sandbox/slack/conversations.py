"""The conversations.* methods: https://docs.slack.dev/reference/methods?family=conversations."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from kimibot.sandbox.slack import limits
from kimibot.sandbox.slack.access import channel_to_look_up, channel_to_read
from kimibot.sandbox.slack.arguments import Arguments
from kimibot.sandbox.slack.messages import Fields
from kimibot.sandbox.slack.people import ANA, BOT, FOUNDED, TEAM_ID, Channel
from kimibot.sandbox.slack.refusals import Refused
from kimibot.sandbox.slack.workspace import Workspace

Answer = dict[str, Any]

NOT_IN_REPLIES = ("client_msg_id", "user_team", "source_team", "username")


def replies(workspace: Workspace, arguments: Arguments) -> Answer:
    """conversations.replies: a thread, oldest first, in pages."""
    channel = channel_to_read(workspace, arguments.required("channel"))
    thread = workspace.messages.thread(channel.id, arguments.required("ts"))
    if not thread:
        raise Refused("thread_not_found")
    page = _page(workspace, arguments, limits.REPLIES_PAGE, limits.REPLIES_PAGE)
    found, cursor = _take(_within(thread, arguments), page, arguments)
    answer = _messages_answer(found, cursor, arguments)
    answer["messages"] = [_without(message, NOT_IN_REPLIES) for message in answer["messages"]]
    return answer


def history(workspace: Workspace, arguments: Arguments) -> Answer:
    """conversations.history: what stands in the channel itself, newest first, in pages."""
    channel = channel_to_read(workspace, arguments.required("channel"))
    roots = [message for message in workspace.messages.all_of(channel.id) if _in_channel(message)]
    page = _page(workspace, arguments, limits.HISTORY_PAGE_DEFAULT, limits.HISTORY_PAGE)
    newest_first = list(reversed(_within(roots, arguments)))
    found, cursor = _take(newest_first, page, arguments)
    return _messages_answer(found, cursor, arguments)


def info(workspace: Workspace, arguments: Arguments) -> Answer:
    """conversations.info."""
    channel = channel_to_look_up(workspace, arguments.required("channel"))
    described = describe(channel)
    if arguments.flag("include_num_members"):
        described["num_members"] = len(channel.members)
    return {"ok": True, "channel": described}


def open_direct(workspace: Workspace, arguments: Arguments) -> Answer:
    """conversations.open, for one person."""
    if "channel" in arguments:
        channel = channel_to_look_up(workspace, arguments.text("channel"))
        return {"ok": True, "channel": {"id": channel.id}, "no_op": True, "already_open": True}
    users = [user for user in arguments.required("users").split(",") if user]
    if len(users) != 1 or users[0] not in workspace.people or users[0] == BOT.user_id:
        raise Refused("user_not_found")
    known = set(workspace.channels)
    channel = workspace.direct_channel(users[0])
    already = {"no_op": True, "already_open": True} if channel.id in known else {}
    return {"ok": True, "channel": {"id": channel.id}} | already


def members(workspace: Workspace, arguments: Arguments) -> Answer:
    """conversations.members."""
    channel = channel_to_look_up(workspace, arguments.required("channel"))
    everybody = sorted(channel.members)
    start = _start(arguments)
    limit = max(1, arguments.number("limit", limits.MEMBERS_PAGE))
    end = start + limit
    cursor = _cursor(end) if end < len(everybody) else ""
    return {
        "ok": True,
        "members": everybody[start:end],
        "response_metadata": {"next_cursor": cursor},
    }


def describe(channel: Channel) -> Fields:
    """A conversation as https://docs.slack.dev/reference/objects/conversation-object."""
    common = {
        "id": channel.id,
        "created": FOUNDED,
        "is_archived": channel.is_archived,
        "is_im": channel.kind == "im",
        "is_org_shared": False,
        "context_team_id": TEAM_ID,
        "updated": FOUNDED * 1000,
    }
    return common if channel.kind == "im" else common | _describe_named(channel)


def _describe_named(channel: Channel) -> Fields:
    return {
        "name": channel.name,
        "name_normalized": channel.name,
        "is_channel": channel.kind == "channel",
        "is_group": channel.kind == "group",
        "is_mpim": channel.kind == "mpim",
        "is_private": channel.kind != "channel",
        "is_general": channel.name == "general",
        "is_shared": channel.is_shared,
        "is_ext_shared": channel.is_shared,
        "is_member": BOT.user_id in channel.members,
        "is_read_only": channel.is_read_only,
        "creator": ANA.id,
        "shared_team_ids": [TEAM_ID],
        "topic": {"value": "", "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
    }


def _in_channel(message: Fields) -> bool:
    is_reply = message.get("thread_ts", message["ts"]) != message["ts"]
    return not is_reply or message.get("subtype") == "thread_broadcast"


def _page(workspace: Workspace, arguments: Arguments, default: int, most: int) -> int:
    if workspace.options.clamped_history:
        default = most = limits.CLAMPED_PAGE
    return max(1, min(arguments.number("limit", default) or default, most))


def _within(messages: list[Fields], arguments: Arguments) -> list[Fields]:
    """Between `oldest` and `latest`; the ends count with `inclusive`."""
    oldest, latest = arguments.text("oldest"), arguments.text("latest")
    inclusive = bool(arguments.flag("inclusive"))
    found = messages
    if oldest and oldest != "0":
        found = [m for m in found if _after(m["ts"], oldest, inclusive=inclusive)]
    if latest and latest != "now":
        found = [m for m in found if _after(latest, m["ts"], inclusive=inclusive)]
    return found


def _after(ts: str, other: str, *, inclusive: bool) -> bool:
    """Compared as whole microseconds: as floats they would lose digits."""
    return _micros(ts) >= _micros(other) if inclusive else _micros(ts) > _micros(other)


def _micros(ts: str) -> int:
    seconds, _, fraction = ts.partition(".")
    try:
        return int(seconds) * 1_000_000 + int(fraction.ljust(6, "0")[:6])
    except ValueError as error:
        raise Refused("invalid_ts_latest") from error


def _take(messages: list[Fields], page: int, arguments: Arguments) -> tuple[list[Fields], str]:
    start = _start(arguments)
    end = start + page
    return messages[start:end], _cursor(end) if end < len(messages) else ""


def _start(arguments: Arguments) -> int:
    cursor = arguments.text("cursor")
    if not cursor:
        return 0
    try:
        name, _, start = base64.b64decode(cursor, validate=True).decode().partition(":")
        if name != "next":
            raise Refused("invalid_cursor")
        return int(start)
    except (binascii.Error, UnicodeDecodeError, ValueError) as error:
        raise Refused("invalid_cursor") from error


def _cursor(start: int) -> str:
    return base64.b64encode(f"next:{start}".encode()).decode()


def _messages_answer(messages: list[Fields], cursor: str, arguments: Arguments) -> Answer:
    hidden = () if arguments.flag("include_all_metadata") else ("metadata",)
    shown = [_without(message, hidden) for message in messages]
    answer: Answer = {"ok": True, "messages": shown, "has_more": bool(cursor)}
    return answer | ({"response_metadata": {"next_cursor": cursor}} if cursor else {})


def _without(message: Fields, names: tuple[str, ...]) -> Fields:
    return {name: value for name, value in message.items() if name not in names}
