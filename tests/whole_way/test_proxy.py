"""Behind a proxy: the Web API, uploads, the socket and Kimi all go through it, if they need it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.whole_way.test_restart import DEV, World, world

pytestmark = pytest.mark.processes


@asynccontextmanager
async def forward_proxy() -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy for plain HTTP; yields its address and the targets that were asked for."""
    targets: list[str] = []
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await forward(reader, writer, targets)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}", targets
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def forward(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, targets: list[str]
) -> None:
    first = (await reader.readuntil(b"\r\n")).decode()
    method, target, version = first.split()
    address = urlsplit(target if method != "CONNECT" else f"//{target}")
    targets.append(address.path or target)
    assert address.hostname is not None
    their_reader, their_writer = await asyncio.open_connection(address.hostname, address.port)
    if method == "CONNECT":
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    else:
        path = address.path + (f"?{address.query}" if address.query else "")
        their_writer.write(f"{method} {path} {version}\r\nConnection: close\r\n".encode())
    await asyncio.gather(pump(reader, their_writer), pump(their_reader, writer))


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


LONG_CODE = "value = compute(7)\n" * 600


async def file_in(w: World, root: str) -> list[Any]:
    """What was shared in the thread, once something was."""
    thread = await w.slack.thread(DEV, root)
    return [file for message in thread for file in message.get("files") or ()]


async def test_what_needs_no_proxy_is_reached_without_one(tmp_path: Path) -> None:
    nobody = "http://127.0.0.1:9"
    async with (
        world(tmp_path) as w,
        w.bot(HTTPS_PROXY=nobody, HTTP_PROXY=nobody, NO_PROXY="127.0.0.1"),
    ):
        w.kimi.play("Without a proxy.")
        root = await w.slack.say("ana", DEV, "@kimibot hello")
        await w.until_said(root, "Without a proxy.")


async def test_everything_goes_through_the_proxy(tmp_path: Path) -> None:
    async with (
        world(tmp_path) as w,
        forward_proxy() as (address, targets),
        w.bot(HTTPS_PROXY=address, HTTP_PROXY=address, NO_PROXY=""),
    ):
        w.kimi.play("Through the proxy.\n\n", f"```\n{LONG_CODE}```\n")
        root = await w.slack.say("ana", DEV, "@kimibot hello")
        await w.slack.until(lambda: file_in(w, root), 15.0)

    seen = " ".join(targets)
    assert "/api/chat.postMessage" in seen
    assert "/chat/completions" in seen
    assert "/upload/" in seen
    assert any("ws" in target or "link" in target for target in targets), targets
