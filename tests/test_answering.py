"""The bot's promises for one turn: whatever Kimi and Slack do, the thread shows how it ended."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import permutations
from typing import Any

import pytest

from kimibot import failures, texts
from kimibot.addressing import Policy
from kimibot.admission import Admission
from kimibot.allowance import DailyLimits
from kimibot.answering import DRAINING, Answering
from kimibot.answers import NO_TOOLS, ChatMessage, Delta, Retry, Toolbox
from kimibot.asking import Limits
from kimibot.attachments import Attachment, Contents, SharedFile
from kimibot.conversation import Excerpt, Message, Remembered, Speaker, Thread
from kimibot.errors import (
    AccountExhausted,
    Busy,
    ClaimLost,
    ContextTooLong,
    CutOff,
    DatabaseUnavailable,
    FateUnknown,
    KeyRefused,
    KimiError,
    ModelNotFound,
    NoFirstEvent,
    ReplyRefused,
    RequestRefused,
    ServerFault,
    SlackError,
    TooSlow,
    Unreachable,
)
from kimibot.granting import Granting
from kimibot.history import LEFT_OUT, MISSING
from kimibot.lease import Lease
from kimibot.own_words import OwnWords
from kimibot.pacing import Pacing
from kimibot.reply.live_reply import LiveReply
from kimibot.reply.parts import ReplyTo
from kimibot.review import phrases
from kimibot.review.changes import Anchor, Side
from kimibot.review.findings import Finding
from kimibot.review.rounds import kept
from kimibot.review.said import Severity
from kimibot.reviewing.posting import Posting
from kimibot.stop_signal import StopSignal
from kimibot.turns import Claim, Ending, Kind, Outcome, Turn
from kimibot.views import Button, View
from tests.fakes import (
    THREAD,
    Channel,
    DailyTokens,
    Files,
    PullRequests,
    SplitEvery,
    Submissions,
    sign,
)
from tests.virtual_time import in_virtual_time

AT = datetime(2026, 11, 30, 9, 12, tzinfo=UTC)
TURN = Turn("turn-1", THREAD.root_ts, "U0ANA", "Ev1", 1, AT)
CLAIM = Claim(THREAD, 7, 1, (TURN,))
ROOT = Remembered(1, THREAD.root_ts, Speaker.PERSON, "U0ANA", "Why?")
STOP = Delta(finish_reason="stop")

Step = Delta | KimiError | float


@dataclass
class Model:
    """Plays one script for each request: deltas, waits in seconds, and at most one error.

    What is in `refusals` is raised before it begins.
    """

    scripts: list[list[Step]]
    provider: str = "acedata"
    model: str = "kimi-k3"
    effort: str = ""
    takes_images: bool = True
    takes_tools: bool = True
    max_completion_tokens: int = 1000
    ahead: int = 0
    requests: list[Sequence[ChatMessage]] = field(default_factory=list)
    budgets: list[int | None] = field(default_factory=list)
    retries: list[Retry] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    refusals: list[KimiError] = field(default_factory=list)
    open_streams: int = 0

    @asynccontextmanager
    async def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_completion_tokens: int | None = None,
        toolbox: Toolbox = NO_TOOLS,
        on_retry: Callable[[Retry], None] | None = None,
        on_wait: Callable[[int], None] = lambda _: None,
    ) -> AsyncIterator[AsyncIterator[Delta]]:
        self.requests.append(messages)
        self.budgets.append(max_completion_tokens)
        for retry in self.retries:
            if on_retry is not None:
                on_retry(retry)
            await asyncio.sleep(retry.wait_seconds)
        for ahead in self.waits:
            on_wait(ahead)
            await asyncio.sleep(60)
        if self.refusals:
            raise self.refusals.pop(0)
        self.open_streams += 1
        try:
            yield self._play(self.scripts.pop(0))
        finally:
            self.open_streams -= 1

    async def _play(self, script: list[Step]) -> AsyncIterator[Delta]:
        for step in script:
            if isinstance(step, KimiError):
                raise step
            if isinstance(step, float):
                await asyncio.sleep(step)
            else:
                yield step


@dataclass
class Memory:
    rows: list[Remembered] = field(default_factory=lambda: [ROOT])
    added: list[Message] = field(default_factory=list)
    noted: list[tuple[str, ...]] = field(default_factory=list)
    read: list[Attachment] = field(default_factory=list)
    note_fails_with: Exception | None = None
    review: Mapping[str, Any] | None = None

    async def recall(self, thread_id: int) -> list[Remembered]:
        late = [
            Remembered(100 + n, message.ts, message.speaker, message.author, message.text)
            for n, message in enumerate(self.added)
        ]
        return sorted(self.rows + late, key=lambda row: (row.place or 10**6, row.ts))

    async def add_messages(self, thread_id: int, messages: Sequence[Message]) -> None:
        self.added += messages

    async def keep_contents(self, thread_id: int, attachments: Sequence[Attachment]) -> None:
        self.read += attachments

    async def attachments(self, thread_id: int) -> list[Attachment]:
        return self.read

    async def last_review(self, thread_id: int) -> Mapping[str, Any] | None:
        return None

    async def no_problems(self, thread_id: int) -> list[Mapping[str, Any]]:
        return []

    async def note_no_problem(self, claim: Claim, part_ts: str, number: int) -> bool:
        return self.review is not None

    async def take_back_no_problem(self, claim: Claim, number: int) -> None:
        return None

    async def review_of_part(self, thread_id: int, ts: str) -> Mapping[str, Any] | None:
        return self.review

    async def note_reply(
        self, claim: Claim, turn_id: str, reply_ts: Sequence[str], shown_at: datetime
    ) -> None:
        if self.note_fails_with is not None:
            raise self.note_fails_with
        self.noted.append(tuple(reply_ts))


@dataclass
class Orders:
    """What was ordered, one word each."""

    done: list[str] = field(default_factory=list)
    fails_with: Exception | None = None

    async def mute(self, claim: Claim, *, muted: bool) -> None:
        self._do("mute" if muted else "unmute")

    async def forget_thread(self, claim: Claim, ts: str) -> int:
        self._do(f"forget up to {ts}")
        return 3

    def _do(self, order: str) -> None:
        if self.fails_with is not None:
            raise self.fails_with
        self.done.append(order)


@dataclass
class Workspace:
    channel: Channel
    said: list[Message] = field(default_factory=list)
    is_whole: bool = True
    unreadable: SlackError | None = None
    reads: int = 0
    asked_for: tuple[str, str] = ("", "")
    told: list[tuple[str, str]] = field(default_factory=list)
    since: float = 0.0
    external: set[str] = field(default_factory=set)
    is_deaf: bool = False

    async def is_external(self, person: str, team: str) -> bool:
        return person in self.external

    async def names(self, ids: Collection[str]) -> Mapping[str, str]:
        return {"U0ANA": "Ana"}

    async def read_thread(self, thread: Thread, since_ts: str, until_ts: str) -> Excerpt:
        self.reads += 1
        self.asked_for = (since_ts, until_ts)
        if self.unreadable is not None:
            raise self.unreadable
        return Excerpt(tuple(self.said), self.is_whole, "first", 15)

    async def left(self, thread: Thread, turn_id: str) -> Sequence[tuple[str, str]]:
        if self.unreadable is not None:
            raise self.unreadable
        found = await self.channel.find(thread, turn_id)
        return [(ts, self.channel.shown[ts].body) for ts in found]

    async def tell(self, user: str, text: str) -> None:
        self.told.append((user, text))

    def connected_since(self) -> float:
        return self.since

    def is_deaf_in(self, channel: str, spoken_at: float) -> bool:
        return self.is_deaf


class Stage:
    """One thread, one bot, and what Kimi will say."""

    def __init__(self, *scripts: list[Step], **parts: Any) -> None:
        self.channel: Channel = parts.get("channel") or Channel()
        self.model = Model(list(scripts))
        self.memory: Memory = parts.get("memory") or Memory()
        self.workspace = Workspace(self.channel)
        self.daily_tokens = DailyTokens()
        self.daily_limits = DailyLimits()
        self.shows_reasoning = False
        self.orders = Orders()
        self.policy: Policy = parts.get("policy") or Policy()
        self.files = Files()
        self.submissions: Submissions = parts.get("submissions") or Submissions()
        self.pulls: PullRequests = parts.get("pulls") or PullRequests()
        self.now = AT
        self.signal = StopSignal(TURN.id)

    def answering(self) -> Answering:
        return Answering(
            memory=self.memory,
            model=self.model,
            workspace=self.workspace,
            files=self.files,
            submissions=self.submissions,
            open_reply=partial(self._open_reply, Pacing()),
            granting=Granting(self.daily_tokens, self.daily_limits, lambda: self.now),
            admission=Admission(self.policy, self.workspace),
            own_words=OwnWords(self.orders, "I can help."),
            posting=Posting(self.pulls, self.memory, self.workspace),
            system_prompt="Be kind.",
            limits=Limits(2000, max_ask_age_seconds=1800),
            shows_reasoning=self.shows_reasoning,
            now=lambda: self.now,
        )

    async def answer(self, claim: Claim = CLAIM) -> Ending:
        return await self.answering().answer(claim, Lease(8, held_until=math.inf), self.signal)

    def _open_reply(self, pacing: Pacing, to: ReplyTo) -> LiveReply:
        return LiveReply(
            to,
            messages=self.channel,
            pacing=pacing,
            splitter=SplitEvery(1000),
            sign=sign,
            stop_button=Button(texts.STOP, texts.STOP_LABEL, to.turn_id),
        )

    @property
    def note(self) -> str:
        return self.channel.shown[max(self.channel.shown)].note

    @property
    def has_button(self) -> bool:
        return self.buttons != []

    @property
    def buttons(self) -> list[str]:
        """What can be pressed below the last part."""
        return [button.action for button in self.channel.shown[max(self.channel.shown)].handles]


def said(*contents: str, **last: Any) -> list[Step]:
    return [*(Delta(content=content) for content in contents), replace(STOP, **last)]


@in_virtual_time
async def test_what_kimi_says_is_shown_and_kept_whole() -> None:
    stage = Stage([Delta(reasoning="hm"), *said("Because ", "it copies.", completion_id="msg_1")])

    ending = await stage.answer()

    assert stage.channel.bodies() == ["Because it copies."]
    assert (stage.note, stage.has_button) == ("", False)
    assert ending.outcome is Outcome.ANSWERED
    assert ending.answer is not None
    assert ending.answer.raw == {
        "role": "assistant",
        "content": "Because it copies.",
        "reasoning_content": "hm",
    }
    assert ending.trace_id == "msg_1"
    assert ending.reply_ts == tuple(stage.channel.shown)


@in_virtual_time
async def test_reasoning_never_reaches_the_thread() -> None:
    stage = Stage([Delta(reasoning="CANARY"), 30.0, *said("Fine."), Delta(reasoning="CANARY")])

    await stage.answer()

    assert not any("CANARY" in str(view) for _, _, view in stage.channel.history)


@in_virtual_time
async def test_the_model_reads_the_system_prompt_and_the_thread() -> None:
    stage = Stage(said("Because."))

    ending = await stage.answer()

    [request] = stage.model.requests
    assert [message["role"] for message in request] == ["system", "user"]
    assert request[1]["content"].startswith("Ana, ")
    assert [one.message_id for one in ending.placed] == [1]
    assert ending.answer_place == 2


ERRORS: list[tuple[KimiError, str, bool]] = [
    (KeyRefused(trace_id="t-1"), "key for Kimi was not accepted", False),
    (AccountExhausted(trace_id="t-1"), "run out of quota", False),
    (Busy(trace_id="t-1"), "busy right now", True),
    (ServerFault(trace_id="t-1"), "fault on its side", True),
    (RequestRefused(trace_id="t-1"), "refused the request", False),
    (ModelNotFound(trace_id="t-1"), "model is not available", False),
    (Unreachable(trace_id="t-1"), "can't be reached", True),
    (NoFirstEvent(trace_id="t-1", limit_seconds=300), "did not begin to answer within 300 s", True),
]


@pytest.mark.parametrize(("error", "text", "has_button"), ERRORS, ids=lambda x: str(x)[:20])
def test_a_failure_is_told_in_a_sentence_with_its_trace_id(
    error: KimiError, text: str, has_button: bool
) -> None:
    @in_virtual_time
    async def scene() -> None:
        stage = Stage([error])

        ending = await stage.answer()

        assert text in stage.note
        assert stage.note.endswith("\ntrace: t-1")
        assert stage.has_button is has_button
        assert (ending.outcome, ending.error_code) == (Outcome.FAILED, error.name)
        assert (ending.answer, ending.trace_id) == (None, "t-1")

    scene()


@in_virtual_time
async def test_a_failure_without_any_id_names_our_own() -> None:
    stage = Stage([Unreachable()])

    await stage.answer()

    assert stage.note.endswith("\ntrace: turn-1")


@pytest.mark.parametrize("error", [CutOff(limit_seconds=300), CutOff(), TooSlow(limit_seconds=900)])
def test_partial_text_stays_above_the_error_and_is_kept_as_cut_off(error: KimiError) -> None:
    @in_virtual_time
    async def scene() -> None:
        stage = Stage([Delta(content="Half of", completion_id="msg_9"), 2.0, error])

        ending = await stage.answer()

        assert stage.channel.bodies() == ["Half of"]
        assert stage.note.endswith("\ntrace: msg_9")
        assert stage.has_button
        assert ending.outcome is Outcome.FAILED
        assert ending.answer is not None
        assert ending.answer.finish_reason is None

    scene()


@in_virtual_time
async def test_an_answer_at_its_length_limit_says_so() -> None:
    stage = Stage(said("A long", finish_reason="length"))

    ending = await stage.answer()

    assert stage.channel.bodies() == ["A long"]
    assert stage.note == texts.REACHED_LIMIT
    assert ending.outcome is Outcome.ANSWERED


@in_virtual_time
async def test_an_answer_that_the_filter_ended_says_so() -> None:
    stage = Stage(said("Well", finish_reason="content_filter"))

    await stage.answer()

    assert stage.channel.bodies() == ["Well"]
    assert stage.note == texts.DECLINED


@in_virtual_time
async def test_a_refusal_by_the_filter_before_any_text_is_told_and_never_an_empty_message() -> None:
    stage = Stage(said(finish_reason="content_filter"))

    await stage.answer()

    assert stage.note == texts.DECLINED


@in_virtual_time
async def test_a_budget_spent_on_thinking_is_doubled_once() -> None:
    thinking: list[Step] = [Delta(reasoning="hm"), Delta(finish_reason="length")]
    stage = Stage(thinking, said("There."))

    ending = await stage.answer()

    assert stage.model.budgets == [1000, 2000]
    assert stage.channel.bodies() == ["There."]
    assert ending.answer is not None
    assert "reasoning_content" not in ending.answer.raw


@in_virtual_time
async def test_no_answer_at_all_is_told_after_a_second_try() -> None:
    stage = Stage([STOP], [Delta(content=" \n"), STOP])

    ending = await stage.answer()

    assert "gave no answer" in stage.note
    assert (ending.outcome, ending.error_code, ending.answer) == (Outcome.FAILED, "no_text", None)


@in_virtual_time
async def test_thinking_that_eats_the_doubled_budget_too_is_told() -> None:
    thinking: list[Step] = [Delta(reasoning="hm"), Delta(finish_reason="length")]
    stage = Stage(thinking, list(thinking))

    await stage.answer()

    assert failures.SPENT_ON_THINKING in stage.note
    assert stage.has_button


@in_virtual_time
async def test_a_thread_too_long_for_kimi_is_tried_once_more_without_its_older_part() -> None:
    rows = [
        replace(ROOT, id=n, ts=f"17000000{n:02d}.000100", text="word " * 200) for n in range(10)
    ]
    stage = Stage([ContextTooLong()], said("Better."), memory=Memory(rows))

    await stage.answer(replace(CLAIM, turns=(replace(TURN, ts=rows[-1].ts),)))

    first, second = (len(str(request)) for request in stage.model.requests)
    assert second < first * 0.7
    assert stage.channel.bodies() == ["Better."]
    assert texts.OLDER_PART_LEFT_OUT in stage.note


@in_virtual_time
async def test_a_thread_still_too_long_ends_in_an_error_text() -> None:
    stage = Stage([ContextTooLong()], [ContextTooLong()])

    await stage.answer()

    assert "too long for Kimi" in stage.note


PICTURE = Contents(image=b"\x89PNG", image_type="image/png")
SHOT = Attachment(1, ROOT.id, SharedFile("F1", "shot.png"), PICTURE)


@in_virtual_time
async def test_pictures_that_kimi_refuses_cost_no_answer() -> None:
    memory = Memory(rows=[replace(ROOT, attachments=(SHOT,))])
    stage = Stage([RequestRefused()], said("Red."), memory=memory)

    ending = await stage.answer()

    with_picture, without = stage.model.requests
    assert [part["type"] for part in with_picture[1]["content"]] == ["text", "image_url"]
    assert without[1]["content"].endswith("[attached picture: shot.png]")
    assert stage.channel.bodies() == ["Red."]
    assert stage.note == texts.PICTURES_REFUSED
    assert ending.outcome is Outcome.ANSWERED


@in_virtual_time
async def test_a_file_that_is_too_long_is_told_once_below_the_answer() -> None:
    log = Attachment(1, ROOT.id, SharedFile("F1", "app.log"), Contents(text="boom\n" * 5_000))
    memory = Memory(rows=[replace(ROOT, attachments=(log,))])
    stage = Stage([ContextTooLong()], said("Boom."), memory=memory)

    await stage.answer()

    first, second = (len(request[1]["content"]) for request in stage.model.requests)
    assert first > second
    assert stage.note == "Too long to be read whole, so I read the beginning: app.log."


@pytest.mark.parametrize(
    "scripts",
    list(permutations([[ContextTooLong()], [RequestRefused()], [STOP]])),
    ids=lambda scripts: " ".join(type(one[0]).__name__ for one in scripts),
)
@in_virtual_time
async def test_each_second_try_that_can_help_is_made_once_whichever_is_needed_first(
    scripts: Sequence[list[Step]],
) -> None:
    files = [
        replace(SHOT, id=1),
        Attachment(2, ROOT.id, SharedFile("F2", "app.log"), Contents(text="boom\n" * 5_000)),
    ]
    memory = Memory(rows=[replace(ROOT, attachments=tuple(files))])
    stage = Stage(*scripts, said("Red."), memory=memory)

    ending = await stage.answer()

    assert ending.outcome is Outcome.ANSWERED
    assert stage.channel.bodies() == ["Red."]
    assert len(stage.model.requests) == 4
    assert stage.note.count(texts.PICTURES_REFUSED) == 1


@pytest.mark.parametrize("failure", [ContextTooLong(), RequestRefused(), STOP])
@in_virtual_time
async def test_no_second_try_is_made_twice(failure: Step) -> None:
    log = Attachment(2, ROOT.id, SharedFile("F2", "app.log"), Contents(text="boom\n" * 5_000))
    memory = Memory(rows=[replace(ROOT, attachments=(SHOT, log))])
    stage = Stage([failure], [failure], said("Red."), memory=memory)

    ending = await stage.answer()

    assert ending.outcome is Outcome.FAILED
    assert len(stage.model.requests) == 2


@in_virtual_time
async def test_a_retry_is_told_while_it_waits() -> None:
    stage = Stage(said("At last."))
    stage.model.retries = [Retry(1, 3, 20.0, "busy")]

    await stage.answer()

    assert any(
        view.note == "Kimi is busy; retrying (1 of 3)…" for _, _, view in stage.channel.history
    )
    assert stage.channel.bodies() == ["At last."]


@in_virtual_time
async def test_what_was_said_before_us_is_read_from_slack() -> None:
    ask = replace(ROOT, id=2, ts="1700000005.000100")
    stage = Stage(said("I see."), memory=Memory([ask]))
    stage.workspace.said = [
        Message(THREAD, THREAD.root_ts, Speaker.PERSON, "U0BO", "it broke on Monday")
    ]

    await stage.answer(replace(CLAIM, turns=(replace(TURN, ts=ask.ts),)))

    assert "it broke on Monday" in stage.model.requests[0][1]["content"]


@in_virtual_time
async def test_a_thread_that_we_know_whole_is_not_read_again() -> None:
    stage = Stage(said("I see."))

    await stage.answer()

    assert stage.workspace.reads == 0


@in_virtual_time
async def test_after_a_gap_in_our_hearing_the_thread_is_read_again() -> None:
    ask = replace(ROOT, id=2, ts="1700009999.000100")
    stage = Stage(said("I see."), memory=Memory([ROOT, ask]))
    stage.workspace.since = 1700005000.0

    await stage.answer(replace(CLAIM, turns=(replace(TURN, ts=ask.ts),)))

    assert stage.workspace.reads == 1


@in_virtual_time
async def test_a_remark_after_the_gap_does_not_hide_what_was_missed_in_it() -> None:
    heard = replace(ROOT, id=2, ts="1700008000.000100", author="U0BO")
    ask = replace(ROOT, id=3, ts="1700009999.000100")
    stage = Stage(said("I see."), memory=Memory([ROOT, heard, ask]))
    stage.workspace.since = 1700005000.0
    before = datetime.fromtimestamp(1700004000, UTC)

    ending = await stage.answer(
        replace(CLAIM, turns=(replace(TURN, ts=ask.ts),), complete_at=before)
    )

    assert stage.workspace.reads == 1
    assert stage.workspace.asked_for == ("1700003400.000000", ask.ts)
    assert ending.complete_at == AT


@in_virtual_time
async def test_a_gap_that_could_not_be_filled_is_looked_at_again_next_time() -> None:
    ask = replace(ROOT, id=3, ts="1700009999.000100")
    stage = Stage(said("I guess."), memory=Memory([ROOT, ask]))
    stage.workspace.since = 1700005000.0
    stage.workspace.unreadable = FateUnknown("conversations.replies", "timeout")

    ending = await stage.answer(replace(CLAIM, turns=(replace(TURN, ts=ask.ts),)))

    assert ending.complete_at is None


@in_virtual_time
async def test_an_unreadable_history_is_admitted_in_the_answer() -> None:
    ask = replace(ROOT, id=2, ts="1700000005.000100")
    stage = Stage(said("I guess."), memory=Memory([ask]))
    stage.workspace.unreadable = SlackError("conversations.replies", "missing_scope")

    await stage.answer(replace(CLAIM, turns=(replace(TURN, ts=ask.ts),)))

    assert stage.channel.bodies() == ["I guess."]
    assert stage.note == texts.HISTORY_UNREAD


@in_virtual_time
async def test_a_history_that_could_be_read_in_part_is_used_and_both_are_told_once() -> None:
    ask = replace(ROOT, id=2, ts="1700000005.000100")
    stage = Stage(said("I guess."), said("Still."), memory=Memory([ask]))
    early = Message(THREAD, THREAD.root_ts, Speaker.PERSON, "U0BO", "It breaks.")
    stage.workspace.said, stage.workspace.is_whole = [early], False
    claim = replace(CLAIM, turns=(replace(TURN, ts=ask.ts),))

    ending = await stage.answer(claim)
    first_note = stage.note
    await stage.answer(replace(claim, told=ending.told))

    assert first_note == texts.history_in_part(15, "first")
    assert ending.complete_at is None
    read = stage.model.requests[0][1]["content"]
    assert read.startswith(MISSING)
    assert "It breaks." in read
    assert stage.note == ""
    assert MISSING not in str(stage.model.requests[1])


@in_virtual_time
async def test_an_older_part_that_does_not_fit_is_told_once() -> None:
    rows = [
        replace(ROOT, id=n, ts=f"17000000{n:02d}.000100", text="word " * 800) for n in range(10)
    ]
    stage = Stage(said("One."), said("Two."), memory=Memory(rows))
    claim = replace(CLAIM, turns=(replace(TURN, ts=rows[-1].ts),))

    ending = await stage.answer(claim)
    first_note = stage.note
    await stage.answer(replace(claim, told=ending.told))

    assert first_note == texts.OLDER_PART_LEFT_OUT
    assert stage.note == ""
    assert all(LEFT_OUT in request[1]["content"] for request in stage.model.requests)


@in_virtual_time
async def test_what_a_failed_answer_could_not_tell_is_told_by_the_next() -> None:
    stage = Stage([ServerFault()])
    stage.workspace.unreadable = SlackError("conversations.replies", "missing_scope")
    stage.memory.rows = [replace(ROOT, ts="1700000005.000100")]

    ending = await stage.answer()

    assert ending.told == frozenset()


@in_virtual_time
async def test_a_message_that_alone_is_too_long_is_told_by_how_much_and_not_sent_twice() -> None:
    long = replace(ROOT, text="x" * 30_000)
    stage = Stage([ContextTooLong()], memory=Memory([long]))

    await stage.answer()

    assert len(stage.model.requests) == 1
    assert "by about 8,0" in stage.note


@in_virtual_time
async def test_an_ask_that_waited_too_long_gets_an_apology_with_a_button() -> None:
    stage = Stage()
    stage.now = AT + timedelta(seconds=1801)

    ending = await stage.answer()

    assert stage.note == texts.TOO_OLD
    assert stage.has_button
    assert (ending.outcome, ending.error_code) == (Outcome.FAILED, "too_old")
    assert stage.model.requests == []


@in_virtual_time
async def test_no_other_ask_is_merged_into_the_apology_for_an_old_one() -> None:
    stage = Stage()
    stage.now = AT + timedelta(seconds=1801)
    fresh = replace(TURN, id="turn-2", ts="1700001700.000100", accepted_at=stage.now)
    old = replace(TURN, id="turn-3", ts="1700000002.000100")

    ending = await stage.answer(replace(CLAIM, turns=(TURN, old, fresh)))

    assert stage.note == texts.TOO_OLD
    assert ending.left_open == ("turn-3", "turn-2")


@in_virtual_time
async def test_an_ask_with_a_reply_of_its_own_is_answered_in_that_one() -> None:
    stage = Stage(said("Both."))
    again = replace(TURN, id="turn-2", ts="1700000003.000100", attempt=2, reply_ts=("1.0",))
    fresh = replace(TURN, id="turn-3", ts="1700000004.000100")

    ending = await stage.answer(replace(CLAIM, turns=(TURN, again, fresh)))

    assert ending.left_open == ("turn-2",)


CUT = Remembered(
    9,
    "1700000001.000100",
    Speaker.US,
    "",
    "What there was",
    place=2,
    raw={"role": "assistant", "content": "What there was"},
)
TRIED_AGAIN = replace(TURN, attempt=2, reply_ts=(CUT.ts,))


@in_virtual_time
async def test_what_readers_have_seen_stays_when_the_next_try_fails_too() -> None:
    stage = Stage([Busy()], memory=Memory([replace(ROOT, place=1, sent="Ana: Why?"), CUT]))
    stage.channel.put(CUT.ts, View("What there was"), "turn-1")

    ending = await stage.answer(replace(CLAIM, turns=(TRIED_AGAIN,)))

    assert stage.channel.bodies() == ["What there was"]
    assert "busy right now" in stage.note
    assert ending.answer is not None
    assert ending.answer.content == "What there was"
    assert ending.answer.finish_reason is None


@in_virtual_time
async def test_the_next_try_does_not_read_what_the_one_before_has_said() -> None:
    stage = Stage(said("Whole."), memory=Memory([replace(ROOT, place=1, sent="Ana: Why?"), CUT]))
    stage.channel.put(CUT.ts, View("What there was"), "turn-1")

    await stage.answer(replace(CLAIM, turns=(TRIED_AGAIN,)))

    [request] = stage.model.requests
    assert [message["role"] for message in request] == ["system", "user"]
    assert stage.channel.bodies() == ["Whole."]


@in_virtual_time
async def test_an_answer_that_was_forgotten_meanwhile_is_not_gone_on_with() -> None:
    stage = Stage(memory=Memory([]))

    ending = await stage.answer(
        replace(CLAIM, turns=(replace(TURN, kind=Kind.CONTINUE, pressed="continue"),))
    )

    assert stage.channel.bodies() == [texts.NOTHING_TO_CONTINUE]
    assert (ending.outcome, ending.answer, stage.model.requests) == (Outcome.ANSWERED, None, [])


@in_virtual_time
@pytest.mark.parametrize("pressed", ["explain:1", "explain:3"])
async def test_a_finding_of_a_review_that_is_gone_is_not_explained(pressed: str) -> None:
    stage = Stage(memory=Memory([]))
    stage.memory.review = {"findings": []}

    turn = replace(TURN, kind=Kind.EXPLAIN, pressed=pressed)
    ending = await stage.answer(replace(CLAIM, turns=(turn,)))

    assert stage.channel.bodies() == [phrases.GONE]
    assert (ending.outcome, ending.answer, stage.model.requests) == (Outcome.ANSWERED, None, [])


EXPLAINED_AGAIN = replace(TURN, kind=Kind.EXPLAIN, pressed="explain:1", attempt=2, takeovers=1)
FOUND = kept([Finding(Anchor("a.py", Side.NEW, 4), Severity.MINOR, "`x` <!channel>", "", "x")], 0)
ABOUT = "About finding 1: `x <!channel>`\n\n"


def explained_before(*script: list[Step]) -> Stage:
    """A turn whose owner before has shown which finding it is about, and how it began."""
    stage = Stage(*script, memory=Memory([replace(ROOT, place=1, sent="Ana: Why?")]))
    stage.memory.review = FOUND
    return stage


@in_virtual_time
async def test_who_takes_an_explanation_over_names_its_finding_once() -> None:
    stage = explained_before(said("Whole."))
    await stage.channel.post(THREAD, View(f"{ABOUT}Ha"), "turn-1", 1)

    ending = await stage.answer(replace(CLAIM, turns=(EXPLAINED_AGAIN,)))

    assert stage.channel.bodies() == [f"{ABOUT}Whole."]
    assert ending.answer is not None
    assert ending.answer.content == "Whole."


@in_virtual_time
async def test_which_finding_it_is_about_is_no_word_of_the_model_s() -> None:
    stage = explained_before([Busy()])
    await stage.channel.post(THREAD, View(f"{ABOUT}Half"), "turn-1", 1)

    ending = await stage.answer(replace(CLAIM, turns=(EXPLAINED_AGAIN,)))

    assert stage.channel.bodies() == [f"{ABOUT}Half"]
    assert ending.answer is not None
    assert ending.answer.content == "Half"


@in_virtual_time
async def test_where_only_mentions_reach_us_the_thread_is_told_once() -> None:
    slowly = [Delta(content="Fi"), 10.0, *said("ne.")]
    stage, later = Stage(slowly), Stage(slowly)
    stage.workspace.is_deaf = later.workspace.is_deaf = True

    first = await stage.answer()
    await later.answer(replace(CLAIM, told=first.told))

    assert (stage.note, first.told) == (texts.MENTION_ME, frozenset({"deaf"}))
    assert later.note == ""


@in_virtual_time
async def test_a_closed_channel_is_told_to_the_asker_directly() -> None:
    channel = Channel(faults={"post": [ReplyRefused("chat.postMessage", "is_archived")]})
    stage = Stage([Delta(content="x"), 1.0, *said("y")], channel=channel)

    ending = await stage.answer()

    [(user, text)] = stage.workspace.told
    assert (user, text.endswith("the channel is archived.")) == ("U0ANA", True)
    assert (ending.outcome, ending.error_code) == (Outcome.FAILED, "is_archived")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("not_in_channel", "Invite me there with `/invite`"),
        ("restricted_action_thread_locked", "the thread is locked"),
        ("some_new_code", "Slack does not let me write there (some_new_code)"),
    ],
)
def test_who_gets_no_reply_hears_what_to_do_or_the_code(code: str, words: str) -> None:
    assert words in failures.closed_thread("C1", code)


@in_virtual_time
async def test_a_deleted_reply_ends_the_turn_as_stopped() -> None:
    stage = Stage([Delta(content="x"), 2.0, Delta(content="y"), 2.0, *said("z")])
    answering = asyncio.create_task(stage.answer())
    await asyncio.sleep(0.5)
    stage.channel.shown.clear()

    assert (await answering).outcome is Outcome.STOPPED
    assert stage.workspace.told == []


@in_virtual_time
async def test_a_taken_over_turn_finishes_the_reply_that_it_finds() -> None:
    stage = Stage(said("Whole."))
    left = await stage.channel.post(THREAD, View("half"), "turn-1", 1)

    ending = await stage.answer(replace(CLAIM, turns=(replace(TURN, attempt=2),)))

    assert stage.channel.bodies() == ["Whole."]
    assert ending.reply_ts == (left,)


@in_virtual_time
async def test_what_a_killed_owner_has_shown_stays_when_the_next_one_fails() -> None:
    stage = Stage([Busy()])
    await stage.channel.post(THREAD, View("word0 word1"), "turn-1", 1)

    await stage.answer(replace(CLAIM, turns=(replace(TURN, attempt=2, takeovers=1),)))

    assert stage.channel.bodies() == ["word0 word1"]
    assert "busy right now" in stage.note


@in_virtual_time
async def test_a_turn_that_ended_three_owners_is_given_up_with_a_button() -> None:
    stage = Stage()
    left = await stage.channel.post(THREAD, View("half"), "turn-1", 1)
    turn = replace(TURN, attempt=4, takeovers=3, reply_ts=(left,))

    ending = await stage.answer(replace(CLAIM, turns=(turn,)))

    assert stage.note == f"{texts.GIVEN_UP}\ntrace: turn-1"
    assert stage.has_button
    assert (ending.outcome, ending.error_code) == (Outcome.FAILED, "interrupted")
    assert stage.model.requests == []


@pytest.mark.parametrize(
    ("attempt", "kept"),
    [(2, "the first half\n\nand the second"), (3, "the first half"), (4, "the first half")],
)
def test_what_is_kept_of_earlier_attempts_has_no_gap(attempt: int, kept: str) -> None:
    """A third attempt may find parts of the first below what the second wrote over them."""

    @in_virtual_time
    async def scene() -> None:
        stage = Stage()
        first = await stage.channel.post(THREAD, View("the first half"), "turn-1", 1)
        second = await stage.channel.post(THREAD, View("and the second"), "turn-1", 2)
        turn = replace(TURN, attempt=attempt, takeovers=3, reply_ts=(first, second))

        await stage.answer(replace(CLAIM, turns=(turn,)))

        assert "".join(stage.channel.bodies()) == kept

    scene()


@in_virtual_time
async def test_what_was_begun_for_several_asks_is_not_kept_for_the_one_that_is_given_up() -> None:
    stage = Stage()
    left = await stage.channel.post(THREAD, View("for both of you"), "turn-1", 1)
    turn = replace(TURN, attempt=4, takeovers=3, reply_ts=(left,))

    ending = await stage.answer(replace(CLAIM, turns=(turn, replace(TURN, id="turn-2"))))

    assert stage.channel.bodies() == [""]
    assert stage.note == f"{texts.GIVEN_UP}\ntrace: turn-1"
    assert (ending.answer, ending.left_open) == (None, ("turn-2",))


@in_virtual_time
async def test_asks_that_were_interrupted_three_times_together_are_given_up_in_one_reply() -> None:
    stage = Stage()
    left = await stage.channel.post(THREAD, View("for both of you"), "turn-1", 1)
    turn = replace(TURN, attempt=4, takeovers=3, reply_ts=(left,))
    waited, had_a_reply, new = (
        replace(TURN, id="turn-2", takeovers=3),
        replace(TURN, id="turn-3", takeovers=3, reply_ts=("9.9",)),
        replace(TURN, id="turn-4", takeovers=1),
    )

    together = await stage.answer(replace(CLAIM, turns=(turn, waited)))
    among_others = await stage.answer(replace(CLAIM, turns=(turn, waited, had_a_reply, new)))

    assert together.left_open == ()
    assert set(among_others.left_open) == {"turn-3", "turn-4"}


@in_virtual_time
async def test_an_ask_with_a_reply_of_its_own_does_not_fail_with_another() -> None:
    stage = Stage([Busy()])
    begun, waited = replace(TURN, id="turn-2", reply_ts=("9.9",)), replace(TURN, id="turn-3")

    ending = await stage.answer(replace(CLAIM, turns=(TURN, begun, waited)))

    assert (ending.outcome, ending.left_open) == (Outcome.FAILED, ("turn-2",))


@in_virtual_time
async def test_a_turn_whose_earlier_parts_can_not_be_looked_up_is_left_for_later() -> None:
    stage = Stage(said("Twice?"))
    stage.workspace.unreadable = FateUnknown("conversations.replies", "timeout")

    with pytest.raises(FateUnknown):
        await stage.answer(replace(CLAIM, turns=(replace(TURN, attempt=2),)))

    assert stage.channel.count("post") == 0


@in_virtual_time
async def test_a_fault_of_our_own_is_told_without_its_words() -> None:
    stage = Stage()  # no script: the model double itself breaks

    ending = await stage.answer()

    assert stage.note == f"{texts.UNFORESEEN}\ntrace: turn-1"
    assert ending.error_code == "unforeseen"


@in_virtual_time
async def test_a_lost_claim_ends_the_work_without_another_word() -> None:
    stage = Stage([5.0, *said("late")], memory=Memory(note_fails_with=ClaimLost()))

    with pytest.raises(ClaimLost):
        await stage.answer()

    assert stage.channel.count("edit") == 0


@in_virtual_time
async def test_a_database_that_is_away_while_we_write_costs_no_text() -> None:
    stage = Stage(said("Still."), memory=Memory(note_fails_with=DatabaseUnavailable()))

    await stage.answer()

    assert stage.channel.bodies() == ["Still."]


@in_virtual_time
async def test_a_turn_that_is_handed_over_says_so_below_what_there_is() -> None:
    stage = Stage([Delta(content="So far"), 600.0, *said("")])
    task = asyncio.create_task(stage.answer())
    await asyncio.sleep(2)

    task.cancel(DRAINING)
    await asyncio.wait({task})

    assert task.cancelled()
    assert stage.channel.bodies() == ["So far"]
    assert stage.note == texts.RESTARTING
