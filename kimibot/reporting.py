"""Tells what was used of the model by day, person and channel: what `kimibot usage` prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import date, timedelta
from itertools import groupby

from kimibot.errors import StorageError
from kimibot.storage import Database, pending
from kimibot.storage.usage import DayUsage
from kimibot.storage.usage_store import UsageStore

_COLUMNS = ("person", "channel", "turns", "prompt", "completion", "cached")
_COUNTED = ("turns", "prompt_tokens", "completion_tokens", "cached_tokens")


async def report(
    database: Database, *, days: int, today: date, as_json: bool, say: Callable[[str], None]
) -> None:
    """Say what was used today (UTC) and on the days before, so many in all; the oldest first.

    It only reads. Raises StorageError when the database can't be read.
    """
    if await pending(database):
        raise StorageError("the tables are not those of this version: kimibot db upgrade")
    used = await UsageStore(database).report(today - timedelta(days=days - 1))
    for line in [as_document(used)] if as_json else lines(used):
        say(line)


def as_document(used: Sequence[DayUsage]) -> str:
    """A JSON array with an object for each day, person and channel."""
    rows = [asdict(row) | {"day": row.day.isoformat()} for row in used]
    return json.dumps(rows, indent=2)


def lines(used: Sequence[DayUsage]) -> Iterator[str]:
    """A table for each day, its sum below; people and channels by their ids in Slack."""
    if not used:
        yield "Nothing was used."
    for day, of_day in groupby(used, key=lambda row: row.day):
        yield f"{day} (UTC)"
        yield from _table(list(of_day))
        yield ""


def _table(used: Sequence[DayUsage]) -> Iterator[str]:
    rows = [(row.person, row.channel, *_numbers(row)) for row in used]
    sums = (sum(getattr(row, name) for row in used) for name in _COUNTED)
    rows.append(("all", "", *map(_shown, sums)))
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]
    for row in (_COLUMNS, *rows):
        yield "  " + _line(row, widths)


def _line(cells: Iterable[str], widths: Sequence[int]) -> str:
    """Names to the left, numbers to the right."""
    padded = [
        cell.ljust(width) if at < 2 else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded)


def _numbers(row: DayUsage) -> Iterator[str]:
    return (_shown(getattr(row, name)) for name in _COUNTED)


def _shown(number: int) -> str:
    return f"{number:,}"
