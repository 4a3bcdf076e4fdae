"""Files come from Slack's hosts only, and what does not come says why."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest
from aiohttp import web

from kimibot.attachments import SharedFile, Unread
from kimibot.errors import FileUnread
from kimibot.pacing import Pacing
from kimibot.sandbox.slack import BOT_TOKEN, LocalSlack, local_slack
from kimibot.slack.events import read_file
from kimibot.slack.files import MOST_BYTES, Places, SlackFiles, open_files
from kimibot.slack.web_api import WebApi, open_web_api

SLACK = Places(httpx.URL("https://slack.com/api/"))
DEV = "#dev"


@pytest.mark.parametrize(
    "url",
    [
        "https://files.slack.com/files-pri/T1-F1/a.py",
        "https://FILES.slack.com:443/a",
        "https://slack-files.com.slack-files.com/a",
        "https://a.slack-edge.com/b",
    ],
)
def test_slacks_file_hosts_get_the_token(url: str) -> None:
    assert SLACK.has(httpx.URL(url))


@pytest.mark.parametrize(
    "url",
    [
        "http://files.slack.com/a",
        "https://files.slack.com:8443/a",
        "https://files.slack.com@evil.example/a",
        "https://files.slack.com.evil.example/a",
        "https://evil-slack-files.com/a",
        "https://slack.com/signin",
        "https://acme.slack.com/a",
        "http://169.254.169.254/latest/meta-data",
        "https://127.0.0.1/a",
        "https://[::1]/a",
        "https://localhost/a",
        "file:///etc/passwd",
        "",
    ],
)
def test_nobody_else_gets_the_token(url: str) -> None:
    assert not SLACK.has(httpx.URL(url))


def test_a_web_api_of_ones_own_serves_its_own_files_and_nothing_beside_it() -> None:
    places = Places(httpx.URL("http://127.0.0.1:4000/api/"))

    assert places.has(httpx.URL("http://127.0.0.1:4000/files/a"))
    assert not places.has(httpx.URL("http://127.0.0.1:4001/files/a"))
    assert not places.has(httpx.URL("https://127.0.0.1:4000/files/a"))


@asynccontextmanager
async def opened(
    *, silence_seconds: float = 30.0, **switches: Any
) -> AsyncIterator[tuple[LocalSlack, SlackFiles]]:
    async with (
        local_slack(**switches) as slack,
        open_web_api(BOT_TOKEN, base_url=slack.api_url, timeout_seconds=30) as client,
        open_files(
            WebApi(client, Pacing()),
            BOT_TOKEN,
            api_url=slack.api_url,
            silence_seconds=silence_seconds,
        ) as files,
    ):
        yield slack, files


async def shared(slack: LocalSlack, **file: Any) -> SharedFile:
    """The file as the message that shares it describes it."""
    await slack.say("ana", DEV, "look", files=[{"name": "a.txt", "text": "hello"} | file])
    return read_file((await slack.messages(DEV))[-1]["files"][0])


async def why_not(files: SlackFiles, file: SharedFile) -> Unread:
    with pytest.raises(FileUnread) as refused:
        await files.download(file)
    return refused.value.why


async def test_a_file_comes_byte_for_byte() -> None:
    content = "a\r\n\tÄ\n"
    async with opened() as (slack, files):
        assert await files.download(await shared(slack, text=content)) == content.encode()


@pytest.mark.parametrize("declared", ["image/png", "text/plain", "text/html; charset=utf-8"])
async def test_a_sign_in_page_is_no_file_whatever_its_type(declared: str) -> None:
    async with opened() as (slack, files):
        file = await shared(slack, name="a.png", base64="iVBORw0K", fault="login_page")
        await slack.file_fault(file.id, "login_page", declared)

        assert await why_not(files, file) is Unread.SIGN_IN


async def test_a_page_that_somebody_shares_is_read() -> None:
    page = "<!DOCTYPE html><html><body>report</body></html>"
    async with opened() as (slack, files):
        assert await files.download(await shared(slack, name="r.html", text=page)) == page.encode()


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("not_found", Unread.GONE),
        ("redirect:https://acme.slack.com/?redir=a", Unread.ELSEWHERE),
        ("redirect:http://169.254.169.254/latest", Unread.ELSEWHERE),
        ("redirect:http://[::1", Unread.UNREACHABLE),
    ],
)
async def test_a_file_that_does_not_come_says_why(fault: str, why: Unread) -> None:
    async with opened() as (slack, files):
        assert await why_not(files, await shared(slack, fault=fault)) is why


async def test_a_host_that_falls_silent_is_too_slow() -> None:
    async with opened(silence_seconds=0.3) as (slack, files):
        assert await why_not(files, await shared(slack, fault="stall")) is Unread.TOO_SLOW


async def test_a_redirect_within_the_host_is_followed_and_one_without_end_is_not() -> None:
    async with opened() as (slack, files):
        there, here = await shared(slack, name="b.txt"), await shared(slack)
        await slack.file_fault(here.id, f"redirect:{httpx.URL(there.url).path}")
        assert await files.download(here) == b"hello"

        await slack.file_fault(there.id, f"redirect:{there.url}")
        assert await why_not(files, there) is Unread.UNREACHABLE


async def test_the_token_does_not_follow_a_redirect_to_another_host() -> None:
    async with other_host() as (url, heard), opened() as (slack, files):
        file = await shared(slack, fault=f"redirect:{url}")

        assert await why_not(files, file) is Unread.ELSEWHERE
        assert await why_not(files, replace(file, url=url)) is Unread.ELSEWHERE
        assert heard == []


async def test_without_the_scope_the_scope_is_named() -> None:
    async with opened(scopes=frozenset({"chat:write"})) as (slack, files):
        assert await why_not(files, await shared(slack)) is Unread.NO_SCOPE


async def test_an_address_that_is_out_of_date_is_looked_up_again() -> None:
    async with opened() as (slack, files):
        file = await shared(slack)
        stale = replace(file, url=file.url.replace(file.id, "F0GONE"))

        assert await files.download(stale) == b"hello"


async def test_a_file_that_is_too_large_is_not_read_to_its_end() -> None:
    async with opened() as (slack, files):
        file = await shared(slack, text="x" * (MOST_BYTES + 1))

        assert await why_not(files, file) is Unread.TOO_LARGE
        assert await why_not(files, replace(file, size_bytes=5)) is Unread.TOO_LARGE


@pytest.mark.parametrize(
    ("mode", "why"), [("tombstone", Unread.GONE), ("hidden_by_limit", Unread.HIDDEN)]
)
async def test_what_slack_only_names_is_not_asked_for(mode: str, why: Unread) -> None:
    async with opened() as (_, files):
        assert await why_not(files, SharedFile("F1", mode=mode)) is why


@asynccontextmanager
async def other_host() -> AsyncIterator[tuple[str, list[str]]]:
    """Another server on this machine, and the requests that it got."""
    heard: list[str] = []

    async def serve(request: web.Request) -> web.Response:
        heard.append(request.path)
        return web.Response(text="secret")

    app = web.Application()
    app.router.add_get("/a.txt", serve)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/a.txt", heard
    finally:
        await runner.cleanup()
