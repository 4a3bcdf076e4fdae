"""What a reply shows: its parts, what stands below them, and files, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Style(Enum):
    """How a part is shown: as a Markdown block, or as plain text where Slack refused the block."""

    MARKDOWN = "markdown"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a part begins in the answer's text, and what must be opened again there."""

    offset: int = 0
    reopen: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """What one part shows, rendered and safe; `end` is None when the text ends in it."""

    body: str
    end: Cut | None


@dataclass(frozen=True, slots=True)
class CodeFile:
    """Code that goes into the thread as a file; `number` counts those of a reply from 1.

    `stem` begins its name and `title` is what it is called, where they say more than its number.
    """

    number: int
    language: str
    code: str
    stem: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """A message with files in a thread; the names tell whose they are and what is in them."""

    ts: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Folded:
    """A text as the reply shows it, with only the beginning of its long code.

    What is behind `firm` may be hidden again while the text grows; None: nothing will be. `count`
    says how much code there is so far where the text is shown only up to there. `folds` counts the
    blocks that are folded, and `files` has all of each once the text has ended.
    """

    text: str
    firm: int | None = None
    count: str = ""
    folds: int = 0
    files: tuple[CodeFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody is asked who has pressed a button, before that counts; `yes` and `no` are what
    can be answered."""

    title: str
    text: str
    yes: str
    no: str


@dataclass(frozen=True, slots=True)
class Button:
    """Something to press below a reply; `value` comes back with the press."""

    action: str
    label: str
    value: str
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class Menu:
    """Several things of which one is chosen below a reply: each has a label, and a value that comes
    back when it is chosen."""

    action: str
    label: str
    choices: tuple[tuple[str, str], ...]


Handle = Button | Menu
"""What can be pressed below a reply."""


@dataclass(frozen=True, slots=True)
class View:
    """What one Slack message of a reply shows: the body, our own note below it, and the handles."""

    body: str = ""
    note: str = ""
    handles: tuple[Handle, ...] = ()
    style: Style = Style.MARKDOWN
