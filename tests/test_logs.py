"""What a log line looks like, and what is never in one."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import process_time
from typing import Any

import pytest

from kimibot.errors import ServerFault, SlackError
from kimibot.logs import Format, Level, Redaction, configure

LONGEST_REDACTION_SECONDS = 1.0
"""For 200,000 characters, which take a few hundredths; squared time would take minutes."""


@dataclass
class Log:
    """The process's log as an operator reads it."""

    stream: io.StringIO = field(default_factory=io.StringIO)

    def begin(
        self, level: Level = "INFO", fmt: Format = "text", secrets: tuple[str, ...] = ()
    ) -> None:
        configure(level, fmt, secrets, self.stream)

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()

    @property
    def only(self) -> Any:
        (line,) = self.lines
        return json.loads(line)


@pytest.fixture
def log() -> Iterator[Log]:
    ours, root = logging.getLogger("kimibot"), logging.getLogger()
    before = (ours.level, root.level, root.handlers[:])

    yield Log()

    ours.setLevel(before[0])
    root.setLevel(before[1])
    root.handlers[:] = before[2]


answering = logging.getLogger("kimibot.answering")


def test_a_text_line_shows_time_level_logger_message_and_fields(log: Log) -> None:
    log.begin()

    answering.info("answered in %d parts", 2, extra={"turn": "t1", "trace_id": "abc"})

    time, rest = log.lines[0].split(" ", 1)
    assert time.endswith("Z")
    assert rest == "INFO kimibot.answering: answered in 2 parts turn=t1 trace_id=abc"


def test_a_json_line_is_one_object_with_the_same_parts(log: Log) -> None:
    log.begin(fmt="json")

    answering.warning("late", extra={"turn": "t1", "seconds": 2.5})

    line = log.only
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "WARNING",
        "logger": "kimibot.answering",
        "message": "late",
        "turn": "t1",
        "seconds": 2.5,
    }


@pytest.mark.parametrize("fmt", ["text", "json"])
def test_a_field_without_a_value_is_left_out(log: Log, fmt: Format) -> None:
    log.begin(fmt=fmt)

    answering.info("answered", extra={"finish_reason": None, "parts": 0})

    assert "finish_reason" not in log.lines[0]
    assert "parts" in log.lines[0]


def test_a_value_with_blanks_is_quoted(log: Log) -> None:
    log.begin()

    answering.info("x", extra={"reason": 'two "words"'})

    assert log.lines[0].endswith(r'reason="two \"words\""')


@pytest.mark.parametrize("fmt", ["text", "json"])
def test_what_is_logged_never_begins_a_line_of_its_own(log: Log, fmt: Format) -> None:
    log.begin(fmt=fmt)

    answering.info("a\n2026-01-01T00:00:00Z INFO forged\r\x1b[31m\u2028b", extra={"turn": "x\ny"})

    assert len(log.stream.getvalue().splitlines()) == 1
    assert "\x1b" not in log.stream.getvalue()


SECRETS = [
    "xoxb-fake-123-abc",
    "xoxe.xoxb-1-fake",
    "xoxp-fake-1",
    "xapp-1-A0FAKE-1-fake",
    "sk-fakefakefake",
    "Bearer fake/token+x==",
    "wss://wss-primary.example/link/?ticket=fake-ticket&app_id=x",
    "postgresql://bot:fake-word@db/kimibot",
    "ghp_fakefakefake",
]


@pytest.mark.parametrize("fmt", ["text", "json"])
@pytest.mark.parametrize("secret", SECRETS)
def test_a_token_is_taken_out_wherever_it_stands(log: Log, secret: str, fmt: Format) -> None:
    log.begin(fmt=fmt)

    try:
        raise OSError(f"cannot reach {secret}")
    except OSError:
        answering.exception("failed with %s", secret, extra={"detail": secret})

    text = log.stream.getvalue()
    assert "fake" not in text.lower()
    assert text.count("[redacted]") == 3


@pytest.mark.parametrize("fmt", ["text", "json"])
def test_a_given_secret_is_taken_out_whatever_it_looks_like(log: Log, fmt: Format) -> None:
    log.begin(fmt=fmt, secrets=('fake"secret\\1', "fake-short", "fake-short-and-more"))

    answering.info("a fake-short-and-more b %s", {"key": 'fake"secret\\1'})
    answering.info('fake"secret\\1')

    assert "fake" not in log.stream.getvalue()
    assert "more" not in log.stream.getvalue()


