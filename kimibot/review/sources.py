"""Pure: which messages of a thread hold what somebody wants to have reviewed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kimibot.attachments import Attachment
from kimibot.conversation import Remembered, Speaker
from kimibot.review import pasted
from kimibot.review.addresses import Address, Foreign, find
from kimibot.review.fences import split
from kimibot.review.material import Material
from kimibot.review.prompts import Subject

MOST_MESSAGES = 10
"""So many messages in a row may hold one long diff."""

_PERSON = re.compile(r"<@[UW][A-Z0-9]{2,20}>")


@dataclass(frozen=True, slots=True)
class Source:
    """Where something to review is named: changes on a GitHub, code in messages, or both."""

    addresses: tuple[Address, ...] = ()
    foreign: tuple[Foreign, ...] = ()
    code: pasted.Pasted | None = None

    def material(self, words: str) -> Material | None:
        """The code in the messages; None where there is none."""
        return Material(self.code.files, Subject(words=words)) if self.code else None


def words_of(message: Remembered) -> str:
    """What a message says beside its code, without the names of those it is said to."""
    words, _ = split(message.text)
    return " ".join(_PERSON.sub(" ", words).split())


def find_source(
    remembered: Sequence[Remembered],
    ask_ts: str,
    api_url: str,
    files_of: Mapping[int, Sequence[Attachment]],
) -> Source | None:
    """What the ask itself holds, else what the newest message before it holds that has anything.

    An answer of ours that is asked about stands for nothing before it, and no other one is looked
    at. Messages in a row of one person belong together: a long diff takes several.
    """
    ours = [one for one in remembered if one.speaker is Speaker.US and one.ts == ask_ts]
    said = ours or [one for one in remembered if one.speaker is not Speaker.US]
    said = sorted((one for one in said if float(one.ts) <= float(ask_ts)), key=_when, reverse=True)
    for number, message in enumerate(said):
        source = _source([message], api_url, files_of)
        if source is None:
            continue
        if message.ts == ask_ts or source.addresses:
            return source
        return _source(_row(said[number:], files_of), api_url, files_of)
    return None


def _when(message: Remembered) -> float:
    return float(message.ts)


def _row(
    newest_first: Sequence[Remembered], files_of: Mapping[int, Sequence[Attachment]]
) -> list[Remembered]:
    """The messages with code that one person has said right after each other, in their order."""
    row: list[Remembered] = []
    for message in newest_first[:MOST_MESSAGES]:
        is_same = message.author == newest_first[0].author
        if not is_same or not _code([message], files_of).files:
            break
        row.append(message)
    return row[::-1]


def _source(
    messages: Sequence[Remembered], api_url: str, files_of: Mapping[int, Sequence[Attachment]]
) -> Source | None:
    named = [one for message in messages for one in find(split(message.text)[0], api_url)]
    code = _code(messages, files_of)
    if not named and not code.files:
        return None
    return Source(
        addresses=tuple(one for one in named if isinstance(one, Address)),
        foreign=tuple(one for one in named if isinstance(one, Foreign)),
        code=code if code.files else None,
    )


def _code(
    messages: Sequence[Remembered], files_of: Mapping[int, Sequence[Attachment]]
) -> pasted.Pasted:
    attached = [
        pasted.Attached(one.file.name or pasted.SNIPPET, one.contents.text.encode())
        for message in messages
        for one in files_of.get(message.id, ())
        if one.contents is not None and one.contents.text is not None
    ]
    return pasted.read([message.text for message in messages], attached)
