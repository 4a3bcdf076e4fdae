"""Reads Slack's escaped mrkdwn as Markdown: entities and control sequences are resolved once.

https://docs.slack.dev/messaging/formatting-message-text
"""

from __future__ import annotations

import re

from kimibot.fencing import fence_mark, span_mark
from kimibot.slack.markdown import unescape

_INLINE = r"```(?P<fence>.*?)```|`(?P<code>[^`\n]+)`|<(?P<control>[^<>\n]+)>"
_QUOTE = r"^(?:>|&gt;){3}(?P<rest>.*)|^(?:>|&gt;)(?P<quote>[^\n]*)"
_QUOTED = re.compile(_INLINE, re.DOTALL)
_TOKEN = re.compile(f"{_INLINE}|{_QUOTE}", re.DOTALL | re.MULTILINE)
_CONTROL = re.compile(r"<([^<>\n]+)>")
_ID = re.compile(r"\w{1,64}")
_LANGUAGE = re.compile(r"[\w+#./:-]{1,40}")
_BROADCASTS = ("here", "channel", "everyone")


def read_mrkdwn(text: str, mentions: set[str]) -> str:
    """The text as Markdown, exact in code. Whom it addresses outside code and quotes is added to
    `mentions`."""
    return _read(_TOKEN, text, mentions)


def code_block(code: str, language: str = "") -> str:
    """The code in a fence that is longer than any run of backticks in it."""
    mark = fence_mark(code)
    language = language if _LANGUAGE.fullmatch(language) else ""
    end = "" if code.endswith("\n") or not code else "\n"
    return f"{mark}{language}\n{code}{end}{mark}"


def code_span(code: str) -> str:
    """The code between backticks that it does not contain as often."""
    mark = span_mark(code)
    space = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{mark}{space}{code}{space}{mark}"


def link(url: str, label: str) -> str:
    """A link in Markdown; without a label of its own, only the address."""
    if not label or label in (url, url.partition(":")[2], url.partition("://")[2]):
        return label if url.startswith(("mailto:", "tel:")) and label else url
    return f"[{label}]({url})"


def _read(tokens: re.Pattern[str], text: str, mentions: set[str]) -> str:
    pieces: list[str] = []
    end = 0
    for token in tokens.finditer(text):
        pieces += [unescape(text[end : token.start()]), _resolved(token, mentions)]
        end = token.end()
    return "".join([*pieces, unescape(text[end:])])


def _resolved(token: re.Match[str], mentions: set[str]) -> str:
    if token["fence"] is not None:
        return _fence(token)
    if token["code"] is not None:
        return code_span(_bare(token["code"]))
    if token["control"] is not None:
        return _control(token["control"], mentions)
    quoted = token["quote"] if token["rest"] is None else token["rest"]
    lines = _read(_QUOTED, quoted.strip(" "), set()).split("\n")
    return "\n".join(f"> {line}" for line in lines)


def _fence(token: re.Match[str]) -> str:
    """The fence on lines of its own; the line breaks at its ends are not part of the code."""
    code = _bare(token["fence"]).removeprefix("\n").removesuffix("\n")
    before = token.string[max(0, token.start() - 1) : token.start()]
    after = token.string[token.end() : token.end() + 1]
    start, end = ("" if edge in ("", "\n") else "\n" for edge in (before, after))
    return f"{start}{code_block(code)}{end}"


def _bare(code: str) -> str:
    """Code as it was typed: Slack writes addresses in it as links."""
    return unescape(_CONTROL.sub(lambda control: _typed(control[1]), code))


def _typed(control: str) -> str:
    target, _, label = control.partition("|")
    return f"<{target}>" if target[0:1] in ("@", "#", "!") else label or target


def _control(control: str, mentions: set[str]) -> str:
    target, _, label = (unescape(piece) for piece in control.partition("|"))
    sign, name = target[:1], target[1:]
    if sign == "@" and _ID.fullmatch(name):
        mentions.add(name)
        return f"<@{name}>"
    if sign == "#":
        return f"#{label}" if label else f"<#{name}>"
    if sign == "!":
        return _special(name, label, mentions)
    return link(target, label)


def _special(name: str, label: str, mentions: set[str]) -> str:
    if name in _BROADCASTS:
        mentions.add(name)
        return f"@{name}"
    if name.startswith("subteam^"):
        group = name.removeprefix("subteam^")
        mentions.add(group)
        return label or f"@{group}"
    return label or name
