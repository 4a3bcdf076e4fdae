"""The words for the work on an ask: turn, claim, stop, outcome, ending. Frozen, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from itertools import takewhile

from kimibot.answers import Answer
from kimibot.conversation import Placed, Thread


class Outcome(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    MERGED = "merged"
    STOPPED = "stopped"
    REFUSED = "refused"
    FAILED = "failed"


class Kind(StrEnum):
    """What an ask wants. All but an ordinary one are answered alone, each in a reply of its own.

    Those about a message have that message's ts, and those about a whole answer of ours the ts of
    its first part. Those that are pressed below a reply have the ts of its last part.
    """

    ASK = "ask"
    HELP = "help"
    GREETING = "greeting"
    MUTE = "mute"
    UNMUTE = "unmute"
    FORGET = "forget"
    SUMMARISE = "summarise"
    APP_LIMIT = "app_limit"
    ABOUT = "about"
    CONTINUE = "continue"
    REVIEW = "review"
    REVIEW_MESSAGE = "review_message"
    PATCH = "patch"
    EXPLAIN = "explain"
    NOT_A_PROBLEM = "not_a_problem"
    A_PROBLEM = "a_problem"
    POST = "post"


REVIEWS = frozenset({Kind.REVIEW, Kind.REVIEW_MESSAGE})
"""Code is to be reviewed: with words to us, or by the menu of a message."""

ON_REVIEWS = frozenset({Kind.PATCH, Kind.EXPLAIN, Kind.NOT_A_PROBLEM, Kind.A_PROBLEM})
"""About what a review has found."""

FOR_THE_MODEL = frozenset(
    {Kind.ASK, Kind.SUMMARISE, Kind.ABOUT, Kind.CONTINUE, Kind.POST, *ON_REVIEWS, *REVIEWS}
)
"""What these are about is read by the model; the others are between people and the bot itself."""


CHOSEN = frozenset({Kind.ABOUT, Kind.REVIEW_MESSAGE})
"""Asked by the menu of a message, long after it was said, as are all that were pressed below a
reply: a word that was said in between is not about them."""


class StopCause(StrEnum):
    """Why a turn is to stop."""

    PERSON = "person"
    ASK_DELETED = "ask_deleted"
    REPLY_DELETED = "reply_deleted"
    ASK_EDITED = "ask_edited"
    """To begin anew, as soon as it has stopped, with what the ask says now."""


@dataclass(frozen=True, slots=True)
class Press:
    """What was pressed below a reply: the kind of turn it asks for, and `number` says for which of
    the things that the reply lists, counted from 1."""

    kind: Kind
    number: int = 0

    @property
    def key(self) -> str:
        """Each press below one reply has another one, and each is answered once. One that gave way
        to somebody else's has more behind it."""
        return f"{self.kind.value}:{self.number}" if self.number else self.kind.value


@dataclass(frozen=True, slots=True)
class Stop:
    """The wish that a turn stops; `by` is the person's id where somebody said so."""

    cause: StopCause
    by: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """The work of answering one ask, as its claim found it.

    `reply_ts` are the parts already posted, in order. `attempt` counts the claims, from 1, and
    `takeovers` those that took the turn from an owner who had not ended it. `stop` is set when
    somebody wanted it to stop before this claim, and `had_to_wait` when the ask met a turn that
    was still open. `asker_team` is the asker's workspace as far as the event named it, and
    `is_follow_up` says that the ask did not address us. `pressed` is the key of the press below a
    reply that asked for it: then the message with its `ts` is not the ask.
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
    kind: Kind = Kind.ASK
    asker_team: str = ""
    is_follow_up: bool = False
    pressed: str = ""

    @property
    def number(self) -> int:
        """Which of the things that the reply lists was pressed, counted from 1; otherwise 0."""
        _, *numbers = self.pressed.split(":")
        return int(numbers[0]) if numbers and numbers[0].isdecimal() else 0


def answered_together(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The first of them, with the ordinary asks that follow it if it is one itself.

    What was asked after something else waits for that: a thread is not forgotten out of turn.
    """
    together = tuple(takewhile(lambda turn: turn.kind is Kind.ASK, turns))
    return together or tuple(turns[:1])


@dataclass(frozen=True, slots=True)
class TurnToStop:
    """An open turn that somebody wants to stop."""

    turn_id: str
    thread_id: int
    stop: Stop


@dataclass(frozen=True, slots=True)
class Renewal:
    """The wish that an answer is written anew: that of the turn's `attempt`, and no later one."""

    turn_id: str
    attempt: int


class Again(StrEnum):
    """What becomes of the wish that an answer is written anew."""

    QUEUED = "queued"
    STILL_RUNNING = "still_running"
    IS_FOLLOWED = "is_followed"
    DONE_ALREADY = "done_already"


@dataclass(frozen=True, slots=True)
class Corrected:
    """What an edit has met: whether the message was stored, and said something else until now.

    `has_turn` says that it is an ask. `restart` is its turn if that is to begin anew, and
    `renewal` what would write its answer anew: None where there is none or others follow it.
    """

    is_known: bool
    has_changed: bool
    has_turn: bool = False
    restart: TurnToStop | None = None
    renewal: Renewal | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """The lease on a thread for the length of a turn. `turns` are all its open ones: the one to
    answer, which is the oldest unless another's reply was begun before, then those merged into it.

    Every write under the claim names `fence`: once another owner has claimed the thread, the
    number differs and the write is refused. `complete_at` is the last time at which we surely had
    all that was said, None if that was never looked at. What was said up to `forgotten_ts` is to
    stay forgotten; "" if nothing is. `told` is what the thread was told once.
    """

    thread: Thread
    thread_id: int
    fence: int
    turns: tuple[Turn, ...]
    provider: str = ""
    model: str = ""
    complete_at: datetime | None = None
    forgotten_ts: str = ""
    told: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens that a turn has used. Those from the model's cache are prompt tokens too."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    @property
    def tokens(self) -> int:
        """What counts against a limit."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Used) -> Used:
        return Used(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class Ending:
    """How a turn ended, and all that is to be kept of it.

    `answer` is what the model said, also where it was cut short; `reply_ts` the parts in the
    thread. `first_delta_at` and `last_delta_at` are None where no delta came. The claim's other
    turns are merged into this one, except those in `left_open`, which are queued again. `used`
    is None where the model has not worked for the turn, and `day` the day (UTC) that it counts for.
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
    told: frozenset[str] = frozenset()
    left_open: tuple[str, ...] = ()
    used: Used | None = None
    day: date | None = None
