"""The demo starts its processes, says what answers, and tells at once what did not start."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic

import aiohttp
import pytest

from kimibot.sandbox.demo import play_script, run_demo
from kimibot.sandbox.demo.channel import Channel, Unexpected
from kimibot.sandbox.demo.processes import (
    READY_SECONDS,
    Counterparts,
    bot_environment,
    started,
)
from kimibot.sandbox.demo.tour import welcome
from kimibot.sandbox.github import GITHUB_TOKEN
from kimibot.sandbox.slack import BOT_TOKEN, LocalSlack, LocalSlackControls, local_slack
from kimibot.settings import Settings, variables

pytestmark = pytest.mark.processes

PARTS = Counterparts(
    slack_url="http://127.0.0.1:1",
    page_url="http://127.0.0.1:2/",
    github_url="http://127.0.0.1:3/api/v3",
    pull_url="http://127.0.0.1:3/acme/shop/pull/7",
    kimi_url="http://127.0.0.1:4/kimi",
)

DATABASE_URL = "sqlite:////tmp/demo/demo.db"


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


ENDINGS = {
    "after its last words": "print('no key'); raise SystemExit(2)",
    "without a word": "raise SystemExit(2)",
    "a while after its output": (
        "import os, sys, time; print('no key', flush=True); os.close(1); os.close(2);"
        "time.sleep(0.3); os._exit(2)"
    ),
}


@pytest.mark.parametrize("program", ENDINGS.values(), ids=ENDINGS.keys())
async def test_a_process_that_ends_before_it_is_ready_is_told_at_once(program: str) -> None:
    began = monotonic()
    async with started("the bot", ["-c", program]) as process:
        with pytest.raises(RuntimeError, match=r"^the bot has ended early") as told:
            await process.wait_for("socket open")

    assert monotonic() - began < READY_SECONDS / 2
    assert ("no key" in str(told.value)) == ("no key" in program)


@pytest.mark.parametrize("server", ["slack", "kimi", "github", "page"])
def test_a_server_whose_port_is_taken_says_so_in_one_line(server: str, taken_port: int) -> None:
    command = [sys.executable, "-m", f"kimibot.sandbox.{server}", "--port", str(taken_port)]

    ended = subprocess.run(command, capture_output=True, text=True, timeout=30)

    (line,) = ended.stderr.splitlines()
    assert line.endswith(f" can't listen on port {taken_port}: Address already in use")
    assert (ended.returncode, ended.stdout) == (1, "")


async def test_a_demo_whose_port_is_taken_says_so_and_ends(taken_port: int) -> None:
    said: list[str] = []

    code = await run_demo(
        port=taken_port,
        opens_browser=False,
        real_kimi="",
        hint="",
        of_kimi={},
        is_verbose=False,
        say=said.append,
    )

    assert code == 1
    assert said == [
        "the local Slack has ended early:\n"
        f"  the page can't listen on port {taken_port}: Address already in use"
    ]


def test_a_demo_says_whether_the_real_kimi_answers_and_that_it_costs() -> None:
    greet = partial(welcome, 1, parts=PARTS, database_url=DATABASE_URL)
    real = greet(real_kimi="kimi-k3 at moonshot", hint="")
    local = greet(real_kimi="", hint="set KIMI_PROVIDER=moonshot")

    assert "the real Kimi (kimi-k3 at moonshot)" in real
    assert "costs" in real
    assert "flaky" not in real, "it would not know what that is"
    assert "a Kimi on this machine" in local
    assert "For the real Kimi: set KIMI_PROVIDER=moonshot" in local
    assert "costs" not in local
    assert all(f"@kimibot review {PARTS.pull_url}" in text for text in (real, local))


def test_a_demo_says_how_its_turns_are_traced() -> None:
    told = welcome(1, parts=PARTS, real_kimi="", hint="", database_url=DATABASE_URL)

    assert f"DATABASE_URL={DATABASE_URL} kimibot trace ID" in told


def test_nothing_of_the_local_kimi_is_set_where_the_real_one_answers() -> None:
    of_kimi = {"KIMI_API_KEY": "fake-key-of-the-operator", "KIMI_MODEL": "kimi-k3.1-pro"}
    real = bot_environment(replace(PARTS, kimi_url=None), DATABASE_URL, of_kimi)
    local = bot_environment(PARTS, DATABASE_URL, of_kimi)

    assert of_kimi.items() <= real.items()
    assert "KIMI_BASE_URL" not in real
    assert local["KIMI_BASE_URL"] == PARTS.kimi_url
    assert "fake-key-of-the-operator" not in local.values()


@pytest.mark.parametrize("kimi_url", [None, PARTS.kimi_url], ids=["real", "local"])
def test_what_is_set_for_the_real_slack_and_github_does_not_count_in_a_demo(
    kimi_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in variables():
        monkeypatch.setenv(name, "of-the-operator")
    of_kimi = {"KIMI_API_KEY": "fake-key", "LOG_LEVEL": "error"}

    own = bot_environment(replace(PARTS, kimi_url=kimi_url), DATABASE_URL, of_kimi)

    settings = Settings.load({name: own[name] for name in own.keys() & variables()})
    assert settings.allowed_users == settings.allowed_channels == frozenset()
    assert settings.follow_ups == "auto"
    assert settings.slack_bot_token.get_secret_value() == BOT_TOKEN
    assert settings.github_token is not None
    assert settings.github_token.get_secret_value() == GITHUB_TOKEN
    assert settings.github_repos == ("*/*",)
    assert settings.github_api_url == PARTS.github_url
    assert settings.log_level == "INFO", "the demo would not hear that the bot is there"


async def test_a_reply_that_comes_after_its_step_is_noticed_at_the_end() -> None:
    async with (
        local_slack() as slack,
        LocalSlackControls(slack.url) as controls,
        aiohttp.ClientSession() as http,
    ):
        channel = Channel(controls, "#dev", lambda _: None)
        root = await channel.ask("@kimibot hello")
        await post(http, slack, root)
        await channel.reply(root, lambda one: one["text"] == "said")
        await channel.nothing_more_came()

        await post(http, slack, root)
        with pytest.raises(Unexpected, match="has 2 replies where it had 1"):
            await channel.nothing_more_came()


async def post(http: aiohttp.ClientSession, slack: LocalSlack, root: str) -> None:
    """As the bot."""
    said = {"channel": slack.parts.workspace.channel("#dev").id, "thread_ts": root, "text": "said"}
    headers = {"Authorization": f"Bearer {BOT_TOKEN}"}
    async with http.post(f"{slack.api_url}chat.postMessage", json=said, headers=headers) as answer:
        assert (await answer.json())["ok"]


async def test_the_fixed_conversation_goes_as_it_should_whatever_the_operator_has_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = "KIMIBOT_ALLOWED_USERS=U0OTHER\nKIMIBOT_FOLLOW_UPS=mention\nSLACK_BOT_TOKEN=nonsense\n"
    (tmp_path / ".env").write_text(f"{others}KIMI_CONTEXT_TOKENS=1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KIMIBOT_ALLOWED_CHANNELS", "C0OTHER")
    said: list[str] = []

    code = await play_script(say=said.append)

    assert code == 0, "\n".join(said)
    assert said[-1] == "All as it should be."
