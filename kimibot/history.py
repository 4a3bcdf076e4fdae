"""Pure: what the model gets to read, in which order, within which budget.

A message gets its place and its exact content when it is first sent, and keeps both: the beginning
of every later request is then the same, byte for byte, and the endpoint's prefix cache holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from kimibot.answers import CUT_OFF, REASONING_FIELDS, ChatMessage
from kimibot.conversation import Placed, Remembered, Speaker
from kimibot.emails import without_addresses
from kimibot.estimating import tokens
from kimibot.framing import framed, is_shortened, one_line, shares
from kimibot.picturing import (
    bytes_of,
    joined,
    newest_pictures,
    tokens_of,
    with_pictures,
)
from kimibot.trimming import left_out

MISSING = "[Some messages of this thread could not be read: they are missing here.]"
LEFT_OUT = "[The older part of this thread is left out here.]"
ASKED_ON = "[Somebody asked to hear more about that.]"
"""Between two answers: what a button asked for is no message of the thread."""

MOST_BYTES = 2 * 1024 * 1024 - 64 * 1024
"""Some endpoints refuse a request of more than 2 MiB; the rest is for what is around messages."""

FILES_SHARE = 0.5
"""How much of the budget the files that are read at once may take, all together."""

_PERSON = re.compile(r"<@([UW][A-Z0-9]{2,20})>")
_CHANNEL = re.compile(r"<#([CG][A-Z0-9]{2,20})>")


@dataclass(frozen=True, slots=True)
class Reading:
    """What is sent to the model, and which places that gives to messages and to the answer.

    `left_out` messages did not fit; `excess_tokens` is what the last message alone is too long by.
    """

    messages: tuple[ChatMessage, ...]
    placed: tuple[Placed, ...]
    answer_place: int
    left_out: int = 0
    excess_tokens: int = 0
    shortened: tuple[str, ...] = ()
    """The names of files of which the model reads only the beginning."""


def read(
    system: str,
    remembered: Sequence[Remembered],
    *,
    budget_tokens: int,
    name_of: Callable[[str], str],
    with_reasoning: bool = True,
    with_images: bool = True,
    with_steps: bool = True,
    open_ts: Collection[str] = (),
    replaced_ts: Collection[str] = (),
    instruction: str = "",
    is_missing_some: bool = False,
) -> Reading:
    """The request's messages: the system prompt, then the thread as far as the budget goes.

    `remembered` is in the order in which it is to be read. `with_reasoning` is False when the
    provider or the model has changed: earlier reasoning belongs to another model. `open_ts` are
    the asks to answer, `replaced_ts` the parts of the reply that the answer will take the place
    of: what an earlier attempt has said there is not read. `instruction` is ours, for this
    request alone, so it comes last. With `is_missing_some` the model is told so, right before
    what is new to it.
    """
    remembered = _with_open_asks_last(
        [message for message in remembered if not _is_replaced(message, replaced_ts)], open_ts
    )
    fresh = [one for message in remembered if _is_fresh(message) for one in message.attachments]
    shown = shares(fresh, round(budget_tokens * FILES_SHARE))
    placed = _place(remembered, name_of, shown, MISSING if is_missing_some else "")
    contents = {one.message_id: one.sent for one in placed}
    remembered = remembered if with_steps else [replace(one, steps=()) for one in remembered]
    chats = [
        chat
        for message in remembered
        for chat in _chat_messages(message, contents.get(message.id), with_reasoning, with_images)
    ]
    chats = newest_pictures(_without_open_calls(chats))
    for_thread_tokens = budget_tokens - tokens(system) - tokens(instruction)
    kept = _newest_within(for_thread_tokens, chats, tokens_of)
    kept = _newest_within(MOST_BYTES, kept, bytes_of)
    left_out = len(chats) - len(kept)
    next_place = max([one.place for one in placed] + [m.place or 0 for m in remembered] + [0]) + 1
    return Reading(
        messages=_request(system, LEFT_OUT if left_out else "", kept, instruction),
        placed=tuple(placed),
        answer_place=next_place,
        left_out=left_out,
        excess_tokens=max(0, tokens_of(chats[-1]) - for_thread_tokens) if chats else 0,
        shortened=tuple(one_line(one.file.name) for one in fresh if is_shortened(one, shown)),
    )


def named_in(remembered: Sequence[Remembered]) -> frozenset[str]:
    """The ids of all who speak or are spoken of, and of channels: `read` needs their names."""
    unsent = [message for message in remembered if message.sent is None and message.raw is None]
    found = {message.author for message in unsent if message.author}
    for message in unsent:
        found.update(_PERSON.findall(message.text), _CHANNEL.findall(message.text))
    return frozenset(found)


def said_by(message: Remembered, name_of: Callable[[str], str]) -> str:
    """A message as the model reads it: who said it, when, and what."""
    name = _one_line(name_of(message.author))
    kind = " (app)" if message.speaker is Speaker.APP else ""
    text = _PERSON.sub(lambda found: "@" + _one_line(name_of(found[1])), message.text)
    text = _CHANNEL.sub(lambda found: "#" + _one_line(name_of(found[1])), text)
    return without_addresses(f"{name}{kind}, {_when(message.ts)}: {text}")


def _request(
    system: str, before: str, chats: Sequence[ChatMessage], instruction: str
) -> tuple[ChatMessage, ...]:
    """The thread between our own words; those that are "" are left out."""
    first, last = ([_ours(words)] if words else [] for words in (before, instruction))
    return ({"role": "system", "content": system}, *_merged([*first, *chats, *last]))


def _ours(words: str) -> ChatMessage:
    return {"role": "user", "content": words}


def _place(
    remembered: Sequence[Remembered],
    name_of: Callable[[str], str],
    shown: Mapping[int, int],
    before_new: str,
) -> list[Placed]:
    """Places for what was never sent, after all that was; what was edited keeps its own."""
    next_place = max((message.place or 0 for message in remembered), default=0) + 1
    placed: list[Placed] = []
    for message in remembered:
        if message.speaker is Speaker.US or None not in (message.place, message.sent):
            continue
        said = _with_files(said_by(message, name_of), message, shown)
        sent = message.sent or without_addresses(said)
        place = next_place if message.place is None else message.place
        if before_new and message.place is None:
            sent, before_new = f"{before_new}\n\n{sent}", ""
        next_place += message.place is None
        placed.append(Placed(message.id, place, sent, message.text))
    return placed


def _is_fresh(message: Remembered) -> bool:
    """Never sent, or not as it is now: its content is still to be made."""
    return message.sent is None and message.speaker is not Speaker.US


def _with_files(text: str, message: Remembered, shown: Mapping[int, int]) -> str:
    files = framed(message.attachments, shown)
    return f"{text.rstrip()}\n\n{files}" if files else text


def _when(ts: str) -> str:
    """Slack's ts is the time in seconds; the day is named, since models can't tell it."""
    try:
        said_at = datetime.fromtimestamp(float(ts), UTC)
    except (ValueError, OverflowError, OSError):
        return "at an unknown time"
    return f"{said_at:%a %Y-%m-%d %H:%M} UTC"


def _one_line(name: str) -> str:
    """A name is somebody's text: it must not look like a line of the conversation."""
    return " ".join(name.replace(":", " ").split())[:60] or "somebody"


