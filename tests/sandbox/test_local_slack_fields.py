"""The local Slack answers and tells with no field that Slack does not have.

The names are those of the answers, events and interactive payloads that Slack's own Java SDK
keeps as samples: https://github.com/slackapi/java-slack-sdk/tree/main/json-logs/samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.sandbox.slack_app import (
    DEV,
    actions,
    button,
    markdown,
    refusal,
    section,
    slack_and_app,
    socket_app,
)

OPAQUE = frozenset({"blocks", "attachments", "event_payload", "shares", "state", "icons"})
"""Below these stands what an app or a person wrote, or nothing."""

REFUSALS = "ok error needed provided warning response_metadata response_metadata.messages"

BOT_PROFILE = "id deleted name updated app_id icons team_id"
METADATA = "event_type event_payload"
EDITED = "user ts"
REACTION = "name users count"
FILE = (
    "id created timestamp name title mimetype filetype pretty_type user user_team source_team mode "
    "editable file_access alt_txt is_external external_type username size url_private "
    "url_private_download permalink has_rich_preview preview_is_truncated preview lines lines_more "
    "is_public public_url_shared display_as_bot"
)
FILE_ITSELF = f"{FILE} channels groups ims shares"
USER = (
    "id team_id name deleted color real_name tz tz_label tz_offset profile is_admin is_owner "
    "is_primary_owner is_restricted is_ultra_restricted is_bot is_app_user updated is_stranger"
)
PROFILE = (
    "title real_name real_name_normalized display_name display_name_normalized status_text "
    "api_app_id bot_id team email"
)
CHANNEL = (
    "id name is_channel is_group is_im created is_archived is_general name_normalized is_shared "
    "creator is_ext_shared is_org_shared shared_team_ids is_member is_private is_mpim topic "
    "purpose num_members is_read_only context_team_id updated"
)
TOPIC = "value creator last_set"
TEAM = "id name domain email_domain icon url"
VIEW = (
    "id team_id type title submit close blocks private_metadata callback_id state hash app_id "
    "bot_id root_view_id"
)
TEXT = "type text emoji"

POSTED = (
    "type subtype text user ts team bot_id bot_profile app_id thread_ts parent_user_id metadata "
    "attachments blocks root username icons"
)
UPDATED = (
    "type text user team bot_id bot_profile app_id edited metadata blocks files upload "
    "display_as_bot x_files"
)
# The sample of replies has no subtype; https://docs.slack.dev/reference/events/message has.
REPLY = (
    "type subtype text user ts team bot_id bot_profile app_id thread_ts parent_user_id reply_count "
    "reply_users_count reply_users latest_reply subscribed edited reactions metadata blocks "
    "attachments files upload display_as_bot"
)
IN_HISTORY = f"{REPLY} subtype client_msg_id username icons root inviter topic purpose"

# Files in a mention, and teams and files in messages, are described in prose at
# https://docs.slack.dev/reference/events/app_mention and https://docs.slack.dev/apis/slack-connect.
MENTION = (
    "type client_msg_id user username app_id bot_id bot_profile subtype text blocks upload "
    "display_as_bot ts team channel user_team source_team edited event_ts thread_ts files "
    "attachments"
)
MESSAGE = (
    "type subtype client_msg_id team channel user bot_id bot_profile text ts parent_user_id "
    "thread_ts event_ts channel_type blocks attachments metadata edited files upload "
    "display_as_bot user_team source_team"
)
BOT_MESSAGE = (
    "type subtype bot_id username channel text thread_ts ts event_ts channel_type icons blocks "
    "attachments"
)
NESTED = (
    "client_msg_id type subtype user team bot_id bot_profile text blocks attachments upload "
    "display_as_bot thread_ts parent_user_id hidden ts user_team source_team reply_count "
    "reply_users_count latest_reply edited files"
)
HIDDEN = "type subtype channel hidden ts event_ts channel_type deleted_ts message previous_message"
REACTED = "type user reaction item item_user event_ts"
JOINED = "type user channel channel_type team inviter event_ts"
OUTER = (
    "token enterprise_id team_id api_app_id type authorizations is_ext_shared_channel event_id "
    "event_time event_context event"
)
AUTHORIZATION = "enterprise_id team_id user_id is_bot is_enterprise_install"

CLICK = (
    "type api_app_id token trigger_id response_url is_enterprise_install enterprise team user "
    "container channel message state actions"
)
SHORTCUT = (
    "type api_app_id token trigger_id response_url is_enterprise_install enterprise team user "
    "channel callback_id action_ts message_ts message"
)
CLICKED = f"{REPLY} metadata"
CONTAINER = "type message_ts channel_id is_ephemeral thread_ts"
ACTION = "type action_id block_id text value style action_ts"


def below(parent: str, names: str) -> str:
    return " ".join(f"{parent}.{name}" for name in names.split())


def message_below(parent: str, names: str) -> str:
    """A message's fields, and those of what it holds."""
    parts = {
        "bot_profile": BOT_PROFILE,
        "metadata": METADATA,
        "edited": EDITED,
        "reactions": REACTION,
        "files": FILE,
    }
    inner = [below(f"{parent}.{part}", fields) for part, fields in parts.items()]
    return " ".join([parent, below(parent, names), *inner])


