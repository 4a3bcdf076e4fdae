"""The model's own markup is taken out of its text, and nothing else is."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimibot.kimi.markup import Markup

TOOLS = (
    '<|open|>tools<|sep|><|open|>call tool="find" index="1"<|sep|>'
    '<|open|>argument key="q" type="string"<|sep|>x<|close|>argument<|sep|>'
    "<|close|>call<|sep|><|close|>tools<|sep|>"
)
K2_TOOLS = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.find:0"
    '<|tool_call_argument_begin|>{"q":1}<|tool_call_end|><|tool_calls_section_end|>'
)


def unmarked(*pieces: str) -> tuple[str, str]:
    """The content and the reasoning."""
    markup = Markup()
    parts = [markup.feed(piece) for piece in pieces] + [markup.flush()]
    return "".join(part.content for part in parts), "".join(part.reasoning for part in parts)


@pytest.mark.parametrize(
    ("text", "content", "reasoning"),
    [
        ("plain <b>text</b> a < b", "plain <b>text</b> a < b", ""),
        ("<|open|>response<|sep|>Hi<|close|>response<|sep|>", "Hi", ""),
        ("<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>response<|sep|>Hi", "Hi", "hm"),
        ("<|open|> think <|sep|>hm<|close|> think <|sep|>Hi", "Hi", "hm"),
        ("<|open|>think<|sep|>hm<|open|>response<|sep|>Hi", "Hi", "hm"),
        ("Hi<|close|>message<|sep|><|end_of_msg|>", "Hi", ""),
        (f"Sure.{TOOLS}<|close|>message<|sep|>", "Sure.", ""),
        (f"Sure.{K2_TOOLS} Done.", "Sure. Done.", ""),
        ("Sure.<|tool_call_begin|>f:0<|tool_call_end|> Done.", "Sure. Done.", ""),
        ("Sure.<|open|>tools<|sep|><|open|>call to", "Sure.", ""),
        ("<think>hm</think>Hi", "Hi", "hm"),
        ("\n<think>hm\n</think>Hi", "\nHi", "hm\n"),
        ("Hi\n<think>hm</think>\nyou", "Hi\n\nyou", "hm"),
        ("<think>never ends", "", "never ends"),
        ("hm</think>Hi", "hmHi", ""),
        ("Hi <|im_end|>", "Hi ", ""),
        ("a <|open", "a <|open", ""),
        ("a <|open|>thi", "a ", ""),
        ("<|open|>42", "<|open|>42", ""),
    ],
)
def test_markers_are_obeyed_wherever_they_are_cut(text: str, content: str, reasoning: str) -> None:
    assert unmarked(text) == (content, reasoning)
    assert unmarked(*text) == (content, reasoning)
    assert all(unmarked(text[:cut], text[cut:]) == (content, reasoning) for cut in range(len(text)))


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{TOOLS}\n```\nafter",
        f"- one:\n  ```xml\n  <think>\n  {K2_TOOLS}\n  ```\n",
        f"> ~~~~\n> {TOOLS}\n> ~~~\n> {TOOLS}\n> ~~~~\n",
        "The tag `<think>` begins it, `</think>` ends it.",
        "Two backticks: `` a ` <|open|>think<|sep|> ``.",
        "```<think>``` in one line",
        "A <think> tag in prose, and its </think> too.",
        "```\nunclosed <|open|>think<|sep|>",
        "```\n``` not a close <|open|>think<|sep|>\n```\n",
    ],
)
def test_a_marker_that_is_only_mentioned_survives(text: str) -> None:
    assert unmarked(text) == (text, "")
    assert unmarked(*text) == (text, "")


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (f"```\ncode\n```\n{TOOLS}", "```\ncode\n```\n"),
        (f"```\ncode\n```{TOOLS}", "```\ncode\n```"),
        (f"`a` and `b`{TOOLS}", "`a` and `b`"),
        (f"a stray ` here\n\n{TOOLS}", "a stray ` here\n\n"),
        (f"a stray ` here\n```\ncode\n```\n{TOOLS}", "a stray ` here\n```\ncode\n```\n"),
        (f"``` not a fence ``` {TOOLS}", "``` not a fence ``` "),
    ],
)
def test_a_marker_after_code_is_obeyed(text: str, content: str) -> None:
    assert unmarked(text) == (content, "")
    assert unmarked(*text) == (content, "")


def test_half_a_marker_is_held_back_and_no_more_than_that() -> None:
    markup = Markup()

    assert markup.feed("see <|op").content == "see "
    assert markup.feed("en|>think<|se").content == ""
    assert markup.feed("p|>hm").reasoning == "hm"


def test_dropped_tools_are_flagged() -> None:
    markup = Markup()
    markup.feed("Sure.")
    before = markup.tools_dropped

    markup.feed(TOOLS)

    assert (before, markup.tools_dropped) == (False, True)


@pytest.mark.parametrize("piece", ["<", "<|open|>a", "`", "<think>\n", "a\n```", "<|"])
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * 100_000
    started = time.process_time()

    unmarked(text)
    unmarked(*(piece for _ in range(50_000)))

    assert time.process_time() - started < 5


@given(
    st.lists(
        st.sampled_from(
            [
                "<|open|>",
                "<|close|>",
                "<|sep|>",
                "think",
                "tools",
                "<think>",
                "</think>",
                "<|tool_call_begin|>",
                "<|end_of_msg|>",
                "`",
                "```",
                "~~~",
                "<",
                ">",
                "|",
                "a",
                "\n",
                "\t",
            ]
        )
    )
)
def test_any_text_is_unmarked_the_same_in_one_piece_and_in_many(pieces: list[str]) -> None:
    assert unmarked(*pieces) == unmarked("".join(pieces)) == unmarked(*"".join(pieces))


@given(st.text(alphabet="ab `~\n>-1.*|&"))
def test_text_without_markers_is_left_as_it_is(text: str) -> None:
    assert unmarked(text) == (text, "")


@pytest.mark.parametrize("thought", ["SECRET", "\nSECRET\nand more", " SECRET"])
def test_what_is_thought_below_other_text_is_not_shown_even_if_it_never_ends(thought: str) -> None:
    content, reasoning = unmarked(f"Sure.\n<think>{thought}")

    assert content == "Sure.\n"
    assert "SECRET" in reasoning
