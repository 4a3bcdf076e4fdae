"""What is reviewed is what the ask holds, else the newest that the thread holds before it."""

from __future__ import annotations

from kimibot.attachments import Attachment, Contents, SharedFile
from kimibot.conversation import Remembered, Speaker
from kimibot.review.addresses import Address, Foreign
from kimibot.review.sources import Source, find_source, words_of

API = "https://api.github.com"
PULL = "https://github.com/acme/shop/pull/7"
CODE = "```\ndef f():\n    return 1\n```"
DIFF = [
    "```\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-a\n+b\n```",
    "```\n c\n@@ -9 +9 @@\n-d\n+e\n```",
]


def said(
    ts: int, text: str, author: str = "U0ANA", speaker: Speaker = Speaker.PERSON
) -> Remembered:
    return Remembered(ts, f"{ts}.0", speaker, author, text)


def find(*thread: Remembered, ask: int, files: dict[int, list[Attachment]] | None = None) -> Source:
    source = find_source(thread, f"{ask}.0", API, files or {})
    assert source is not None
    return source


def lines(source: Source) -> list[str]:
    assert source.code is not None
    return [line.text for file in source.code.files for _, line in file.places()]


def test_the_code_of_the_ask_comes_before_that_of_the_thread() -> None:
    older = said(1, CODE.replace("1", "2"))

    assert lines(find(older, said(2, f"review\n{CODE}"), ask=2)) == ["def f():", "    return 1"]


def test_of_the_thread_the_newest_message_before_the_ask_is_taken() -> None:
    thread = [said(1, PULL), said(2, CODE), said(3, "hm"), said(4, "review"), said(5, PULL)]

    assert find(*thread, ask=4).addresses == ()
    assert lines(find(*thread, ask=4)) == ["def f():", "    return 1"]


def test_an_address_counts_where_it_stands_in_words_and_not_in_code() -> None:
    commented = said(1, f"review\n```\n# see {PULL}\nx = 1\n```")

    assert find(said(1, f"review {PULL}"), ask=1).addresses == (Address("acme", "shop", 7),)
    assert find(commented, ask=1).addresses == ()


def test_a_diff_in_several_messages_of_one_person_is_one() -> None:
    thread = [said(1, CODE, "U0BO"), said(2, DIFF[0]), said(3, DIFF[1]), said(4, "review")]

    source = find(*thread, ask=4)

    assert source.code is not None
    (file,) = source.code.files
    assert [hunk.new_start for hunk in file.hunks] == [1, 9]


def test_files_are_reviewed_like_what_is_pasted() -> None:
    file = Attachment(1, 7, SharedFile("F1", "a.py"), Contents(text="x = 1\n"))
    picture = Attachment(2, 7, SharedFile("F2", "a.png"), Contents(image=b"x"))

    source = find(said(7, "review"), ask=7, files={7: [file, picture]})

    assert source.code is not None
    assert [one.path for one in source.code.files] == ["a.py"]


def test_what_we_have_said_ourselves_is_reviewed_only_where_it_is_asked_about() -> None:
    ours = said(1, CODE, speaker=Speaker.US)

    assert find_source([ours, said(2, "review")], "2.0", API, {}) is None
    assert lines(find(ours, said(2, PULL), ask=1)) == ["def f():", "    return 1"]


def test_an_answer_of_ours_without_code_does_not_stand_for_the_code_before_it() -> None:
    thread = [said(1, f"what does this do?\n{CODE}"), said(2, "It counts.", speaker=Speaker.US)]

    assert find_source(thread, "2.0", API, {}) is None


def test_an_address_elsewhere_is_known_as_one() -> None:
    source = find(said(1, "review https://git.example.com/a/b/pull/1"), ask=1)

    assert (source.addresses, source.code) == ((), None)
    assert source.foreign == (Foreign("git.example.com"),)


def test_the_words_are_those_beside_the_code_and_the_names() -> None:
    assert words_of(said(1, f"<@U0KIMI> review this\n{CODE}")) == "review this"
