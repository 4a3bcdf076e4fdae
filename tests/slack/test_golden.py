"""Samples of what models write, each in a file of its own with what Slack gets for it.

A file in `golden/` has the text, and behind each line `=====> …` how it looks:

- `shown`: as a `markdown` block, when the answer has ended
- `growing`: the same while this is all there is so far
- `parts`: the blocks of all its messages
- `plain`: as plain text, where Slack has refused the block
- `notification`: in the line for notifications and screen readers
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from kimibot.sandbox.slack.blocks import check_blocks
from kimibot.sandbox.slack.options import Options
from kimibot.slack.markdown import notification, unescape
from kimibot.slack.parts import part, settled
from kimibot.views import Cut, Style
from tests.slack.slack_parse import can_ping
from tests.slack.test_parts import all_parts

GOLDEN = Path(__file__).parent / "golden"
SAMPLES = sorted(path.stem for path in GOLDEN.glob("*.md"))
LOOK = re.compile(r"\n=====> (\w+)\n")
FENCE = re.compile(r"^[ >-]*(?:```+|~~~+).*$", re.MULTILINE)
WORD = re.compile(r"\w+")
NEXT_PART = "\n-----8<-----\n"


def shown(text: str) -> str:
    return part(text, Cut()).body


def growing(text: str) -> str:
    return shown(text[: settled(text, Cut()).offset])


def in_parts(text: str) -> str:
    return NEXT_PART.join(each.body for _, each in all_parts(text))


def plain(text: str) -> str:
    return part(text, Cut(), Style.PLAIN).body


def in_a_line(text: str) -> str:
    return notification(shown(text))


LOOKS = MappingProxyType(
    {
        "shown": shown,
        "growing": growing,
        "parts": in_parts,
        "plain": plain,
        "notification": in_a_line,
    }
)


def read(name: str) -> tuple[str, Mapping[str, str]]:
    """The text of a sample, and how it is to look."""
    page = (GOLDEN / f"{name}.md").read_text(encoding="utf-8").removesuffix("\n")
    text, *looks = LOOK.split(page)
    return text, dict(zip(looks[::2], looks[1::2], strict=True))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_looks_as_it_should(name: str) -> None:
    text, looks = read(name)

    assert looks
    assert {look: LOOKS[look](text) for look in looks} == looks


@pytest.mark.parametrize("name", SAMPLES)
def test_slack_takes_a_sample_at_any_point_of_its_growth(name: str) -> None:
    text, _ = read(name)
    for end in range(1, len(text) + 1, max(1, len(text) // 50)):
        for _, each in all_parts(text[:end]):
            assert not can_ping(each.body)
            if each.body:
                assert check_blocks([{"type": "markdown", "text": each.body}], Options()) == []


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_loses_nothing_as_plain_text(name: str) -> None:
    text, _ = read(name)

    said = unescape("".join(each.body for _, each in all_parts(text, Style.PLAIN)))
    assert Counter(WORD.findall(FENCE.sub("", text))) <= Counter(WORD.findall(said))
