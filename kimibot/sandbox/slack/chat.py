"""The chat.* methods: https://docs.slack.dev/reference/methods?family=chat."""

from __future__ import annotations

from typing import Any

from kimibot.sandbox.slack import limits
from kimibot.sandbox.slack.access import channel_to_post_in, channel_to_read, channel_to_write
from kimibot.sandbox.slack.arguments import Arguments
from kimibot.sandbox.slack.content import Content, content_of, require_content
from kimibot.sandbox.slack.messages import Fields
from kimibot.sandbox.slack.people import BOT, FOUNDED, TEAM_ID, App
from kimibot.sandbox.slack.records import Ping
from kimibot.sandbox.slack.refusals import Refused
from kimibot.sandbox.slack.shown import addresses_of, pings_of, plain_broadcasts
from kimibot.sandbox.slack.workspace import Workspace

Answer = dict[str, Any]

NOT_IN_UPDATE_ANSWERS = (
    "ts",
    "thread_ts",
    "parent_user_id",
    "reply_count",
    "reply_users_count",
    "latest_reply",
    "reply_users",
    "reactions",
)


def post_message(workspace: Workspace, arguments: Arguments) -> Answer:
    """chat.postMessage. Text over the limit, without blocks, ends as several messages."""
    channel = channel_to_post_in(workspace, arguments.required("channel"))
    content = content_of(workspace, arguments)
    require_content(workspace, content)
    thread = _thread_of(workspace, channel.id, arguments)
    fields = bot_message(BOT) | content.fields() | thread
    posted = []
    for text in _as_many_messages(workspace, content):
        message = workspace.messages.add(channel.id, fields | {"text": text})
        note_readers(workspace, channel.id, message, arguments)
        posted.append(message)
    answer = {"ok": True, "channel": channel.id, "ts": posted[0]["ts"], "message": posted[0]}
    return answer | _warned(content)


def update(workspace: Workspace, arguments: Arguments) -> Answer:
    """chat.update. Text alone removes the blocks; what is left out altogether stays."""
    channel = channel_to_write(workspace, arguments.required("channel"))
    ts = arguments.required("ts")
    _own_message(workspace, channel.id, ts, "cant_update_message")
    too_long = len(arguments.text("text")) > limits.UPDATE_TEXT_CHARS
    if workspace.options.text_limits and too_long:
        raise Refused("msg_too_long")
    content = content_of(workspace, arguments)
    if content.metadata is None:
        require_content(workspace, content)
    message = workspace.messages.change(channel.id, ts, _edits(workspace, content)) or {}
    note_readers(workspace, channel.id, message, arguments, is_new=False)
    inner = {name: v for name, v in message.items() if name not in NOT_IN_UPDATE_ANSWERS}
    return {
        "ok": True,
        "channel": channel.id,
        "ts": ts,
        "text": message.get("text", ""),
        "message": inner,
    }


def delete(workspace: Workspace, arguments: Arguments) -> Answer:
    """chat.delete, for the bot's own messages."""
    channel = channel_to_write(workspace, arguments.required("channel"))
    ts = arguments.required("ts")
    _own_message(workspace, channel.id, ts, "cant_delete_message")
    workspace.messages.delete(channel.id, ts)
    return {"ok": True, "channel": channel.id, "ts": ts}


def post_ephemeral(workspace: Workspace, arguments: Arguments) -> Answer:
    """chat.postEphemeral: shown to one member of the channel, stored nowhere."""
    channel = channel_to_post_in(workspace, arguments.required("channel"))
    user = arguments.required("user")
    if user not in channel.members:
        raise Refused("user_not_in_channel")
    content = content_of(workspace, arguments)
    require_content(workspace, content)
    thread = _thread_of(workspace, channel.id, arguments)
    fields = bot_message(BOT) | content.fields() | thread | {"to": user}
    message = workspace.messages.add_ephemeral(channel.id, fields)
    note_readers(workspace, channel.id, message, arguments)
    return {"ok": True, "message_ts": message["ts"]}


