"""What the next requests get in place of the scripted answer, or how that answer is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kimibot.sandbox.kimi.plan import Chunk, Counted, End, Plan, Refusal, calling


@dataclass(frozen=True, slots=True)
class Change:
    """A change to an answer, whoever wrote it. `after` counts the chunks that still go out."""

    end: End | None = None
    after: int | None = None
    finish_reason: str | None = None
    usage: Counted | None = None
    reasoning_only: bool = False

    def applied_to(self, plan: Plan) -> Plan:
        chunks = plan.chunks
        if self.reasoning_only:
            chunks = tuple(chunk for chunk in chunks if chunk.content is None)
        return replace(
            plan,
            chunks=chunks if self.after is None else chunks[: self.after],
            end=self.end or plan.end,
            finish_reason=self.finish_reason or plan.finish_reason,
            usage=self.usage or plan.usage,
        )


@dataclass(slots=True)
class _Order:
    what: Plan | Refusal | Change
    times: int
    where: str

    def meets(self, question: str) -> bool:
        return self.times > 0 and self.where in question


class Orders:
    """Orders for the next requests, each used `times` times, the oldest first.

    `where` limits an order to requests whose last ask contains it. All methods return at once.
    """

    def __init__(self) -> None:
        self._orders: list[_Order] = []

    def play(
        self,
        *chunks: Chunk | str,
        delay_seconds: float = 0.0,
        end: End = End.DONE,
        finish_reason: str = "stop",
        usage: Counted | None = None,
        times: int = 1,
        where: str = "",
    ) -> None:
        """Stream these chunks; a plain string is content, after `delay_seconds`."""
        whole = tuple(
            Chunk(content=chunk, wait_seconds=delay_seconds) if isinstance(chunk, str) else chunk
            for chunk in chunks
        )
        self._add(Plan(whole, end, finish_reason, usage), times, where)

    def call(
        self,
        *calls: tuple[str, Mapping[str, Any] | str],
        reasoning: str = "I need to look at more of it.",
        content: str | None = None,
        times: int = 1,
        where: str = "",
    ) -> None:
        """Call these tools, each with its arguments; a string goes out as it is.

        A request that offers no tools gets the same answer without the calls.
        """
        said = Chunk(content=content, reasoning=reasoning)
        self._add(calling((said,), *calls), times, where)

    def refuse(
        self,
        status: int,
        body: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        wait_seconds: float = 0.0,
        times: int = 1,
        where: str = "",
    ) -> None:
        """Answer with this status, body and headers in place of a stream."""
        refusal = Refusal(status, body, content_type, dict(headers or {}), wait_seconds)
        self._add(refusal, times, where)

    def stall(self, after: int = 0, *, times: int = 1, where: str = "") -> None:
        """Fall silent after so many chunks, with the connection open."""
        self._add(Change(end=End.STALL, after=after), times, where)

    def die(self, after: int, end: End = End.RESET, *, times: int = 1, where: str = "") -> None:
        """End after so many chunks in that way, in place of the rest of the answer."""
        self._add(Change(end=end, after=after), times, where)

    def finish(self, reason: str, *, times: int = 1, where: str = "") -> None:
        """Give this finish reason."""
        self._add(Change(finish_reason=reason), times, where)

    def count(
        self, prompt_tokens: int, completion_tokens: int, *, times: int = 1, where: str = ""
    ) -> None:
        """Report this usage."""
        self._add(Change(usage=Counted(prompt_tokens, completion_tokens)), times, where)

    def reasoning_only(
        self, finish_reason: str = "stop", *, times: int = 1, where: str = ""
    ) -> None:
        """Leave out all content."""
        self._add(Change(reasoning_only=True, finish_reason=finish_reason), times, where)

    def forget(self) -> None:
        """Drop all orders: the script answers again."""
        self._orders.clear()

    def answer_for(self, question: str, scripted: Plan | Refusal) -> Plan | Refusal:
        """What this request gets. Uses up one time of each order that applies."""
        answer: Plan | Refusal = self._played(question) or scripted
        for order in self._orders:
            if isinstance(order.what, Change) and order.meets(question):
                order.times -= 1
                answer = order.what.applied_to(answer) if isinstance(answer, Plan) else answer
        self._orders = [order for order in self._orders if order.times > 0]
        return answer

    def _played(self, question: str) -> Plan | Refusal | None:
        for order in self._orders:
            if not isinstance(order.what, Change) and order.meets(question):
                order.times -= 1
                return order.what
        return None

    def _add(self, what: Plan | Refusal | Change, times: int, where: str) -> None:
        self._orders.append(_Order(what, times, where))
