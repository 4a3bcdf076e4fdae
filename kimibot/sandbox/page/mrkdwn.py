"""Draws mrkdwn, Slack's own markup, as HTML.

The markup is that of https://docs.slack.dev/messaging/formatting-message-text. Nothing in a text
is ever passed on as HTML.
"""

from __future__ import annotations

import re
from html import escape

from kimibot.sandbox.page.emoji import drawn
from kimibot.sandbox.page.readers import Reader

_FENCE = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)
_QUOTED = re.compile(r"(?:^&gt;[^\n]*(?:\n|\Z))+", re.MULTILINE)
_TOKEN = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|<(?P<target>[^<>|\n]+)(?:\|(?P<label>[^<>\n]*))?>"
    r"|(?<![\w*])\*(?P<strong>[^*\s](?:[^*\n]*[^*\s])?)\*(?![\w*])"
    r"|(?<![\w_])_(?P<em>[^_\s](?:[^_\n]*[^_\s])?)_(?![\w_])"
    r"|(?<![\w~])~(?P<s>[^~\s](?:[^~\n]*[^~\s])?)~(?![\w~])"
    r"|:(?P<emoji>[a-z0-9_+-]{1,40}):"
)
_SAFE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def mrkdwn_html(text: str, reader: Reader) -> str:
    """The HTML of a mrkdwn text, in which `&`, `<` and `>` are escaped once."""
    pieces = _FENCE.split(text)
    return "".join(
        f'<pre class="plain" tabindex="0">{_escaped(piece)}</pre>'
        if index % 2
        else _prose(piece, reader)
        for index, piece in enumerate(pieces)
    )


def link(url: str, label: str) -> str:
    """A link that can only lead to the web or to a mailbox; anything else stays text."""
    if not _SAFE.match(url):
        return escape(label or url)
    return f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer">{escape(label)}</a>'


def _prose(text: str, reader: Reader) -> str:
    html, end = "", 0
    for quote in _QUOTED.finditer(text):
        html += _lines(text[end : quote.start()], reader)
        inner = re.sub(r"^&gt; ?", "", quote.group(), flags=re.MULTILINE)
        html += f"<blockquote>{_lines(inner.removesuffix(chr(10)), reader)}</blockquote>"
        end = quote.end()
    return html + _lines(text[end:], reader)


def _lines(text: str, reader: Reader) -> str:
    html, end = "", 0
    for token in _TOKEN.finditer(text):
        html += _plain(text[end : token.start()]) + _drawn(token, reader)
        end = token.end()
    return html + _plain(text[end:])


def _drawn(token: re.Match[str], reader: Reader) -> str:
    kind = next(name for name, value in token.groupdict().items() if value is not None)
    value = token[kind]
    if kind == "code":
        return f"<code>{_escaped(value)}</code>"
    if kind == "target":
        return _target(_once(value), _once(token["label"] or ""), reader)
    if kind == "emoji":
        return drawn(value)
    return f"<{kind}>{_lines(value, reader)}</{kind}>"


def _target(target: str, label: str, reader: Reader) -> str:
    if target.startswith("!date^"):
        return escape(label, quote=False)
    if target[0] in "@#!":
        return reader.mention(target, label)
    return link(target, label or target.removeprefix("mailto:"))


def _plain(text: str) -> str:
    return _escaped(text).replace("\n", "<br>")


def _escaped(text: str) -> str:
    return escape(_once(text), quote=False)


def _once(text: str) -> str:
    """Slack's three entities decoded, `&amp;` last."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