PAGED = "messages has_more response_metadata.next_cursor"
ANSWERS = {
    "auth.test": "url team user team_id user_id bot_id is_enterprise_install enterprise_id",
    "bots.info": "bot " + below("bot", "id deleted name updated app_id user_id icons"),
    "chat.delete": "channel ts",
    "chat.getPermalink": "channel permalink",
    "chat.postEphemeral": "message_ts",
    "chat.postMessage": "channel ts " + message_below("message", POSTED),
    "chat.update": "channel ts text " + message_below("message", UPDATED),
    "conversations.history": f"{PAGED} oldest latest pin_count "
    + message_below("messages", IN_HISTORY),
    "conversations.info": "channel "
    + below("channel", CHANNEL)
    + " "
    + below("channel.topic", TOPIC)
    + " "
    + below("channel.purpose", TOPIC),
    "conversations.members": "members response_metadata.next_cursor",
    "conversations.open": "channel channel.id no_op already_open",
    "conversations.replies": f"{PAGED} " + message_below("messages", REPLY),
    "files.completeUploadExternal": "files " + below("files", FILE_ITSELF),
    "files.getUploadURLExternal": "upload_url file_id",
    "files.info": "file " + below("file", FILE_ITSELF) + " content is_truncated",
    "reactions.add": "",
    "reactions.remove": "",
    "team.info": "team " + below("team", TEAM),
    "users.info": "user " + below("user", USER) + " " + below("user.profile", PROFILE),
    "views.open": "view " + below("view", VIEW) + " " + below("view.title", TEXT),
}
EVENTS = {
    "app_mention": message_below("event", MENTION),
    "message": message_below("event", MESSAGE),
    "message.file_share": message_below("event", MESSAGE),
    "message.thread_broadcast": message_below("event", MESSAGE),
    "message.bot_message": message_below("event", BOT_MESSAGE),
    "message.message_changed": below("event", HIDDEN)
    + " "
    + message_below("event.message", NESTED)
    + " "
    + message_below("event.previous_message", NESTED),
    "message.message_deleted": below("event", HIDDEN)
    + " "
    + message_below("event.previous_message", NESTED),
    "reaction_added": below("event", REACTED) + " " + below("event.item", "type channel ts"),
    "reaction_removed": below("event", REACTED) + " " + below("event.item", "type channel ts"),
    "member_joined_channel": below("event", JOINED),
}


def names_in(value: Any, prefix: str = "") -> Iterator[str]:
    """The dotted names of all fields; lists count as their elements."""
    if isinstance(value, list):
        for item in value:
            yield from names_in(item, prefix)
    elif isinstance(value, dict):
        for name, inner in value.items():
            dotted = f"{prefix}.{name}" if prefix else name
            yield dotted
            if name not in OPAQUE:
                yield from names_in(inner, dotted)


async def test_every_answer_has_only_slacks_fields() -> None:
    async with slack_and_app() as (slack, web), socket_app(slack, web) as taken:
        await use_every_method(slack, web, taken)

        called = {call.method for call in await slack.calls() if call.answer.get("ok")}
        assert called == set(ANSWERS) | {"apps.connections.open"}
        for call in await slack.calls():
            allowed = f"{REFUSALS} url " + ANSWERS.get(call.method, "")
            assert set(names_in(call.answer)) <= set(allowed.split()), call.method


async def test_every_event_has_only_slacks_fields() -> None:
    async with slack_and_app() as (slack, web):
        await raise_every_event(slack, web)

        outer = f"{OUTER} event " + below("authorizations", AUTHORIZATION)
        raised = set()
        for payload in await slack.events():
            event = payload["event"]
            kind = ".".join(filter(None, (event["type"], event.get("subtype"))))
            kind = "app_mention" if event["type"] == "app_mention" else kind
            raised.add(kind)
            assert set(names_in(payload)) <= set(f"{outer} {EVENTS[kind]}".split()), kind
        assert raised == set(EVENTS)


async def test_a_click_has_only_slacks_fields() -> None:
    async with slack_and_app() as (slack, web), socket_app(slack, web) as taken:
        root = await slack.say("ana", "#dev", "root")
        blocks = [actions(button("stop"))]
        posted = await web.chat_postMessage(channel=DEV, thread_ts=root, text="t", blocks=blocks)
        await slack.click("ana", "#dev", posted["ts"], "stop")

        allowed = [
            CLICK,
            below("team", "id domain"),
            below("user", "id username name team_id"),
            below("container", CONTAINER),
            below("channel", "id name"),
            below("actions", ACTION),
            below("actions.text", TEXT),
            message_below("message", CLICKED),
        ]
        assert set(names_in(taken[-1].payload)) <= set(" ".join(allowed).split())