def test_a_secret_too_short_to_be_one_leaves_words_whole() -> None:
    assert Redaction(["kimi", ""])("kimibot answers") == "kimibot answers"


FLOODS = ("://", ":", "xox", "xoxb-", "bearer ", "sk-", "github_pat_", "?ticket=", "//:@", "\\")


@pytest.mark.parametrize("start", ["", "://", "xoxb-", "bearer ", "?ticket="])
@pytest.mark.parametrize("flood", FLOODS)
def test_redaction_of_a_hostile_text_takes_no_time_to_speak_of(start: str, flood: str) -> None:
    redact = Redaction(["fake-secret"])
    text = start + flood * (200_000 // len(flood))

    began = process_time()
    redact(text)

    assert process_time() - began < LONGEST_REDACTION_SECONDS


def test_a_library_speaks_only_from_warning_on(log: Log) -> None:
    log.begin(level="DEBUG")

    for name in ("slack_bolt.App", "slack_sdk", "httpx", "aiohttp.access", "sqlalchemy.engine"):
        logging.getLogger(name).info("what somebody wrote")
        logging.getLogger(name).warning("trouble")

    assert [line.rsplit(": ", 1)[1] for line in log.lines] == ["trouble"] * 5


def test_our_own_lines_below_the_level_are_left_out(log: Log) -> None:
    log.begin(level="ERROR")

    answering.warning("not shown")
    logging.getLogger("httpx").warning("nor this")
    answering.error("shown")

    assert len(log.lines) == 1


def raise_with_causes() -> None:
    try:
        raise ValueError("invalid: what somebody wrote")
    except ValueError as error:
        raise ServerFault("status 502", status=502) from error


@pytest.mark.parametrize("fmt", ["text", "json"])
def test_a_foreign_exception_is_shown_without_its_words_at_info(log: Log, fmt: Format) -> None:
    log.begin(fmt=fmt)

    try:
        raise_with_causes()
    except ServerFault:
        answering.exception("turn failed")

    text = log.stream.getvalue()
    assert "what somebody wrote" not in text
    assert "ValueError" in text
    assert "in raise_with_causes" in text
    assert "kimibot.errors.ServerFault: status 502" in text


def test_a_foreign_exception_is_shown_with_its_words_at_debug(log: Log) -> None:
    log.begin(level="DEBUG")

    try:
        raise_with_causes()
    except ServerFault:
        answering.exception("turn failed")

    assert "    ValueError: invalid: what somebody wrote" in log.lines


def test_a_traceback_is_indented_in_text_and_inside_the_object_in_json(log: Log) -> None:
    log.begin()
    error = SlackError("chat.update", "fatal_error")
    answering.error("failed", exc_info=error)
    assert log.lines[1:] == ["    kimibot.errors.SlackError: chat.update: fatal_error"]

    other = Log()
    other.begin(fmt="json")
    answering.error("failed", exc_info=error)
    assert other.only["exception"] == "kimibot.errors.SlackError: chat.update: fatal_error"


def test_every_member_of_a_group_of_exceptions_is_shown(log: Log) -> None:
    log.begin()
    group = ExceptionGroup("two", [ConnectionError("reset"), KeyError("what somebody wrote")])

    answering.error("failed", exc_info=group)

    assert log.lines[1:] == ["    ExceptionGroup", "    | ConnectionError: reset", "    | KeyError"]


def test_an_exception_that_is_its_own_cause_is_shown_once(log: Log) -> None:
    log.begin()
    first, second = OSError("one"), OSError("two")
    first.__cause__, second.__cause__ = second, first

    answering.error("failed", exc_info=first)

    assert log.lines[1:] == ["    OSError: two", "    which led to:", "    OSError: one"]


def test_a_line_whose_arguments_do_not_fit_is_still_written(log: Log) -> None:
    log.begin()

    answering.info("%d parts", "many")

    assert log.lines[0].endswith("kimibot.answering: %d parts")


def test_being_configured_twice_writes_each_line_once(log: Log) -> None:
    log.begin()
    log.begin()

    answering.info("once")

    assert len(log.lines) == 1
