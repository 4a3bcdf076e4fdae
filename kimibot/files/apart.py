"""Runs slow work in a thread of its own, which nobody has to wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

Result = TypeVar("Result")


async def apart(work: Callable[[], Result], seconds: float) -> Result:
    """What `work` returns or raises; TimeoutError after so many seconds.

    A page of a malicious file can take for ever. Its thread is then left to itself: as a daemon it
    does not keep the process from ending, which a thread of the loop's own pool would.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Result] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # whatever it is, it belongs to the one who waits
            _tell(loop, done, partial(done.set_exception, error))
        else:
            _tell(loop, done, partial(done.set_result, result))

    threading.Thread(target=run, daemon=True, name="reads a file").start()
    async with asyncio.timeout(seconds):
        return await done


def _tell(
    loop: asyncio.AbstractEventLoop, done: asyncio.Future[Result], settle: Callable[[], None]
) -> None:
    def settle_unless_given_up() -> None:
        if not done.done():
            settle()

    with suppress(RuntimeError):  # the loop is closed already
        loop.call_soon_threadsafe(settle_unless_given_up)
