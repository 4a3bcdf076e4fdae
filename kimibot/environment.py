"""What is set: the process's environment above the file `.env`."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dotenv.parser import Binding, parse_stream

from kimibot.errors import BadSettings


def merged(env: Mapping[str, str], dotenv_path: Path | None) -> dict[str, str]:
    """Values by name, without blanks around them; an empty one counts as none, wherever it stands.

    The file need not be there. Raises BadSettings when it can't be read, and with a line for each
    of its lines that sets nothing.
    """
    file = _file(dotenv_path) if dotenv_path else {}
    values = {name: value.strip() for name, value in (file | dict(env)).items()}
    return {name: value for name, value in values.items() if value}


def text_of_file(path: Path) -> str:
    """What the file holds. Raises ValueError that tells why it can't be read."""
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors begin with a mark
    except OSError as error:
        raise ValueError(f"can't be read: {error.strerror or 'unknown'}") from error
    except UnicodeDecodeError as error:
        raise ValueError("can't be read: it is not UTF-8") from error


def _file(path: Path) -> dict[str, str]:
    """Without interpolation: a `$` in a password is just that."""
    if not path.exists():
        return {}
    try:
        bindings = list(parse_stream(io.StringIO(text_of_file(path))))
    except ValueError as error:
        raise BadSettings([f"{path} {error}"]) from None
    if numbers := list(_bad_lines(bindings)):
        raise BadSettings([f"{path} line {number}: expected NAME=value" for number in numbers])
    return {one.key: one.value or "" for one in bindings if one.key is not None}


def _bad_lines(bindings: Sequence[Binding]) -> Iterator[int]:
    """Counted from 1. Blank lines before a statement belong to it."""
    for binding in bindings:
        if binding.error or (binding.key is not None and binding.value is None):
            statement = binding.original.string
            blank = statement[: len(statement) - len(statement.lstrip())]
            yield binding.original.line + blank.count("\n")
