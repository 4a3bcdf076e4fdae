"""A picture reaches the model small enough, upright, and without what it says of people."""

from __future__ import annotations

import io
import random

import pytest
from PIL import Image

from kimibot.attachments import Contents, Unread
from kimibot.files.images import MOST_EDGE_PIXELS, is_image, read_image
from tests.files.test_text import read


def picture(kind: str = "PNG", size: tuple[int, int] = (40, 30), **options: object) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, "red").save(out, kind, **options)
    return out.getvalue()


def noise(width: int, height: int) -> bytes:
    """A picture that no format makes small."""
    pixels = random.Random(1).randbytes(width * height * 3)
    out = io.BytesIO()
    Image.frombytes("RGB", (width, height), pixels).save(out, "PNG")
    return out.getvalue()


def opened(contents: Contents) -> Image.Image:
    assert contents.image is not None
    return Image.open(io.BytesIO(contents.image))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
def test_pictures_of_the_usual_kinds_are_read(kind: str) -> None:
    content = picture(kind)

    assert is_image(content)
    contents = read(content)
    assert contents.image_type == "image/png"
    assert opened(contents).size == (40, 30)


def test_a_large_picture_keeps_its_shape_within_the_models_limit() -> None:
    contents = read_image(picture(size=(5000, 1000)), 100_000)

    assert opened(contents).size == (MOST_EDGE_PIXELS, MOST_EDGE_PIXELS // 5)


def test_a_picture_is_made_small_enough_in_bytes() -> None:
    contents = read_image(noise(600, 400), 20_000)

    assert contents.image is not None
    assert len(contents.image) <= 20_000
    assert contents.image_type == "image/jpeg"


def test_a_photo_stands_upright_and_does_not_tell_where_it_was_taken() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    exif[0x010E] = "at home"
    photo = picture("JPEG", (4000, 2000), exif=exif, comment=b"at home")
    contents = read_image(photo, 100_000)

    assert opened(contents).size == (MOST_EDGE_PIXELS // 2, MOST_EDGE_PIXELS)
    assert b"at home" not in (contents.image or b"")


def test_what_is_transparent_is_white_where_the_format_knows_no_better() -> None:
    out = io.BytesIO()
    pixels = random.Random(2).randbytes(200 * 200 * 4)
    Image.frombytes("RGBA", (200, 200), pixels).save(out, "PNG")
    clear = io.BytesIO()
    Image.new("RGBA", (9, 9), (0, 0, 0, 0)).save(clear, "PNG")

    assert read_image(out.getvalue(), 30_000).image_type == "image/jpeg"
    assert opened(read_image(clear.getvalue(), 30_000)).getpixel((4, 4)) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (picture()[:60], Unread.BROKEN),
        (picture("GIF", (9000, 9000)), Unread.TOO_LARGE),
    ],
    ids=["cut off", "too many pixels"],
)
def test_a_picture_that_can_not_be_shown_says_why(content: bytes, why: Unread) -> None:
    assert read_image(content, 100_000) == Contents(unread=why)


def test_a_model_without_eyes_gets_no_picture() -> None:
    assert read(picture(), "image/png", takes_images=False) == Contents(unread=Unread.NO_PICTURES)


def test_a_text_that_begins_like_a_picture_is_a_text() -> None:
    assert read(b"BMW is a car maker").text == "BMW is a car maker"
