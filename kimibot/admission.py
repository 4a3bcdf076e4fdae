"""Who may ask, and where: decided when the turn runs, as Slack has to be asked about people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kimibot import texts
from kimibot.addressing import Policy
from kimibot.attempt import Attempt
from kimibot.conversation import Thread
from kimibot.turns import Turn


class People(Protocol):
    """Who somebody is."""

    async def is_external(self, person: str, team: str) -> bool:
        """Whether it is a guest, or somebody whose own workspace is not ours, nor another of our
        organisation.

        `team` is that workspace as far as the event named it. Never fails.
        """


@dataclass(frozen=True, slots=True)
class Refusal:
    """That somebody may not ask: the reason for the log, and what they are told."""

    code: str
    text: str


CHANNEL = Refusal("channel_not_allowed", texts.CHANNEL_NOT_ALLOWED)
PERSON = Refusal("person_not_allowed", texts.PERSON_NOT_ALLOWED)
EXTERNAL = Refusal("external_person", texts.EXTERNAL_PERSON)


class Admission:
    """Applies the operator's policy to turns. Apps were let in when they asked, or not at all."""

    def __init__(self, policy: Policy, people: People) -> None:
        self._policy = policy
        self._people = people

    async def admit(self, attempt: Attempt) -> Refusal | None:
        """Why the turn gets no answer. If it gets one, what others have asked who may not, and
        all that came after that, is left apart."""
        thread, (turn, *others) = attempt.claim.thread, attempt.claim.turns
        if (refusal := await self.refusal(thread, turn)) is not None:
            return refusal
        for number, other in enumerate(others):
            if await self.refusal(thread, other) is not None:
                attempt.leave_apart(others[number:])
                break
        return None

    async def refusal(self, thread: Thread, turn: Turn) -> Refusal | None:
        if not self._policy.has_channel(thread.channel):
            return CHANNEL
        if turn.asker.startswith("B"):
            return None
        if not self._policy.has_person(turn.asker):
            return PERSON
        if self._policy.with_external_people:
            return None
        is_external = await self._people.is_external(turn.asker, turn.asker_team)
        return EXTERNAL if is_external else None
