"""Makes a picture small enough for the model, and leaves out what it says of its maker."""

from __future__ import annotations

import io
from collections.abc import Iterator

from PIL import Image, ImageOps

from kimibot.attachments import Contents, Unread

MOST_EDGE_PIXELS = 2_000
"""Kimi's own tools shrink pictures to that; 4096 by 2160 are the most that is advised
(platform.kimi.ai, "Use Kimi Vision Model")."""

MOST_PIXELS = 40_000_000
"""Four bytes each, while a picture is made smaller."""

_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
_QUALITIES = (85, 70, 55)
_STEPS = 8
_MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\0", b"MM\0*")


def is_image(content: bytes) -> bool:
    """Whether the bytes begin like a picture of a kind that we read."""
    is_webp = content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    return is_webp or (content.startswith(_MAGIC) and b"\0" in content)


def read_image(content: bytes, most_bytes: int) -> Contents:
    """As PNG where that is small, else as JPEG; the right way up, the first of several frames.

    It is always drawn anew: the place where a photo was taken is nothing for the model.
    """
    try:
        with Image.open(io.BytesIO(content), formats=_FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                return Contents(unread=Unread.TOO_LARGE)
            image.thumbnail((MOST_EDGE_PIXELS, MOST_EDGE_PIXELS))
            return _small(ImageOps.exif_transpose(image), most_bytes)
    except Exception:  # Pillow raises whatever a damaged file leads it to
        return Contents(unread=Unread.BROKEN)


def _small(image: Image.Image, most_bytes: int) -> Contents:
    for data, kind in _encodings(image):
        if len(data) <= most_bytes:
            return Contents(image=data, image_type=kind)
    return Contents(unread=Unread.TOO_LARGE)


def _encodings(image: Image.Image) -> Iterator[tuple[bytes, str]]:
    """From the best to the smallest."""
    yield _encoded(_plain(image), "PNG"), "image/png"
    flat = _flat(image)
    for _ in range(_STEPS):
        for quality in _QUALITIES:
            yield _encoded(flat, "JPEG", quality=quality), "image/jpeg"
        flat = flat.resize((max(1, flat.width * 3 // 4), max(1, flat.height * 3 // 4)))


def _plain(image: Image.Image) -> Image.Image:
    has_alpha = "A" in image.getbands() or "transparency" in image.info
    return image.convert("RGBA" if has_alpha else "RGB")


def _flat(image: Image.Image) -> Image.Image:
    """On white, as a page shows it: JPEG knows no transparency."""
    seen = image.convert("RGBA")
    ground = Image.new("RGBA", seen.size, "white")
    return Image.alpha_composite(ground, seen).convert("RGB")


def _encoded(image: Image.Image, kind: str, **options: int) -> bytes:
    image.info.clear()  # else Pillow writes comments and profiles again
    written = io.BytesIO()
    image.save(written, kind, optimize=True, **options)
    return written.getvalue()
