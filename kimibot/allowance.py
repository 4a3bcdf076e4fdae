"""Pure: how many tokens a day may take, and how many of them the next request may."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

LEAST_COMPLETION_TOKENS = 1_000
"""With less than this a model that thinks says nothing at all, so what is left is rounded up."""

WARNING_SHARE = 0.8


class Whose(Enum):
    """Whose tokens a limit counts."""

    PERSON = "person"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class DailyLimits:
    """Tokens a day (UTC), sent and received; None where there is no limit."""

    per_person: int | None = None
    per_workspace: int | None = None

    def __bool__(self) -> bool:
        return self.per_person is not None or self.per_workspace is not None


@dataclass(frozen=True, slots=True)
class Taken:
    """What is gone of a day's tokens: used, and held for turns that are running elsewhere."""

    used: int = 0
    held: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """How much of each limit is taken."""

    person: Taken
    workspace: Taken

    def plus(self, used: int) -> Standing:
        """With so many tokens more."""
        person, workspace = self.person, self.workspace
        return Standing(
            replace(person, used=person.used + used),
            replace(workspace, used=workspace.used + used),
        )


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit, and what is taken of it."""

    whose: Whose
    tokens: int
    taken: Taken

    @property
    def left(self) -> int:
        """What nobody has used or holds."""
        return self.tokens - self.taken.used - self.taken.held


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be sent, by estimate, and what may come back at most."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Grant:
    """The request may be made, for so many tokens; `cut_by` is what made them fewer than wanted."""

    completion_tokens: int
    cut_by: Limit | None = None


@dataclass(frozen=True, slots=True)
class Denial:
    """The request may not be made today, or, where turns that run hold the rest, not now."""

    limit: Limit

    @property
    def is_for_now(self) -> bool:
        return self.limit.taken.used < self.limit.tokens


def decide(limits: DailyLimits, standing: Standing, wanted: Request) -> Grant | Denial:
    """Whether the request may be made, and how much may come back.

    What is left is for both ways. A request that may be made gets 1,000 tokens for its way back
    even where fewer are left, so a day can end above its limit by one request and 1,000 tokens,
    and by what the estimate was wrong.
    """
    tightest = min(_limits(limits, standing), key=lambda limit: limit.left, default=None)
    if tightest is None:
        return Grant(wanted.completion_tokens)
    held = tightest.taken.held
    if tightest.left <= 0 or (held and tightest.left < LEAST_COMPLETION_TOKENS):
        return Denial(tightest)
    most = max(LEAST_COMPLETION_TOKENS, tightest.left - wanted.prompt_tokens)
    if most >= wanted.completion_tokens:
        return Grant(wanted.completion_tokens)
    return Grant(most, tightest)


def nearly_used_up(limits: DailyLimits, standing: Standing) -> Limit | None:
    """The limit of which four fifths are used, the person's own before the workspace's."""
    return next(
        (
            limit
            for limit in _limits(limits, standing)
            if limit.taken.used >= WARNING_SHARE * limit.tokens
        ),
        None,
    )


def _limits(limits: DailyLimits, standing: Standing) -> Iterator[Limit]:
    if limits.per_person is not None:
        yield Limit(Whose.PERSON, limits.per_person, standing.person)
    if limits.per_workspace is not None:
        yield Limit(Whose.WORKSPACE, limits.per_workspace, standing.workspace)
