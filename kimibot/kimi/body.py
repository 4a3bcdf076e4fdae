"""Makes deltas of the body of a response, and says whether the answer is whole. No I/O.

Whatever bytes come, they end in one of two ways: `is_over`, or `failure`. Deltas that came before
a failure are kept: what the model said until then is not lost.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections import deque
from collections.abc import Mapping
from typing import Any

from kimibot.answers import Delta
from kimibot.errors import CutOff, KimiError, ServerFault, TooSlow
from kimibot.kimi import wire
from kimibot.kimi.faults import Headers, fault, trace_id
from kimibot.kimi.markup import Markup
from kimibot.kimi.sse import Event, EventDecoder, EventTooLong
from kimibot.kimi.surrogates import Surrogates

MAX_BODY_BYTES = 64 * 1024 * 1024
UNKNOWN_REASON = "unknown"
"""The finish reason of an answer that ended in `[DONE]` and gave none."""

EMPTY = "empty_body"
"""The code of a response that had nothing in it."""

_BOM = b"\xef\xbb\xbf"

log = logging.getLogger(__name__)


class AnswerBody:
    """Fed with the bytes of a response of status 200; `deltas` are what they add up to so far.

    `events` counts what the model sent, sign of life for a timer: comments are none.
    """

    def __init__(self, headers: Headers, key: str = "") -> None:
        self.deltas: deque[Delta] = deque()
        self.events = 0
        self.is_finished = False  # a finish reason has come; usage and [DONE] may follow
        self.is_over = False
        self.failure: KimiError | None = None
        self._headers = headers
        self._key = key  # kept out of what errors say
        self._trace_id = ""
        self._completion_id = ""
        self._start = b""  # what came before it was clear whether these are events or JSON
        self._json: list[bytes] | None = None
        self._decoder: EventDecoder | None = None
        self._bytes = 0
        self._has_said = False
        self._markup = Markup()
        self._content = Surrogates()
        self._reasoning = Surrogates()

    @property
    def has_begun(self) -> bool:
        return self.events > 0

    @property
    def is_closed(self) -> bool:
        return self.is_over or self.failure is not None

    def feed(self, piece: bytes) -> None:
        self._bytes += len(piece)
        if self._bytes > MAX_BODY_BYTES:
            self.fail(ServerFault("a body without end", code="body_too_long"))
        elif self._decoder is not None:
            self._take_events(self._decoder, piece)
        elif self._json is not None:
            self._json.append(piece)
        else:
            self._look_at(self._start + piece)

    def end(self) -> None:
        """The body has ended. Without a finish reason or [DONE] it was cut off."""
        if self._json is not None:
            self._take_whole(b"".join(self._json).decode(errors="replace"))
        elif self._decoder is not None:
            for event in self._decoder.flush():
                self._take(event)
        if self.is_closed:
            return
        if self.has_begun or self.is_finished:
            self.fail(CutOff("the stream ended before the answer did"))
        else:
            self.fail(ServerFault("a response without events", code=EMPTY))

    def fail(self, error: KimiError) -> None:
        """Something broke: no matter once the model has finished, else the answer is cut off."""
        if self.is_closed:
            return
        self._flush()
        if self.is_finished:
            self.is_over = True
        else:
            self.failure = self._as_cut(error) if self.has_begun else error
            self.failure.trace_id = self.failure.trace_id or self._trace()

    def _look_at(self, start: bytes) -> None:
        """JSON has come with the type of events, and events with that of JSON: the bytes decide."""
        if _BOM.startswith(start):
            self._start = start
            return
        start = start.removeprefix(_BOM).lstrip(b" \t\r\n")
        self._start = b""
        if not start:
            return
        if start.startswith(b"<"):
            self.fail(self._fault(start.decode(errors="replace")))
        elif start.startswith(b"{"):
            self._json = [start]
        else:
            self._decoder = EventDecoder()
            self._take_events(self._decoder, start)

    def _take_events(self, decoder: EventDecoder, piece: bytes) -> None:
        try:
            events = decoder.feed(piece)
        except EventTooLong as error:
            self.fail(ServerFault(str(error), code="event_too_long"))
            return
        for event in events:
            self._take(event)

    def _take(self, event: Event) -> None:
        text = event.data.strip()
        if self.is_closed or not text:
            return
        if text.startswith("[DONE]"):
            self._finish()
        elif event.name == "error":
            self.fail(self._fault(text))
        else:
            self._take_json(text)

    def _take_json(self, text: str) -> None:
        """Some relays leave out the blank line between two events: then each line is one."""
        try:
            body = wire.object_in(text)
        except ValueError:
            lines = text.split("\n")
            if len(lines) == 1:
                self.fail(CutOff("a chunk that is no JSON", code="malformed_chunk"))
            for line in lines if len(lines) > 1 else ():
                self._take(Event("", line))
            return
        if body is not None:
            self._take_object(body)

    def _take_whole(self, text: str) -> None:
        """A body that is JSON although a stream was asked for."""
        self._take_json(text.strip())
        if self.has_begun and not self.is_closed:
            self._finish()

    def _take_object(self, body: Mapping[str, Any]) -> None:
        if wire.is_error(body):
            self.fail(self._fault(json.dumps(body)))
        elif (delta := wire.delta_in(body)) is not None:
            self.events += 1
            self._note_ids(body, delta)
            self._add(delta)

    def _note_ids(self, body: Mapping[str, Any], delta: Delta) -> None:
        self._completion_id = self._completion_id or delta.completion_id
        self._trace_id = self._trace_id or trace_id(self._headers, body, self._completion_id)

    def _add(self, delta: Delta) -> None:
        """Pass the delta on with its content unmarked, unless nothing is left to say."""
        unmarked = self._markup.feed(self._content.feed(delta.content))
        reasoning = delta.reasoning
        if reasoning is not None:
            reasoning = self._reasoning.feed(reasoning)
        if unmarked.reasoning:
            reasoning = (reasoning or "") + unmarked.reasoning
        if (unmarked.content, reasoning) != (delta.content, delta.reasoning):
            delta = dataclasses.replace(delta, content=unmarked.content, reasoning=reasoning)
        self._say(delta)
        if delta.finish_reason:
            self.is_finished = True
            self._flush()

    def _say(self, delta: Delta) -> None:
        is_first, self._has_said = not self._has_said, True
        if is_first:
            delta = dataclasses.replace(delta, trace_id=self._trace())
        if is_first or _says_something(delta):
            self.deltas.append(delta)

    def _finish(self) -> None:
        self._flush()
        if not self.is_finished:
            self._say(Delta(finish_reason=UNKNOWN_REASON))
        self.is_finished = self.is_over = True

    def _flush(self) -> None:
        """What was held back in hope of more gets out."""
        unmarked = self._markup.feed(self._content.flush())
        last = self._markup.flush()
        reasoning = self._reasoning.flush() + unmarked.reasoning + last.reasoning
        content = unmarked.content + last.content
        if content or reasoning:
            self._say(Delta(content=content, reasoning=reasoning or None))
        if self._markup.tools_dropped:
            self._markup.tools_dropped = False
            log.warning("a tool call stood in the text and was left out, trace %s", self._trace())

    def _fault(self, text: str) -> KimiError:
        return fault(200, self._headers, text.replace(self._key, "…") if self._key else text)

    def _trace(self) -> str:
        return self._trace_id or trace_id(self._headers, {}, self._completion_id)

    def _as_cut(self, error: KimiError) -> KimiError:
        if isinstance(error, (CutOff, TooSlow)):
            return error
        cut = CutOff(error.detail, trace_id=error.trace_id, status=error.status, code=error.code)
        cut.__cause__ = error
        return cut


def _says_something(delta: Delta) -> bool:
    return bool(
        delta.content
        or delta.reasoning is not None
        or delta.tool_calls
        or delta.finish_reason
        or delta.usage
    )
