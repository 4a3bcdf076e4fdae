"""Reads the channel as a person would, and says what is wrong with it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kimibot import texts
from tests.chaos.script import answer_to
from tests.whole_way.scene import Fields, body, button, note

_PASSING_WORDS = ("Thinking", "retrying", "continuing shortly")
_BREAK = "\u200b"


@dataclass(frozen=True, slots=True)
class Ask:
    """What a person asked; `name` tells what the model says to it."""

    ts: str
    name: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A row of the bot's turns."""

    id: str
    ts: str
    state: str
    outcome: str
    merged_into: str
    reply_ts: tuple[str, ...]


def complaints(asks: Sequence[Ask], turns: Sequence[Turn], messages: Sequence[Fields]) -> list[str]:
    """What is wrong with a channel that is at rest: nothing, if the bot keeps its promises.

    Each ask has one reply that holds all that the model says to it, or its beginning and one
    text about a failure; or it has none and was answered with another. The rows say the same.
    """
    replies = _replies(messages)
    known = {turn.id for turn in turns}
    return [
        *(f"{id_!r} is no turn, but has a reply" for id_ in replies if id_ not in known),
        *_about_passing_words(messages),
        *_about_notices(messages),
        *(f"{ask.name}: {fault}" for ask in asks for fault in _about(ask, asks, turns, replies)),
    ]


def _replies(messages: Sequence[Fields]) -> dict[str, list[Fields]]:
    """The bot's messages, oldest first, by the turn that they say they belong to."""
    replies: dict[str, list[Fields]] = {}
    for message in sorted(messages, key=lambda message: str(message["ts"])):
        if message.get("bot_id") and not _is_notice(message):
            replies.setdefault(_turn_of(message), []).append(message)
    return replies


def _about_notices(messages: Sequence[Fields]) -> Iterator[str]:
    """Who has waited long is told that it is done: at most once."""
    told = Counter(_turn_of(message) for message in messages if _is_notice(message))
    yield from (f"{turn}: told {times} times" for turn, times in told.items() if times > 1)


def _turn_of(message: Fields) -> str:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    return str(payload.get("turn", ""))


def _is_notice(message: Fields) -> bool:
    return (message.get("metadata") or {}).get("event_type") == "kimibot_notice"


def _about_passing_words(messages: Sequence[Fields]) -> Iterator[str]:
    for message in messages:
        said = f"{note(message)}\n{message.get('text', '')}" if message.get("bot_id") else ""
        if any(words in said for words in _PASSING_WORDS):
            yield f"a message still says {said.strip()!r}"


def _about(
    ask: Ask,
    asks: Sequence[Ask],
    turns: Sequence[Turn],
    replies: Mapping[str, Sequence[Fields]],
) -> Iterator[str]:
    turn = next((turn for turn in turns if turn.ts == ask.ts), None)
    if turn is None:
        yield "it has no turn"
        return
    reply = replies.get(turn.id, [])
    if turn.outcome == "merged":
        yield from _about_merged(turn, turns, reply)
    elif turn.outcome not in ("answered", "failed"):
        yield f"its turn is {turn.state} {turn.outcome}"
    else:
        ts_of_answered = {t.ts for t in turns if turn.id in (t.id, t.merged_into)}
        names = [other.name for other in asks if other.ts in ts_of_answered]
        yield from _about_reply(turn, reply)
        yield from _about_text(turn, reply, names)


def _about_merged(turn: Turn, turns: Sequence[Turn], reply: Sequence[Fields]) -> Iterator[str]:
    into = next((other for other in turns if other.id == turn.merged_into), None)
    if into is None or into.outcome not in ("answered", "failed"):
        yield f"it is merged into {into}"
    if reply:
        yield "it is merged, and has a reply of its own"


def _about_reply(turn: Turn, reply: Sequence[Fields]) -> Iterator[str]:
    """Its messages as the row has them, and below the last one our words if it has failed."""
    if not reply:
        yield "it has no reply"
        return
    if tuple(part["ts"] for part in reply) != turn.reply_ts:
        yield f"its reply is {[part['ts'] for part in reply]}, its row says {turn.reply_ts}"
    *earlier, last = reply
    if any(note(part) or button(part) for part in earlier):
        yield f"a part that is not the last says {[note(part) for part in earlier]}"
    if turn.outcome == "failed" and not note(last):
        yield "it has failed, and the reply does not say so"
    if turn.outcome == "failed" and button(last) not in ("", texts.TRY_AGAIN):
        yield f"it has failed, and has a button for {button(last)!r}"
    if turn.outcome == "answered" and button(last):
        yield "it is answered, and has a button"
    if turn.outcome == "answered" and note(last) not in ("", texts.HISTORY_UNREAD):
        yield f"it is answered, and the reply says {note(last)!r}"


def _about_text(turn: Turn, reply: Sequence[Fields], names: Sequence[str]) -> Iterator[str]:
    shown = _bare("\n".join(body(part) for part in reply))
    wanted = [_bare(answer_to(name)) for name in names]
    if turn.outcome == "answered" and shown not in wanted:
        lengths = [len(text) for text in wanted]
        yield f"it shows {len(shown)} letters, its answer has {lengths}: …{shown[-80:]!r}"
    if turn.outcome == "failed" and not any(text.startswith(shown) for text in wanted):
        yield f"it shows {shown[:80]!r}…, which is not the beginning of its answer"


def _bare(text: str) -> str:
    """The text without spaces, and without the fences that open and close within a cut block."""
    lines = [line for line in text.split("\n") if not line.startswith("```")]
    return "".join("".join(lines).replace(_BREAK, "").split())
