# ruff: noqa: ARG001, ARG002 - SQLAlchemy prescribes these signatures
"""What a column holds, the same on SQLite and PostgreSQL, and the clock of the database."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Integer, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ColumnElement
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator

# SQLite numbers rows by itself only where the type is spelled INTEGER.
Number = BigInteger().with_variant(Integer, "sqlite")

# Slack's timestamps have ten digits, a dot and six more until the year 2286, so they sort as
# text, given a collation that compares bytes: https://docs.slack.dev/messaging/
SlackTs = Text().with_variant(Text(collation="C"), "postgresql")

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class UtcDateTime(TypeDecorator[datetime]):
    """A point in time with its zone; SQLite keeps UTC as text of one width, so that it sorts."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError("a time without zone")
        return value and value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value and (value.replace(tzinfo=UTC) if value.tzinfo is None else value)


class AnyText(TypeDecorator[str]):
    """Text from outside: what UTF-8 or PostgreSQL can't hold becomes U+FFFD.

    That is NUL (https://www.postgresql.org/docs/current/datatype-character.html) and halves of
    surrogate pairs, which JSON lets through. One such character must not make an ask unstorable.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return value and _UNSTORABLE.sub("\ufffd", value)


class JsonText(TypeDecorator[Any]):
    """JSON as text: jsonb would reorder the keys, and the model's prefix cache is byte by byte."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


class database_now(FunctionElement[datetime]):
    """The database's clock at this statement, the one clock that all owners share."""

    type = UtcDateTime()
    inherit_cache = True


class database_later(FunctionElement[datetime]):
    """The database's clock so many seconds from now."""

    type = UtcDateTime()
    inherit_cache = True

    def __init__(self, seconds: ColumnElement[float]) -> None:
        super().__init__(seconds)


@compiles(database_now, "postgresql")
def _now_in_postgresql(element: database_now, compiler: SQLCompiler, **options: Any) -> str:
    return "clock_timestamp()"


@compiles(database_now, "sqlite")
def _now_in_sqlite(element: database_now, compiler: SQLCompiler, **options: Any) -> str:
    # Milliseconds are all it has; the zeros make it as wide as the times that we send.
    return "strftime('%Y-%m-%d %H:%M:%f000', 'now')"


@compiles(database_later, "postgresql")
def _later_in_postgresql(element: database_later, compiler: SQLCompiler, **options: Any) -> str:
    return f"clock_timestamp() + make_interval(secs => {_seconds(element, compiler, options)})"


@compiles(database_later, "sqlite")
def _later_in_sqlite(element: database_later, compiler: SQLCompiler, **options: Any) -> str:
    modifier = f"printf('%+.3f seconds', {_seconds(element, compiler, options)})"
    return f"strftime('%Y-%m-%d %H:%M:%f000', 'now', {modifier})"


def _seconds(element: database_later, compiler: SQLCompiler, options: dict[str, Any]) -> str:
    return compiler.process(element.clauses.clauses[0], **options)
