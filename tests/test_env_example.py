"""The example of an `.env` file says what there is to set, and says the truth about defaults."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kimibot.errors import BadSettings
from kimibot.kimi.providers import PROVIDERS
from kimibot.settings import Settings, variables

NEEDED = {"SLACK_BOT_TOKEN": "xoxb-fake", "SLACK_APP_TOKEN": "xapp-fake", "KIMI_API_KEY": "k"}
EXAMPLE = Path(__file__).parent.parent / ".env.example"
SETTINGS = re.compile(r"^#?([A-Z][A-Z_]+)=(.*)$", re.MULTILINE)


def test_it_has_every_variable_once_and_no_other() -> None:
    names = [name for name, _ in SETTINGS.findall(EXAMPLE.read_text(encoding="utf-8"))]

    assert sorted(names) == sorted(variables())


def test_what_it_shows_as_a_default_is_one() -> None:
    shown = dict(SETTINGS.findall(EXAMPLE.read_text(encoding="utf-8")))
    defaults = dict(shown) | {"SLACK_SIGNING_SECRET": "", "KIMI_REASONING_EFFORT": ""}

    assert Settings.load(defaults | NEEDED) == Settings.load(NEEDED)


def test_filled_in_it_is_enough(tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    for name, value in NEEDED.items():
        text = text.replace(f"\n{name}=", f"\n{name}={value}")
    file = tmp_path / ".env"
    file.write_text(text, encoding="utf-8")

    assert Settings.load({}, file) == Settings.load(NEEDED)


def test_it_names_every_provider() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")

    assert all(name in text for name in PROVIDERS)


def test_as_it_stands_it_says_what_is_still_to_be_filled_in() -> None:
    with pytest.raises(BadSettings) as caught:
        Settings.load({}, EXAMPLE)

    assert [line.split()[0] for line in caught.value.lines] == [
        "SLACK_BOT_TOKEN",
        "KIMI_API_KEY",
        "SLACK_APP_TOKEN",
    ]
