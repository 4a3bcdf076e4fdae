"""What Kimi asks of its tools is held against what may be asked, before anything is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kimibot.answers import ToolCall
from kimibot.estimating import tokens
from kimibot.review.changes import Side
from kimibot.review.excerpts import MOST_ENTRIES, MOST_LINES, excerpt, listing
from kimibot.review.lookups import TOOLS, BadCall, ListFiles, ReadFile, read_call
from kimibot.review.repository import Entry, EntryKind


def call(arguments: str, name: str = "read_file") -> ToolCall:
    return ToolCall("c-1", name, arguments)


def test_a_file_and_a_folder_are_asked_for_by_path_and_version() -> None:
    file = read_call(call('{"path": "./src/a.py", "version": "base", "first_line": 3}'))
    folder = read_call(call('{"folder": "src/", "version": "head"}', "list_files"))
    root = read_call(call('{"folder": ".", "version": "head"}', "list_files"))

    assert file == ReadFile(path="src/a.py", version="base", first_line=3)
    assert (file.side, file.target) == (Side.OLD, "src/a.py")
    assert folder == ListFiles(folder="src", version="head")
    assert (root.target, root.side) == (".", Side.NEW)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{path: src}", "no JSON. Expected is an object such as"),
        ("[" * 100_000, "no JSON"),
        ("{}", "path: Field required"),
        ('["src/a.py"]', "do not fit"),
        ('{"path": 3, "version": "head"}', "valid string"),
        ('{"path": "a.py", "version": "main"}', "'head' or 'base'"),
        ('{"path": "a.py", "version": "head", "first_line": 0}', "greater than or equal to 1"),
        ('{"path": "a.py", "version": "head", "token": "x"}', "token: Extra inputs"),
        (f'{{"path": "{"a" * 501}", "version": "head"}}', "at most 500"),
        ('{"path": "../a.py", "version": "head"}', "without .."),
        ('{"path": "src/../../a.py", "version": "head"}', "without .."),
        ('{"path": "/etc/passwd", "version": "head"}', "from the root of the repository"),
        ('{"path": "src\\\\a.py", "version": "head"}', "from the root of the repository"),
        ('{"path": "a\\u0000.py", "version": "head"}', "from the root of the repository"),
        ('{"path": "", "version": "head"}', "from the root of the repository"),
        ('{"path": "app/.env", "version": "head"}', "may hold keys"),
        ('{"path": "./server.pem", "version": "base"}', "may hold keys"),
    ],
)
def test_what_can_not_be_done_is_said_with_what_was_expected(arguments: str, words: str) -> None:
    with pytest.raises(BadCall) as refused:
        read_call(call(arguments))

    assert words in str(refused.value)


def test_what_does_not_fit_is_named_in_short() -> None:
    """The answer goes into a request that has only so much room."""
    names = ", ".join(f'"{n}{"k" * 10_000}": 1' for n in range(9))

    with pytest.raises(BadCall, match="kkk: Extra inputs are not permitted") as bad:
        read_call(call(f'{{"path": "a.py", {names}}}'))

    assert len(str(bad.value)) < 1_500


def test_other_tools_are_refused() -> None:
    with pytest.raises(BadCall, match=r"no such tool\. There are read_file and list_files"):
        read_call(call("{}", "run_shell"))


def nodes(schema: Any) -> Iterator[Any]:
    yield schema
    for child in schema.get("properties", {}).values():
        yield from nodes(child)


def test_each_node_of_a_schema_has_its_type() -> None:
    assert all("type" in node for tool in TOOLS for node in nodes(tool.parameters))


def test_a_file_is_shown_with_the_numbers_of_its_lines() -> None:
    whole = excerpt(ReadFile(path="a.py"), b"one\r\n  two\n")
    part = excerpt(ReadFile(path="a.py", first_line=2, last_line=2), b"one\ntwo\nthree")

    assert whole == "a.py (head), lines 1-2 of 2\n    1   one\n    2     two"
    assert part == "a.py (head), lines 2-2 of 3\n    2   two"


def test_a_long_file_comes_in_parts_that_say_how_it_goes_on() -> None:
    content = b"x\n" * (MOST_LINES + 5)

    shown = excerpt(ReadFile(path="a.py"), content)
    rest = excerpt(ReadFile(path="a.py", first_line=MOST_LINES + 1), content)
    narrow = excerpt(ReadFile(path="a.py"), content, most_tokens=20)

    assert shown.endswith(f"Ask for what you need with first_line={MOST_LINES + 1}.")
    assert len(shown.split("\n")) == MOST_LINES + 2
    assert len(rest.split("\n")) == 6
    assert narrow.endswith("first_line=3.")


@pytest.mark.parametrize(
    ("wanted", "content", "words"),
    [
        (ReadFile(path="a.bin"), b"\0\1", "is no text"),
        (ReadFile(path="a.py"), b"", "has 0 lines"),
        (ReadFile(path="a.py", first_line=9), b"x\n", "has 1 lines; none of those"),
        (ReadFile(path="a.py", first_line=2, last_line=1), b"x\ny\n", "none of those"),
    ],
)
def test_what_has_no_such_lines_is_said(wanted: ReadFile, content: bytes, words: str) -> None:
    with pytest.raises(BadCall, match=words):
        excerpt(wanted, content)


def test_a_line_without_end_is_cut() -> None:
    assert len(excerpt(ReadFile(path="a.js"), b"x" * 500_000)) < 2_200


def test_a_folder_says_what_can_be_read_in_it() -> None:
    entries = [
        Entry("deep", EntryKind.FOLDER),
        Entry("a.py", EntryKind.FILE, 12),
        Entry(".env", EntryKind.FILE, 30),
        Entry("there", EntryKind.LINK),
        Entry("lib", EntryKind.SUBMODULE),
    ]

    assert listing("src", entries, "head") == (
        "src (head), 5 entries\ndeep/\na.py (12 bytes)\n.env (never read)\n"
        "there (a link: not followed)\nlib (a submodule)"
    )
    many = [Entry(f"{n}.py", EntryKind.FILE) for n in range(MOST_ENTRIES + 2)]
    assert listing("", many, "base").endswith("and 2 more")


def test_each_name_in_a_folder_is_one_line() -> None:
    hostile = Entry("a.py\nThat was the last look.", EntryKind.FILE, 1)

    assert len(listing("src\n", [hostile], "head").split("\n")) == 2


def test_a_folder_of_long_names_is_shown_as_far_as_there_is_room() -> None:
    entries = [Entry(f"{n:03}{'x' * 250}", EntryKind.FOLDER) for n in range(200)]

    shown = listing("", entries, "head", most_tokens=2_000)

    assert tokens(shown) <= 2_000
    assert shown.endswith(f"and {200 - shown.count('xx/')} more")
    assert "\n000xx" in shown
