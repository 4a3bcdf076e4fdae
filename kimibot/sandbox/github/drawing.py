"""Draws the Markdown of a review as HTML: a comment is not shown, other raw HTML stays text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class Markdown:
    """A parser that is made once and draws any number of texts."""

    def __init__(self) -> None:
        self._parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        self._parser.disable("image")
        for name in ("html_block", "html_inline"):
            self._parser.add_render_rule(name, _raw_html)

    def html(self, text: str) -> str:
        """The HTML of a text, which runs nothing."""
        return str(self._parser.render(text))


def _raw_html(
    _renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: Any
) -> str:
    return escape(_COMMENT.sub("", tokens[index].content))
