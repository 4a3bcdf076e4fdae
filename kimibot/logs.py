"""What a log line looks like, and what must never be in one."""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TextIO
from urllib.parse import quote

from kimibot.errors import KimibotError

Level = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
Format = Literal["text", "json"]


def configure(
    level: Level = "INFO",
    fmt: Format = "text",
    secrets: Sequence[str] = (),
    stream: TextIO | None = None,
) -> None:
    """Send every record of the process to `stream` (stderr), without tokens, keys and `secrets`.

    Our own loggers speak from `level` on, all others from WARNING: a library's INFO line may
    hold what people wrote. Fields given as `extra` follow the message as `key=value`, without
    those that are None. Below DEBUG an exception of somebody else's is shown by its class and place
    alone, since its words may hold what people wrote too.
    """
    redact = Redaction(secrets)
    words = level == "DEBUG"
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(redact, words) if fmt == "json" else TextLines(redact, words))
    logging.basicConfig(handlers=[handler], level=_at_least_warning(level), force=True)
    logging.getLogger("kimibot").setLevel(level)
    # It quotes damaged files in its warnings, which are what people wrote.
    logging.getLogger("pypdf").setLevel("DEBUG" if level == "DEBUG" else "CRITICAL")


class Redaction:
    """Takes tokens, keys and the given secrets out of a text."""

    _SHORTEST_SECRET = 8
    """A shorter one would take ordinary words out of the lines."""

    _TOKENS = re.compile(
        r"\b(?:xox[a-z]|xoxe\.xox[a-z]|xapp)-[\w.-]+"
        r"|\b(?:sk-|gh[pousr]_|github_pat_)[\w-]{8,}"
        r"|(?<=\bbearer )[\w.~+/=-]+"
        r"|(?<=[?&]ticket=)[^&\s\"']+"
        r"|(?<=://)[^/@:\s\"']*:[^/@\s\"']*(?=@)",
        re.IGNORECASE,
    )

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        long_enough = [secret for secret in secrets if len(secret) >= self._SHORTEST_SECRET]
        known = {spelling for secret in long_enough for spelling in _spellings(secret)}
        longest_first = sorted(known, key=len, reverse=True)
        self._secrets = re.compile("|".join(map(re.escape, longest_first))) if known else None

    def __call__(self, text: str) -> str:
        if self._secrets is not None:
            text = self._secrets.sub("[redacted]", text)
        return self._TOKENS.sub("[redacted]", text)


class _Lines(logging.Formatter):
    """What both formats share: the parts of a record, redacted."""

    def __init__(self, redact: Redaction, words_of_exceptions: bool) -> None:
        super().__init__()
        self._redact = redact
        self._words = words_of_exceptions

    def _message(self, record: logging.LogRecord) -> str:
        try:
            return self._redact(record.getMessage())
        except (TypeError, ValueError, KeyError):  # arguments that do not fit the message
            return self._redact(str(record.msg))

    def _fields(self, record: logging.LogRecord) -> Iterator[tuple[str, Any]]:
        for name, value in vars(record).items():
            if name not in _STANDARD_FIELDS and value is not None:
                is_plain = isinstance(value, int | float)
                yield name, value if is_plain else self._redact(str(value))

    def _exception(self, record: logging.LogRecord) -> list[str]:
        if not record.exc_info or record.exc_info[1] is None:
            return []
        lines = _exception_lines(record.exc_info[1], self._words, seen=set())
        return [self._redact(line) for line in lines]


class TextLines(_Lines):
    """`time LEVEL logger: message key=value`; a traceback follows on indented lines."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={_quoted(value)}" for name, value in self._fields(record))
        head = f"{_time(record)} {record.levelname} {record.name}: "
        first = head + _one_line(self._message(record)) + fields
        return "\n    ".join([first, *map(_one_line, self._exception(record))])


class JsonLines(_Lines):
    """One JSON object a line; a traceback is its `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = dict(self._fields(record))
        line |= {
            "time": _time(record),
            "level": record.levelname,
            "logger": record.name,
            "message": self._message(record),
        }
        if exception := self._exception(record):
            line["exception"] = "\n".join(exception)
        return json.dumps(line)


_STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def _spellings(secret: str) -> set[str]:
    """The secret as it is, in Python's and JSON's quotes, and in an URL."""
    return {secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], quote(secret, safe="")}


def _at_least_warning(level: Level) -> int:
    return max(logging.WARNING, logging.getLevelNamesMapping()[level])


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _one_line(text: str) -> str:
    """Control characters are written out: nothing that is logged can begin a line of its own."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def _quoted(value: Any) -> str:
    text = str(value)
    return json.dumps(text) if not text or re.search(r'[\s"=]', text) else _one_line(text)


def _exception_lines(error: BaseException, words: bool, seen: set[int]) -> Iterator[str]:
    """The chain of causes, oldest first, as Python shows it."""
    seen.add(id(error))
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None and id(earlier) not in seen:
        yield from _exception_lines(earlier, words, seen)
        yield "which led to:"
    for frame in traceback.extract_tb(error.__traceback__):
        yield f'File "{frame.filename}", line {frame.lineno}, in {frame.name}'
    yield _named(error, words)
    for inner in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        yield from ("| " + line for line in _exception_lines(inner, words, seen))


def _named(error: BaseException, words: bool) -> str:
    """The class; with its words where those are the system's or our own."""
    if words or isinstance(error, KimibotError | OSError):
        return f"{_class_name(error)}: {error}"
    return _class_name(error)


def _class_name(error: BaseException) -> str:
    kind = type(error)
    is_builtin = kind.__module__ == "builtins"
    return kind.__qualname__ if is_builtin else f"{kind.__module__}.{kind.__qualname__}"
