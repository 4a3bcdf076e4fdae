"""The words for what is said: thread, message, who speaks. Frozen, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kimibot.answers import ChatMessage
from kimibot.attachments import Attachment, SharedFile


class Speaker(StrEnum):
    """Who said a message."""

    PERSON = "person"
    APP = "app"
    US = "us"


@dataclass(frozen=True, slots=True)
class Us:
    """Who we are in the workspace that our token belongs to."""

    team: str
    user_id: str
    bot_id: str
    app_id: str = ""
    name: str = ""
    enterprise: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation: `team` is the workspace of our token, never the asker's."""

    team: str
    channel: str
    root_ts: str


@dataclass(frozen=True, slots=True)
class Message:
    """One thing said in a thread.

    `text` is Markdown as its author typed it, byte-exact in code; people are in it as `<@U…>`.
    `mentions` are the ids of the people and groups that the author's own words address, and
    "here" and its like: not those in code, quotes or forwarded messages. `author_team` is the
    author's own workspace and `app_id` the app that posted it, both "" where the event does not
    say so.
    """

    thread: Thread
    ts: str
    speaker: Speaker
    author: str
    text: str
    mentions: frozenset[str] = frozenset()
    is_direct: bool = False
    event_id: str = ""
    author_team: str = ""
    app_id: str = ""
    files: tuple[SharedFile, ...] = ()

    @property
    def is_root(self) -> bool:
        return self.ts == self.thread.root_ts


@dataclass(frozen=True, slots=True)
class Asker:
    """A person who asks about what somebody else has said, and that person's own workspace."""

    id: str
    team: str = ""


@dataclass(frozen=True, slots=True)
class Shortcut:
    """That a person has chosen one of our shortcuts on the message with that `ts`; `message` is
    None where that `is_ours`, or nothing that somebody said."""

    asker: Asker
    thread: Thread
    ts: str
    message: Message | None
    is_ours: bool = False


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What Slack has let us read of a thread: `is_whole`, or of its messages so many.

    `part` says which they are, where that is known: the "first" or the "last".
    """

    messages: tuple[Message, ...]
    is_whole: bool = True
    part: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Edit:
    """That a message says something else now; `before` is what it said, where Slack tells that.

    `edited_ts` is when, as Slack writes times.
    """

    message: Message
    before: Message | None
    edited_ts: str

    @property
    def files_gone(self) -> frozenset[str]:
        """The ids of the files that are not in it any more, or not in Slack."""
        named = (*(self.before.files if self.before else ()), *self.message.files)
        left = {file.id for file in self.message.files if not file.is_deleted}
        return frozenset(file.id for file in named) - left


@dataclass(frozen=True, slots=True)
class Deletion:
    """That a message is gone from a thread: `message` as it was said, or None and `is_ours`.

    Both are empty where what was deleted was neither ours nor anything said.
    """

    thread: Thread
    ts: str
    message: Message | None = None
    is_ours: bool = False


@dataclass(frozen=True, slots=True)
class Reaction:
    """That a person has put an emoji on a message of ours; `name` is without colons."""

    team: str
    channel: str
    ts: str
    name: str
    user: str


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """What a thread of ours looked like right before a message.

    `speakers` are the people and apps that have spoken in it, without us. `previous_speaker` is
    who said the message before; `previous_asker` is whom we answered there, if that was us.
    `is_begun` tells whether anybody had asked us by then: the thread may be older than our part
    in it, and an event may come late. `app_asks` are the asks of apps in the hour before, and
    `is_limit_told` says that they were told then that those are too many.
    """

    thread_id: int
    is_begun: bool = True
    muted: bool = False
    speakers: frozenset[str] = frozenset()
    previous_speaker: Speaker | None = None
    previous_asker: str = ""
    app_asks: int = 0
    is_limit_told: bool = False


@dataclass(frozen=True, slots=True)
class Accepted:
    """What storing a message led to; `turn_id` is None unless a new turn was queued.

    `must_wait` says that another turn of the thread was open already.
    """

    thread_id: int
    turn_id: str | None = None
    must_wait: bool = False


@dataclass(frozen=True, slots=True)
class Remembered:
    """A message as our rows hold it.

    `sent` is the content as the model got it and `place` its place in the request, both None
    until it was sent. `raw` is the assistant message of one of our answers, and `steps` are the
    messages that led to it. The texts of
    `attachments` are there only until the message was sent: then they are a part of `sent`.
    `is_for_model` is False for a word to the bot itself, such as one that asks for help.
    """

    id: int
    ts: str
    speaker: Speaker
    author: str
    text: str
    sent: str | None = None
    place: int | None = None
    raw: ChatMessage | None = None
    finish_reason: str | None = None
    is_for_model: bool = True
    attachments: tuple[Attachment, ...] = ()
    steps: tuple[ChatMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """That a message was sent to the model: as which content, at which place.

    `text` is what the content was made of: a message that was edited meanwhile keeps the place
    and loses the content.
    """

    message_id: int
    place: int
    sent: str
    text: str | None = None
