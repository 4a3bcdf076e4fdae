"""Slow work runs beside the loop, and nobody waits for it for ever."""

from __future__ import annotations

import threading

import pytest

from kimibot.files.apart import apart


async def test_what_the_work_returns_or_raises_comes_back() -> None:
    def fail() -> None:
        raise ValueError("no")

    assert await apart(threading.current_thread, 5) is not threading.current_thread()
    with pytest.raises(ValueError, match="no"):
        await apart(fail, 5)


async def test_work_without_an_end_is_given_up() -> None:
    over = threading.Event()

    with pytest.raises(TimeoutError):
        await apart(over.wait, 0.01)
    over.set()
