"""What is said is drawn as Slack draws it, and nothing that is said becomes HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimibot.sandbox.page.blocks import Blocks
from kimibot.sandbox.page.highlight import highlighted
from kimibot.sandbox.page.markdown import Markdown
from kimibot.sandbox.page.message import Messages
from kimibot.sandbox.page.mrkdwn import mrkdwn_html
from kimibot.sandbox.page.readers import Reader, initials
from kimibot.sandbox.slack.people import ANA, BO, BOT, first_channels, first_people
from kimibot.sandbox.slack.typed import typed

READER = Reader(
    ANA.id,
    {person.id: person for person in first_people()},
    {channel.id: channel for channel in first_channels()},
)
ELSEWHERE = 'target="_blank" rel="noopener noreferrer"'
HOSTILE = (
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    '"><svg onload=alert(1)>',
    "[x](javascript:alert(1))",
    "<javascript:alert(1)|x>",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "![x](https://example.com/a.png)",
    '```"><script>\n<script>alert(1)</script>\n```',
    "|<script>|b|\n|---|---|\n|<script>|`<script>`|",
    '<@U0ANA0001|"><script>>',
    "<!subteam^S1|<script>>",
)


HARMLESS_TAGS = (
    {"a", "article", "button", "div", "figure", "figcaption", "header", "section", "span", "time"}
    | {"blockquote", "br", "code", "em", "hr", "li", "ol", "p", "pre", "s", "strong", "ul"}
    | {"table", "tbody", "td", "th", "thead", "tr"}
)


class Tags(HTMLParser):
    """Collects what a browser would find."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.found.update(name for name, _ in attrs if name.startswith("on"))

    def handle_data(self, data: str) -> None:
        self.text += data


def tags_in(html: str) -> set[str]:
    collector = Tags()
    collector.feed(html)
    return collector.found


def markdown(text: str) -> str:
    return Markdown().html(text, READER)


def mrkdwn(text: str) -> str:
    return mrkdwn_html(text, READER)


def message(**fields: Any) -> str:
    return Messages().html({"ts": "1795997260.000100", "user": BO.id, **fields}, READER)


# Markdown blocks


def test_markdown_is_drawn_with_its_tables_and_strikethrough() -> None:
    html = markdown("# Title\n\n**bold** ~~gone~~\n\n| a | b |\n|---|--:|\n| 1 | 2 |")

    assert 'role="heading" aria-level="4">Title' in html
    assert "<strong>bold</strong> <s>gone</s>" in html
    assert '<td class="to-right">2</td>' in html


def test_no_style_attribute_is_drawn_because_the_policy_forbids_them() -> None:
    assert "style=" not in markdown("| a | b |\n|:--|:-:|\n| 1 | 2 |")


def test_a_fence_has_its_language_a_copy_button_and_colours() -> None:
    html = markdown("```python\nreturn 'x'  # why\n```")

    assert "<span>python</span>" in html
    assert 'class="copy"' in html
    assert '<span class="keyword">return</span>' in html
    assert "<span class=\"string\">'x'</span>" in html
    assert '<span class="comment"># why</span>' in html


def test_a_mention_in_a_markdown_block_is_a_pill_but_not_in_code() -> None:
    html = markdown(f"<@{BO.id}> and `<@{BO.id}>`, <#C0DEV0001>, <!here>")

    assert '<span class="mention">@bo</span>' in html
    assert "<code>&lt;@U0BO00001&gt;</code>" in html
    assert '<span class="mention">#dev</span>' in html
    assert '<span class="mention is-loud">@here</span>' in html


def test_entities_are_decoded_once() -> None:
    assert "&lt;!here&gt;" in markdown("&lt;!here&gt;")
    assert "&amp;lt;" in markdown("&amp;lt;")


def test_a_link_opens_elsewhere_and_tells_nobody() -> None:
    html = markdown("[site](https://example.com/?a=1&b=2)")

    assert 'href="https://example.com/?a=1&amp;b=2"' in html
    assert 'rel="noopener noreferrer"' in html


