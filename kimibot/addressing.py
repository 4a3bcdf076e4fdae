"""Pure: is this message for us? Mention, direct message, follow-up, or the word that stops us."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum

from kimibot.conversation import Message, Speaker, ThreadFacts, Us

STOP_WORDS = frozenset({"stop", "stopp", "停止"})

_LONGEST_STOP = 80
_EMOJI = re.compile(r":[a-z0-9_+'-]{1,40}:")
_EDGES = re.compile(r"^(?:[^\w>`]|_)+|(?:[^\w`]|_)+$")
"""What may stand around the word; not the signs of a quote and of code, which say it of others."""


class FollowUps(StrEnum):
    """When a message in a thread of ours is for us although it does not mention us."""

    AUTO = "auto"
    ALWAYS = "always"
    MENTION = "mention"


def is_for_us(message: Message, us: Us) -> bool:
    """Whether the message is an ask wherever it stands: a person mentions us or writes to us."""
    if message.speaker is not Speaker.PERSON:
        return False
    return message.is_direct or us.user_id in message.mentions


def is_follow_up(message: Message, facts: ThreadFacts, follow_ups: FollowUps) -> bool:
    """Whether a message that does not mention us is an ask, in a thread of ours."""
    if message.speaker is not Speaker.PERSON or not facts.is_begun:
        return False
    if facts.muted or message.mentions:
        return False
    if follow_ups is not FollowUps.AUTO:
        return follow_ups is FollowUps.ALWAYS
    if not facts.speakers - {message.author}:
        return True
    return facts.previous_speaker is Speaker.US and facts.previous_asker == message.author


def is_stop(message: Message, us: Us) -> bool:
    """Whether a person says nothing but "stop": case, punctuation, emoji and our name aside."""
    if message.speaker is not Speaker.PERSON or len(message.text) > _LONGEST_STOP:
        return False
    words = message.text.replace(f"<@{us.user_id}>", " ")
    words = unicodedata.normalize("NFKC", _EMOJI.sub(" ", words)).casefold()
    return _EDGES.sub("", words) in STOP_WORDS
