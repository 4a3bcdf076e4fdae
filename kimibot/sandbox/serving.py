"""Runs a server of the sandbox as a process of its own, until it is told to end."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from contextlib import AbstractAsyncContextManager


def serve(server: AbstractAsyncContextManager[str], name: str, port: int) -> int:
    """Serve until SIGTERM or SIGINT; 0 then. What the server yields is printed once it is ready.

    When it can't listen, one line on stderr says so, and the result is 1.
    """
    try:
        asyncio.run(_serve(server))
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        sys.stderr.write(f"{name} can't listen on port {port}: {reason}\n")
        return 1
    return 0


def port_number(text: str) -> int:
    """For an option of the command line."""
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError("should be a whole number from 0 to 65535")
    return int(text)


async def _serve(server: AbstractAsyncContextManager[str]) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with server as ready:
        sys.stdout.write(f"{ready}\n")
        sys.stdout.flush()
        await ended.wait()
