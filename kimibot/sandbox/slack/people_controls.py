"""Controls: what people and other apps do in the local Slack."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from kimibot.sandbox.slack import reactions
from kimibot.sandbox.slack.chat import bot_message
from kimibot.sandbox.slack.control import Controlled, control
from kimibot.sandbox.slack.delivery import Parcel
from kimibot.sandbox.slack.files import File, content_of
from kimibot.sandbox.slack.interactions import choose, ephemeral, find_action
from kimibot.sandbox.slack.messages import Fields
from kimibot.sandbox.slack.people import BOT, Channel, Person
from kimibot.sandbox.slack.typed import typed
from kimibot.sandbox.slack.uploads import in_message
from kimibot.sandbox.slack.workspace import Unknown


class PeopleControls(Controlled):
    """People are named by id or name, channels by id, `#name`, or `@name` for a direct one."""

    @control
    async def say(
        self,
        user: str,
        channel: str,
        text: str = "",
        *,
        thread_ts: str | None = None,
        blocks: list[dict[str, Any]] | None = None,
        files: Sequence[dict[str, Any]] = (),
        attachments: list[dict[str, Any]] | None = None,
        broadcast: bool = False,
    ) -> str:
        """A person writes a message; its ts.

        `text` is what was typed, with `@kimibot` as a mention; Slack makes rich_text of it. Given
        `blocks` are stored as they are and the text too, also for an empty list. A file has a
        `name`, its content as `text` or `base64`, and may have a `mimetype`, a `title`,
        `is_hidden`, and a `fault` (`login_page`, `not_found`, `stall`, `redirect:<address>`).
        """
        person = self.parts.workspace.person(user)
        where = self._channel(person, channel)
        fields = self._written(text, blocks) | self._author(person)
        fields["client_msg_id"] = str(uuid.UUID(int=self._random_bits(), version=4))
        if thread_ts is not None:
            fields["thread_ts"] = self._root(where, thread_ts)
        fields |= {"subtype": "thread_broadcast"} if broadcast else {}
        fields |= {"attachments": attachments} if attachments else {}
        if files:
            shared = [self._share(person, where, file) for file in files]
            fields |= {"files": shared, "upload": True, "display_as_bot": False}
        return str(self.parts.workspace.messages.add(where.id, fields)["ts"])

    @control
    async def say_as_app(
        self,
        channel: str,
        text: str = "",
        *,
        app: str = "monitor",
        thread_ts: str | None = None,
        blocks: list[dict[str, Any]] | None = None,
        attachments: list[dict[str, Any]] | None = None,
        is_bot_message: bool = False,
    ) -> str:
        """Another app posts; its ts. With `is_bot_message` in the old shape that has a subtype."""
        workspace = self.parts.workspace
        known = workspace.app_of(app)
        fields = bot_message(known) | {"text": text}
        if is_bot_message:
            del fields["user"]
            fields |= {"subtype": "bot_message", "username": known.name}
        given = {"thread_ts": thread_ts, "blocks": blocks, "attachments": attachments}
        fields |= {name: value for name, value in given.items() if value}
        where = workspace.channel(channel)
        return str(workspace.messages.add(where.id, fields)["ts"])

    @control
    async def edit(self, user: str, channel: str, ts: str, text: str) -> None:
        """A person changes the text of their message."""
        person, where = self._own(user, channel, ts)
        edited = {"user": person.id, "ts": self.parts.workspace.messages.new_ts()}
        fields = self._written(text, None) | {"edited": edited}
        self.parts.workspace.messages.change(where.id, ts, {"blocks": None} | fields)

    @control
    async def delete(self, user: str, channel: str, ts: str) -> None:
        """Somebody deletes a message: their own, or as an admin one of the bot's."""
        workspace = self.parts.workspace
        where = self._channel(workspace.person(user), channel)
        if not workspace.messages.delete(where.id, ts):
            raise Unknown(f"no such message: {ts}")

    @control
    async def unfurl(self, channel: str, ts: str, attachment: dict[str, Any]) -> None:
        """Slack adds a preview to a message: a change that nobody made."""
        workspace = self.parts.workspace
        where = workspace.channel(channel)
        changes = {"attachments": [attachment]}
        if workspace.messages.change(where.id, ts, changes) is None:
            raise Unknown(f"no such message: {ts}")

    @control
    async def react(self, user: str, channel: str, ts: str, name: str) -> None:
        """A person reacts with an emoji."""
        self._react(user, channel, ts, name, is_added=True)

    @control
    async def unreact(self, user: str, channel: str, ts: str, name: str) -> None:
        """A person takes a reaction back."""
        self._react(user, channel, ts, name, is_added=False)

    @control
    async def click(
        self, user: str, channel: str, ts: str, action_id: str, value: str | None = None
    ) -> bool:
        """A person clicks on a button, or chooses the option with this value in a menu; whether the
        app acked it in time. It is sent only once."""
        workspace = self.parts.workspace
        person = workspace.person(user)
        where = self._channel(person, channel)
        message = workspace.messages.get(where.id, ts) or ephemeral(workspace, where, ts) or {}
        action = choose(find_action(message, action_id), value)
        return await self._interact(self.parts.interactions.click(person, where, ts, action))

    @control
    async def shortcut(self, user: str, channel: str, ts: str, callback_id: str) -> bool:
        """A person chooses one of the app's shortcuts in the menu of a message, anybody's; whether
        the app acked it in time. It is sent only once."""
        person = self.parts.workspace.person(user)
        where = self._channel(person, channel)
        payload = self.parts.interactions.shortcut(person, where, ts, callback_id)
        return await self._interact(payload)

    async def _interact(self, payload: Fields) -> bool:
        key, kind = payload["trigger_id"], payload["type"]
        return await self.parts.delivery.send(
            Parcel(key, "interactive", kind, payload, is_repeated=False)
        )

    @control
    async def open_direct(self, user: str) -> str:
        """The id of a person's direct conversation with the bot."""
        workspace = self.parts.workspace
        return workspace.direct_channel(workspace.person(user).id).id

    @control
    async def open_channel(self, name: str) -> str:
        """The id of a new public channel, with all people of the workspace and the bot in it."""
        workspace = self.parts.workspace
        if workspace.channel_named(name) is not None:
            raise ValueError(f"name_taken: {name}")
        ours = {p.id for p in workspace.people.values() if not (p.is_guest or p.is_stranger)}
        channel = Channel(workspace.new_id("C0"), name.removeprefix("#"), members=ours)
        workspace.channels[channel.id] = channel
        workspace.revision.bump()
        return channel.id

    @control
    async def change_channel(
        self,
        channel: str,
        *,
        is_archived: bool | None = None,
        is_read_only: bool | None = None,
        has_bot: bool | None = None,
    ) -> None:
        """Archive, close or reopen a channel, invite or remove the bot."""
        where = self.parts.workspace.channel(channel)
        where.is_archived = where.is_archived if is_archived is None else is_archived
        where.is_read_only = where.is_read_only if is_read_only is None else is_read_only
        if has_bot is False:
            where.members.discard(BOT.user_id)
        if has_bot and BOT.user_id not in where.members:
            where.members.add(BOT.user_id)
            event = {"type": "member_joined_channel", "user": BOT.user_id, "channel": where.id}
            self.parts.events.raise_event("member_joined_channel", event)
        self.parts.workspace.revision.bump()

    @control
    async def file_fault(
        self, file_id: str, fault: str, content_type: str = "text/html; charset=utf-8"
    ) -> None:
        """Change what a download gets: `login_page` (as this content type), `not_found`, `stall`,
        `redirect:<address>`, or "" for the file itself."""
        file = self.parts.workspace.files.get(file_id)
        if file is None:
            raise Unknown(f"no such file: {file_id}")
        file.fault, file.fault_content_type = fault, content_type

    def _channel(self, person: Person, name: str) -> Channel:
        workspace = self.parts.workspace
        if name.startswith("@"):
            return workspace.direct_channel(person.id, workspace.person(name).id)
        return workspace.channel(name)

    def _root(self, channel: Channel, ts: str) -> str:
        if not self.parts.workspace.messages.is_root(channel.id, ts):
            raise Unknown(f"no such thread: {ts}")
        return ts

    def _own(self, user: str, channel: str, ts: str) -> tuple[Person, Channel]:
        workspace = self.parts.workspace
        person = workspace.person(user)
        where = self._channel(person, channel)
        message = workspace.messages.get(where.id, ts)
        if message is None or message.get("user") != person.id:
            raise Unknown(f"{person.name} has no such message: {ts}")
        return person, where

    def _written(self, text: str, blocks: list[dict[str, Any]] | None) -> Fields:
        if blocks is not None:
            return {"type": "message", "text": text} | ({"blocks": blocks} if blocks else {})
        workspace = self.parts.workspace
        ids_by_name = {person.name: person.id for person in workspace.people.values()}
        shown, made = typed(text, ids_by_name, workspace.new_id("")[:5])
        return {"type": "message", "text": shown} | ({"blocks": made} if made else {})

    def _author(self, person: Person) -> Fields:
        fields: Fields = {"user": person.id, "team": person.team_id}
        if person.is_stranger:
            fields |= {"user_team": person.team_id, "source_team": person.team_id}
        return fields

    def _random_bits(self) -> int:
        return self.parts.workspace.chance.getrandbits(128)

    def _share(self, person: Person, channel: Channel, file: dict[str, Any]) -> Fields:
        workspace = self.parts.workspace
        stored = workspace.files.add(
            File(
                id=workspace.new_id("F0"),
                name=file["name"],
                content=content_of(file),
                owner=person.id,
                created=int(workspace.clock()),
                mimetype=file.get("mimetype", ""),
                title=file.get("title", ""),
                is_hidden=bool(file.get("is_hidden")),
                fault=file.get("fault", ""),
                overrides=file.get("overrides", {}),
            )
        )
        stored.shares.append((channel.id, ""))
        return in_message(workspace, stored)

    def _react(self, user: str, channel: str, ts: str, name: str, *, is_added: bool) -> None:
        workspace = self.parts.workspace
        person = workspace.person(user)
        where = self._channel(person, channel)
        change = reactions.react if is_added else reactions.unreact
        if not change(workspace, where.id, ts, name, person.id):
            raise Unknown(f"can't change :{name}: of {person.name} on {ts}")
