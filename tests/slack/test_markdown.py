"""What the model writes is shown as it meant it, and pings nobody."""

from __future__ import annotations

import re
import time

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kimibot.slack.markdown import notification, plain, render, unescape
from tests.slack.slack_parse import can_ping, parse

STEADY = settings(max_examples=200, derandomize=True, deadline=None, database=None)

BITS = [
    "<!channel>", "<!here|x>", "<@U123>", "<#C1>", "<!subteam^S1>", "<", "!", "@", ">", "&", "&lt;",
    "`", "``", "```", "````", "```py", "~~~", "~~~~", "~", "\n", "\r\n", "\r", "\n\n", " ", "  ",
    "    ", "\t", "> ", "- ", "1. ", "**", "*", "|", "|-|-|\n", "|a|b|\n", "漢字", "é", "👩‍👩‍👧",
    "word ", "\\", "[a](b)", "![", "](", "<https://a.b/c>", "# ", "---\n", ":tada:", "x" * 50,
    "<br>", "![a [b]]", "](<", ">)", "![a][b]",
]  # fmt: skip
MARKDOWN = st.lists(st.sampled_from(BITS), max_size=40).map("".join)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <!channel> b", "a &lt;!channel> b"),
        ("<@U1> <#C1> <!subteam^S1|x>", "&lt;@U1> &lt;#C1> &lt;!subteam^S1|x>"),
        ("a && b < c", "a && b &lt; c"),
        ("a &lt; b &amp; c", "a &amp;lt; b &amp;amp; c"),
        ("see <https://x.y/?a=1&b=2>", "see <https://x.y/?a=1&b=2>"),
        ("mail <mailto:a@b.c>", "mail <mailto:a@b.c>"),
        ("<https://x.y|@here>", "&lt;https://x.y|@here>"),
        ("> quoted `cmd`", "> quoted `cmd`"),
        ("npm i @vercel/pg, a@b.com, @here", "npm i @vercel/pg, a@b.com, @here"),
        ("`C:\\Projects\\*` and `<T> && x`", "`C:\\Projects\\*` and `<T> && x`"),
        ("![alt](https://x/y.png)", "[alt](https://x/y.png)"),
        ("![](https://x/y.png)", "[image](https://x/y.png)"),
        ("[![ok](https://x/b.svg)](https://x)", "[ok](https://x)"),
        ("# Head\n\n---\n", "# Head\n\n---\n"),
        ("$a_b$ *it* ~~no~~", "$a_b$ *it* ~~no~~"),
    ],
)
def test_prose_is_changed_only_where_slack_would_misread_it(text: str, shown: str) -> None:
    assert render(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("这是**重点**内容", "这是 **重点** 内容"),
        ("请运行`ls`命令", "请运行 `ls` 命令"),
        ("太郎は**「こんにちわ」**と", "太郎は **「こんにちわ」** と"),
        ("这是 **重点** 内容", "这是 **重点** 内容"),
        ("`这是**重点**内容`", "`这是**重点**内容`"),
        ("plain **bold** text", "plain **bold** text"),
    ],
)
def test_marks_that_touch_wide_letters_get_a_space_outside(text: str, shown: str) -> None:
    assert render(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "```py\nx = '<!channel>' && `y`  \n\tC:\\*\n```",
        "1. a\n   ```sh\n   ls <@U1>\n   ```\n2. b",
        "before\n```\n\n\n```\nafter\n",
        "````md\n```\n<!here>\n```\n````\n",
    ],
)
def test_a_closed_fence_is_shown_exactly(text: str) -> None:
    assert render(text) == text


def test_a_fence_of_tildes_becomes_one_of_more_backticks_than_it_holds() -> None:
    assert render("~~~js\n```\n<!here>\n```\n~~~\n") == "````js\n```\n<!here>\n```\n````\n"


def test_an_open_fence_is_closed() -> None:
    assert render("```py\n<!here>") == "```py\n<!here>\n```\n"


@pytest.mark.parametrize(
    "text",
    [
        "> ```\n> <!here>\n> ```\n",
        "- a\n  - b\n    ```\n    <!here>\n    ```\n",
        "`<!here>` ``<@U1>`` text",
    ],
)
def test_nested_code_keeps_its_text_but_can_not_ping(text: str) -> None:
    shown = render(text)

    assert shown.replace("\u200b", "") == text
    assert "<!" not in shown
    assert "<@" not in shown


def test_a_fence_beside_a_list_mark_begins_on_a_line_of_its_own() -> None:
    assert render("- ```\n  <!here>\n  ```\n") == "-\n  ```\n  <\u200b!here>\n  ```\n"


def test_a_fence_that_leaves_its_list_item_stands_alone() -> None:
    shown = render("1. a\n   ```\n<!channel>\n   ```\n")

    assert shown == "1. a\n```\n<!channel>\n```\n"


