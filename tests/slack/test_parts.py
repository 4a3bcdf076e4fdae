"""A long answer arrives whole, in parts that Slack takes, cut where it hurts least."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kimibot.slack.parts import part
from kimibot.views import Cut, Part, Style
from tests.slack.slack_parse import can_ping, parse
from tests.slack.test_markdown import BITS

STEADY = settings(max_examples=80, derandomize=True, deadline=None, database=None)
STYLES = st.sampled_from(Style)

PROSE = "The quick brown fox jumps over the lazy dog, and then it sleeps. "
PIECES = [
    *BITS, PROSE, PROSE * 20, "x" * 3_000, "漢字" * 800, "`" * 2_500, "<" * 2_000, "&" * 2_000,
    "```py\n" + "x = 1  # <!here>\n" * 200 + "```\n", "```\n" + "y" * 12_000, "\n```\n",
    "|a|b|\n|-|-|\n" + "|1|2|\n" * 150, "# h\n" * 30, "---\n", "- item\n" * 300, " " * 5_000,
    "[label](https://x.y/" + "z" * 3_000 + ")", "**" + "bold " * 500 + "**", "👩‍👩‍👧" * 300,
    "a" + "\u0301" * 4_000, "|c" * 25 + "|\n" + "|-" * 25 + "|\n" + ("|dd" * 25 + "|\n") * 40,
]  # fmt: skip
LONG = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def all_parts(text: str, style: Style = Style.MARKDOWN) -> list[tuple[Cut, Part]]:
    """Every part of the text, with where it begins."""
    start, found = Cut(), []
    while True:
        found.append((start, part(text, start, style)))
        end = found[-1][1].end
        if end is None:
            return found
        assert end.offset > start.offset
        start = end


def slices(text: str, parts: list[tuple[Cut, Part]]) -> list[str]:
    offsets = [start.offset for start, _ in parts] + [len(text)]
    return [text[start:end] for start, end in pairwise(offsets)]


def test_a_short_text_is_one_part() -> None:
    assert part("Hello **you**\n", Cut()) == Part("Hello **you**", None)


def test_nothing_and_blanks_show_nothing() -> None:
    assert part("", Cut()) == Part("", None)
    assert part(" \n\n", Cut()) == Part("", None)


def test_a_fence_that_has_just_been_opened_is_not_shown_yet() -> None:
    assert part("Look:\n```py\n", Cut()) == Part("Look:", None)
    assert part("Look:\n```py\nx", Cut()) == Part("Look:\n```py\nx\n```", None)


@STEADY
@given(LONG)
@example("> ~~~\n " + "`" * 9_000)
def test_a_markdown_part_is_within_slacks_limits(text: str) -> None:
    for _, each in all_parts(text):
        lines = parse(each.body).elsewhere.splitlines()
        assert len(each.body.encode()) <= 9_000
        assert sum(bool(re.match(r"#{1,6} |-{3}$", line)) for line in lines) <= 40
        assert each.body or each.end is None


@STEADY
@given(LONG)
@example(" a" + "\u0301" * 9_000)
@example("|a|b|\n|-|-|\n" + "|1|2|\n" * 169 + " " * 9_000 + "x")
def test_a_plain_part_is_within_slacks_limits(text: str) -> None:
    for _, each in all_parts(text, Style.PLAIN):
        assert len(each.body) <= 3_900
        assert len(each.body.encode()) <= 11_700
        assert not re.search("[<>]|&(?!(?:lt|gt|amp);)", each.body)
        assert each.body or each.end is None


@STEADY
@given(LONG, st.sampled_from(PIECES), STYLES)
def test_a_cut_never_moves_while_the_text_grows(text: str, more: str, style: Style) -> None:
    before, after = all_parts(text, style), all_parts(text + more, style)

    full = [each for each in before if each[1].end is not None]
    assert after[: len(full)] == full


@settings(STEADY, max_examples=8)
@given(st.sampled_from(PIECES), st.sampled_from(BITS), st.integers(8_000, 9_300), STYLES)
@example("\n```\n", "```x", 8_900, Style.MARKDOWN)
def test_a_cut_stands_from_the_letter_that_made_it(
    piece: str, last: str, length: int, style: Style
) -> None:
    text = (piece * (1 + length // len(piece)))[:length] + last * 40 + "\n" + piece + last
    full = None
    for stop in range(length - 30, min(len(text), length + 100), 3):
        each = part(text[:stop], Cut(), style)
        assert full in (None, each)
        full = each if each.end is not None else None


@STEADY
@given(LONG)
def test_no_part_can_ping(text: str) -> None:
    for _, each in all_parts(text):
        assert not can_ping(each.body)


@STEADY
@given(LONG, st.integers(0, 20_000))
def test_no_part_of_a_growing_text_can_ping(text: str, stop: int) -> None:
    for _, each in all_parts(text[:stop]):
        assert not can_ping(each.body)


@STEADY
@given(
    st.lists(st.sampled_from([*BITS, "code " * 30, "w" * 7_000, "<!here>\n"]), min_size=5)
    .map(lambda pieces: "".join(pieces).replace("\r", "") * 30)
    .filter(lambda code: len(code) < 60_000)
)
def test_code_over_several_parts_is_exact(code: str) -> None:
    mark = "~" * (3 + max(map(len, re.findall("~+", code)), default=0))
    text = f"{mark}py\n{code}\n{mark}\n"

    parts = all_parts(text)

    shown = [content for _, each in parts for content in parse(each.body).fences]
    assert len(shown) >= len(parts) - 1
    joined = "".join(
        content if piece.endswith("\n") else content.removesuffix("\n")
        for content, piece in zip(shown, slices(text, parts), strict=False)
    )
    assert joined == f"{code}\n"


def test_an_open_fence_is_closed_and_opened_again_with_its_language() -> None:
    text = "Look:\n\n```python\n" + "print('hello, world')\n" * 600 + "```\n\nDone."

    parts = all_parts(text)

    assert parts[0][1].body.endswith("\n```")
    assert parts[1][0].reopen == "```python\n"
    assert parts[1][1].body.startswith("```python\nprint(")
    assert parts[-1][1].body.endswith("\n```\n\nDone.")
    assert "".join(slices(text, parts)) == text


def test_a_fence_in_a_quote_is_opened_again_in_a_quote() -> None:
    text = "> ```sh\n" + "> ls -l\n" * 1_500 + "> ```\n"

    parts = all_parts(text)

    assert parts[1][1].body.startswith("> ```sh\n> ls -l\n")
    assert all(each.body.endswith("\n> ```") for _, each in parts)


def test_the_head_of_a_table_is_repeated() -> None:
    text = "|name|value|\n|-|-|\n" + "".join(f"|n{i}|{'v' * 100}|\n" for i in range(200))

    parts = all_parts(text)

    assert len(parts) > 2
    assert all(each.body.startswith("|name|value|\n|-|-|\n|n") for _, each in parts)


def test_a_table_has_at_most_a_hundred_rows_in_a_part() -> None:
    text = "|a|b|\n|-|-|\n" + "|1|2|\n" * 250

    assert all(each.body.count("\n") <= 100 for _, each in all_parts(text))


def test_a_table_that_ends_at_a_cut_is_not_begun_again() -> None:
    table = "|name|value|\n|-|-|\n" + f"|n|{'v' * 90}|\n" * 90

    parts = all_parts(table + PROSE * 40)

    assert "|name|" not in parts[1][1].body


@pytest.mark.parametrize("offset", range(-5, 6))
@pytest.mark.parametrize(
    "cluster", ["👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "é\u0301", "👍🏽", "क्षि", "\u1112\u1161\u11ab"]
)
def test_a_grapheme_is_never_cut(cluster: str, offset: int) -> None:
    text = "x" * (8_400 + offset) + cluster * 400
    whole = set(regex.findall(r"\X", text))

    for piece in slices(text, all_parts(text)):
        assert set(regex.findall(r"\X", piece)) <= whole


@pytest.mark.parametrize("length", range(8_380, 8_440, 3))
@pytest.mark.parametrize(
    "token",
    [
        "[a label](https://example.com/path)",
        "<https://example.com/path>",
        "https://example.com/path",
        ":partying_face:",
        "**some bold words**",
        "`some code words`",
        "~~gone with it~~",
    ],
)
def test_a_token_is_never_cut(token: str, length: int) -> None:
    text = "word " * (length // 5) + token + " more" * 400

    assert any(token in piece for piece in slices(text, all_parts(text)))


def test_a_token_beyond_the_limit_is_cut_all_the_same() -> None:
    text = "[label](https://x.y/" + "z" * 30_000 + ")"

    assert len(all_parts(text)) < 6
    assert "".join(slices(text, all_parts(text))) == text


def test_paragraphs_are_kept_whole_where_possible() -> None:
    text = f"{PROSE * 20}\n\n" * 20

    assert all(piece.endswith("\n\n") for piece in slices(text, all_parts(text)))


def test_a_heading_is_not_left_behind_by_its_text() -> None:
    text = PROSE * 100 + "\n\n## Next\n\n" + PROSE * 100

    assert all_parts(text)[1][1].body.startswith("## Next\n")


def test_sentences_are_kept_whole_where_there_is_nothing_better() -> None:
    assert all(piece.endswith("sleeps. ") for piece in slices(PROSE * 500, all_parts(PROSE * 500)))


def test_many_headings_go_to_several_parts() -> None:
    text = "".join(f"## Part {i}\n\ntext\n\n" for i in range(100))

    parts = all_parts(text)

    assert [each.body.count("## ") for _, each in parts] == [40, 40, 20]


def test_the_rest_of_a_line_is_not_taken_for_a_fence_or_a_heading() -> None:
    text = "漢" * 2_800 + "# ``` no fence\n" + "```\n<!here>\n```\n"

    for offset in (2_800, 2_802):
        body = part(text, Cut(offset)).body
        assert parse(body).fences == ["<!here>\n"]
        assert not body.startswith(("#", "```"))


@pytest.mark.parametrize("text", ["漢" * 4_000, "&" * 4_000, "<" * 4_000, "👍" * 4_000])
@pytest.mark.parametrize("style", Style)
def test_what_grows_when_it_is_escaped_is_still_whole(text: str, style: Style) -> None:
    parts = all_parts(text, style)

    assert "".join(slices(text, parts)) == text
    shown = "".join(each.body for _, each in parts)
    unescaped = shown.replace("&lt;", "<").replace("&amp;", "&").replace("\u200b", "")
    assert unescaped == text


def test_a_code_block_that_just_fills_a_part_leaves_no_empty_one() -> None:
    for length in range(8_850, 8_960, 3):
        parts = all_parts("```\n" + "x" * 80 + "\n" + "y" * (length - 81) + "\n```\n")
        assert all(each.body.strip("`\n") for _, each in parts)


def test_plain_parts_keep_fences_without_their_language() -> None:
    text = "a\n```python\n" + "x < 1\n" * 700 + "```\n"

    bodies = [each.body for _, each in all_parts(text, Style.PLAIN)]

    assert bodies[0].startswith("a\n```\nx &lt; 1\n")
    assert bodies[1].startswith("```\nx &lt; 1\n")
    assert all(body.endswith("\n```") for body in bodies)


@pytest.mark.parametrize(
    "text",
    [
        *(
            (flood * 100_000)[:100_000]
            for flood in ("<", "[", "`", "`a", "**a ", "![", "~~~ ", "|")
        ),
        "```\n" + "x" * 30_000 + "\n```",
        " " * 100_000 + "x",
        "a" + "\u0301" * 100_000,
        "---\n" * 20_000,
        "|a|b|\n|-|-|\n" + "|1|2|\n" * 15_000,
        ("|a" * 4_000 + "|\n" + "|-" * 4_000 + "|\n") + ("|b" * 4_000 + "|\n") * 5,
    ],
)
@pytest.mark.parametrize("style", Style)
def test_a_part_of_a_flood_is_cut_in_time(text: str, style: Style) -> None:
    started = time.process_time()
    first = part(text, Cut(), style)
    took = time.process_time() - started

    assert took < 1.0
    assert first.end is None or first.end.offset <= 100_001
    beginning = text[:25_000]
    assert "".join(slices(beginning, all_parts(beginning, style))) == beginning


def test_the_cost_of_a_part_does_not_grow_with_the_text_around_it() -> None:
    text = f"{PROSE * 10}\n\n" * 20_000

    started = time.process_time()
    for offset in range(0, len(text), len(text) // 20):
        part(text, Cut(offset))

    assert time.process_time() - started < 1.0
