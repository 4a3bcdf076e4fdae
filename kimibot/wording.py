"""Pure: the words that mean something to the bot itself, however they are dressed."""

from __future__ import annotations

import re
import unicodedata

from kimibot.conversation import Message, Speaker, Us
from kimibot.turns import Kind

STOP_WORDS = frozenset({"stop", "stopp", "停止"})

_KINDS = {
    Kind.HELP: ("help", "hilfe", "帮助"),
    Kind.MUTE: ("mute", "stop listening"),
    Kind.UNMUTE: ("unmute", "start listening"),
    Kind.FORGET: ("forget", "forget this thread", "forget everything"),
    Kind.SUMMARISE: (
        *("summarise", "summarize", "summary", "tldr", "tl;dr"),
        *("summarise this thread", "summarize this thread"),
    ),
}
WORDS = {word: kind for kind, words in _KINDS.items() for word in words}
"""Each is the whole message, a mention of us aside: in a sentence they mean something else."""

_LONGEST_WORD = 80
_REVIEW = re.compile(
    r"(?:(?:please|pls|bitte|kindly|(?:can|could|would|will) you)[\s,]+)*"
    r"(?:code[\s-]?)?(?:re-?)?review(?![\w'’-])"
    r"(?!\s+(?:of|is|was|were|are|has|process|comments?|meetings?|means|polic\w+|guidelines?)\b)"
)
"""How an ask for a review begins; after the last of these words, review is something else."""
_FINDING = r"(?:(?:finding|number|no\.?)\s*)?#?\s?\d{1,2}"
_OF_FINDINGS = {
    Kind.NOT_A_PROBLEM: re.compile(
        rf"(?:not a problem:?\s+{_FINDING})"
        rf"|(?:{_FINDING}(?:\s+is(?:\s+not|n['’]t)\s+a|['’]s\s+not\s+a|\s+is\s+no)\s+problem)"
    ),
    Kind.A_PROBLEM: re.compile(rf"{_FINDING}(?:\s+is|['’]s)\s+a\s+problem(?:\s+after\s+all)?"),
    Kind.PATCH: re.compile(
        r"(?:please\s+)?(?:(?:show|give|send)\s+(?:(?:me|us)\s+)?)?(?:the\s+|a\s+)?"
        rf"(?:patch\s+(?:for|of)\s+{_FINDING}"
        rf"|(?:fix|suggestion)\s+(?:for|of)\s+{_FINDING}\s+as\s+a\s+patch)(?:,?\s+please)?"
    ),
}
"""Each is the whole message and names one finding: of what else it may be the model decides."""
_EMOJI = re.compile(r":[a-z0-9_+'-]{1,40}:")
_EDGES = re.compile(r"^(?:[^\w>`]|_)+|(?:[^\w`]|_)+$")
"""What may stand around the word; not the signs of a quote and of code, which say it of others."""
_ASIDE = re.compile(r"\s*\(\s*aside\s*\)", re.IGNORECASE)


def is_stop(message: Message, us: Us) -> bool:
    """Whether a person says nothing but "stop": case, punctuation, emoji and our name aside."""
    return message.speaker is Speaker.PERSON and _bare(message, us) in STOP_WORDS


def is_aside(message: Message, us: Us) -> bool:
    """Whether the message begins with "(aside)": it is said to the others."""
    beginning = _without_us(message.text[:_LONGEST_WORD], us)
    return _ASIDE.match(unicodedata.normalize("NFKC", beginning)) is not None


def wanted_by(message: Message, us: Us) -> Kind:
    """What a message to us wants: an answer, unless it is one of our words or nothing at all."""
    if us.user_id in message.mentions and not _without_us(message.text, us).strip(" \t\n,.:!"):
        return Kind.GREETING
    kind = WORDS.get(_bare(message, us)) or _of_a_finding(message, us)
    if kind is None and _asks_for_review(message, us):
        kind = Kind.REVIEW
    return kind or Kind.ASK


def number_in(words: str) -> int:
    """Which finding words that want something of one name, 0 where that is not clear."""
    named = re.findall(r"\d+", _undressed(words))
    return int(named[0]) if len(named) == 1 else 0


def _of_a_finding(message: Message, us: Us) -> Kind | None:
    """Only where there may be findings already."""
    if message.is_root:
        return None
    bare = _bare(message, us)
    return next((kind for kind, form in _OF_FINDINGS.items() if form.fullmatch(bare)), None)


def _asks_for_review(message: Message, us: Us) -> bool:
    """Whether the message, or what it says to us right behind our name, begins with the word."""
    _, _, to_us = message.text.partition(f"<@{us.user_id}>")
    return any(
        _REVIEW.match(_undressed(_without_us(text, us)[:_LONGEST_WORD]))
        for text in (message.text, to_us)
    )


def _bare(message: Message, us: Us) -> str:
    """The message without our name and what dresses it; "" if it is too long to be a word."""
    if len(message.text) > _LONGEST_WORD:
        return ""
    return " ".join(_undressed(_without_us(message.text, us)).split())


def _undressed(words: str) -> str:
    return _EDGES.sub("", unicodedata.normalize("NFKC", _EMOJI.sub(" ", words)).casefold())


def _without_us(text: str, us: Us) -> str:
    return text.replace(f"<@{us.user_id}>", " ")
