"""What is left open: nothing, whoever is cancelled and whenever."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from tests.kimi.asking import HI, text_of, then_silence, until
from tests.kimi.conftest import OpenKimi
from tests.kimi.server import ModelServer, Peer, responds, streams
from tests.kimi.streams import DONE, FINISH, REASONING, RECORDED, ROLE, TEXT, says


async def test_no_more_answers_are_streamed_at_once_than_allowed(
    server: ModelServer, open_at: OpenKimi
) -> None:
    go = asyncio.Event()

    async def when_told(peer: Peer) -> None:
        await go.wait()
        await streams(RECORDED)(peer)

    server.play(when_told)

    async with open_at(concurrency=2) as kimi:
        tasks = [asyncio.create_task(text_of(kimi)) for _ in range(5)]
        await until(lambda: len(server.requests) == 2)
        go.set()
        texts = await asyncio.gather(*tasks)

    assert texts == ["Hello"] * 5
    assert server.connections == 2


async def test_a_connection_is_used_again_after_a_whole_answer(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(streams(RECORDED))

    async with open_at() as kimi:
        for _ in range(3):
            await text_of(kimi)

    assert server.connections == 1


Ending = Callable[["asyncio.Task[str]"], Awaitable[None]]


async def _cancel_once(task: asyncio.Task[str]) -> None:
    task.cancel()


async def _cancel_twice(task: asyncio.Task[str]) -> None:
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()


@pytest.mark.parametrize("cancel", [_cancel_once, _cancel_twice])
@pytest.mark.parametrize("stream", [None, b"", ROLE + REASONING, TEXT + FINISH])
async def test_a_cancelled_answer_frees_its_connection_and_its_place_at_once(
    server: ModelServer, open_at: OpenKimi, stream: bytes | None, cancel: Ending
) -> None:
    async def silence(peer: Peer) -> None:
        await peer.gone()

    server.play(silence if stream is None else then_silence(stream))

    async with open_at(concurrency=1) as kimi:
        for round_ in range(15):  # more often than there are connections
            task = asyncio.create_task(text_of(kimi))
            await until(partial(server.has_got, round_ + 1))
            await cancel(task)
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: server.open_connections == 0)

        server.play(streams(RECORDED))
        assert await text_of(kimi) == "Hello"


async def test_a_cancelled_wait_for_a_place_costs_none(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(streams(RECORDED))

    async with open_at(concurrency=1) as kimi:
        async with kimi.stream(HI):
            waiting = asyncio.create_task(text_of(kimi))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

        assert await text_of(kimi) == "Hello"


async def test_a_cancellation_during_a_wait_for_a_retry_frees_the_place(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(responds(429, b"", retry_after="30"), streams(RECORDED))
    retrying = asyncio.Event()

    async with open_at(concurrency=1) as kimi:
        task = asyncio.create_task(text_of(kimi, lambda _: retrying.set()))
        await retrying.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert await text_of(kimi) == "Hello"


async def test_a_caller_that_leaves_early_or_fails_closes_the_connection(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(then_silence(ROLE + TEXT))

    async with open_at(concurrency=1) as kimi:
        async with kimi.stream(HI) as deltas:
            async for _ in deltas:
                break
        await until(lambda: server.open_connections == 0)
        with pytest.raises(ZeroDivisionError):
            async with kimi.stream(HI):
                raise ZeroDivisionError
        await until(lambda: server.open_connections == 0)

    gc.collect()


async def test_a_stream_that_is_still_open_at_the_end_does_not_keep_the_process_up(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(then_silence(TEXT))

    async with asyncio.timeout(5), open_at() as kimi:
        forgotten = asyncio.create_task(text_of(kimi))
        await until(lambda: server.has_got(1))

    await until(lambda: server.open_connections == 0)
    forgotten.cancel()
    with pytest.raises(asyncio.CancelledError):
        await forgotten


async def test_many_streams_at_once_all_come_whole(server: ModelServer, open_at: OpenKimi) -> None:
    server.play(streams(ROLE + says("a") * 200 + FINISH + DONE))

    async with open_at(concurrency=50) as kimi:
        texts = await asyncio.gather(*(text_of(kimi) for _ in range(100)))

    assert set(texts) == {"a" * 200}