async def test_a_shortcut_has_only_slacks_fields() -> None:
    async with slack_and_app() as (slack, web), socket_app(slack, web) as taken:
        ts = await slack.say("ana", "#dev", "root")
        await slack.shortcut("ana", "#dev", ts, "ask_about")

        allowed = [
            SHORTCUT,
            below("team", "id domain"),
            below("user", "id username name team_id"),
            below("channel", "id name"),
        ]
        outer = {name for name in names_in(taken[-1].payload) if not name.startswith("message.")}
        assert outer == set(" ".join(allowed).split())


@pytest.mark.parametrize("method", sorted(ANSWERS))
async def test_a_refusal_has_only_slacks_fields(method: str) -> None:
    async with slack_and_app(scopes=[]) as (slack, web):
        await refusal(web.api_call(method))

        answer = (await slack.calls(method))[0].answer
        assert set(names_in(answer)) <= set(f"{REFUSALS} {ANSWERS[method]}".split())


async def use_every_method(slack: Any, web: Any, taken: list[Any]) -> None:
    """Call each method once with success."""
    root = await slack.say("ana", "#dev", "@kimibot hi", files=[{"name": "a.py", "text": "1"}])
    await slack.say("sam", "#shared", "hello")
    metadata = {"event_type": "turn", "event_payload": {"turn": "1"}}
    blocks = [markdown("m"), section("s"), actions(button("stop"))]
    posted = await web.chat_postMessage(
        channel=DEV, thread_ts=root, text="t", blocks=blocks, metadata=metadata
    )
    ts = posted["ts"]
    await web.chat_update(channel=DEV, ts=ts, text="u", blocks=blocks)
    await web.chat_update(channel=DEV, ts=ts, text="plain")
    await web.chat_update(channel=DEV, ts=ts, text="u", blocks=blocks)
    await web.chat_getPermalink(channel=DEV, message_ts=ts)
    await web.chat_postEphemeral(channel=DEV, user="U0ANA0001", text="psst")
    await web.reactions_add(channel=DEV, timestamp=root, name="eyes")
    await web.conversations_replies(channel=DEV, ts=root, include_all_metadata=True, limit=1)
    await web.conversations_replies(channel="C0SHARED1", ts=(await first_ts(slack)))
    await web.conversations_history(channel=DEV)
    await web.reactions_remove(channel=DEV, timestamp=root, name="eyes")
    for channel in (DEV, await slack.open_direct("ana")):
        await web.conversations_info(channel=channel, include_num_members=True)
    await web.conversations_open(users="U0ANA0001")
    await web.conversations_members(channel=DEV)
    await web.auth_test()
    await web.users_info(user=posted["message"]["user"])
    await web.bots_info(bot=posted["message"]["bot_id"])
    await web.team_info()
    uploaded = await web.files_upload_v2(channel=DEV, filename="a.py", content="print(1)")
    await web.files_info(file=uploaded["files"][0]["id"])
    await slack.click("ana", "#dev", ts, "stop")
    view = {"type": "modal", "title": {"type": "plain_text", "text": "v"}, "blocks": []}
    await web.views_open(trigger_id=taken[-1].payload["trigger_id"], view=view)
    await web.chat_delete(channel=DEV, ts=ts)


async def first_ts(slack: Any) -> str:
    return str((await slack.messages("#shared"))[0]["ts"])


async def raise_every_event(slack: Any, web: Any) -> None:
    """Do each thing once that raises an event."""
    root = await slack.say("ana", "#dev", "@kimibot hi", files=[{"name": "a.py", "text": "1"}])
    await slack.say("sam", "#shared", "@kimibot hi", attachments=[{"text": "quoted"}])
    await slack.say("bo", "#dev", "to all", thread_ts=root, broadcast=True)
    await slack.say_as_app("#dev", "old", is_bot_message=True)
    await slack.say_as_app("#dev", "@kimibot", thread_ts=root)
    metadata = {"event_type": "turn", "event_payload": {}}
    posted = await web.chat_postMessage(channel=DEV, text="t", metadata=metadata)
    await web.chat_update(channel=DEV, ts=posted["ts"], text="u")
    await slack.edit("ana", "#dev", root, "edited")
    await slack.edit("ana", "#dev", root, "@kimibot edited")
    await slack.react("ana", "#dev", root, "eyes")
    await slack.unreact("ana", "#dev", root, "eyes")
    await slack.delete("ana", "#dev", root)
    await slack.delete("ana", "#dev", posted["ts"])
    await slack.say("ana", "@kimibot", "direct")
    await slack.change_channel("#without-bot", has_bot=True)
