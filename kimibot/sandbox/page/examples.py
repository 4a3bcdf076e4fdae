"""What the page suggests to type, in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kimibot.sandbox.kimi.scenes import scenes
from kimibot.sandbox.kimi.telling import written

_FIRST = 6
_FOLLOW_UP = "What did I ask before?"


@dataclass(frozen=True, slots=True)
class Example:
    """Words to type after the mention, and what they show; or, in the thread before, without it."""

    text: str
    shows: str
    in_thread: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Examples under a title."""

    title: str
    examples: tuple[Example, ...]


def local_examples() -> tuple[Group, ...]:
    """What the local Kimi knows: everyday questions first, then faults."""
    known = [_example(scene.example, scene.shows) for scene in scenes()]
    talk = known[-_FIRST:]
    return (
        Group("Just ask", (*reversed(talk), *_words())),
        Group("When things go wrong", tuple(known[:-_FIRST])),
    )


def real_examples() -> tuple[Group, ...]:
    """What to ask the real Kimi."""
    snippet = written("snippet")
    asks: Sequence[tuple[str, str]] = (
        ("When do I answer 409 and when 422?", "a short answer"),
        ("How would you build a job queue on PostgreSQL?", "a long answer, in several messages"),
        (f"Please review this:\n```\n{snippet}\n```", "a code review"),
        ("怎么用一句话解释幂等？", "a question in Chinese"),
        (_FOLLOW_UP, "the thread is remembered"),
    )
    return (Group("Just ask", (*(_example(*ask) for ask in asks), *_words())),)


def review_examples(pull_url: str) -> Group:
    """A review of the pull request there, and what one does with it."""
    return Group(
        "Review a pull request",
        (
            Example(f"review {pull_url}", "its bugs, each at its line; then post it there"),
            Example(
                "review again",
                "what is fixed since: its address opens a page where you push a fix",
                in_thread=True,
            ),
        ),
    )


def _words() -> tuple[Example, ...]:
    """What the bot itself answers."""
    return (Example("help", "what the bot can do, what is stored, and where it is sent"),)


def _example(text: str, shows: str) -> Example:
    return Example(text, shows, in_thread=text == _FOLLOW_UP)