# mrkdwn


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*bold* _it_ ~no~", "<strong>bold</strong> <em>it</em> <s>no</s>"),
        ("`a&lt;b`", "<code>a&lt;b</code>"),
        ("2*3*4", "2*3*4"),
        ("a\nb", "a<br>b"),
        ("&gt; said\nthen", "<blockquote>said</blockquote>then"),
        ("```x\n y```", '<pre class="plain" tabindex="0">x\n y</pre>'),
        ("&amp;lt;", "&amp;lt;"),
        ("<@U0ANA0001>", '<span class="mention is-me">@ana</span>'),
        ("<!channel>", '<span class="mention is-loud">@channel</span>'),
        ("<mailto:a@b.c|a@b.c>", f'<a href="mailto:a@b.c" {ELSEWHERE}>a@b.c</a>'),
        ("*<@U0BO00001> you*", '<strong><span class="mention">@bo</span> you</strong>'),
        ("<!date^1796083200^{time}|00:00 UTC>", "00:00 UTC"),
    ],
)  # fmt: skip
def test_mrkdwn_is_drawn(text: str, html: str) -> None:
    assert mrkdwn(text) == html


def test_a_link_to_anything_but_the_web_stays_text() -> None:
    assert mrkdwn("<javascript:alert(1)|click>") == "click"


# What people type


def test_what_people_type_is_drawn_from_its_rich_text() -> None:
    said = "Look @bo:\n- *one*\n- `two`\n> quoted\n```\na < b\n```\n:tada: https://example.com/x"
    _, blocks = typed(said, {"bo": BO.id}, "b")

    html = Blocks().html(blocks, READER)

    assert '<span class="mention">@bo</span>' in html
    assert "<li><strong>one</strong></li><li><code>two</code></li>" in html
    assert "<blockquote>quoted" in html
    assert "a &lt; b" in html
    assert 'aria-label="tada">🎉' in html
    assert '<a href="https://example.com/x"' in html


# Whole messages


def test_an_app_has_a_badge_and_its_edits_no_mark() -> None:
    html = message(user=BOT.user_id, bot_id=BOT.bot_id, text="Hi", edited={"ts": "2"})

    assert '<span class="badge">App</span>' in html
    assert "(edited)" not in html


def test_a_person_who_edited_is_marked() -> None:
    assert "(edited)" in message(text="Hi", edited={"ts": "2"})


def test_a_button_can_be_pressed_by_its_action() -> None:
    button = {"type": "button", "action_id": 'a"b', "text": {"type": "plain_text", "text": "Go"}}

    html = message(blocks=[{"type": "actions", "elements": [button]}])

    assert 'data-action="a&quot;b">Go</button>' in html


def test_a_button_that_asks_before_it_counts_says_what_it_asks() -> None:
    texts = {"title": 'Sure"?', "text": "It is seen.", "confirm": "Yes", "deny": "No"}
    confirm = {name: {"type": "plain_text", "text": text} for name, text in texts.items()}
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}

    html = message(blocks=[{"type": "actions", "elements": [button | {"confirm": confirm}]}])

    assert 'data-title="Sure&quot;?" data-text="It is seen." data-yes="Yes" data-no="No">Go' in html


