"""Cuts a stream of server-sent events out of bytes: pure, incremental, in linear time.

As in html.spec.whatwg.org, "Server-sent events", but for two things. An event that the end of
the stream cuts off is given out all the same: endpoints end with `data: [DONE]` and no blank
line. And `id` and `retry` are not kept, for nobody reconnects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_EVENT_BYTES = 8 * 1024 * 1024

# Bytes, not text: in text, U+2028 and U+0085 would end a line, and JSON may hold both.
_LINE_END = re.compile(rb"\r\n|\r|\n")


class EventTooLong(ValueError):
    """An event is longer than MAX_EVENT_BYTES."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event that has data; its name is "" where the stream gave none."""

    name: str
    data: str


class EventDecoder:
    """Takes the bytes of a stream as they come and gives back the events that they complete."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._line: list[bytes] = []  # the pieces of a line whose end has not come
        self._data: list[bytes] = []
        self._name = b""
        self._held_bytes = 0
        self._after_return = False

    def feed(self, piece: bytes) -> list[Event]:
        """Raises EventTooLong; nothing may be fed after that."""
        if self._after_return and piece.startswith(b"\n"):
            piece = piece[1:]
        elif not piece:
            return []
        self._after_return = piece.endswith(b"\r")
        *ended, rest = _LINE_END.split(piece)
        events = [event for line in ended if (event := self._end_line(line))]
        self._hold(rest)
        return events

    def flush(self) -> list[Event]:
        """The stream has ended: what was held is an event if it has data."""
        last = self._end_line(b"") if self._line else None
        event = last or self._end_event()
        return [event] if event else []

    def _hold(self, rest: bytes) -> None:
        if rest:
            self._count(rest)
            self._line.append(rest)

    def _end_line(self, rest: bytes) -> Event | None:
        line = b"".join([*self._line, rest])
        self._line.clear()
        if not line:
            return self._end_event()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._count(rest)
            self._data.append(value)
        elif name == b"event":
            self._name = value
        return None

    def _end_event(self) -> Event | None:
        data, name = b"\n".join(self._data), self._name
        self._data, self._name, self._held_bytes = [], b"", 0
        if not data:
            return None
        return Event(name.decode(errors="replace"), data.decode(errors="replace"))

    def _count(self, held: bytes) -> None:
        self._held_bytes += len(held)
        if self._held_bytes > self._max_event_bytes:
            raise EventTooLong(f"an event of more than {self._max_event_bytes} bytes")
