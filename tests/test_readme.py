"""The README says what is so: settings, commands, files, scopes, texts, and how to test."""

from __future__ import annotations

import re
import struct
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kimibot import failures, texts
from kimibot.cli import main
from kimibot.kimi.providers import PROVIDERS
from kimibot.metrics import Metrics, Sources
from kimibot.review import phrases
from kimibot.settings import Settings, variables
from kimibot.slack.manifest import EVENTS, SCOPES

CHECKOUT = Path(__file__).parent.parent
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
NEEDED = {"SLACK_BOT_TOKEN": "xoxb-fake", "SLACK_APP_TOKEN": "xapp-fake", "KIMI_API_KEY": "k"}
MOST_PICTURE_BYTES = 250_000
WORDS = r"kimibot((?: [a-z]+)+)((?: --[a-z-]+)*)"


def section(title: str) -> str:
    """The text below a heading, up to the next one of its level."""
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """The cells of all tables in a text, without the heads."""
    cells = [re.split(r" *\| *", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    return [
        row for row, below in zip(cells, [*cells[1:], []], strict=True) if not is_rule(row, below)
    ]


def is_rule(row: list[str], below: list[str]) -> bool:
    return any(set("".join(cells)) == {"-"} for cells in (row, below))


def settings_rows() -> list[list[str]]:
    return [row for row in rows(section("Settings")) if row[0].strip("`").isupper()]


def shown_defaults() -> dict[str, str]:
    """Of each setting whose default is a value, that value."""
    return {name.strip("`"): value.strip("`") for name, value, _ in settings_rows() if "`" in value}


def spans() -> list[str]:
    """Everything that is set as code in a line."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", README, flags=re.DOTALL))


def typed() -> Iterator[str]:
    """Everything that one is told to type."""
    yield from (span for span in spans() if span.startswith("kimibot "))
    for block in re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL):
        yield from re.findall(r"(?:bin/| )(kimibot [^\n]*)", block)


def help_of(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0, words
    return capsys.readouterr().out


def test_its_table_has_every_setting_once_and_no_other() -> None:
    names = [row[0].strip("`") for row in settings_rows()]

    assert sorted(names) == sorted(variables())


def test_the_defaults_in_its_table_are_those_of_the_settings() -> None:
    fields = {field.alias or "": field for field in Settings.model_fields.values()}
    have_one = {name for name, field in fields.items() if not field.is_required() and field.default}

    assert Settings.load(shown_defaults() | NEEDED) == Settings.load(NEEDED)
    assert have_one <= shown_defaults().keys()


def test_its_table_and_the_example_of_an_env_file_show_the_same_defaults() -> None:
    example = (CHECKOUT / ".env.example").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^#?([A-Z_]+)=(.*)$", example, re.MULTILINE))

    assert shown | shown_defaults() == shown


def test_it_tells_address_key_and_model_of_every_provider() -> None:
    told = {row[0].strip("`"): row[1:] for row in rows(section("Settings"))}
    of_keys = {name: meaning for name, (_, meaning) in told.items() if name.endswith(("_KEY", "K"))}

    for name, provider in PROVIDERS.items():
        address, model = told[name]
        assert address.startswith(f"`{provider.base_url or 'KIMI_BASE_URL'}`")
        assert model == f"`{provider.model}`"
        if provider.key_variable:
            assert f"`{name}`" in of_keys[provider.key_variable]


def test_every_command_it_names_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    commands = {found.groups() for text in typed() if (found := re.match(WORDS, text))}

    assert len(commands) > 5
    for words, options in commands:
        told = help_of(*words.split(), capsys=capsys)
        assert all(f"{option} " in told.replace("\n", " ") for option in options.split())


def test_it_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    told = help_of(capsys=capsys)
    commands = re.findall(r"^    ([a-z]+) ", told, re.MULTILINE)
    named = [row[0] for row in rows(section("Commands"))]

    assert commands
    assert all(any(name.startswith(f"`kimibot {word}") for name in named) for word in commands)


def test_every_file_it_names_is_there() -> None:
    linked = re.findall(r"\]\((?!https?:|#)([^)]+)\)", README)
    looks_like_path = re.compile(r"(?:kimibot|migrations|tests|\.ci)/[\w/.]*|[\w.-]+\.(?:lock|md)")
    spelled = [span for span in spans() if looks_like_path.fullmatch(span)]

    assert len(linked) > 10
    assert len(spelled) > 3
    assert [name for name in linked + spelled if not (CHECKOUT / name).exists()] == []


def test_every_place_it_points_to_within_itself_is_there() -> None:
    headings = re.findall(r"^##+ (.*)$", README, re.MULTILINE)
    anchors = {re.sub(r"[^a-z -]", "", title.lower()).replace(" ", "-") for title in headings}

    assert set(re.findall(r"\]\(#([^)]+)\)", README)) <= anchors


def test_its_pictures_are_light_and_of_one_width() -> None:
    pictures = sorted((CHECKOUT / ".pictures").iterdir())

    assert {f".pictures/{one.name}" for one in pictures} == set(
        re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    )
    for picture in pictures:
        content = picture.read_bytes()
        assert content.startswith(b"\x89PNG")
        assert struct.unpack(">I", content[16:20]) == (1280,)
        assert len(content) < MOST_PICTURE_BYTES


def test_it_names_every_scope_and_event_and_no_other() -> None:
    table = rows(section("Connect it to your Slack"))
    scopes = {word for row in table for word in re.findall(r"`([^`]+)`", row[1])}
    events = {word for row in table for word in re.findall(r"`([^`]+)`", row[2])}

    assert scopes == SCOPES.keys()
    assert events == EVENTS.keys()


def test_the_failures_it_shows_are_in_the_words_of_the_bot() -> None:
    files = [Path(str(room.__file__)) for room in (texts, failures, phrases)]
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    words = re.sub(r'"\s+"', "", source)

    for shown, _, _ in rows(section("When something fails")):
        assert re.sub(r"within \d+ s", "{in_time}", shown) in words


async def test_it_names_every_series_of_the_metrics_and_no_other() -> None:
    sources = Sources(no_asks, live_answers=int, kimi_streams=int, is_socket_open=no_socket)
    shown = (await Metrics(lambda: datetime.now(UTC)).scrape(sources)).decode()

    named = {span.partition("{")[0] for span in spans() if span.startswith("kimibot_")}

    assert named == set(re.findall(r"^# HELP (kimibot_\w+) ", shown, re.MULTILINE))


async def no_asks() -> int:
    return 0


async def no_socket() -> bool:
    return False


def test_its_map_draws_modules_in_the_layers_that_imports_are_held_to() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    (picture,) = re.findall(r"```text\n(.*?)```", section("Map of the code"), re.DOTALL)
    drawn = picture.splitlines()

    assert len(drawn) == len(layers)
    for line, layer in zip(drawn, layers, strict=True):
        assert set(line.split(" | ")) == set(layer.split(" | "))


def test_a_fresh_clone_is_checked_by_the_line_that_it_gives_for_the_tests() -> None:
    script = (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8")
    (pattern,) = re.findall(r"grep '([^']+)' README.md", script)

    found = re.findall(pattern, README, re.MULTILINE)

    assert len(found) == 1
    assert "\n    step pytest\n" in script


def test_both_of_its_lines_install_what_is_locked() -> None:
    lines = re.findall(r"^python3.11 -m venv .*$", README, re.MULTILINE)

    locks = [re.findall(r"--require-hashes -r (\S+)", line) for line in lines]
    assert locks == [["requirements.lock"], ["requirements-dev.lock"]]
    assert all("--no-deps" in line for line in lines)
