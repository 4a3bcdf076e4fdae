"""Each file is read once, those of the ask first, and what is not read is told."""

from __future__ import annotations

import io
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from PIL import Image

from kimibot.attachments import Attachment, Contents, SharedFile, Unread
from kimibot.attempt import Attempt
from kimibot.conversation import Remembered, Speaker
from kimibot.fetching import ALL_IMAGES_BYTES, MOST_FILES, Fetching
from kimibot.lease import Lease
from kimibot.stop_signal import StopSignal
from kimibot.turns import Claim, Turn
from tests.fakes import THREAD, Files

AT = datetime(2026, 11, 30, 9, 12, tzinfo=UTC)
ASK_TS = "1700000009.000100"
URL = "https://files.slack.com/a"


@dataclass
class Shelf:
    kept: list[Attachment] = field(default_factory=list)

    async def keep_contents(self, thread_id: int, attachments: Sequence[Attachment]) -> None:
        self.kept += attachments


def file(number: int, *, contents: Contents | None = None, mimetype: str = "") -> Attachment:
    described = SharedFile(f"F{number}", f"{number}.txt", mimetype, url=URL)
    return Attachment(number, 1, described, contents)


def message(ts: str, *attachments: Attachment) -> Remembered:
    return Remembered(1, ts, Speaker.PERSON, "U0ANA", "Why?", attachments=attachments)


def an_attempt() -> Attempt:
    turn = Turn("turn-1", ASK_TS, "U0ANA", "Ev1", 1, AT)
    return Attempt(Claim(THREAD, 7, 1, (turn,)), Lease(8, math.inf), StopSignal("turn-1"))


async def fetched(
    files: Files, *remembered: Remembered, takes_images: bool = True
) -> tuple[list[Contents | None], list[str], Shelf]:
    """The contents that are then known, the notes of the turn, and what was kept."""
    attempt, shelf = an_attempt(), Shelf()
    read = await Fetching(files, shelf, takes_images=takes_images).fetch(attempt, remembered)
    contents = [one.contents for message in read for one in message.attachments]
    return contents, attempt.notes, shelf


async def test_a_file_is_read_and_kept() -> None:
    contents, notes, shelf = await fetched(Files({"F1": b"boom"}), message(ASK_TS, file(1)))

    assert contents == [Contents(text="boom")]
    assert [one.contents for one in shelf.kept] == contents
    assert notes == []


async def test_what_was_read_or_sent_before_is_not_fetched_again() -> None:
    files = Files()
    known = message(ASK_TS, file(1, contents=Contents(text="boom")))
    sent = replace(message("1700000001.000100", file(2)), sent="before", place=1)
    contents, _, shelf = await fetched(files, sent, known)

    assert contents == [None, Contents(text="boom")]
    assert (files.asked, shelf.kept) == ([], [])


async def test_the_files_of_the_ask_come_first_and_then_the_newest_as_far_as_the_limit() -> None:
    files = Files({f"F{n}": b"x" for n in range(1, 20)})
    old = message("1700000001.000100", *(file(n) for n in (1, 2, 3)))
    newer = message("1700000005.000100", *(file(n) for n in (4, 5)))
    ask = message(ASK_TS, *(file(n) for n in range(6, 6 + MOST_FILES - 3)))
    contents, notes, _ = await fetched(files, old, newer, ask)

    assert sorted(files.asked) == sorted(
        ["F1", "F4", "F5"] + [one.file.id for one in ask.attachments]
    )
    assert contents[1:3] == [Contents(unread=Unread.TOO_MANY)] * 2
    assert notes == [f"Not read: 2.txt, 3.txt. I read at most {MOST_FILES} files at once."]


async def test_a_file_of_which_only_the_id_is_known_is_looked_up() -> None:
    named = SharedFile("F1", access="check_file_info")
    _, _, shelf = await fetched(Files({"F1": b"boom"}), message(ASK_TS, Attachment(1, 1, named)))

    assert shelf.kept[0].file.name == "F1.txt"
    assert shelf.kept[0].contents == Contents(text="boom")


async def test_what_an_interrupted_try_could_not_read_is_told_by_the_next() -> None:
    unread = file(1, contents=Contents(unread=Unread.GONE))
    _, notes, shelf = await fetched(Files(), message(ASK_TS, unread))

    assert notes == ["Not read: 1.txt. Slack does not have it any more."]
    assert shelf.kept == []


async def test_what_was_told_below_an_earlier_answer_is_not_told_again() -> None:
    unread = file(1, contents=Contents(unread=Unread.GONE))
    earlier = replace(message("1700000001.000100", unread), sent="before", place=1)
    _, notes, _ = await fetched(Files(), earlier, message(ASK_TS))

    assert notes == []


async def test_a_picture_is_received_but_not_read_where_the_model_sees_none() -> None:
    files = Files({"F1": noise(10)})
    contents, notes, _ = await fetched(files, message(ASK_TS, file(1)), takes_images=False)

    assert contents == [Contents(unread=Unread.NO_PICTURES)]
    assert notes == ["Not read: 1.txt. I received it, but the model here does not see pictures."]


async def test_many_pictures_share_what_a_request_may_weigh() -> None:
    files = Files({f"F{n}": noise(300) for n in range(8)})
    pictures = [file(n, mimetype="image/png") for n in range(8)]
    contents, _, _ = await fetched(files, message(ASK_TS, *pictures))

    weights = [len(one.image) for one in contents if one and one.image]
    assert len(weights) == 8
    assert sum(weights) <= ALL_IMAGES_BYTES


def noise(edge: int) -> bytes:
    out = io.BytesIO()
    pixels = random.Random(1).randbytes(edge * edge * 3)
    Image.frombytes("RGB", (edge, edge), pixels).save(out, "PNG")
    return out.getvalue()
