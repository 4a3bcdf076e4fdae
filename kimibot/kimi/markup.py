"""Takes the model's own markup out of its text: pure, incremental, in linear time.

Parsers in front of the model leak its channels into `content`, cut at any place:

    K3   <|open|>think<|sep|>…<|close|>think<|sep|>, likewise response, message, tools
    K2   <|tool_calls_section_begin|>…<|tool_calls_section_end|>
    both <think>…</think>

(vllm-project/vllm#50367, #51412, #53246.) What is thought goes to the reasoning, a response is
unwrapped, tool calls are dropped: nothing is ever executed out of text. People also ask about
these very markers, so what stands in a code fence or in inline code is left as it is, and so is a
`<think>` within a line of prose. One at the beginning of a line is obeyed even if it is never
closed: to lose some text is better than to show what was thought.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from kimibot.kimi.code_marks import CodeMarks

# A special token may be followed by a blank that the tokenizer put there.
_MARKER = re.compile(
    r"<\|(?P<side>open|close)\|>\s{0,2}(?P<name>[a-z_]{1,20})(?P<attributes>[^<\n]{0,200})<\|sep\|>"
    r"|<\|(?P<token>tool_calls?_section_begin|tool_calls?_section_end|tool_call_begin"
    r"|tool_call_argument_begin|tool_call_end|end_of_msg|im_end|sep)\|>"
    r"|<(?P<tag>/?think)>"
)
_TOKENS = (
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_section_begin|>",
    "<|tool_call_section_end|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|end_of_msg|>",
    "<|im_end|>",
    "<|sep|>",
    "<|open|>",
    "<|close|>",
    "<think>",
    "</think>",
)
_LONGEST_MARKER = 250
_UNFINISHED = re.compile(
    r"<\|(?:open|close)\|>\s{0,2}(?:[a-z_]{1,20}[^<\n]{0,200})?(?:<\|?s?e?p?\|?)?"
)


class _Channel(Enum):
    """Which of the model's channels the text is in."""

    TEXT = "text"
    THINK = "think"
    TOOLS = "tools"


# Markers that are not here change nothing; what else a channel opens belongs to a tool call.
_LEADS_TO = {
    "open think": _Channel.THINK,
    "close think": _Channel.TEXT,
    "open response": _Channel.TEXT,
    "close response": _Channel.TEXT,
    "open message": _Channel.TEXT,
    "close message": _Channel.TEXT,
    "close tools": _Channel.TEXT,
    "end_of_msg": _Channel.TEXT,
    "im_end": _Channel.TEXT,
    "tool_calls_section_begin": _Channel.TOOLS,
    "tool_call_section_begin": _Channel.TOOLS,
    "tool_call_begin": _Channel.TOOLS,
    "tool_call_argument_begin": _Channel.TOOLS,
    "tool_calls_section_end": _Channel.TEXT,
    "tool_call_section_end": _Channel.TEXT,
    "tool_call_end": _Channel.TEXT,
}


@dataclass(frozen=True, slots=True)
class Unmarked:
    """What a piece of content holds for people, and what of it is reasoning."""

    content: str = ""
    reasoning: str = ""


class Markup:
    """Fed with the content in pieces; `tools_dropped` says that a tool call was among it."""

    def __init__(self) -> None:
        self.tools_dropped = False
        self._channel = _Channel.TEXT
        self._code = CodeMarks()
        self._held = ""  # what may become a marker
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._mentions = 0  # of `<think>` as a word

    def feed(self, piece: str) -> Unmarked:
        text, self._held = self._held + piece, ""
        at = 0
        while (start := text.find("<", at)) >= 0:
            self._say(text[at:start])
            marker = _MARKER.match(text, start)
            if marker is None and self._may_become_marker(text, start):
                self._held = text[start:]
                return self._taken()
            at = start + 1
            if marker and self._obey(marker):
                at = marker.end()
            else:
                self._say("<")
        self._say(text[at:])
        return self._taken()

    def flush(self) -> Unmarked:
        """The text has ended: what was held back gets its place."""
        held, self._held = self._held, ""
        if not held.startswith(("<|open|>", "<|close|>")):
            self._say(held)
        return self._taken()

    def _may_become_marker(self, text: str, start: int) -> bool:
        if len(text) - start > _LONGEST_MARKER or self._is_code():
            return False
        rest = text[start:]
        return bool(_UNFINISHED.fullmatch(rest)) or any(token.startswith(rest) for token in _TOKENS)

    def _obey(self, marker: re.Match[str]) -> bool:
        """Whether it was a marker; otherwise it is text."""
        if self._is_code():
            return False
        if tag := marker["tag"]:
            return self._obey_tag(is_open=tag == "think")
        what = marker["token"] or f"{marker['side']} {marker['name']}"
        elsewhere = _Channel.TOOLS if what.startswith("open ") else None
        if (channel := _LEADS_TO.get(what, elsewhere)) is not None:
            self._enter(channel)
        return True

    def _obey_tag(self, *, is_open: bool) -> bool:
        if self._channel is _Channel.TOOLS:
            return True
        if self._channel is not _Channel.TEXT:
            if not is_open:
                self._enter(_Channel.TEXT)
            return not is_open
        if is_open and self._code.at_line_start():
            self._enter(_Channel.THINK)
            return True
        if is_open:
            self._mentions += 1
            return False
        is_partner = self._mentions > 0
        self._mentions -= is_partner
        return not is_partner

    def _enter(self, channel: _Channel) -> None:
        self._channel = channel
        self.tools_dropped |= channel is _Channel.TOOLS

    def _is_code(self) -> bool:
        return self._channel is _Channel.TEXT and self._code.in_code()

    def _say(self, text: str) -> None:
        if not text:
            return
        if self._channel is _Channel.TEXT:
            self._code.feed(text)
            self._content.append(text)
        elif self._channel is _Channel.THINK:
            self._reasoning.append(text)

    def _taken(self) -> Unmarked:
        unmarked = Unmarked("".join(self._content), "".join(self._reasoning))
        self._content.clear()
        self._reasoning.clear()
        return unmarked
