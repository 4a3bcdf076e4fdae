"""How long each part of an answer may take."""

from __future__ import annotations

import asyncio

import pytest

from kimibot.errors import (
    CutOff,
    NoFirstEvent,
    TooSlow,
)
from kimibot.kimi.reading import Limits
from tests.kimi.asking import HI, Time, text_of, then_pings
from tests.kimi.conftest import OpenKimi
from tests.kimi.server import ModelServer, Peer, streams
from tests.kimi.streams import FINISH, REASONING, RECORDED, ROLE, TEXT, says


@pytest.mark.parametrize("ping", [b"", b": ping\n\n", b"\n", b'data: {"choices":[]}\n\n'])
async def test_a_stream_that_never_begins_ends_at_the_limit_for_the_first_event(
    server: ModelServer, open_at: OpenKimi, ping: bytes
) -> None:
    server.play(then_pings(b"", ping))

    async with open_at(limits=Limits(first_event_seconds=0.2)) as kimi:
        with pytest.raises(NoFirstEvent) as caught:
            await text_of(kimi)

    assert caught.value.limit_seconds == 0.2
    assert len(server.requests) == 1


async def test_headers_that_never_come_end_at_the_limit_for_the_first_event(
    server: ModelServer, open_at: OpenKimi
) -> None:
    async def silence(peer: Peer) -> None:
        await peer.gone()

    server.play(silence)

    async with open_at(limits=Limits(first_event_seconds=0.2)) as kimi:
        with pytest.raises(NoFirstEvent):
            await text_of(kimi)


@pytest.mark.parametrize("ping", [b"", b": ping\n\n", b'data: {"choices":[]}\n\n'])
async def test_silence_after_text_ends_at_the_idle_limit_and_keeps_the_text(
    server: ModelServer, open_at: OpenKimi, ping: bytes
) -> None:
    server.play(then_pings(TEXT, ping))
    said = []

    async with open_at(limits=Limits(idle_seconds=0.2)) as kimi:
        with pytest.raises(CutOff) as caught:
            async with kimi.stream(HI) as deltas:
                async for delta in deltas:
                    said.append(delta.content)

    assert said == ["Hello"]
    assert caught.value.limit_seconds == 0.2
    assert caught.value.trace_id == "msg_er7WZjyv2kD3TG2yzbFPu5ZJ"


async def test_reasoning_is_a_sign_of_life_and_the_wall_clock_ends_it(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(then_pings(ROLE, REASONING))
    limits = Limits(idle_seconds=1.5, answer_seconds=2.0)

    async with open_at(limits=limits) as kimi:
        with pytest.raises(TooSlow) as caught:
            await text_of(kimi)

    assert caught.value.limit_seconds == 2.0


async def test_the_wall_clock_also_ends_a_wait_for_the_first_event(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(then_pings(b"", b": ping\n\n"))

    async with open_at(limits=Limits(answer_seconds=0.2)) as kimi:
        with pytest.raises(TooSlow):
            await text_of(kimi)


@pytest.mark.parametrize("ping", [b"", b": ping\n\n", says("")])
async def test_an_answer_with_its_finish_reason_is_whole_after_a_short_grace(
    server: ModelServer, open_at: OpenKimi, ping: bytes
) -> None:
    server.play(then_pings(TEXT + FINISH, ping))

    async with open_at(limits=Limits(grace_seconds=0.1)) as kimi, kimi.stream(HI) as deltas:
        all_deltas = [delta async for delta in deltas]

    assert all_deltas[-1].finish_reason == "stop"
    assert not any(delta.usage for delta in all_deltas)


async def test_the_time_that_a_caller_takes_is_not_the_models(
    server: ModelServer, open_at: OpenKimi
) -> None:
    server.play(streams(RECORDED))
    time = Time()

    async with open_at(chance=time.chance()) as kimi, kimi.stream(HI) as deltas:
        said = ""
        async for delta in deltas:
            said += delta.content
            time.seconds += 200

    assert said == "Hello"


async def test_waiting_for_a_place_does_not_count(server: ModelServer, open_at: OpenKimi) -> None:
    server.play(streams(RECORDED))
    limits = Limits(first_event_seconds=5, answer_seconds=5)
    time = Time()

    async with open_at(limits=limits, concurrency=1, chance=time.chance()) as kimi:
        async with kimi.stream(HI):
            waiting = asyncio.create_task(text_of(kimi))
            await asyncio.sleep(0)
            time.seconds += 1_000

        assert await waiting == "Hello"
