"""The decoder of server-sent events, without a socket."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimibot.kimi.sse import Event, EventDecoder, EventTooLong
from tests.kimi.streams import RECORDED


def decoded(*pieces: bytes) -> list[Event]:
    decoder = EventDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.flush()


def data_of(*pieces: bytes) -> list[str]:
    return [event.data for event in decoded(*pieces)]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_events_are_the_same_wherever_the_bytes_are_cut(line_end: bytes) -> None:
    stream = RECORDED.replace(b"\n", line_end)
    whole = data_of(RECORDED)

    assert len(whole) == 6
    assert all(whole == data_of(stream[:cut], stream[cut:]) for cut in range(len(stream)))
    assert whole == data_of(*(bytes([byte]) for byte in stream))


@pytest.mark.parametrize(
    ("stream", "data"),
    [
        (b"data:no blank\n\n", ["no blank"]),
        (b"data:  two blanks\n\n", [" two blanks"]),
        (b": ping\n\nid: 5\n\nretry: 1\n\nevent: x\n\ndata: a\n\n", ["a"]),
        (b"data\n\ndata:\n\ndata: a\n\n", ["a"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data: a", ["a"]),
        (b"data: a\n", ["a"]),
        (b"\n\n\ndata: a\r\rdata: b\r\n\r\n", ["a", "b"]),
        ("data: a\u2028b\u0085c\u2029\n\n".encode(), ["a\u2028b\u0085c\u2029"]),
        (b"data: \xff\n\n", ["\ufffd"]),
        (b"database: a\n\nnonsense\n\n", []),
        (b"", []),
    ],
)
def test_lines_are_read_as_the_standard_says(stream: bytes, data: list[str]) -> None:
    assert data_of(stream) == data


def test_an_event_keeps_its_name_and_the_next_has_none() -> None:
    events = decoded(b"event: error\ndata: a\n\ndata: b\n\n")

    assert events == [Event("error", "a"), Event("", "b")]


def test_a_character_that_is_cut_in_two_is_joined() -> None:
    assert data_of(b"data: \xe6\x9c", b"\x88\n\n") == ["月"]


def test_an_event_may_be_as_long_as_the_limit_and_no_longer() -> None:
    assert EventDecoder(20).feed(b"data: " + b"a" * 14 + b"\n\n") == [Event("", "a" * 14)]

    with pytest.raises(EventTooLong):
        EventDecoder(20).feed(b"data: " + b"a" * 15 + b"\n\n")


@pytest.mark.parametrize("piece", [b"a", b": ping", b"data: a\n"])
def test_what_never_becomes_an_event_does_not_fill_the_memory(piece: bytes) -> None:
    decoder = EventDecoder(1_000)

    with pytest.raises(EventTooLong):
        for _ in range(2_000):
            decoder.feed(piece)


def test_comments_for_ever_are_no_long_event() -> None:
    decoder = EventDecoder(1_000)

    assert all(not decoder.feed(b": ping\n\n") for _ in range(2_000))


def test_an_event_of_three_mebibytes_in_small_pieces_takes_linear_time() -> None:
    decoder, piece = EventDecoder(), b"a" * 64
    started = time.process_time()

    decoder.feed(b"data: ")
    for _ in range(3 * 1024 * 16):
        decoder.feed(piece)
    [event] = decoder.feed(b"\n\n")

    assert len(event.data) == 3 * 1024 * 1024
    assert time.process_time() - started < 2


@given(st.lists(st.sampled_from([b"data", b":", b" ", b"\r", b"\n", b"a", b"\xef", b"event"])))
def test_any_bytes_give_the_same_events_in_one_piece_and_in_many(pieces: list[bytes]) -> None:
    assert decoded(*pieces) == decoded(b"".join(pieces))