def get_permalink(workspace: Workspace, arguments: Arguments) -> Answer:
    """chat.getPermalink."""
    channel = channel_to_read(workspace, arguments.required("channel"))
    ts = arguments.required("message_ts")
    message = workspace.messages.get(channel.id, ts)
    if message is None:
        raise Refused("message_not_found")
    return {"ok": True, "channel": channel.id, "permalink": permalink(workspace, channel.id, ts)}


def permalink(workspace: Workspace, channel_id: str, ts: str) -> str:
    """The address of a message: the ts without its point, after a `p`."""
    return f"{workspace.base_url}/archives/{channel_id}/p{ts.replace('.', '')}"


def bot_message(app: App) -> Fields:
    """The fields that every message of an app has."""
    return {
        "type": "message",
        "user": app.user_id,
        "bot_id": app.bot_id,
        "app_id": app.app_id,
        "team": TEAM_ID,
        "bot_profile": {
            "id": app.bot_id,
            "deleted": False,
            "name": app.name,
            "updated": FOUNDED,
            "app_id": app.app_id,
            "icons": {},
            "team_id": TEAM_ID,
        },
    }


def note_readers(
    workspace: Workspace,
    channel_id: str,
    message: Fields,
    arguments: Arguments,
    *,
    is_new: bool = True,
) -> None:
    """Record whom a message of the bot pings, and what it unfurls."""
    pings = pings_of(message)
    if arguments.flag("link_names") or arguments.text("parse") == "full":
        pings += plain_broadcasts(message.get("text", ""))
    ts = str(message.get("ts"))
    workspace.records.pings += [Ping(channel_id, ts, ping) for ping in pings]
    unfurls = arguments.flag("unfurl_links", True) or arguments.flag("unfurl_media", True)
    addresses = addresses_of(message) if is_new and unfurls else []
    if addresses:
        unfurl = {"channel": channel_id, "ts": ts, "addresses": addresses}
        workspace.records.unfurls.append(unfurl)


def _thread_of(workspace: Workspace, channel_id: str, arguments: Arguments) -> Fields:
    if "thread_ts" not in arguments:
        return {}
    root = arguments.text("thread_ts")
    if workspace.options.check_threads and not workspace.messages.is_root(channel_id, root):
        raise Refused("invalid_thread_ts")
    broadcast = {"subtype": "thread_broadcast"} if arguments.flag("reply_broadcast") else {}
    return {"thread_ts": root} | broadcast


def _as_many_messages(workspace: Workspace, content: Content) -> list[str]:
    text, most = content.text, limits.POST_TEXT_CHARS
    if content.blocks or not workspace.options.split_long_text or len(text) <= most:
        return [text]
    return [text[start : start + most] for start in range(0, len(text), most)]


def _own_message(workspace: Workspace, channel_id: str, ts: str, refusal: str) -> Fields:
    message = workspace.messages.get(channel_id, ts)
    if message is None or message.get("subtype") == "tombstone":
        raise Refused("message_not_found")
    if workspace.options.check_authors and message.get("bot_id") != BOT.bot_id:
        raise Refused(refusal)
    return message


def _edits(workspace: Workspace, content: Content) -> Fields:
    edits: Fields = {}
    if not content.is_empty:
        edits["text"] = content.text
        edits["blocks"] = content.blocks or None
        if content.attachments is not None:
            edits["attachments"] = content.attachments or None
        if not content.blocks:
            edits["edited"] = {"user": BOT.user_id, "ts": workspace.messages.new_ts()}
    if content.metadata is not None:
        edits["metadata"] = content.metadata or None
    return edits


def _warned(content: Content) -> Answer:
    if not content.warnings:
        return {}
    return {"response_metadata": {"messages": [f"[WARN] {w}" for w in content.warnings]}}
