"""A growing text is shown up to a place where a part may end, and the next can go on from there."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kimibot.slack.markdown import unescape
from kimibot.slack.parts import part, settled
from kimibot.views import Cut

TEXT = """# Why it is slow

It **copies** the list each time, see [the docs](https://example.com/a_b).
Run `x = a[:]` once, and `y` never.

```python
def f(items):
    return [item * 2 for item in items]
```

| case | cost |
|------|------|
| small | 1 ms |
| large | 9 ms |

- one thing
- another *thing*
这是**重点**，内容。And 👩‍👩‍👧 the end.
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hello", ""),
        ("Hello wor", "Hello "),
        ("Hello world. And **bold te", "Hello world. And "),
        ("see [link](http", "see "),
        ("a `b c", "a "),
        ("a\n```py", "a\n"),
        ("a\n```py\nx = 1\ny =", "a\n```py\nx = 1\n"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 ", "| a | b |\n|---|---|\n| 1 | 2 |\n"),
        ("Costs:\n| a | b |\n", "Costs:\n"),
        ("Costs:\n| a | b |\n|--", "Costs:\n"),
        ("ls | wc\n\nMore", "ls | wc\n\n"),
        ("- one\n- tw", "- one\n"),
        ("para\n\nnext", "para\n\n"),
    ],
)
def test_what_is_half_open_is_held_back(text: str, shown: str) -> None:
    assert text[: settled(text, Cut()).offset] == shown


def test_an_open_fence_is_opened_again_where_the_text_goes_on() -> None:
    text = "a\n```py\nx = 1\ny ="

    cut = settled(text, Cut())

    assert part(text[: cut.offset], Cut()).body.count("```") == 2
    assert part(text, cut).body == "```py\ny =\n```"


@pytest.mark.parametrize("end", range(len(TEXT)))
def test_two_parts_with_any_edit_between_them_show_the_whole_text(end: int) -> None:
    cut = settled(TEXT[:end], Cut())
    first, second = part(TEXT[: cut.offset], Cut()), part(TEXT, cut)

    assert letters(first.body) == letters(TEXT[: cut.offset])
    assert letters(second.body).endswith(letters(TEXT[cut.offset :]))
    assert second.end is None


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab `*_[](<>|#-\n.1重。", max_size=200))
def test_nothing_is_settled_beyond_the_text(text: str) -> None:
    cut = settled(text, Cut())

    assert 0 <= cut.offset <= len(text)
    assert letters(part(text[: cut.offset], Cut()).body) == letters(text[: cut.offset])


def letters(body: str) -> str:
    """What is said, without the signs of Markdown."""
    return "".join(sign for sign in unescape(body) if sign.isalnum())
