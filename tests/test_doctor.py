"""The doctor finds what is wrong, and says what to do about it."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from kimibot import doctor
from kimibot.doctor import Finding, State
from kimibot.sandbox.kimi import LOCAL_KEY, LocalKimi, local_kimi
from kimibot.sandbox.slack import APP_TOKEN, BOT_TOKEN, LocalSlack, local_slack
from kimibot.settings import Settings
from kimibot.slack.manifest import SCOPES
from kimibot.storage import open_database, upgrade

Examine = Callable[..., Awaitable[dict[str, Finding]]]


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with local_slack(scopes=list(SCOPES)) as slack:
        yield slack


@pytest.fixture
async def kimi() -> AsyncIterator[LocalKimi]:
    async with local_kimi() as kimi:
        yield kimi


@pytest.fixture
def examine(slack: LocalSlack, kimi: LocalKimi, tmp_path: Path) -> Examine:
    """Examines a good installation with these changes; the first finding of each subject."""
    good = {
        "SLACK_BOT_TOKEN": BOT_TOKEN,
        "SLACK_APP_TOKEN": APP_TOKEN,
        "SLACK_API_URL": slack.api_url,
        "KIMI_PROVIDER": "custom",
        "KIMI_BASE_URL": kimi.base_url,
        "KIMI_API_KEY": LOCAL_KEY,
        "DATABASE_URL": f"sqlite:///{tmp_path}/kimibot.db",
        "PORT": "0",
    }

    async def run(**changes: str) -> dict[str, Finding]:
        told: list[Finding] = []
        code = await doctor.examine(Settings.load(good | changes), told.append)
        assert code == (1 if State.FAILED in {finding.state for finding in told} else 0)
        return {finding.subject: finding for finding in reversed(told)}

    return run


def troubles(found: dict[str, Finding]) -> set[str]:
    return {finding.subject for finding in found.values() if finding.state is State.FAILED}


async def test_a_good_installation_has_no_trouble(examine: Examine, tmp_path: Path) -> None:
    found = await examine()

    assert {subject: finding.state for subject, finding in found.items()} == {
        "settings": State.OK,
        "bot token": State.OK,
        "scopes": State.OK,
        "app token": State.OK,
        "websocket": State.OK,
        "events": State.NOTE,
        "database": State.OK,
        "kimi-k3 at custom": State.OK,
        "posting": State.OK,
        "port": State.OK,
    }
    assert os.listdir(tmp_path) == [], "it only looks"


async def test_no_line_is_longer_than_one_and_none_shows_a_secret(examine: Examine) -> None:
    found = await examine(KIMI_API_KEY="wrong-fake-key")

    for finding in found.values():
        line = str(finding)
        assert "\n" not in line
        assert not any(secret in line for secret in (BOT_TOKEN, APP_TOKEN, "wrong-fake-key"))


async def test_over_http_no_socket_is_opened(examine: Examine, slack: LocalSlack) -> None:
    found = await examine(SLACK_APP_TOKEN="", SLACK_SIGNING_SECRET="fake-secret")

    assert "websocket" not in found
    assert await slack.calls("apps.connections.open") == []


async def test_a_wrong_bot_token_is_to_be_copied_anew(examine: Examine) -> None:
    found = await examine(SLACK_BOT_TOKEN="xoxb-other-fake")

    assert troubles(found) == {"bot token"}
    assert found["bot token"].fix == "copy SLACK_BOT_TOKEN anew from the app's page"


async def test_a_missing_scope_is_named_with_what_it_is_for(
    examine: Examine, slack: LocalSlack
) -> None:
    await slack.configure(scopes=[scope for scope in SCOPES if scope != "users:read"])

    found = await examine()

    assert troubles(found) == {"scopes"}
    assert found["scopes"].words == f"users:read is missing, to {SCOPES['users:read']}"
    assert "reinstall" in found["scopes"].fix


async def test_a_scope_too_many_is_pointed_out(examine: Examine, slack: LocalSlack) -> None:
    await slack.configure(scopes=[*SCOPES, "mpim:read"])

    scopes = (await examine())["scopes"]

    assert scopes.state is State.WARNING
    assert "mpim:read" in scopes.words


async def test_a_wrong_app_token_is_told_from_a_bot_token(examine: Examine) -> None:
    found = await examine(SLACK_APP_TOKEN="xapp-other-fake")

    assert troubles(found) == {"app token"}
    assert found["bot token"].state is State.OK


async def test_a_web_api_that_works_is_told_from_a_websocket_that_does_not(
    examine: Examine, slack: LocalSlack
) -> None:
    await slack.configure(stall_handshakes=True)

    found = await examine(KIMIBOT_SLACK_TIMEOUT_SECONDS="0.5")

    assert troubles(found) == {"websocket"}
    assert found["app token"].state is State.OK
    assert "firewall" in found["websocket"].fix


async def test_a_slack_that_cannot_be_reached_is_told_from_one_that_refuses(
    examine: Examine, free_port: int
) -> None:
    found = await examine(SLACK_API_URL=f"http://127.0.0.1:{free_port}/api/")

    assert troubles(found) == {"bot token", "app token"}
    assert found["bot token"].fix == "see that this machine reaches SLACK_API_URL"


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


async def test_a_key_that_is_not_accepted_is_found_with_its_trace(examine: Examine) -> None:
    kimi = (await examine(KIMI_API_KEY="wrong"))["kimi-k3 at custom"]

    assert kimi.state is State.FAILED
    assert kimi.words.startswith("key_refused: ")
    assert "KIMI_API_KEY" in kimi.fix


async def test_a_kimi_that_cannot_be_reached_is_found(examine: Examine, free_port: int) -> None:
    kimi = (await examine(KIMI_BASE_URL=f"http://127.0.0.1:{free_port}"))["kimi-k3 at custom"]

    assert kimi.state is State.FAILED
    assert "KIMI_BASE_URL" in kimi.fix


async def test_missing_migrations_come_with_the_command(examine: Examine, tmp_path: Path) -> None:
    (tmp_path / "kimibot.db").touch()
    assert (await examine())["database"].fix == "kimibot db upgrade"

    database = open_database(f"sqlite:///{tmp_path}/kimibot.db")
    await upgrade(database)

    assert (await examine())["database"].state is State.OK, "also beside a bot that runs"
    await database.close()


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////nowhere/at/all/kimibot.db",
        "postgresql://me:hunter2@127.0.0.1:1/kimibot",
        "sqlite://host/kimibot.db",
    ],
)
async def test_a_database_that_cannot_be_used_is_found(examine: Examine, url: str) -> None:
    found = await examine(DATABASE_URL=url)

    assert troubles(found) == {"database"}
    assert "DATABASE_URL" in found["database"].fix
    assert "hunter2" not in str(found["database"])


async def test_a_port_in_use_is_pointed_out(examine: Examine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = (await examine(PORT=str(server.getsockname()[1])))["port"]

    assert port.state is State.WARNING
    assert "set HOST and PORT" in port.fix


async def test_a_misspelt_setting_is_pointed_out(examine: Examine) -> None:
    settings = (await examine(KIMI_MODELL="x"))["settings"]

    assert settings.state is State.WARNING
    assert "did you mean KIMI_MODEL?" in settings.words


@pytest.mark.parametrize(
    ("changes", "state", "words"),
    [
        ({}, State.OK, "off"),
        ({"KIMIBOT_GITHUB_POST": "1"}, State.WARNING, "no GITHUB_TOKEN"),
        (
            {"KIMIBOT_GITHUB_POST": "1", "GITHUB_TOKEN": "fake-token"},
            State.WARNING,
            "no repository is named",
        ),
        (
            {
                "KIMIBOT_GITHUB_POST": "1",
                "GITHUB_TOKEN": "fake-token",
                "KIMIBOT_GITHUB_REPOS": "acme/* other/shop",
            },
            State.OK,
            "post it to acme/*, other/shop",
        ),
    ],
)
async def test_it_says_what_becomes_of_reviews_that_are_to_be_posted(
    changes: dict[str, str], state: State, words: str, examine: Examine
) -> None:
    finding = (await examine(**changes))["posting"]

    assert finding.state is state
    assert words in finding.words
    assert bool(finding.fix) == (state is State.WARNING)
    assert "fake-token" not in str(finding)
