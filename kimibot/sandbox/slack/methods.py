"""Which methods the local Slack has, with Slack's tier and scope for each.

Tiers and scopes are those of each method's page at https://docs.slack.dev/reference/methods.
"""

from __future__ import annotations

from collections.abc import Mapping

from kimibot.sandbox.slack import accounts, chat, conversations, reactions, uploads
from kimibot.sandbox.slack.interactions import Interactions
from kimibot.sandbox.slack.people import APP_TOKEN
from kimibot.sandbox.slack.sockets import Sockets
from kimibot.sandbox.slack.web_api import Method


def all_methods(sockets: Sockets, interactions: Interactions) -> Mapping[str, Method]:
    """By name; any other method is answered with `unknown_method`."""
    with_state = {
        "apps.connections.open": Method(
            lambda _, __: {"ok": True, "url": sockets.issue_url()}, tier=3, token=APP_TOKEN
        ),
        "views.open": Method(lambda _, given: interactions.open_view(given), tier=4),
    }
    return _writing() | _reading() | with_state


def _writing() -> dict[str, Method]:
    return {
        "chat.delete": Method(chat.delete, tier=3, scope="chat:write"),
        "chat.postEphemeral": Method(chat.post_ephemeral, tier=4, scope="chat:write"),
        "chat.postMessage": Method(chat.post_message, scope="chat:write"),
        "chat.update": Method(chat.update, tier=3, scope="chat:write"),
        "conversations.open": Method(conversations.open_direct, tier=3, scope="im:write"),
        "files.completeUploadExternal": Method(
            uploads.complete_upload, tier=4, scope="files:write"
        ),
        "files.getUploadURLExternal": Method(uploads.get_upload_url, tier=4, scope="files:write"),
        "reactions.add": Method(reactions.add, tier=3, scope="reactions:write"),
        "reactions.remove": Method(reactions.remove, tier=2, scope="reactions:write"),
    }


def _reading() -> dict[str, Method]:
    return {
        "auth.test": Method(accounts.auth_test),
        "bots.info": Method(accounts.bots_info, tier=3, scope="users:read"),
        "chat.getPermalink": Method(chat.get_permalink),
        "conversations.history": Method(conversations.history, tier=3, scope="*:history"),
        "conversations.info": Method(conversations.info, tier=3, scope="*:read"),
        "conversations.members": Method(conversations.members, tier=4, scope="*:read"),
        "conversations.replies": Method(conversations.replies, tier=3, scope="*:history"),
        "files.info": Method(uploads.files_info, tier=4, scope="files:read"),
        "team.info": Method(accounts.team_info, tier=3, scope="team:read"),
        "users.info": Method(accounts.users_info, tier=4, scope="users:read"),
    }
