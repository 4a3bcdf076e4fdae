"""Objects and prose are told apart as they come, and nothing is lost."""

from __future__ import annotations

import json
import random

import pytest

from kimibot.review.object_lines import MOST_PENDING_LINES, ObjectLines, Piece

ONE, TWO = {"path": "a.py", "line": 1}, {"path": "b.py", "why": 'a "quoted" {brace'}
A, B = json.dumps(ONE), json.dumps(TWO)


def pieces_of(text: str, *, size: int = 0) -> list[Piece]:
    reading = ObjectLines()
    steps = range(0, len(text), size or max(1, len(text)))
    found = [piece for at in steps for piece in reading.feed(text[at : at + (size or len(text))])]
    return found + reading.end()


@pytest.mark.parametrize(
    "text",
    [
        f"{A}\n{B}\n",
        f"{A}\n{B}",
        f"{A}\r\n\n{B}\r\n",
        f"```json\n{A}\n{B}\n```\n",
        f"```\n{A}\n{B}\n```",
        f"[{A},\n{B}]\n",
        f"[\n{A},\n{B},\n]\n",
        f"```jsonl\n[\n{A},\n{B}\n]\n```",
        f"{A}{B}",
        f"{A}, {B}",
        json.dumps(ONE, indent=2) + "\n" + json.dumps(TWO, indent=2),
        json.dumps({"findings": [ONE, TWO]}),
        json.dumps({"findings": [ONE, TWO]}, indent=4),
        A.replace("}", ",}") + "\n" + B,
    ],
)
def test_objects_are_found_however_they_are_wrapped(text: str) -> None:
    for size in (0, 1, 7):
        assert [piece for piece in pieces_of(text, size=size) if piece] == [ONE, TWO]


def test_an_object_is_there_as_soon_as_its_line_is() -> None:
    reading = ObjectLines()

    assert reading.feed(A) == []
    assert reading.feed("\n") == [ONE]


def test_a_backslash_that_json_wants_doubled_is_kept() -> None:
    assert pieces_of(r'{"path": "a", "quote": "re.match(\d+\.\\w, \"x\\n\")"}') == [
        {"path": "a", "quote": "\\".join(["re.match(", "d+", ".", 'w, "x']) + '\\n")'}
    ]


@pytest.mark.parametrize("half", [r"\ud83d", r"\uDE00", r"\ude00\ud83d", r"\\\ud83d", r"\B\ud83d"])
def test_half_of_a_pair_of_surrogates_is_what_stands_in_the_code(half: str) -> None:
    """Nothing could send or store it otherwise, and the quote would be no line of the code."""
    [found] = pieces_of(rf'{{"path": "a", "quote": "x = \"{half}\"", "title": "\ud83d\ude00"}}')

    meant = half.replace(r"\\", "\\")
    assert found == {"path": "a", "quote": f'x = "{meant}"', "title": "\N{GRINNING FACE}"}


@pytest.mark.parametrize("depth", [20, 400, 900, 100_000])
def test_what_is_deeper_than_any_finding_is_prose(depth: int) -> None:
    deep = f'{{"path": "a.py", "title": {"[" * depth}{"]" * depth}}}'

    assert pieces_of(f"{deep}\n{B}\n") == [deep, TWO]


@pytest.mark.parametrize(
    "prose",
    [
        "I found two problems:\n\n1. one\n2. two",
        "Look:\n```\nx = [\n1,\n]\n```\nThat is it.",
        "```python\nd = {\n    'a': 1,\n}\n```\nend",
        "{ not json at all",
    ],
)
def test_prose_stays_as_it_is(prose: str) -> None:
    found = pieces_of(prose)

    assert "\n".join(str(piece) for piece in found) == prose


def test_a_broken_object_costs_no_other() -> None:
    broken = '{"path": "c.py", "quote": "x = "a""}'

    assert pieces_of(f"{A}\n{broken}\n{B}\n") == [ONE, broken, TWO]
    assert pieces_of(f"{broken}\n") == [broken]


def test_what_is_never_closed_does_not_swallow_the_rest() -> None:
    found = pieces_of('{"path": "c.py",\n' + "and on\n" * (MOST_PENDING_LINES + 10) + A)

    assert found[-1] == ONE
    assert str(found[0]).startswith('{"path"')


def test_prose_before_between_and_after_is_kept() -> None:
    assert pieces_of(f"Here:\n{A}\nand\n{B}\nDone.") == ["Here:", ONE, "and", TWO, "Done."]


def test_whatever_comes_nothing_is_lost_and_nothing_raised() -> None:
    luck = random.Random(3)
    parts = [A, B, "```", "```json", "[", "]", "{", "}", '{"a": [', "prose", "", ",", '"']

    for _ in range(2_000):
        text = "\n".join(luck.choices(parts, k=9))
        found = pieces_of(text)
        shown = "".join(json.dumps(p) if not isinstance(p, str) else p for p in found)
        assert shown.count("prose") == text.count("prose")
        assert shown.count("a.py") == text.count("a.py")
