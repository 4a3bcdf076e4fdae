"""The demo starts its processes, says what answers, and tells at once what did not start."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from time import monotonic

import pytest

from kimibot.sandbox.demo import play_script, run_demo
from kimibot.sandbox.demo.processes import READY_SECONDS, started
from kimibot.sandbox.demo.tour import welcome

pytestmark = pytest.mark.processes


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


@pytest.mark.parametrize("server", ["slack", "kimi", "page"])
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
        is_verbose=False,
        say=said.append,
    )

    assert code == 1
    assert said == [
        "the local Slack has ended early:\n"
        f"  the page can't listen on port {taken_port}: Address already in use"
    ]


def test_a_demo_says_whether_the_real_kimi_answers_and_that_it_costs() -> None:
    real = welcome(1, url="http://x/", real_kimi="kimi-k3 at moonshot", hint="")
    local = welcome(1, url="http://x/", real_kimi="", hint="set KIMI_PROVIDER=moonshot")

    assert "the real Kimi (kimi-k3 at moonshot)" in real
    assert "costs" in real
    assert "flaky" not in real, "it would not know what that is"
    assert "a Kimi on this machine" in local
    assert "For the real Kimi: set KIMI_PROVIDER=moonshot" in local
    assert "costs" not in local


async def test_the_fixed_conversation_goes_as_it_should() -> None:
    said: list[str] = []

    code = await play_script(say=said.append)

    assert code == 0, "\n".join(said)
    assert said[-1] == "All as it should be."
