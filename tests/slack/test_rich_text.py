"""What people type and paste reaches the model as they typed it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kimibot.slack.mrkdwn import code_block, read_mrkdwn
from kimibot.slack.rich_text import MAX_ATTACHMENT_CHARACTERS, read_said

STEADY = settings(max_examples=200, derandomize=True, deadline=None, database=None)


def text(value: str, **style: bool) -> dict[str, Any]:
    return {"type": "text", "text": value, **({"style": style} if style else {})}


def section(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": list(elements)}


def rich(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"blocks": [{"type": "rich_text", "elements": list(elements)}]}


def code(value: str, **fields: Any) -> dict[str, Any]:
    return {"type": "rich_text_preformatted", "elements": [text(value)], **fields}


def bullets(*items: str, **fields: Any) -> dict[str, Any]:
    elements = [section(text(item)) for item in items]
    return {"type": "rich_text_list", "style": "bullet", "elements": elements, **fields}


def quote(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text_quote", "elements": list(elements)}


USER = {"type": "user", "user_id": "U2"}


@pytest.mark.parametrize(
    ("elements", "shown"),
    [
        ([text("a < b && *c* &amp;")], "a < b && *c* &amp;"),
        ([text("bold", bold=True), text(" and "), text("it", italic=True)], "**bold** and _it_"),
        ([text("all ", bold=True, strike=True)], "**~~all~~** "),
        ([text("one", bold=True), text(" run", bold=True)], "**one run**"),
        ([text("C:\\Projects\\*", code=True)], "`C:\\Projects\\*`"),
        ([text("a`b", code=True)], "``a`b``"),
        ([text("`", code=True)], "`` ` ``"),
        ([{"type": "link", "url": "https://x.y/?a=1&b=2"}], "https://x.y/?a=1&b=2"),
        ([{"type": "link", "url": "https://x.y", "text": "docs"}], "[docs](https://x.y)"),
        ([{"type": "link", "url": "mailto:a@b.c", "text": "a@b.c"}], "a@b.c"),
        ([USER], "<@U2>"),
        ([{"type": "usergroup", "usergroup_id": "S1"}], "@S1"),
        ([{"type": "channel", "channel_id": "C2"}], "<#C2>"),
        ([{"type": "broadcast", "range": "channel"}], "@channel"),
        ([{"type": "emoji", "name": "tada"}], ":tada:"),
        ([{"type": "emoji", "name": "smile", "unicode": "1f604"}], "😄"),
        ([{"type": "emoji", "name": "x", "unicode": "zz"}], ":x:"),
        ([{"type": "date", "timestamp": 0}], "1970-01-01T00:00:00+00:00"),
        ([{"type": "date", "timestamp": 0, "fallback": "long ago"}], "long ago"),
        ([{"type": "color", "value": "#fff"}], "#fff"),
        ([{"type": "novelty", "text": "later"}], "later"),
    ],
)
def test_each_element_of_a_section_is_read(elements: list[dict[str, Any]], shown: str) -> None:
    assert read_said(rich(section(*elements))).text == shown


def test_lists_quotes_and_code_are_read_in_their_order() -> None:
    said = read_said(
        rich(
            section(text("Look:\n")),
            bullets("one", "two"),
            bullets("deep", indent=1),
            bullets("three", style="ordered", offset=2),
            quote(text("a\nb")),
            section(text("so\n")),
            code("x = 1\n\n  y\t", language="python"),
        )
    )

    assert said.text == (
        "Look:\n- one\n- two\n    - deep\n3. three\n> a\n> b\n\nso\n```python\nx = 1\n\n  y\t\n```"
    )


@STEADY
@given(st.text(st.characters(blacklist_categories=["Cs"])))
def test_pasted_code_is_exact(pasted: str) -> None:
    shown = read_said(rich(section(text("see\n")), code(pasted + "!"))).text

    mark = shown.split("\n")[1]
    assert set(mark) == {"`"}
    assert mark not in pasted
    assert shown == f"see\n{mark}\n{pasted}!\n{mark}"


def test_blocks_win_over_a_shortened_text() -> None:
    message = rich(code("@@ -1 +1 @@\n-a\n+b")) | {"text": "@@ -1…"}

    assert read_said(message).text == "```\n@@ -1 +1 @@\n-a\n+b\n```"


@pytest.mark.parametrize(
    "element",
    [
        section(text("<@U2>", code=True)),
        section(USER | {"style": {"code": True}}),
        {"type": "rich_text_preformatted", "elements": [USER]},
        quote(USER),
        bullets("x", border=1) | {"elements": [section(USER)]},
    ],
)
def test_code_and_quotes_address_nobody(element: dict[str, Any]) -> None:
    if element["type"] == "rich_text_list":
        element |= {"border": 1}
    said = read_said(rich(element))

    assert "<@U2>" in said.text
    assert said.mentions == set()


def test_the_authors_own_words_address_people() -> None:
    said = read_said(
        rich(section(USER, text(" and ")), bullets("x") | {"elements": [section(USER)]})
    )

    assert said.mentions == {"U2"}


def test_the_authors_own_words_address_groups_and_everybody() -> None:
    group = {"type": "usergroup", "usergroup_id": "S1"}
    here = {"type": "broadcast", "range": "here"}

    assert read_said(rich(section(group, here))).mentions == {"S1", "here"}
    assert read_said(rich(section(group | {"style": {"code": True}}))).mentions == set()


@pytest.mark.parametrize(
    ("block", "shown"),
    [
        ({"type": "section", "text": {"type": "mrkdwn", "text": "a &lt; <@U2>"}}, "a < <@U2>"),
        ({"type": "section", "text": {"type": "plain_text", "text": "a &lt;"}}, "a &lt;"),
        ({"type": "section", "fields": [{"type": "mrkdwn", "text": "x"}] * 2}, "x\nx"),
        ({"type": "header", "text": {"type": "plain_text", "text": "Alert"}}, "## Alert"),
        (
            {
                "type": "context",
                "elements": [
                    {"type": "image", "alt_text": "logo"},
                    {"type": "mrkdwn", "text": "by <https://x.y|me>"},
                ],
            },
            "[image: logo] by [me](https://x.y)",
        ),
        ({"type": "image", "alt_text": "graph"}, "[image: graph]"),
        ({"type": "markdown", "text": "# a\n`b`"}, "# a\n`b`"),
        ({"type": "divider"}, "---"),
        (
            {
                "type": "table",
                "rows": [
                    [{"type": "raw_text", "text": "a|b"}, {"type": "raw_number", "value": 3}],
                    [{"type": "rich_text", "elements": [section(text("c\n"))]}, None],
                ],
            },
            "| a\\|b | 3 |\n| --- | --- |\n| c |  |",
        ),
        ({"type": "alert", "text": {"type": "mrkdwn", "text": "down"}}, "down"),
        (
            {
                "type": "container",
                "title": "t",
                "child_blocks": [{"type": "markdown", "text": "m"}],
            },
            "t\nm",
        ),
        ({"type": "actions", "elements": [{"text": {"type": "plain_text", "text": "Go"}}]}, ""),
    ],
)
def test_each_kind_of_block_is_read(block: dict[str, Any], shown: str) -> None:
    assert read_said({"blocks": [block], "text": ""}).text == shown


@pytest.mark.parametrize(
    ("escaped", "shown"),
    [
        ("a &amp;&amp; b &lt;c&gt; &amp;lt;", "a && b <c> &lt;"),
        ("<https://x.y/?a=1&amp;b=2>", "https://x.y/?a=1&b=2"),
        ("<https://x.y|docs>", "[docs](https://x.y)"),
        ("<http://x.y|x.y>", "http://x.y"),
        ("<mailto:a@b.c|a@b.c>", "a@b.c"),
        ("<#C1|general> <#C1>", "#general <#C1>"),
        ("<@U1|ann>", "<@U1>"),
        ("<!here> <!channel|x>", "@here @channel"),
        ("<!subteam^S1|@devs> <!subteam^S1>", "@devs @S1"),
        ("<!date^1^{date}|Monday>", "Monday"),
        ("`a &lt; <http://x.y|x.y>`", "`a < x.y`"),
        ("so ```x &lt; 1``` ok", "so \n```\nx < 1\n```\n ok"),
        ("```\na\n  b\n```", "```\na\n  b\n```"),
        ("&gt; q <@U1>\nb", "> q <@U1>\nb"),
        ("&gt;&gt;&gt; a\nb", "> a\n> b"),
    ],
)
def test_escaped_text_is_resolved_once(escaped: str, shown: str) -> None:
    assert read_said({"text": escaped}).text == shown


@pytest.mark.parametrize(
    ("written", "mentions"),
    [
        ("<@U1> and <@U2|x>", {"U1", "U2"}),
        ("<!subteam^S1|@ops> and <!channel>", {"S1", "channel"}),
        ("`<!here>` and <!date^1700000000^{date}|a day>", set()),
        ("`<@U1>` ```<@U1>``` &lt;@U1&gt;", set()),
        ("&gt; <@U1>\n<@U2>", {"U2"}),
        ("<@U2>\n&gt;&gt;&gt; a\n<@U1>", {"U2"}),
    ],
)
def test_escaped_text_addresses_people_outside_code_and_quotes(
    written: str, mentions: set[str]
) -> None:
    found: set[str] = set()

    read_mrkdwn(written, found)

    assert found == mentions


def test_an_alert_of_attachments_alone_is_read() -> None:
    alert = {
        "text": "",
        "attachments": [
            {
                "pretext": "Look",
                "title": "500 in api",
                "title_link": "https://x.y",
                "text": "a &lt; b",
                "fields": [{"title": "Env", "value": "prod"}],
                "fallback": "unused",
            },
            {"fallback": "only this"},
        ],
    }

    assert read_said(alert).text == (
        "> Attached:\n> Look\n> [500 in api](https://x.y)\n> a < b\n> Env: prod\n\n"
        "> Attached:\n> only this"
    )


def test_a_forwarded_message_is_quoted_and_addresses_nobody() -> None:
    message = rich(section(text("what is this?"))) | {
        "attachments": [
            {
                "is_share": True,
                "author_name": "Ann\n> x",
                "message_blocks": [{"message": rich(section(USER, text(" stop\r<@U3>")))}],
                "files": [{"name": "log.txt"}],
                "attachments": [{"text": "inner <@U4>"}],
            }
        ]
    }

    said = read_said(message)

    assert said.mentions == set()
    assert said.text == (
        "what is this?\n\n> Forwarded from Ann > x:\n> <@U2> stop\n> <@U3>\n> [file: log.txt]\n"
        "> > Attached:\n> > inner <@U4>"
    )


def test_attachments_are_bounded_in_number_depth_and_length() -> None:
    inner: dict[str, Any] = {"text": "x" * 50_000}
    for _ in range(50):
        inner = {"text": "y", "attachments": [inner] * 3}

    shown = read_said({"text": "t", "attachments": [inner, {"text": "z" * 50_000}] * 50}).text

    assert len(shown) < MAX_ATTACHMENT_CHARACTERS + 1_000
    assert "[…]" in shown


@pytest.mark.parametrize(
    "flood", ["<", "[", "`", "```", "`a", "&gt;", "&", "<a|", "<@U1>", "\n&gt;", "<!", "*"]
)
def test_a_flood_is_read_in_time(flood: str) -> None:
    hostile = (flood * 100_000)[:100_000]

    started = time.process_time()
    read_said({"text": hostile})
    read_said(rich(section(text(hostile)), code(hostile), quote(text(hostile))))

    assert time.process_time() - started < 1.0


def test_a_language_that_is_none_is_left_out() -> None:
    assert code_block("x", "a b\n```") == "```\nx\n```"
