"""What has become of a turn so far, and with what it ends."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from kimibot.allowance import Limit
from kimibot.answers import Answer, Delta
from kimibot.assembling import Assembling
from kimibot.history import Reading
from kimibot.lease import Lease
from kimibot.spending import Spending
from kimibot.stop_signal import StopSignal
from kimibot.turns import Claim, Ending, Outcome, Stop, StopCause, Turn


@dataclass(slots=True)
class Attempt:
    """One claim's work on the oldest of its turns.

    `assembling` is what comes back for the newest request, `spending` counts all of them, and
    `cut_by` is the daily limit that left the newest fewer tokens than it wanted. `made` is what is
    shown in the place of what the model says, as for a review; None where that is shown itself.
    `instruction` is what the model is told for this turn alone. `earlier` is what an attempt before
    this one has said. `notes` stand below the answer, and
    `told` is what they tell the thread for the first time. The turns in `apart` are not answered
    here, however it ends, and those in `left_open` not by how it has ended: all are queued again.
    """

    claim: Claim
    lease: Lease
    signal: StopSignal
    assembling: Assembling = field(default_factory=Assembling)
    instruction: str = ""
    reading: Reading | None = None
    spending: Spending = field(default_factory=Spending)
    cut_by: Limit | None = None
    made: str | None = None
    earlier: Answer | None = None
    notes: list[str] = field(default_factory=list)
    outcome: Outcome = Outcome.FAILED
    answer: Answer | None = None
    error_code: str = ""
    trace_id: str = ""
    reply_ts: tuple[str, ...] = ()
    left_open: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    shown_at: datetime | None = None
    first_delta_at: datetime | None = None
    last_delta_at: datetime | None = None
    complete_at: datetime | None = None
    told: frozenset[str] = frozenset()

    @property
    def turn(self) -> Turn:
        return self.claim.turns[0]

    @property
    def text(self) -> str:
        """The answer so far, as it is shown: endpoints have put blanks before the first word.

        Where something is `made` of what the model says, that is the answer.
        """
        if self.made is not None:
            return self.made
        return self.assembling.content.lstrip()

    @property
    def text_to_keep(self) -> str:
        """What readers have seen stays when this attempt has nothing to put in its place."""
        return self.text or (self.earlier.content.lstrip() if self.earlier else "")

    @property
    def ids(self) -> dict[str, str]:
        """What a log line says of the turn."""
        return {
            "turn": self.turn.id,
            "channel": self.claim.thread.channel,
            "thread_ts": self.claim.thread.root_ts,
            "event_id": self.turn.event_id,
            "trace_id": self.trace_id,
        }

    def leave_apart(self, turns: Collection[Turn]) -> None:
        """These of the claim's turns stay open however this one ends: it is not their answer."""
        apart = {turn.id for turn in turns}
        kept = tuple(turn for turn in self.claim.turns if turn.id not in apart)
        self.apart = (*self.apart, *(t.id for t in self.claim.turns if t.id in apart))
        self.claim = replace(self.claim, turns=kept)

    def tell_once(self, what: str, note: str) -> None:
        """Say it below the answer, unless the thread was told so before."""
        if what not in self.claim.told | self.told:
            self.notes.append(note)
            self.told |= {what}

    def remember_left(self, text: str) -> None:
        """What an owner who did not end the turn has left in the thread."""
        if text:
            self.earlier = Answer(text, raw={"role": "assistant", "content": text})

    def add(self, delta: Delta, now: datetime) -> None:
        self.assembling.add(delta)
        self.last_delta_at = now
        self.first_delta_at = self.first_delta_at or now

    def succeed(self, answer: Answer) -> None:
        """The turn and all that are merged into it end; one that has a reply of its own, from an
        earlier try, is answered in that."""
        self.outcome = Outcome.ANSWERED
        self.answer = answer
        self.left_open = self._with_own_reply()
        self.trace_id = self._own_trace_id()

    def tell(self) -> None:
        """The turn ends with our own words, which are no answer of the model's."""
        self.outcome = Outcome.ANSWERED
        self.answer = None
        self.left_open = self._with_own_reply()
        self.trace_id = self.turn.id

    def refuse_alone(self, code: str) -> None:
        """The asker may not ask: whatever was asked by others is theirs."""
        self.refuse(self.claim.turns[1:], code)
        self.answer = None

    def fail(self, error_code: str, trace_id: str = "") -> None:
        """The turn ends without a whole answer; what there is of it is kept as cut off.

        Those that are merged into it fail with it, but not one that has a reply of its own.
        """
        self.outcome = Outcome.FAILED
        self.left_open = self._with_own_reply()
        self.error_code = error_code
        self.answer = self._cut() if self.text else self.earlier
        self.trace_id = trace_id or self._own_trace_id()

    def fail_without(self, spared: Collection[Turn], error_code: str) -> None:
        """As `fail`, but these others stay open and end in their own way.

        What was begun for all of them is then not kept: those get it in their own replies.
        """
        if spared:
            self.earlier = None
        self.fail(error_code, self.turn.id)
        self.left_open = (*self.left_open, *(t.id for t in spared if t.id not in self.left_open))

    def refuse(self, spared: Collection[Turn], error_code: str) -> None:
        """As `fail_without`, but not for a fault: there may be no answer now."""
        self.fail_without(spared, error_code)
        self.outcome = Outcome.REFUSED

    def stop(self, stop: Stop) -> None:
        """The turn ends as it stands. What was taken out of the thread is not kept either."""
        self.outcome = Outcome.STOPPED
        cut = self._cut() if self.text else self.earlier
        self.answer = cut if stop.cause is StopCause.PERSON else None
        self.left_open = self._not_stopped_with_it(stop)
        self.trace_id = self._own_trace_id()

    def vanish(self, error_code: str) -> None:
        """The reply, or its whole thread, is gone: there is nothing to answer in."""
        self.outcome = Outcome.STOPPED
        self.error_code = error_code
        self.answer = None
        self.trace_id = self._own_trace_id()

    def ending(self, provider: str, model: str, effort: str, day: date) -> Ending:
        return Ending(
            outcome=self.outcome,
            answer=self.answer,
            answer_place=self.reading.answer_place if self.reading else None,
            placed=self.reading.placed if self.reading else (),
            reply_ts=self.reply_ts,
            error_code=self.error_code,
            trace_id=self.trace_id or self.turn.id,
            provider=provider if self.reading else "",
            model=model,
            effort=effort,
            shown_at=self.shown_at,
            first_delta_at=self.first_delta_at,
            last_delta_at=self.last_delta_at,
            left_open=(*self.apart, *self.left_open),
            complete_at=self.complete_at,
            told=self.told if self.outcome is Outcome.ANSWERED else frozenset(),
            used=self.spending.used,
            day=day,
        )

    def _cut(self) -> Answer:
        cut = self.assembling.cut()
        if self.made is None:
            return cut
        return replace(cut, content=self.made, raw={"role": "assistant", "content": self.made})

    def _not_stopped_with_it(self, stop: Stop) -> tuple[str, ...]:
        """Who stops a reply stops it for all whom it answers; a deleted ask goes alone, and so
        does one that was stopped before it ran."""
        others = self.claim.turns[1:]
        if stop.cause is StopCause.ASK_DELETED:
            return tuple(turn.id for turn in others)
        if self.turn.stop is not None:
            return tuple(turn.id for turn in others if turn.stop is None or turn.reply_ts)
        return self._with_own_reply()

    def _with_own_reply(self) -> tuple[str, ...]:
        """Those of the others that were begun before, in messages of their own: nobody else would
        finish these."""
        return tuple(turn.id for turn in self.claim.turns[1:] if turn.reply_ts)

    def _own_trace_id(self) -> str:
        cut = self.assembling.cut()
        return cut.trace_id or cut.completion_id or self.turn.id
