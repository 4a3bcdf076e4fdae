"""Code that people paste is found, repaired where that is certain, and numbered."""

from __future__ import annotations

from pathlib import Path

import pytest

from kimibot.review.changes import FileDiff, Status
from kimibot.review.diffs import parse
from kimibot.review.pasted import Attached, read
from tests.review.repositories import versions

CODE = 'def f(x):\n    return "a" + x\n'


def content(file: FileDiff) -> str:
    return "".join(f"{line.text}\n" for hunk in file.hunks for line in hunk.lines)


def fenced(code: str, language: str = "") -> str:
    return f"```{language}\n{code}```"


@pytest.fixture
def diff(tmp_path: Path) -> str:
    lines = [f"line {n}\n" for n in range(60)]
    lines[20:23] = ["    if x:\n", "        y()\n", "\n"]
    new = [line.replace("0", "zero") if "5" in line or "y()" in line else line for line in lines]
    new.insert(22, "        z()\n")
    of = versions(
        tmp_path / "r", {"a.py": "".join(lines).encode()}, {"a.py": "".join(new).encode()}
    )
    return of.diff().decode()


def test_fenced_code_is_taken_out_of_the_words_around_it() -> None:
    found = read([f"review this:\n{fenced(CODE, 'python')}\nthanks"])

    (file,) = found.files
    assert (file.path, file.status, content(file)) == ("snippet", Status.WHOLE, CODE)
    assert found.words == "review this:\nthanks"


def test_several_pieces_are_told_apart_and_named_where_they_have_a_name() -> None:
    found = read([f"`src/a.py`:\n{fenced(CODE)}\nsrc/a.py\n{fenced('2')}\n", fenced("x = 3\n")])

    assert [file.path for file in found.files] == ["src/a.py", "src/a.py (2)", "snippet 3"]


def test_code_in_a_forwarded_message_is_found() -> None:
    quoted = "\n".join(f"> {line}" for line in f"Forwarded from Ana:\n{fenced(CODE)}".split("\n"))

    assert content(read([f"review\n{quoted}"]).files[0]) == CODE


def test_a_fence_in_a_longer_fence_is_code() -> None:
    (file,) = read([f"````md\n{fenced(CODE)}\n````"]).files

    assert content(file) == f"{fenced(CODE)}\n"


def test_code_that_nobody_fenced_is_found() -> None:
    (file,) = read([f"could you review this please?\n{CODE}\nf(1)"]).files

    assert content(file) == f"{CODE}\nf(1)\n"


@pytest.mark.parametrize(
    "text", ["review this, please", "Hello,\nI have a question (a long one)\nand\nanother\nbye"]
)
def test_words_are_no_code(text: str) -> None:
    assert read([text]).files == ()
    assert read([text]).words == text


def test_no_message_takes_long_to_read() -> None:
    for text in (
        "a(" * 50_000,
        ")" * 50_000,
        "http://a" + ")" * 50_000,
        "`" * 50_000,
        "> " * 9_999,
    ):
        found = read([f"{text}\n{text}\nx\n{text}"])
        assert found.words or found.files


def test_a_diff_is_recognised_with_and_without_a_fence(diff: str) -> None:
    expected = parse(diff.encode()).files

    assert read([fenced(diff)]).files == expected
    assert read([fenced(diff, "diff")]).files == expected
    assert read([f"review this\n{diff}"]).files == expected


def test_a_diff_over_several_messages_is_one(diff: str) -> None:
    for cut in range(diff.index("@@") + 60, len(diff) - 60, 97):
        at = diff.index("\n", cut) + 1
        assert read([f"first\n{fenced(diff[:at])}", fenced(diff[at:])]).files == (
            parse(diff.encode()).files
        )


def test_lines_with_signs_and_no_head_are_a_diff_from_the_first_line_on() -> None:
    (file,) = read([fenced(" a\n-b\n+c\n d\n", "diff")]).files

    assert [(line.old, line.new) for line in file.hunks[0].lines] == [
        (1, 1),
        (2, None),
        (None, 2),
        (3, 3),
    ]
    assert not file.hunks[0].is_exact


def test_a_diff_that_is_none_is_reviewed_as_text() -> None:
    (file,) = read([fenced("no signs at all\n", "diff")]).files

    assert (file.status, content(file)) == (Status.WHOLE, "no signs at all\n")


def test_unchanged_lines_that_lost_their_blank_get_it_back_where_the_counts_say_so(
    diff: str,
) -> None:
    stripped = "\n".join(line.strip() if line[:1] == " " else line for line in diff.split("\n"))
    (file,) = read([fenced(stripped)]).files
    (expected,) = parse(diff.encode()).files

    assert [[(n.old, n.new, n.text.strip()) for n in hunk.lines] for hunk in file.hunks] == [
        [(n.old, n.new, n.text.strip()) for n in hunk.lines] for hunk in expected.hunks
    ]
    assert all(hunk.is_exact for hunk in file.hunks)


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("x = “a” + ‘b’\n", "x = \"a\" + 'b'\n"),
        ('print("“quoted”")\n', 'print("“quoted”")\n'),
        ("if a &lt; b &amp;&amp; c &gt; d:\n", "if a < b && c > d:\n"),
        ("a < b; t = '&lt;'\n", "a < b; t = '&lt;'\n"),
        ("x.replace('&lt;', y)\n", "x.replace('&lt;', y)\n"),
        ("if x:\n\u00a0\u00a0 \u00a0y()\n", "if x:\n    y()\n"),
        ("s = 'a\u00a0b'\n", "s = 'a\u00a0b'\n"),
        (
            "def f(self):\n        return 1\n\n    def g(self):\n        return 2\n",
            "    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n",
        ),
        ("if (x) {\n        y();\n    }\n", "    if (x) {\n        y();\n    }\n"),
        ("call(a,\n     b,\n  c)\n", "call(a,\n     b,\n  c)\n"),
        ("if x:\n    y()\n    z()\n", "if x:\n    y()\n    z()\n"),
    ],
)
def test_what_a_chat_does_to_code_is_undone_only_where_it_is_certain(sent: str, meant: str) -> None:
    (file,) = read([fenced(sent)]).files

    assert content(file) == meant


def test_prose_keeps_its_quotes() -> None:
    assert content(read([fenced("a “word”\n", "markdown")]).files[0]) == "a “word”\n"


def test_a_diff_that_was_escaped_on_the_way_is_read(diff: str) -> None:
    escaped = diff.replace("line", "&lt;line&gt;")

    assert read([fenced(escaped)]).files == parse(diff.replace("line", "<line>").encode()).files


def test_attached_files_are_read_as_they_are(diff: str) -> None:
    notes = Attached("notes.md", f"a diff:\n{diff}".encode())
    found = read(["review"], [Attached("a.patch", diff.encode()), notes,
                              Attached("b.py", b"x = 1\r\n")])  # fmt: skip

    assert found.files[0] == parse(diff.encode()).files[0]
    assert [(file.path, file.status) for file in found.files[1:]] == [
        ("notes.md", Status.WHOLE),
        ("b.py", Status.WHOLE),
    ]
    assert found.files[2].hunks[0].lines[0].content == b"x = 1\r"
