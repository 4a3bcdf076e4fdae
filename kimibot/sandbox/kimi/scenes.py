"""The scenes that the local Kimi plays: what one types, what then happens, and why that is shown.

A scene is picked by words of the last ask, outside code. The first that fits is played.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from kimibot.sandbox.kimi import telling
from kimibot.sandbox.kimi.findings import explain, find, wants_explanation, wants_findings
from kimibot.sandbox.kimi.heard import Heard
from kimibot.sandbox.kimi.plan import End, Plan, Refusal
from kimibot.sandbox.kimi.telling import Tell, Teller

_FAULT_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class Scene:
    """`example` is something to type; `shows` says what it demonstrates."""

    example: str
    shows: str
    fits: Callable[[Heard], bool]
    tell: Tell


def choose(heard: Heard, teller: Teller) -> Plan | Refusal:
    """The answer to what was heard; a client that numbers the lines of code has its own."""
    if wants_findings(heard):
        return find(heard, teller)
    if wants_explanation(heard):
        return explain(heard, teller)
    if re.search(r"\bgo on exactly\b", heard.plain):
        return telling.go_on(heard, teller)
    tell = next((scene.tell for scene in scenes() if scene.fits(heard)), telling.unknown)
    return tell(heard, teller)


def scenes() -> tuple[Scene, ...]:
    """All scenes, in the order in which they are tried."""
    return (*_ERRORS, *_ODD_ANSWERS, *_talk())


def _heard(pattern: str) -> Callable[[Heard], bool]:
    return lambda heard: re.search(pattern, heard.plain, re.DOTALL) is not None


def _short(pattern: str) -> Callable[[Heard], bool]:
    """Only a short ask without code asks for a fault: a pasted log may well speak of a 500."""
    return lambda heard: (
        len(heard.plain) <= _FAULT_CHARACTERS and not heard.code and _heard(pattern)(heard)
    )


def _talk() -> tuple[Scene, ...]:
    snippet = telling.written("snippet")
    return (*_MEMORY_AND_CHINESE, Scene(
        f"Please review this:\n```\n{snippet}\n```", "a code review",
        lambda heard: bool(heard.code) or _heard(r"\breview\b")(heard), telling.review,
    ), *_QUESTIONS)  # fmt: skip


_ERRORS = (
    Scene("flaky 500", "a fault that goes away after two tries",
          _short(r"\bflaky\b"), telling.flaky),
    Scene("401", "the key is refused", _short(r"\b401\b"), telling.fault("invalid_key")),
    Scene("429", "Kimi is busy and stays so",
          _short(r"\b429\b"), telling.fault("too_many_requests")),
    Scene("500", "a fault on Kimi's side", _short(r"\b500\b"), telling.fault("server_fault")),
    Scene("quota", "the account has run out", _short(r"\bquota\b"), telling.fault("quota")),
    Scene("html 502", "an HTML page in place of an answer",
          _short(r"\b502\b"), telling.bad_gateway),
    Scene("token_mismatched", "the request is refused",
          _short(r"token_mismatched"), telling.fault("bad_request")),
    Scene("context too long", "a thread that does not fit: refused until it is shorter",
          _short(r"context too long"), telling.context_too_long),
    Scene("model not found", "the configured model is not there",
          _short(r"model not found"), telling.fault("no_such_model")),
)  # fmt: skip

_ODD_ANSWERS = (
    Scene("content_filter", "Kimi declines to go on",
          _short(r"content[_ ]filter"), telling.in_part("content_filter")),
    Scene("a truncated answer", "the answer reaches its limit",
          _short(r"\btruncated\b|\blength limit\b"), telling.in_part("length")),
    Scene("cut the stream", "the connection breaks in mid-answer",
          _short(r"\bcut\b.*\bstream\b|\bstream\b.*\bcut\b"), telling.ending_early(End.RESET)),
    Scene("stall", "Kimi falls silent in mid-answer",
          _short(r"\bstall(s|ed)?\b"), telling.ending_early(End.STALL)),
    Scene("error in the stream", "an error in the middle of an answer",
          _short(r"error in the stream"), telling.ending_early(End.ERROR)),
    Scene("think slowly", "half a minute of thinking before the first word",
          _short(r"\bslow(ly)?\b"), telling.slowly),
    Scene("reasoning only", "the whole budget goes into thinking",
          _short(r"\breasoning only\b"), telling.only_thinking("length")),
    Scene("an empty answer", "no text at all",
          _short(r"\bempty answer\b"), telling.only_thinking("stop")),
    Scene("ping everyone", "a model that tries to ping the channel",
          _short(r"\bping\b"), telling.recited("pings")),
    Scene("leak markup", "the model's own markup in its text",
          _short(r"\bmarkup\b"), telling.leaking),
)  # fmt: skip

_MEMORY_AND_CHINESE = (
    Scene("What did I ask before?", "the thread is remembered",
          _heard(r"\bremember\b|\bask(ed)?\b.*\bbefore\b|\bearlier\b|\bso far\b|summari[sz]e"),
          telling.remember),
    Scene("怎么用一句话解释幂等？", "a question in Chinese is answered in Chinese",
          _heard(r"[\u4e00-\u9fff]"), telling.recited("chinese")),
)  # fmt: skip

_QUESTIONS = (
    Scene("How would you build a job queue on PostgreSQL?",
          "a long answer with code and a table, over several messages",
          _heard(r"\bqueue\b|\blong answer\b|\bpostgres"), telling.recited("long")),
    Scene("When do I answer 409 and when 422?", "a short answer",
          _heard(r"\b409\b|\b422\b"), telling.recited("short")),
    Scene("hello", "a greeting",
          _heard(r"^\W*(hello|hi|hey|good (morning|evening)|thanks|thank you)\b"),
          telling.recited("hello")),
)  # fmt: skip
