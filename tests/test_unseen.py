"""Nothing that nobody sees makes people read something else than what is there."""

from __future__ import annotations

import unicodedata

import pytest

from kimibot.unseen import spelled_out, without_unseen

TURNED = "\u202egpj.\u202cexe"
FORMATS = {
    sign
    for sign in map(chr, range(0x110000))
    if unicodedata.category(sign) in ("Cf", "Cc", "Zl", "Zp")
}
BLANKS = set("\t\n\r")
LINE_ENDS = set("\u2028\u2029")
NEEDED = set("\u061c\u200c\u200d\u200e\u200f")
OF_ONE_SCRIPT = {
    *"\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd",
    *map(chr, [*range(0x13430, 0x13440), *range(0x1BCA0, 0x1BCA4)]),
}
"""These are seen, with the numbers and signs that they stand beside."""


def test_what_turns_the_order_of_a_text_is_taken_out() -> None:
    assert without_unseen(f"Opens {TURNED}\u2066!") == "Opens gpj.exe!"
    assert without_unseen("a\u200bb\ufeff \x1b[0m") == "ab [0m"


@pytest.mark.parametrize(
    "text", ["سلام می\u200cکنم", "שלום\u200f!", "👩\u200d💻 ok ☎\ufe0f", "日本語"]
)
def test_what_a_script_or_a_picture_needs_stays(text: str) -> None:
    assert without_unseen(text) == text


def test_a_name_with_such_a_sign_can_be_told_from_any_other() -> None:
    assert spelled_out(f"a/{TURNED}") == r"a/\u202egpj.\u202cexe"
    assert spelled_out("a\u200f\x07.py") == r"a\u200f\x07.py"
    assert spelled_out("größe/日本.py") == "größe/日本.py"


def test_no_sign_that_only_formats_is_forgotten() -> None:
    left = {sign for sign in FORMATS if without_unseen(sign)}
    left_in_names = {sign for sign in FORMATS if spelled_out(sign) == sign}

    assert left == (BLANKS | LINE_ENDS | NEEDED | OF_ONE_SCRIPT) & FORMATS
    assert left_in_names == OF_ONE_SCRIPT & FORMATS
