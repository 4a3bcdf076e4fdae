"""Pictures go with their message, count for what they cost, and go first when it gets too much."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

from kimibot.attachments import Attachment, Contents, SharedFile
from kimibot.conversation import Remembered, Speaker
from kimibot.estimating import IMAGE_TOKENS
from kimibot.history import Reading, read
from kimibot.kimi.wire import MAX_BODY_BYTES, request_body
from kimibot.picturing import LEFT_OUT, has_pictures


def shown(number: int, *, size_bytes: int = 9, sent: bool = False, count: int = 1) -> Remembered:
    """A message with pictures."""
    pictures = [
        Attachment(
            10 * number + one,
            number,
            SharedFile(f"F{number}", f"{number}.png"),
            Contents(image=bytes([number]) * size_bytes, image_type="image/png"),
        )
        for one in range(count)
    ]
    ts = f"17644939{number:02d}.000100"
    message = Remembered(number, ts, Speaker.PERSON, "U0ANA", "See", attachments=tuple(pictures))
    if not sent:
        return message
    raw = f"message {number}"
    return replace(message, sent=raw, place=number)


def reading(*remembered: Remembered, budget_tokens: int = 90_000, **options: Any) -> Reading:
    return read("Be kind.", remembered, budget_tokens=budget_tokens, name_of=str, **options)


def urls(reading: Reading) -> list[str]:
    return [
        part["image_url"]["url"]
        for message in reading.messages
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]


def test_a_picture_follows_the_words_of_its_message() -> None:
    words, picture = reading(shown(1)).messages[1]["content"]

    assert words["text"].endswith(": See\n\n[attached picture: 1.png]")
    data = base64.b64encode(b"\x01" * 9).decode()
    assert picture == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def test_neighbours_with_and_without_pictures_become_one_message() -> None:
    plain = Remembered(2, "1764493902.000100", Speaker.PERSON, "U0BO", "And?")
    [_, message] = reading(shown(1), plain, shown(3)).messages

    kinds = [part["type"] for part in message["content"]]
    assert kinds == ["text", "image_url", "text", "text", "image_url"]


def test_a_model_that_sees_nothing_gets_the_words_alone() -> None:
    blind = reading(shown(1), with_images=False)

    assert isinstance(blind.messages[1]["content"], str)
    assert blind.placed == reading(shown(1)).placed
    assert not has_pictures(blind.messages)
    assert has_pictures(reading(shown(1)).messages)


def test_pictures_count_for_the_budget() -> None:
    three = [shown(number) for number in (1, 2, 3)]

    assert len(urls(reading(*three, budget_tokens=4 * IMAGE_TOKENS))) == 3
    assert len(urls(reading(*three, budget_tokens=2 * IMAGE_TOKENS))) == 1


def test_the_oldest_pictures_go_when_a_request_would_get_too_heavy() -> None:
    many = [shown(number, size_bytes=256 * 1024, sent=True) for number in range(1, 9)]
    weighed = reading(*many)

    assert len(urls(weighed)) == 2
    assert urls(weighed) == urls(reading(*many[-2:]))
    texts = [part.get("text") for part in weighed.messages[1]["content"]]
    assert texts.count(LEFT_OUT) == 6
    assert [text for text in texts if text and text != LEFT_OUT] == [m.sent for m in many]


def test_pictures_go_in_steps_so_that_the_beginning_stays_the_same() -> None:
    many = [shown(number, size_bytes=100 * 1024, sent=True) for number in range(1, 13)]
    first, second, third = (reading(*many[:count]) for count in (10, 11, 12))

    assert len(urls(first)) == 6
    assert urls(second)[:6] == urls(first)
    assert urls(third)[:6] == urls(first)


def test_a_request_full_of_pictures_and_text_is_taken_by_the_strictest_endpoint() -> None:
    text = Remembered(9, "1764493909.000100", Speaker.PERSON, "U0ANA", "好" * 130_000)
    full = reading(
        *(shown(n, size_bytes=115_000) for n in range(1, 9)), text, budget_tokens=140_000
    )

    body = request_body(full.messages, model="kimi-k3", max_completion_tokens=1)
    assert len(urls(full)) == 8
    assert len(body) < MAX_BODY_BYTES


def test_even_the_largest_context_makes_no_request_that_some_endpoint_refuses() -> None:
    long = [
        Remembered(n, f"17644939{n}.000100", Speaker.PERSON, "U0ANA", "好\n" * 40_000)
        for n in range(10, 40)
    ]
    full = reading(*(shown(n, size_bytes=115_000) for n in range(1, 9)), *long, budget_tokens=10**6)

    body = request_body(full.messages, model="kimi-k3", max_completion_tokens=1)
    assert len(body) < MAX_BODY_BYTES
    assert full.left_out > 8