def test_a_menu_has_its_options_and_nothing_of_it_is_html() -> None:
    option = {"text": {"type": "plain_text", "text": "2 · <b>"}, "value": 't"2'}
    menu = {
        "type": "static_select",
        "action_id": "explain",
        "placeholder": {"type": "plain_text", "text": "Explain…"},
        "options": [option],
    }

    html = message(blocks=[{"type": "actions", "elements": [menu]}])

    assert 'data-action="explain" aria-label="Explain…"' in html
    assert '<option value="t&quot;2">2 · &lt;b&gt;</option></select>' in html


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "header", "text": {"type": "plain_text", "text": "Big <b>"}}, "Big &lt;b&gt;"),
        ({"type": "divider"}, "<hr>"),
        (
            {"type": "context", "elements": [{"type": "mrkdwn", "text": "*x*"}]},
            "<strong>x</strong>",
        ),
        ({"type": "section", "text": {"type": "mrkdwn", "text": "_x_"}}, "<em>x</em>"),
        ({"type": "section", "fields": [{"type": "plain_text", "text": "*x*"}]}, "*x*"),
        ({"type": "<x>"}, "a block of type &lt;x&gt;"),
    ],
)
def test_each_kind_of_block_is_drawn(block: dict[str, Any], words: str) -> None:
    assert words in message(blocks=[block])


def test_replies_are_counted_with_faces_and_the_time_of_the_last() -> None:
    html = message(text="x", reply_count=2, reply_users=[ANA.id], latest_reply="1795997261.0")

    assert "2 replies" in html
    assert "2026-11-30T00:07:41Z" in html


def test_one_may_edit_and_delete_only_what_one_said_oneself() -> None:
    own, other = message(text="x", user=ANA.id), message(text="x")

    assert 'data-do="delete"' in own
    assert 'data-do="delete"' not in other


def test_a_deleted_root_leaves_its_place() -> None:
    html = message(subtype="tombstone", text="This message was deleted.")

    assert "This message was deleted." in html
    assert "Reply in thread" not in html


def test_a_snippet_is_shown_with_its_beginning() -> None:
    snippet = {"mode": "snippet", "title": "Code 1", "filetype": "python", "pretty_type": "Python"}
    file = snippet | {"name": "a.py", "preview": "if a < b:\n    pass", "lines_more": 40}

    html = message(text="", files=[file])

    assert "Code 1 · a.py" in html
    assert "a &lt; b" in html
    assert "40 more lines" in html


def test_files_and_reactions_are_shown() -> None:
    html = message(
        text="x", files=[{"name": "a<b.txt"}], reactions=[{"name": "eyes", "users": ["U1", "U2"]}]
    )

    assert "a&lt;b.txt" in html
    assert "👀</span> 2" in html


def test_initials_are_those_of_the_first_and_last_name() -> None:
    assert [initials(name) for name in ("Ana Lima", "kimibot", "a b c", "")] == [
        "AL",
        "K",
        "AC",
        "",
    ]


# Hostile texts


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_is_said_becomes_html(text: str) -> None:
    _, blocks = typed(text, {}, "b")
    for html in (
        markdown(text),
        mrkdwn(text),
        Blocks().html(blocks, READER),
        message(text=text, user=text, ts=text, files=[{"name": text}]),
        message(blocks=[{"type": text, "text": text}], reactions=[{"name": text}]),
        highlighted(text, "python"),
    ):
        assert tags_in(html) <= HARMLESS_TAGS
        assert not any(bad in html.lower() for bad in ('href="javascript', 'href="data'))


@given(st.text(alphabet="<>&\"'`*_~|[]()!@#:/ \nabU0", max_size=120))
def test_whatever_is_said_only_harmless_tags_are_drawn(text: str) -> None:
    assert tags_in(markdown(text) + mrkdwn(text)) <= HARMLESS_TAGS


@pytest.mark.parametrize("language", ["python", "sql", "js", "bash", "diff", "none"])
@given(code=st.text(max_size=200))
def test_coloured_code_is_still_the_same_code(language: str, code: str) -> None:
    collector = Tags()
    collector.feed(highlighted(code, language))
    collector.close()

    assert collector.text == code.replace("\r\n", "\n").replace("\r", "\n") or "\r" in code


@pytest.mark.parametrize("text", ["<" * 20_000, "`" * 20_000, "*_~" * 7_000, "[(" * 10_000])
def test_a_flood_of_marks_is_drawn_soon(text: str) -> None:
    began = process_time()

    mrkdwn(text)
    highlighted(text, "python")

    assert process_time() - began < 2