def test_a_fence_after_an_unclosed_one_in_a_quote_still_is_one() -> None:
    shown = render("> ```\n> a\n\n```\n<!here>\n```\n")

    assert shown == "> ```\n> a\n> ```\n\n```\n<!here>\n```\n"


def test_a_table_within_the_limits_stays_and_the_next_is_drawn() -> None:
    table = "|a|漢字|\n|-|-|\n|1|<!x>|\n"

    shown = render(f"{table}\n{table}")

    assert shown == ("|a|漢字|\n|-|-|\n|1|&lt;!x>|\n\n```\na | 漢字\n- | ----\n1 | <!x>\n```\n")


@pytest.mark.parametrize(("columns", "rows"), [(21, 2), (2, 100)])
def test_a_table_beyond_the_limits_is_drawn(columns: int, rows: int) -> None:
    text = "|a" * columns + "|\n" + "|-" * columns + "|\n" + ("|1" * columns + "|\n") * rows

    shown = render(text)

    assert shown.startswith("```\na | a")
    assert parse(shown).elsewhere == ""


def test_no_source_is_shown_as_nothing() -> None:
    assert render("") == ""
    assert render("```") == "…"
    assert render("> `a`") == "> `a`"


def test_plain_text_is_escaped_once_and_nothing_else() -> None:
    assert plain('a && <b> &amp; "x"\n`<!here>`') == (
        'a &amp;&amp; &lt;b&gt; &amp;amp; "x"\n`&lt;!here&gt;`'
    )


@STEADY
@given(st.text())
def test_plain_text_comes_back_when_it_is_read(text: str) -> None:
    assert unescape(plain(text)) == text


@STEADY
@given(MARKDOWN)
@example("x\r~~~\n```\n~~~\n<!channel>\n```")
@example("```x``` `\n```\n<!channel>\n```")
@example("- a\n     ```\n  b\n\n  ```\n  <!here>\n  ```")
def test_no_markdown_can_ping_in_either_reading(text: str) -> None:
    shown = render(text)

    assert not can_ping(shown)
    assert not _pings_in_commonmark(shown)


@STEADY
@given(MARKDOWN)
def test_no_beginning_of_a_growing_text_can_ping(text: str) -> None:
    for end in range(0, len(text), 7):
        assert not can_ping(render(text[:end]))


@STEADY
@given(st.lists(st.sampled_from(BITS), max_size=40).map("".join))
def test_what_is_in_a_closed_fence_is_exact(content: str) -> None:
    code = content.replace("\r", "") + "\n"
    mark = "~" * (3 + max(map(len, re.findall("~+", code)), default=0))

    assert parse(render(f"a\n\n{mark}\n{code}{mark}\n\nb")).fences == [code]


@STEADY
@given(st.one_of(MARKDOWN, st.text()), st.integers(0, 30))
def test_a_notification_is_short_escaped_and_never_empty(text: str, times: int) -> None:
    shown = notification(text * times)

    assert 0 < len(shown) <= 300
    assert "<" not in shown
    assert ">" not in shown
    assert not re.search("&(?!(lt|gt|amp);)", shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("## Head\n\n**Bold** and `code`", "Head Bold and code"),
        ("see [docs](https://x.y)", "see docs"),
        ("```py\nx < 1\n```", "x &lt; 1"),
        (render("a < b"), "a &lt; b"),
        ("", "…"),
    ],
)
def test_a_notification_is_readable(text: str, shown: str) -> None:
    assert notification(text) == shown


def test_a_notification_is_cut_between_graphemes() -> None:
    family = "👩‍👩‍👧‍👦"

    shown = notification(family * 100).removesuffix("…")

    assert set(regex.findall(r"\X", shown)) == {family}


def test_half_a_surrogate_pair_does_not_break_the_encoding() -> None:
    for shown in (render("a\ud83d"), plain("a\ud83d"), notification("a\ud83d")):
        assert shown.encode() == "a\ufffd".encode()


@pytest.mark.parametrize(
    "flood",
    [
        "<",
        "[",
        "`",
        "`a",
        "``a`",
        "**a ",
        "![",
        "[![](",
        "&",
        "~",
        "|",
        "> ",
        "<https://",
        ":a",
        "\\`",
    ],
)
def test_a_flood_is_rendered_in_time(flood: str) -> None:
    text = (flood * 100_000)[:100_000]

    started = time.process_time()
    render(text)
    notification(text)

    assert time.process_time() - started < 1.0


def _pings_in_commonmark(body: str) -> bool:
    """Whether CommonMark's own reading leaves a raw mention outside of code blocks."""
    for token in MarkdownIt("commonmark").enable("table").parse(body):
        if token.type == "inline" and re.search("<[!@#]", token.content):
            return True
    return False
