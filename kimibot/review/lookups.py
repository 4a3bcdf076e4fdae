"""Pure: the tools with which Kimi looks at more than a diff, and what it asks of them."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from kimibot.answers import Tool, ToolCall
from kimibot.review.changes import Side
from kimibot.review.secrecy import may_hold_keys

LONGEST_PATH = 500
LONGEST_FAULT = 200
_FOLDER_SIGNS = ("", ".", "/", "./")
_VERSION = {
    "type": "string",
    "enum": ["head", "base"],
    "description": "head is how it is after the change, base how it was before.",
}
_PATH = {"type": "string", "description": "From the root of the repository, such as src/a.py."}
_LINE = {"type": "integer", "minimum": 1}

READ_FILE = Tool(
    "read_file",
    "Reads a file of the repository under review, with the numbers of its lines. Long files come "
    "in parts: name the lines that you need.",
    {
        "type": "object",
        "properties": {
            "path": _PATH,
            "version": _VERSION,
            "first_line": _LINE,
            "last_line": _LINE,
        },
        "required": ["path", "version"],
    },
)
LIST_FILES = Tool(
    "list_files",
    "Lists what is in one folder of the repository under review.",
    {
        "type": "object",
        "properties": {
            "folder": {"type": "string", "description": "Such as src, or . for the root."},
            "version": _VERSION,
        },
        "required": ["folder", "version"],
    },
)
TOOLS = (READ_FILE, LIST_FILES)


class BadCall(Exception):
    """What the model asks for can't be done; the text tells it why, and what was expected."""


class _Lookup(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal["head", "base"] = "head"

    @property
    def side(self) -> Side:
        return Side.NEW if self.version == "head" else Side.OLD


class ReadFile(_Lookup):
    """A file, or these of its lines."""

    path: str = Field(max_length=LONGEST_PATH)
    first_line: int | None = Field(default=None, ge=1)
    last_line: int | None = Field(default=None, ge=1)

    @field_validator("path")
    @classmethod
    def _is_within(cls, path: str) -> str:
        return _within(path)

    @property
    def target(self) -> str:
        return self.path

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class ListFiles(_Lookup):
    """A folder; "" is the root."""

    folder: str = Field(max_length=LONGEST_PATH)

    @field_validator("folder")
    @classmethod
    def _is_within(cls, folder: str) -> str:
        return "" if folder in _FOLDER_SIGNS else _within(folder.removesuffix("/"))

    @property
    def target(self) -> str:
        return self.folder or "."


Lookup = ReadFile | ListFiles
_LOOKUPS: dict[str, type[ReadFile] | type[ListFiles]] = {
    READ_FILE.name: ReadFile,
    LIST_FILES.name: ListFiles,
}


def read_call(call: ToolCall) -> Lookup:
    """What a call asks for. Raises BadCall for what is not to be had, before anything is asked."""
    kind = _LOOKUPS.get(call.name)
    if kind is None:
        names = " and ".join(_LOOKUPS)
        raise BadCall(f"There is no such tool. There are {names}.")
    try:
        lookup = kind.model_validate(_arguments(call))
    except ValidationError as error:
        raise BadCall(_complaint(call.name, error)) from None
    if may_hold_keys(lookup.target):
        raise BadCall("This is never read, since it may hold keys. Go on without it.")
    return lookup


def _arguments(call: ToolCall) -> object:
    try:
        return json.loads(call.arguments)
    except (ValueError, RecursionError):
        raise BadCall(f"The arguments are no JSON. {_expected(call.name)}") from None


def _within(path: str) -> str:
    """A path that leads nowhere else. Raises ValueError."""
    bare = path.removeprefix("./")
    parts = bare.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\\" in bare or not bare.isprintable():
        raise ValueError("must be a path from the root of the repository, without .. in it")
    return bare


def _complaint(name: str, error: ValidationError) -> str:
    """Without the values, and little of the names: what stands in them may be anything."""
    faults = [f"{'.'.join(map(str, one['loc'])) or 'all'}: {one['msg']}" for one in error.errors()]
    told = "; ".join(fault[-LONGEST_FAULT:] for fault in faults[:5])
    return f"The arguments do not fit: {told}. {_expected(name)}"


def _expected(name: str) -> str:
    example = (
        {"path": "src/a.py", "version": "head", "first_line": 1, "last_line": 80}
        if name == READ_FILE.name
        else {"folder": "src", "version": "head"}
    )
    return f"Expected is an object such as {json.dumps(example)}."