def _chat_messages(
    message: Remembered, sent: str | None, with_reasoning: bool, with_images: bool
) -> Sequence[ChatMessage]:
    """One, after the steps that led to it: these go back as they were, or not at all.

    A call of a tool without its reasoning is refused where reasoning is expected.
    """
    if message.speaker is not Speaker.US:
        text = sent or message.sent or message.text
        pictures = message.attachments if with_images else ()
        return [{"role": "user", "content": with_pictures(text, pictures)}]
    raw = dict(message.raw or {"role": "assistant", "content": message.text})
    if message.finish_reason in (None, "length", "content_filter"):
        return [{"role": "assistant", "content": f"{raw.get('content') or ''}\n{CUT_OFF}".strip()}]
    if with_reasoning:
        return [*message.steps, raw]
    return [{key: value for key, value in raw.items() if key not in REASONING_FIELDS}]


def _is_replaced(message: Remembered, replaced_ts: Collection[str]) -> bool:
    return message.speaker is Speaker.US and message.ts in replaced_ts


def _with_open_asks_last(
    remembered: Sequence[Remembered], open_ts: Collection[str]
) -> list[Remembered]:
    """An ask that is tried again after others were answered must be what the request ends with."""
    others = [message for message in remembered if message.ts not in open_ts]
    last_place = max((message.place or 0 for message in others), default=0)
    late = [m for m in remembered if m.ts in open_ts and m.place and m.place < last_place]
    return [m for m in remembered if m not in late] + [replace(m, place=None) for m in late]


def _without_open_calls(said: Sequence[ChatMessage]) -> list[ChatMessage]:
    """A tool call without its result is refused: it is left out, and what is then empty as well."""
    kept: list[ChatMessage] = []
    following_ones: list[ChatMessage | None] = [*said[1:], None]
    for message, following in zip(said, following_ones, strict=False):
        is_answered = following is not None and following["role"] == "tool"
        if "tool_calls" in message and not is_answered:
            message = {key: value for key, value in message.items() if key != "tool_calls"}
        if message["role"] != "assistant" or message.get("content") or is_answered:
            kept.append(message)
    return kept


def _newest_within(
    budget: int, said: Sequence[ChatMessage], size_of: Callable[[ChatMessage], int]
) -> Sequence[ChatMessage]:
    """Leave out the oldest in whole steps until the rest fits; the newest always stays."""
    first = left_out([size_of(message) for message in said], budget)
    while first < len(said) - 1 and said[first]["role"] == "tool":
        first += 1
    return said[first:]


def _merged(said: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Some endpoints want the roles to alternate: neighbouring messages of people become one."""
    merged: list[ChatMessage] = []
    for message in said:
        if message["role"] == "user" and merged and merged[-1]["role"] == "user":
            merged[-1] = _joined(merged[-1], message)
        elif message["role"] == "assistant" and merged and _is_cut_off(merged[-1]):
            merged[-1] = _continued(merged[-1], message)
        elif message["role"] == "assistant" and merged and _is_answer(merged[-1]):
            merged += [_ours(ASKED_ON), message]
        else:
            merged.append(message)
    return merged


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> ChatMessage:
    return {"role": "user", "content": joined(first["content"], second["content"])}


def _is_cut_off(message: ChatMessage) -> bool:
    return message["role"] == "assistant" and str(message.get("content")).endswith(CUT_OFF)


def _is_answer(message: ChatMessage) -> bool:
    return message["role"] == "assistant" and "tool_calls" not in message


def _continued(cut: ChatMessage, rest: ChatMessage) -> ChatMessage:
    """An answer that was cut off and what it was continued with are one."""
    beginning = str(cut["content"]).removesuffix(CUT_OFF).removesuffix("\n")
    return {**rest, "content": f"{beginning}{rest.get('content') or ''}"}
