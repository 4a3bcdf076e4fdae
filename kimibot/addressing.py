"""Pure: is this message for us, and what does it want? Mention, direct message, follow-up, word."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kimibot.conversation import Message, Speaker, ThreadFacts, Us
from kimibot.turns import Kind
from kimibot.wording import is_aside, wanted_by

DIRECT = "direct"
"""Stands for all direct messages in a list of channels: each has an id that nobody knows."""

MOST_APP_ASKS = 6
"""In a thread and an hour. Two apps that answer each other go on for ever."""


class FollowUps(StrEnum):
    """When a message in a thread of ours is for us although it does not mention us."""

    AUTO = "auto"
    ALWAYS = "always"
    MENTION = "mention"


@dataclass(frozen=True, slots=True)
class Policy:
    """Whom the operator lets ask us, and where. Empty sets of channels and people mean all, an
    empty set of apps means none; an app is named by its bot id or its app id."""

    follow_ups: FollowUps = FollowUps.AUTO
    channels: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    apps: frozenset[str] = frozenset()
    with_external_people: bool = False

    def has_channel(self, channel: str) -> bool:
        is_listed_direct = channel.startswith("D") and DIRECT in self.channels
        return not self.channels or channel in self.channels or is_listed_direct

    def has_person(self, person: str) -> bool:
        return not self.people or person in self.people


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an ask wants; `is_follow_up` says that it does not address us."""

    kind: Kind
    is_follow_up: bool = False


def verdict(message: Message, us: Us, facts: ThreadFacts | None, policy: Policy) -> Wanted | None:
    """What the message wants of us, None if it is no ask.

    `facts` are those of its thread, None if that is not ours or `depends_on_thread` says that
    they do not matter. Whoever addresses us gets a turn, and hears there that they may not ask;
    whoever does not gets none then.
    """
    if message.speaker is Speaker.US or is_aside(message, us):
        return None
    if message.speaker is Speaker.APP:
        return _wanted_by_app(message, us, facts, policy)
    if us.user_id in message.mentions:
        return Wanted(wanted_by(message, us))
    kind = _unmentioned(message, us, facts)
    if message.is_direct:
        return None if kind is None else Wanted(kind)
    is_allowed = policy.has_channel(message.thread.channel) and policy.has_person(message.author)
    if kind is None or facts is None or not is_allowed:
        return None
    return Wanted(kind, True) if _is_follow_up(message, facts, policy.follow_ups) else None


def depends_on_thread(message: Message, us: Us) -> bool:
    """Whether what was said before in the thread can matter to the verdict."""
    is_mention = message.speaker is Speaker.PERSON and us.user_id in message.mentions
    return not message.is_root and not is_mention


def is_for_us(message: Message, us: Us) -> bool:
    """Whether a person mentions us or writes to us, so that it needs no thread of ours."""
    if message.speaker is not Speaker.PERSON:
        return False
    return message.is_direct or us.user_id in message.mentions


def _unmentioned(message: Message, us: Us, facts: ThreadFacts | None) -> Kind | None:
    """What it would want without a mention; in a muted thread, nothing but the end of that."""
    kind = wanted_by(message, us)
    is_muted = facts is not None and facts.muted
    return None if is_muted and kind is not Kind.UNMUTE else kind


def _is_follow_up(message: Message, facts: ThreadFacts, follow_ups: FollowUps) -> bool:
    if not facts.is_begun or message.mentions:
        return False
    if follow_ups is not FollowUps.AUTO:
        return follow_ups is FollowUps.ALWAYS
    if not facts.speakers - {message.author}:
        return True
    return facts.previous_speaker is Speaker.US and facts.previous_asker == message.author


def _wanted_by_app(
    message: Message, us: Us, facts: ThreadFacts | None, policy: Policy
) -> Wanted | None:
    """Only an app that is let ask, and only if that very message mentions us."""
    is_allowed = bool(policy.apps & {message.author, message.app_id})
    if not is_allowed or not policy.has_channel(message.thread.channel):
        return None
    if us.user_id not in message.mentions:
        return None
    if facts is None or facts.app_asks < MOST_APP_ASKS:
        return Wanted(Kind.ASK)
    return None if facts.is_limit_told else Wanted(Kind.APP_LIMIT)
