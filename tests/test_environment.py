"""What is read from a file `.env`, and how it is told what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kimibot.environment import merged
from kimibot.errors import BadSettings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / ".env"


def complaints(file: Path) -> list[str]:
    with pytest.raises(BadSettings) as caught:
        merged({}, file)
    return [line.replace(str(file), ".env") for line in caught.value.lines]


def test_a_file_sets_what_the_process_does_not(file: Path) -> None:
    file.write_text("# ours\nexport A='1'  # one\n\nB=two words\nC=\nD=file\n")

    assert merged({"D": "process", "E": " "}, file) == {"A": "1", "B": "two words", "D": "process"}


def test_a_dollar_in_the_file_is_just_that(file: Path) -> None:
    file.write_text("A=postgresql://a:${HOME}$x@db/k\n")

    assert merged({}, file) == {"A": "postgresql://a:${HOME}$x@db/k"}


def test_a_file_from_an_editor_that_marks_its_beginning_is_read(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbfA=1\r\nB=2\r\n")

    assert merged({}, file) == {"A": "1", "B": "2"}


def test_every_line_that_sets_nothing_is_named_and_none_is_shown(file: Path) -> None:
    file.write_text('A=1\n\n  xoxb-fake hunter2\n# C\nB\nC="hunter2\nD=4\n')

    assert complaints(file) == [f".env line {n}: expected NAME=value" for n in (3, 5, 6)]


def test_a_folder_of_that_name_is_told(file: Path) -> None:
    file.mkdir()

    assert complaints(file) == [".env can't be read: Is a directory"]


def test_a_file_that_is_no_text_is_told(file: Path) -> None:
    file.write_bytes(b"KIMI_API_KEY=\xff\xfe")

    assert complaints(file) == [".env can't be read: it is not UTF-8"]
