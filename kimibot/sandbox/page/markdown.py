"""Draws the Markdown of a markdown block as HTML, with mentions as pills and code in colour.

Raw HTML in a text stays text; see https://docs.slack.dev/reference/block-kit/blocks/markdown-block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from kimibot.sandbox.page.highlight import highlighted
from kimibot.sandbox.page.readers import Reader

_MENTION = re.compile(
    r"<(?P<target>@[UW][A-Z0-9]+|#[CG][A-Z0-9]+|!(?:here|channel|everyone)|!subteam\^[A-Z0-9]+)"
    r"(?:\|(?P<label>[^<>\n]*))?>"
)


class Markdown:
    """A parser that is made once and draws any number of texts."""

    def __init__(self) -> None:
        options = {"html": False, "linkify": False, "breaks": True}
        self._parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
        self._parser.disable(["image", "html_inline", "html_block"])
        self._parser.inline.ruler.before("autolink", "mention", _read_mention)
        for name, rule in _RULES.items():
            self._parser.add_render_rule(name, rule)

    def html(self, text: str, reader: Reader) -> str:
        """The HTML of a text."""
        return str(self._parser.render(text, {"reader": reader}))


def code_block(code: str, language: str = "") -> str:
    """A block of code with its language and a button that copies it."""
    name = escape(language or "text")
    shown = highlighted(code.removesuffix("\n"), language.lower())
    return (
        f'<figure class="code"><figcaption><span>{name}</span>'
        '<button type="button" class="copy">Copy</button></figcaption>'
        f'<pre tabindex="0"><code>{shown}</code></pre></figure>'
    )


def _read_mention(state: StateInline, silent: bool) -> bool:
    found = _MENTION.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        token = state.push("mention", "", 0)
        token.content = found["target"]
        token.info = found["label"] or ""
    state.pos = found.end()
    return True


def _mention(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, env: Any
) -> str:
    reader: Reader = env["reader"]
    return reader.mention(tokens[index].content, tokens[index].info)


def _fence(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any
) -> str:
    words = tokens[index].info.split()
    return code_block(tokens[index].content, words[0] if words else "")


def _indented(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any
) -> str:
    return code_block(tokens[index].content)


def _table_open(*_: Any) -> str:
    return '<div class="table" role="region" aria-label="Table" tabindex="0"><table>'


def _table_close(*_: Any) -> str:
    return "</table></div>"


def _cell(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any
) -> str:
    """The page's policy forbids style attributes, so the alignment becomes a class."""
    style = str(tokens[index].attrGet("style") or "")
    side = style.removeprefix("text-align:")
    return f'<{tokens[index].tag} class="to-{side}">' if style else f"<{tokens[index].tag}>"


def _heading_open(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any
) -> str:
    level = int(tokens[index].tag[1])
    return f'<div class="heading h{level}" role="heading" aria-level="{min(level + 3, 6)}">'


def _heading_close(*_: Any) -> str:
    return "</div>"


def _link_open(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any
) -> str:
    token = tokens[index]
    if not str(token.attrGet("href")).lower().startswith(("http://", "https://", "mailto:")):
        token.attrSet("href", "#")
    token.attrSet("target", "_blank")
    token.attrSet("rel", "noopener noreferrer")
    return renderer.renderToken(tokens, index, options, env)


_RULES = {
    "mention": _mention,
    "fence": _fence,
    "code_block": _indented,
    "table_open": _table_open,
    "table_close": _table_close,
    "th_open": _cell,
    "td_open": _cell,
    "heading_open": _heading_open,
    "heading_close": _heading_close,
    "link_open": _link_open,
}
