"""Whatever code holds, the marks around it are the first that could close it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimibot.fencing import fence_mark, open_mark, span_mark

CODE = st.text(alphabet="`x\n ", max_size=40)


@given(CODE)
def test_no_run_of_backticks_in_code_is_as_long_as_the_marks_around_it(code: str) -> None:
    runs = [len(run) for run in re.findall("`+", code)]

    assert all(run < len(span_mark(code)) <= len(fence_mark(code)) for run in runs)
    assert len(fence_mark(code)) >= 3


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("x\n```py\ny", "```"),
        ("```\n~~~\n", "```"),
        ("~~~\n```\n~~~\n````js\ny\n```", "````"),
        ("```py\n~~~\n```", ""),
        ("```\n``` py\n```", ""),
        ("``` a`b\nx", ""),
        ("    ```\nx", ""),
    ],
)
def test_what_ends_a_block_is_known_by_what_began_it(text: str, mark: str) -> None:
    assert open_mark(text) == mark
