"""Short ways to say what people, apps and the model say in the tests of the store."""

from __future__ import annotations

from datetime import UTC, datetime

from kimibot.answers import Answer, Usage
from kimibot.conversation import Accepted, Message, Speaker, Thread
from kimibot.storage import Store
from kimibot.turns import Claim, Ending, Outcome

THREAD = Thread("T1", "C1", "1700000000.000100")
NOW = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)

SLACK_WAITS_SECONDS = 3.0
"""For an acknowledgement: https://docs.slack.dev/apis/events-api/#responding"""

LEASE_SECONDS = 60.0
LAPSED = -1.0
"""A lease that is over when it begins, so that no test waits for one to end."""


def ts(number: int) -> str:
    """The Slack timestamp of the number-th message."""
    return f"17000000{number // 10000:02d}.{number % 10000:04d}00"


def says(
    number: int,
    text: str = "Why?",
    *,
    author: str = "U1",
    thread: Thread = THREAD,
    app: bool = False,
) -> Message:
    """The number-th message of a thread, by a person unless it is an app."""
    speaker = Speaker.APP if app else Speaker.PERSON
    return Message(thread, ts(number), speaker, author, text, event_id=f"Ev{number}")


def a_thread(channel: str) -> dict[str, str]:
    """The least that the row of a thread needs."""
    return {"team": "T1", "channel": channel, "root_ts": "1700000000.000100"}


async def ask(
    store: Store, number: int, *, author: str = "U1", thread: Thread = THREAD
) -> Accepted:
    """An ask that is stored with its turn."""
    message = says(number, f"question {number}", author=author, thread=thread)
    accepted = await store.accept(message, is_ask=True, now=NOW)
    assert accepted is not None
    return accepted


async def claimed(
    store: Store, thread_id: int, owner: str = "first", lease_seconds: float = LEASE_SECONDS
) -> Claim:
    """A claim that must succeed."""
    claim = await store.claim(thread_id, owner, lease_seconds)
    assert claim is not None
    return claim


def answered(number: int, content: str = "Because.", *, place: int | None = None) -> Ending:
    """An answer whose reply begins at the number-th message."""
    raw = {"role": "assistant", "reasoning_content": "Hm.", "content": content}
    answer = Answer(
        content,
        reasoning="Hm.",
        finish_reason="stop",
        usage=Usage(100, 20, 80),
        completion_id="chatcmpl-1",
        raw=raw,
    )
    return Ending(
        Outcome.ANSWERED,
        answer=answer,
        answer_place=place,
        reply_ts=(ts(number),),
        provider="moonshot",
        model="kimi-k3",
        shown_at=NOW,
    )


def failed(*parts: str) -> Ending:
    """An ending without a word of the model."""
    return Ending(Outcome.FAILED, reply_ts=parts, error_code="busy", trace_id="trace-1")


async def keep(store: Store, claim: Claim, ending: Ending, owner: str = "first") -> Claim | None:
    """Ends a claim with a lease long enough for what comes next."""
    return await store.keep(claim, ending, owner=owner, lease_seconds=LEASE_SECONDS)
