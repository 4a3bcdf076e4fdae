"""The words that all rooms share: thread, message, delta, answer, outcome. Frozen, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

ChatMessage = Mapping[str, Any]
"""One element of Chat Completions' `messages`: role, content, and what else came with it."""


class Speaker(StrEnum):
    """Who said a message."""

    PERSON = "person"
    APP = "app"
    US = "us"


class Outcome(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    MERGED = "merged"
    STOPPED = "stopped"
    REFUSED = "refused"
    FAILED = "failed"


class StopCause(StrEnum):
    """Why a turn is to stop."""

    PERSON = "person"
    ASK_DELETED = "ask_deleted"
    REPLY_DELETED = "reply_deleted"


@dataclass(frozen=True, slots=True)
class Stop:
    """The wish that a turn stops; `by` is the person's id where somebody said so."""

    cause: StopCause
    by: str = ""


@dataclass(frozen=True, slots=True)
class Us:
    """Who we are in the workspace that our token belongs to."""

    team: str
    user_id: str
    bot_id: str
    app_id: str = ""
    name: str = ""


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
    `mentions` are the ids that the author's own words address: not those in code, quotes or
    forwarded messages.
    """

    thread: Thread
    ts: str
    speaker: Speaker
    author: str
    text: str
    mentions: frozenset[str] = frozenset()
    is_direct: bool = False
    event_id: str = ""

    @property
    def is_root(self) -> bool:
        return self.ts == self.thread.root_ts


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
class Usage:
    """Tokens as the endpoint counted them; None where it did not say."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCallPiece:
    """A piece of a tool call; pieces of one call share an index, or an id where that is missing."""

    index: int | None = None
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a function that the model asks for; `arguments` is JSON as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Delta:
    """What one chunk of the model's stream adds.

    `reasoning` is None where the chunk has none: an empty string counts as received.
    `reasoning_field` is the name under which the endpoint sent it.
    """

    content: str = ""
    reasoning: str | None = None
    reasoning_field: str = "reasoning_content"
    tool_calls: tuple[ToolCallPiece, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    completion_id: str = ""
    trace_id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole of what the model said.

    `finish_reason` is None when the stream ended before the model did. `raw` is the assistant
    message as it goes back to the model: content, reasoning and tool calls as they were received.
    """

    content: str
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    completion_id: str = ""
    trace_id: str = ""
    raw: ChatMessage = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Retry:
    """A failed try that will be made again: the `attempt`-th of at most `of`, after a wait."""

    attempt: int
    of: int
    wait_seconds: float
    error_name: str


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """What a thread of ours looked like right before a message.

    `speakers` are the people and apps that have spoken in it, without us. `previous_speaker` is
    who said the message before; `previous_asker` is whom we answered there, if that was us.
    `is_begun` tells whether anybody had asked us by then: the thread may be older than our part
    in it, and an event may come late.
    """

    thread_id: int
    is_begun: bool = True
    muted: bool = False
    speakers: frozenset[str] = frozenset()
    previous_speaker: Speaker | None = None
    previous_asker: str = ""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What storing a message led to; `turn_id` is None unless a new turn was queued.

    `must_wait` says that another turn of the thread was open already.
    """

    thread_id: int
    turn_id: str | None = None
    must_wait: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """The work of answering one ask, as its claim found it.

    `reply_ts` are the parts already posted, in order. `attempt` counts the claims, from 1, and
    `takeovers` those that took the turn from an owner who had not ended it. `stop` is set when
    somebody wanted it to stop before this claim, and `had_to_wait` when the ask met a turn that
    was still open.
    """

    id: str
    ts: str
    asker: str
    event_id: str
    attempt: int
    accepted_at: datetime
    takeovers: int = 0
    reply_ts: tuple[str, ...] = ()
    stop: Stop | None = None
    had_to_wait: bool = False


@dataclass(frozen=True, slots=True)
class TurnToStop:
    """An open turn that somebody wants to stop."""

    turn_id: str
    thread_id: int
    stop: Stop


@dataclass(frozen=True, slots=True)
class Claim:
    """The lease on a thread for the length of a turn. `turns` are all its open ones: the one to
    answer, which is the oldest unless another's reply was begun before, then those merged into it.

    Every write under the claim names `fence`: once another owner has claimed the thread, the
    number differs and the write is refused. `complete_at` is the last time at which we surely had
    all that was said, None if that was never looked at.
    """

    thread: Thread
    thread_id: int
    fence: int
    turns: tuple[Turn, ...]
    provider: str = ""
    model: str = ""
    complete_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """A message as our rows hold it.

    `sent` is the content as the model got it and `place` its place in the request, both None
    until it was sent. `raw` is the assistant message of one of our answers.
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


@dataclass(frozen=True, slots=True)
class Placed:
    """That a message was sent to the model: as which content, at which place."""

    message_id: int
    place: int
    sent: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended, and all that is to be kept of it.

    `answer` is what the model said, also where it was cut short; `reply_ts` the parts in the
    thread. `first_delta_at` and `last_delta_at` are None where no delta came. The claim's other
    turns are merged into this one, except those in `left_open`, which are queued again.
    """

    outcome: Outcome
    answer: Answer | None = None
    answer_place: int | None = None
    placed: tuple[Placed, ...] = ()
    reply_ts: tuple[str, ...] = ()
    error_code: str = ""
    trace_id: str = ""
    provider: str = ""
    model: str = ""
    effort: str = ""
    shown_at: datetime | None = None
    first_delta_at: datetime | None = None
    last_delta_at: datetime | None = None
    complete_at: datetime | None = None
    left_open: tuple[str, ...] = ()
