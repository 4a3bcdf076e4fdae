"""Whether the bot may read or write a conversation, in Slack's order of refusals."""

from __future__ import annotations

from kimibot.sandbox.slack.people import BOT, Channel
from kimibot.sandbox.slack.refusals import Refused
from kimibot.sandbox.slack.workspace import Workspace


def channel_to_post_in(workspace: Workspace, name: str) -> Channel:
    """By id or name; a person's id means the direct conversation with them."""
    if name in workspace.people and name != BOT.user_id:
        return workspace.direct_channel(name)
    channel = channel_to_write(workspace, name, by_name=True)
    if workspace.options.check_channels and channel.is_read_only:
        raise Refused("restricted_action_read_only_channel")
    return channel


def channel_to_write(workspace: Workspace, channel_id: str, *, by_name: bool = False) -> Channel:
    """A conversation whose messages the bot may post, edit and delete."""
    channel = _found(workspace, channel_id, by_name=by_name)
    if workspace.options.check_channels:
        if channel.is_archived:
            raise Refused("is_archived")
        _require_membership(channel)
    return channel


def channel_to_read(workspace: Workspace, channel_id: str) -> Channel:
    """A conversation whose messages the bot may read."""
    channel = _found(workspace, channel_id)
    if workspace.options.check_channels:
        _require_membership(channel)
    return channel


def channel_to_look_up(workspace: Workspace, channel_id: str) -> Channel:
    """A conversation whose name and settings the bot may know."""
    return _found(workspace, channel_id)


def _found(workspace: Workspace, name: str, *, by_name: bool = False) -> Channel:
    channel = workspace.channels.get(name)
    if channel is None and by_name:
        channel = workspace.channel_named(name)
    if channel is None or (channel.kind != "channel" and BOT.user_id not in channel.members):
        raise Refused("channel_not_found")
    return channel


def _require_membership(channel: Channel) -> None:
    if BOT.user_id not in channel.members:
        raise Refused("not_in_channel")
