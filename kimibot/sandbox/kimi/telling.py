"""What the scenes consist of: texts that lie beside this module, errors, and odd ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

from kimibot.sandbox.kimi.faults import Faults
from kimibot.sandbox.kimi.heard import Heard
from kimibot.sandbox.kimi.plan import Chunk, End, Pace, Plan, Refusal

SLOW_REASONING_SECONDS = 30.0
_FLAKY_TRIES = 2
_KEPT_CHARACTERS = 160
_CUT_OFF = "[cut off]"
"""With what an answer ends that the bot wants to be continued."""


@dataclass(frozen=True, slots=True)
class Teller:
    """What a scene tells with: the pace of words and the errors of this request."""

    pace: Pace
    faults: Faults

    def says(self, text: str, *, seconds: float | None = None) -> Plan:
        """The text after some thinking: as long as usual, or for these seconds."""
        thought = self.pace.thought(written("thinking"), seconds)
        return Plan(thought + self.pace.said(text))


Tell = Callable[[Heard, Teller], Plan | Refusal]


def written(name: str) -> str:
    """One of the texts that lie beside this module."""
    page = resources.files(__package__).joinpath("answers", f"{name}.md")
    return page.read_text(encoding="utf-8").strip()


def fault(name: str) -> Tell:
    """One of the errors of the table."""
    return lambda _heard, teller: teller.faults.named(name)


def bad_gateway(_heard: Heard, teller: Teller) -> Refusal:
    """An HTML page."""
    return teller.faults.bad_gateway()


def recited(name: str) -> Tell:
    """One of the texts, word by word."""
    return lambda _heard, teller: teller.says(written(name))


def in_part(finish_reason: str) -> Tell:
    """The beginning of the long answer, with this finish reason."""

    def tell(_heard: Heard, teller: Teller) -> Plan:
        whole = teller.says(written("long"))
        return Plan(whole.chunks[: len(whole.chunks) // 5], finish_reason=finish_reason)

    return tell


def ending_early(end: End) -> Tell:
    """The beginning of the long answer, then this end."""

    def tell(_heard: Heard, teller: Teller) -> Plan:
        whole = teller.says(written("long"))
        return Plan(whole.chunks[: len(whole.chunks) // 5], end)

    return tell


def only_thinking(finish_reason: str) -> Tell:
    """Thinking without a word of answer."""
    return lambda _heard, teller: Plan(
        teller.pace.thought(written("thinking")), finish_reason=finish_reason
    )


def flaky(heard: Heard, teller: Teller) -> Plan | Refusal:
    """Refuses twice, or as many times as it is told, then answers."""
    wanted = re.search(r"(\d) times", heard.plain)
    if heard.tries >= (int(wanted.group(1)) if wanted else _FLAKY_TRIES):
        return teller.says(f"There we are, after {heard.tries} tries. Thanks for your patience!")
    return teller.faults.named("too_many_requests" if "429" in heard.plain else "server_fault")


def context_too_long(heard: Heard, teller: Teller) -> Plan | Refusal:
    """Refuses until the request is shorter than it was."""
    if heard.shrunk:
        return teller.says("Now it fits. I no longer see the oldest part of this thread.")
    return teller.faults.named("context_too_long")


def slowly(_heard: Heard, teller: Teller) -> Plan:
    """Thinks for half a minute."""
    return teller.says(written("slow"), seconds=SLOW_REASONING_SECONDS)


def leaking(_heard: Heard, teller: Teller) -> Plan:
    """Markup of the model in its text, split over chunks."""
    pieces = ("<thi", "nk>", "nobody should read this", "</think>", "Only this sentence", " is ")
    return Plan(tuple(Chunk(content=piece) for piece in pieces) + teller.pace.said("for you."))


def review(heard: Heard, teller: Teller) -> Plan:
    """A review of the snippet on the page, or of the shape of other code."""
    if "total =+" in heard.code:
        return teller.says(written("review"))
    lines = heard.code.splitlines()
    seen = f"{len(lines)} lines, beginning with `{lines[0].strip()[:60]}`" if lines else "no code"
    return teller.says(written("other_review").replace("{seen}", seen))


def go_on(heard: Heard, teller: Teller) -> Plan:
    """The rest of the long answer, from where it was cut off."""
    whole, begun = written("long"), heard.last_answer.removesuffix(_CUT_OFF).rstrip()
    if not begun or not whole.startswith(begun):
        return teller.says("That was all that I had to say.")
    return teller.says(whole.removeprefix(begun))


def remember(heard: Heard, teller: Teller) -> Plan:
    """Repeats the asks of the thread."""
    if not heard.earlier:
        return teller.says("This is the first thing you've said to me in this thread.")
    asks = "\n".join(f"{n}. {_short(ask)}" for n, ask in enumerate(heard.earlier, 1))
    return teller.says(f"In this thread I've read so far:\n\n{asks}\n\nAnd now this question.")


def unknown(heard: Heard, teller: Teller) -> Plan:
    """Says what the script knows."""
    asked = f"\n\n> {_short(heard.question)}\n" if heard.question else ""
    return teller.says(written("unknown").replace("{asked}", asked))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _KEPT_CHARACTERS else f"{line[:_KEPT_CHARACTERS]}…"
