"""What tests of the client ask, and of what servers; the time is theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kimibot.answers import Answer, Retry
from kimibot.assembling import Assembling
from kimibot.errors import KimiError
from kimibot.kimi.client import Chance, Kimi
from tests.kimi.conftest import OpenKimi
from tests.kimi.server import Peer, Script

HI = [{"role": "user", "content": "Hi"}]


@dataclass
class Time:
    """A clock that only waits move, but for what a test adds to it."""

    seconds: float = 100.0
    waits: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)

    def chance(self) -> Chance:
        return Chance(self.clock, self.sleep, lambda: 0.0)


async def text_of(kimi: Kimi, on_retry: Callable[[Retry], None] | None = None) -> str:
    async with kimi.stream(HI, on_retry=on_retry) as deltas:
        return "".join([delta.content async for delta in deltas])


def then_silence(stream: bytes) -> Script:
    async def script(peer: Peer) -> None:
        await peer.begin()
        await peer.say(stream)
        await peer.gone()

    return script


def then_pings(stream: bytes, ping: bytes, every_seconds: float = 0.02) -> Script:
    async def script(peer: Peer) -> None:
        await peer.begin()
        await peer.say(stream)
        while not peer.reader.at_eof():
            await peer.say(ping)
            await asyncio.sleep(every_seconds)  # the endpoint's own pace

    return script


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not is_so():  # noqa: ASYNC110 - what is awaited is the state of a socket
            await asyncio.sleep(0.001)


async def answer_of(kimi: Kimi) -> tuple[Answer, KimiError | None]:
    """What came, and what ended it before it was whole."""
    assembling = Assembling()
    try:
        async with kimi.stream(HI) as deltas:
            async for delta in deltas:
                assembling.add(delta)
    except KimiError as error:
        return assembling.cut(), error
    return assembling.finish(), None


async def ask(open_at: OpenKimi, **arguments: Any) -> tuple[Answer, KimiError | None]:
    async with open_at(max_retries=0, **arguments) as kimi:
        return await answer_of(kimi)
