"""Long code is folded: its beginning stays in the text, and a file has the whole of it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kimibot import texts
from kimibot.slack.file_types import file_type
from kimibot.slack.long_code import LongCode, without_our_lines
from kimibot.views import CodeFile
from tests.slack.slack_parse import parse

STEADY = settings(max_examples=100, derandomize=True, deadline=None, database=None)
CODE = "".join(f"line_{number} = {number}\n" for number in range(612))
BELOW = "_… 612 lines in all. The whole of it is below: code 1._"
PIECES = [
    "Prose with `code`.\n", "\n", "```python\n", "```\n", "~~~\n", "> ```\n", "   ```js\n", "x = 1",
    "- one\n", "  - ```sh\n", "> quoted\n", "\r\n", "\t", "short = code\n" * 30,
    "line of code\n" * 700, "x" * 9_000, "漢字" * 2_000 + "\n", "👩‍👩‍👧" * 1_200, "    in\n" * 99,
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def test_short_code_stays_as_it_is() -> None:
    text = "Look:\n```py\n" + "x = 1\n" * 1_300 + "```\nDone."

    assert LongCode().ended(text).text == text
    assert LongCode().ended(text).files == ()


def test_of_long_code_forty_lines_stay_and_the_file_has_all_of_it() -> None:
    folded = LongCode().ended(f"Look:\n\n```python\n{CODE}```\n\nDone.")

    beginning = "".join(CODE.splitlines(True)[:40])
    assert folded.text == f"Look:\n\n```python\n{beginning}```\n{BELOW}\n\nDone."
    assert folded.files == (CodeFile(1, "python", CODE),)


def test_a_growing_block_says_how_much_there_is_of_it() -> None:
    long_code = LongCode()
    before = long_code.grown("```\n" + "".join(CODE.splitlines(True)[:300]))
    folded = long_code.grown(f"```\n{CODE}")

    assert before.folds == 0
    assert before.text.count("\n") == 301
    assert (folded.folds, folded.count) == (1, "… 612 lines so far")
    assert folded.text == "```\n" + "".join(CODE.splitlines(True)[:40])


def test_code_that_was_cut_off_is_in_the_file_as_far_as_it_came() -> None:
    [file] = LongCode().ended(f"```go\n{CODE}x = ").files

    assert file == CodeFile(1, "go", f"{CODE}x = ")


def test_a_line_that_is_too_long_is_cut_between_graphemes() -> None:
    family = "👩‍👩‍👧‍👦"

    folded = LongCode().ended(f"```\na{family * 1_500}\n```\n")

    assert len(folded.text) < 6_200
    assert folded.text.startswith(f"```\na{family}")
    assert folded.text.count("\u200d") % 3 == 0


@pytest.mark.parametrize(
    ("opening", "prefix", "language"),
    [
        ("   ```js", "   ", "js"),
        ("> ```", "> ", ""),
        ("- ```py", "  ", "py"),
        ("1. ~~~", "   ", ""),
    ],
)
def test_the_file_is_without_what_a_list_or_quote_puts_before_the_code(
    opening: str, prefix: str, language: str
) -> None:
    inner = "if a:\n    b()\n" * 600
    nested = "".join(prefix + line for line in inner.splitlines(True))

    folded = LongCode().ended(f"{opening}\n{nested}")

    assert folded.files == (CodeFile(1, language, inner),)
    assert folded.text.endswith(f"\n{prefix}{texts.CODE_BELOW.format(lines=1200, number=1)}\n")


def test_several_long_blocks_are_numbered() -> None:
    folded = LongCode().ended(f"```\n{CODE}```\nand\n```sql\n{CODE}```\n")

    assert [(file.number, file.language) for file in folded.files] == [(1, ""), (2, "sql")]
    assert "code 2._" in folded.text


def test_where_files_have_no_place_all_of_it_follows_the_text() -> None:
    long_code = LongCode()
    folded = long_code.ended(f"Look:\n```py\n{CODE}```\nDone.")

    whole = long_code.unfolded(folded)

    assert whole.startswith(folded.text)
    assert parse(whole).fences[-1] == CODE


def test_our_own_line_is_not_taken_for_the_models() -> None:
    folded = LongCode().ended(f"```\n{CODE}```\nDone.")

    assert without_our_lines(folded.text) == folded.text.replace(f"{BELOW}\n", "")


@STEADY
@given(TEXTS, st.integers(60, 4_000))
def test_what_is_firm_stays_while_the_text_grows(text: str, step: int) -> None:
    long_code = LongCode()
    ends = [*range(0, len(text), step), len(text)]
    folded = [long_code.grown(text[:end]) for end in ends] + [LongCode().ended(text)]

    for before, after in pairwise(folded):
        firm = len(before.text) if before.firm is None else before.firm
        assert after.text.startswith(before.text[:firm])
        assert after.text.startswith(before.text) or after.folds > before.folds
        assert firm <= len(before.text)


@STEADY
@given(TEXTS)
def test_nothing_is_lost_between_the_text_and_its_files(text: str) -> None:
    folded = LongCode().ended(text)

    shown = without_our_lines(folded.text) + "".join(file.code for file in folded.files)
    assert set(text.split()) - set(shown.split()) <= {">"}
    assert all(len(file.code) > 4_000 for file in folded.files)


@pytest.mark.parametrize(
    ("language", "kind", "ending"),
    [
        ("Python", "python", "py"),
        ("ts", "javascript", "ts"),
        ("", "text", "txt"),
        ("x", "text", "txt"),
    ],
)
def test_a_file_has_the_type_of_its_language(language: str, kind: str, ending: str) -> None:
    assert (file_type(language).kind, file_type(language).ending) == (kind, ending)
