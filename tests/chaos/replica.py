"""`kimibot run` as a process that is started again whenever it has ended."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

_PAUSE_SECONDS = 0.2


class Replica:
    """One bot under a supervisor. `lines` are the last ones that it has logged."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.lines: deque[str] = deque(maxlen=60)
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None

    async def run(self) -> None:
        """Keep it running until cancelled."""
        try:
            while True:
                await self._run_once()
                await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            self.kill()
            if self._process is not None:
                await self._process.wait()

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        """To this very process, at once; one that has ended already is left alone."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    async def _run_once(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "kimibot",
            "run",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
        )
        self.lines.append("--- started")
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self.lines.append(line.decode("utf-8", "replace").rstrip())
        code = await self._process.wait()
        self.lines.append(f"--- ended with {code}")


@asynccontextmanager
async def running(environment: Mapping[str, str]) -> AsyncIterator[Replica]:
    """A replica, as long as the block runs."""
    replica = Replica(environment)
    supervising = asyncio.create_task(replica.run())
    try:
        yield replica
    finally:
        supervising.cancel()
        await asyncio.wait({supervising})
