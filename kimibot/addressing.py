"""Pure: is this message for us? Mention, direct message, or a follow-up in a thread of ours."""

from __future__ import annotations

from enum import StrEnum

from kimibot.conversation import Message, Speaker, ThreadFacts, Us


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
