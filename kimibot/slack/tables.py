"""Reads tables of pipes, and draws those that Slack does not take in letters of one width."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

MAX_COLUMNS = 20
MAX_ROWS = 100
MAX_CHARACTERS = 10_000
"""What Slack takes: https://docs.slack.dev/reference/block-kit/blocks/table-block."""

WIDEST_PADDING = 40
MOST_PADDING = 600
"""Cells are padded up to this width, and all columns together up to this one, so that one long
cell or a thousand columns do not blow up every row."""

_RULE_CELL = re.compile(r":?-+:?")
_LINE_BREAK = re.compile("<br ?/?>")
_BAR = re.compile(r"(?<!\\)\|")


def is_rule(line: str) -> bool:
    """Whether the line is the one below a table's head."""
    if not set(line) <= set("|:- \t\r\n") or line.startswith((" " * 4, "\t")):
        return False
    return all(_RULE_CELL.fullmatch(cell) for cell in cells(line))


def may_become_rule(line: str) -> bool:
    """Whether the line, of which only the beginning may be there, can be one below a head."""
    return set(line) <= set("|:- \t")


def cells(line: str) -> list[str]:
    """The cells of a row, as they were written."""
    row = line.strip().removeprefix("|")
    found = [cell.strip() for cell in _BAR.split(row)]
    return found[:-1] if len(found) > 1 and not found[-1] else found


def fits(lines: Sequence[str]) -> bool:
    """Whether Slack takes the table (head, rule, rows) as it is."""
    is_narrow = len(cells(lines[1])) <= MAX_COLUMNS
    return is_narrow and len(lines) - 1 <= MAX_ROWS and sum(map(len, lines)) <= MAX_CHARACTERS


def draw(lines: Sequence[str]) -> str:
    """The table (head, rule, rows) in columns, for letters of one width."""
    rows = [[_as_text(cell) for cell in cells(line)] for line in lines]
    widths = [0] * max(map(len, rows))
    for row in [rows[0], *rows[2:]]:
        widen(widths, row)
    rows[1] = ["-" * max(1, width) for width in widths]
    return "\n".join(_drawn(row, widths) for row in rows)


def widen(widths: list[int], row: Sequence[str]) -> None:
    """Make the columns as wide as the row's cells, up to the limits of padding."""
    widths += [0] * (len(row) - len(widths))
    left = MOST_PADDING - sum(widths)
    for column, cell in enumerate(row):
        more = min(width(cell), WIDEST_PADDING) - widths[column]
        more = min(max(0, more), left)
        widths[column] += more
        left -= more


def width(text: str) -> int:
    """How many letters of one width the text takes."""
    if text.isascii():
        return len(text)
    return sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _as_text(cell: str) -> str:
    return _LINE_BREAK.sub(" ", cell.replace("\\|", "|"))


def _drawn(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (widths[at] - width(cell)) for at, cell in enumerate(row)]
    return " | ".join(padded).rstrip()
