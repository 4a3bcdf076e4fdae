"""What the model said in one object, checked and, where its meaning is plain, put right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Annotated, Any, Self

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from kimibot.review.changes import Side
from kimibot.unseen import without_unseen

LONGEST_TITLE = 200
LONGEST_TEXT = 2_000
LONGEST_CODE = 4_000


class Severity(IntEnum):
    """How much a finding matters; the lowest number comes first."""

    CRITICAL = 0
    MAJOR = 1
    MINOR = 2
    NIT = 3


_SEVERITIES = {
    Severity.CRITICAL: "critical blocker blocking severe p0 error security",
    Severity.MAJOR: "major high important p1 warning bug",
    Severity.MINOR: "minor medium moderate low p2 suggestion info",
    Severity.NIT: "nit nitpick style trivial cosmetic p3 typo",
}
_BY_WORD = {word: severity for severity, words in _SEVERITIES.items() for word in words.split()}
_OLD_SIDES = ("old", "left", "removed", "deleted", "before")
_NUMBER = re.compile(r"\d{1,9}")
_PATH_AND_LINE = re.compile(r"(.+?):(\d{1,9})(?:-\d+)?")
_COPIED_NUMBER = re.compile(r"^ {0,6}\d{1,9} [ +-] ", re.MULTILINE)
_FENCED = re.compile(r"\s*```[^\n]*\n(.*?)\n?```\s*", re.DOTALL)
_CARRIAGE_RETURNS = re.compile(r"\r+(?=\n|\Z)")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s")


def _text(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    return "" if value is None else str(value)


def _number(value: object) -> int:
    """The first number of `12`, `"L12"`, `"12-15"` or `[12, 15]`; 0 is none."""
    found = _NUMBER.search(_text(value))
    return int(found[0]) if found else 0


def _severity(value: object) -> Severity:
    words = re.findall(r"\w+", _text(value).lower())
    return next((_BY_WORD[word] for word in words if word in _BY_WORD), Severity.MINOR)


def _side(value: object) -> Side:
    return Side.OLD if _text(value).strip().lower() in _OLD_SIDES else Side.NEW


def _one_line(value: object) -> str:
    return " ".join(_text(value).split())[:LONGEST_TITLE]


def _title(value: object) -> str:
    return without_unseen(_one_line(value))


def _prose(value: object) -> str:
    return without_unseen(_text(value)).strip()[:LONGEST_TEXT]


def _quote(value: object) -> str:
    """A model copies the number and the sign with the line now and then."""
    return _COPIED_NUMBER.sub("", _bare_code(value))[:LONGEST_TEXT]


def _bare_code(value: object) -> str:
    """How its lines end is the file's to say."""
    text = _CARRIAGE_RETURNS.sub("", _text(value))
    fenced = _FENCED.fullmatch(text)
    text = fenced[1] if fenced else text
    return text.strip("\n") if len(text) <= LONGEST_CODE else ""


class FindingLine(BaseModel):
    """A finding as the model says it: nothing of it has been held against the code yet.

    `line` is 0 where none was named.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    path: Annotated[str, BeforeValidator(_one_line)] = Field(
        "", validation_alias=AliasChoices("path", "file", "filename")
    )
    line: Annotated[int, BeforeValidator(_number)] = Field(
        0, validation_alias=AliasChoices("line", "start_line", "lines", "line_number")
    )
    side: Annotated[Side, BeforeValidator(_side)] = Side.NEW
    quote: Annotated[str, BeforeValidator(_quote)] = Field(
        "", validation_alias=AliasChoices("quote", "quoted_line", "code", "snippet")
    )
    severity: Annotated[Severity, BeforeValidator(_severity)] = Severity.MINOR
    title: Annotated[str, BeforeValidator(_title)] = Field(
        "", validation_alias=AliasChoices("title", "problem", "summary", "issue")
    )
    why: Annotated[str, BeforeValidator(_prose)] = Field(
        "", validation_alias=AliasChoices("why", "explanation", "description", "details", "body",
                                          "message", "comment"))  # fmt: skip
    suggestion: Annotated[str, BeforeValidator(_bare_code)] = Field(
        "", validation_alias=AliasChoices("suggestion", "suggested_change", "fix")
    )

    @model_validator(mode="after")
    def _has_words(self) -> Self:
        if not (self.title or self.why):
            raise ValueError("says nothing")
        if not (self.path or self.quote):
            raise ValueError("is about nothing")
        return self

    @property
    def headline(self) -> str:
        """What is wrong, in one line."""
        return self.title or _SENTENCE.split(" ".join(self.why.split()))[0][:LONGEST_TITLE]


def read_verdict(found: Mapping[str, Any]) -> str:
    """The last word of a review; "" where the object is something else."""
    is_finding = any(key in found for key in ("path", "file", "filename", "quote", "line"))
    return "" if is_finding else _prose(found.get("verdict", found.get("summary")))


def read_judgement(found: Mapping[str, Any]) -> tuple[int, bool] | None:
    """The number of an earlier finding, and whether it is fixed; None for any other object."""
    number = _number(found.get("earlier"))
    state = _text(found.get("state")).strip().lower()
    if not number or state not in ("fixed", "open"):
        return None
    return number, state == "fixed"


def read_finding(found: Mapping[str, Any]) -> FindingLine | None:
    """The finding in an object; None where it is none that could be used."""
    try:
        return FindingLine.model_validate(_with_line(found))
    except ValidationError:
        return None


def _with_line(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """A path may have come together with its line."""
    path = found.get("path", found.get("file", ""))
    parts = _PATH_AND_LINE.fullmatch(path) if isinstance(path, str) else None
    if parts is None:
        return found
    return {"line": parts[2], **found, "path": parts[1]}
