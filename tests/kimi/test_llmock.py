"""Somebody else's endpoint and its faults: llmock says whether we took them as one should."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from llmock.pytest_plugin import LLMock

from kimibot.errors import (
    Busy,
    ContextTooLong,
    CutOff,
    KeyRefused,
    KimiError,
    NoFirstEvent,
    ServerFault,
)
from kimibot.kimi.client import Chance, Kimi, open_kimi
from kimibot.kimi.reading import Limits

HI = [{"role": "user", "content": "Hi"}]
REPLY = "One two three four five six seven eight."
LIMITS = Limits(first_event_seconds=2, idle_seconds=2, grace_seconds=1)


@pytest.fixture
async def kimi(llmock: LLMock) -> AsyncIterator[Kimi]:
    llmock.reply(REPLY, times=None)
    async with open_kimi(
        provider="custom",
        api_key="fake-key",
        base_url=llmock.base_url("openai"),
        model="gpt-4o",
        max_retries=2,
        limits=LIMITS,
        chance=Chance(random=lambda: 0.0),
    ) as kimi:
        yield kimi


async def said(kimi: Kimi) -> str:
    text = []
    async with kimi.stream(HI) as deltas:
        async for delta in deltas:
            text.append(delta.content)
    return "".join(text)


async def said_until_it_broke(kimi: Kimi) -> tuple[str, KimiError]:
    text = []
    with pytest.raises(KimiError) as caught:
        async with kimi.stream(HI) as deltas:
            async for delta in deltas:
                text.append(delta.content)
    return "".join(text), caught.value


async def test_an_answer_comes_whole_with_its_usage(llmock: LLMock, kimi: Kimi) -> None:
    async with kimi.stream(HI) as deltas:
        all_deltas = [delta async for delta in deltas]

    assert "".join(delta.content for delta in all_deltas) == REPLY
    assert [delta.finish_reason for delta in all_deltas if delta.finish_reason] == ["stop"]
    assert any(delta.usage for delta in all_deltas)


async def test_a_rate_limit_is_waited_for(llmock: LLMock, kimi: Kimi) -> None:
    llmock.rate_limit(times=2, retry_after=0.2)

    assert await said(kimi) == REPLY
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529])
async def test_a_fault_that_passes_is_not_seen(llmock: LLMock, kimi: Kimi, status: int) -> None:
    llmock.fail(status)

    assert await said(kimi) == REPLY
    llmock.assert_resilient()


async def test_an_outage_is_told_after_the_last_retry(llmock: LLMock, kimi: Kimi) -> None:
    llmock.outage()

    _, error = await said_until_it_broke(kimi)

    assert type(error) is ServerFault
    assert len(llmock.requests) == 3
    llmock.assert_resilient()


@pytest.mark.parametrize(("status", "kind"), [(401, KeyRefused), (429, Busy)])
async def test_an_error_has_its_kind(
    llmock: LLMock, kimi: Kimi, status: int, kind: type[KimiError]
) -> None:
    llmock.fail(status, times=None, retry_after=0.01)

    _, error = await said_until_it_broke(kimi)

    assert type(error) is kind
    llmock.assert_resilient()


async def test_a_context_that_is_too_long_is_told_as_that(llmock: LLMock, kimi: Kimi) -> None:
    llmock.context_overflow()

    _, error = await said_until_it_broke(kimi)

    assert type(error) is ContextTooLong
    assert len(llmock.requests) == 1
    llmock.assert_resilient()


async def test_a_reset_in_the_middle_keeps_what_came(llmock: LLMock, kimi: Kimi) -> None:
    llmock.disconnect(after_chunks=3)

    text, error = await said_until_it_broke(kimi)

    assert type(error) is CutOff
    assert text
    assert REPLY.startswith(text)
    assert len(llmock.requests) == 1


async def test_an_early_end_is_no_whole_answer(llmock: LLMock, kimi: Kimi) -> None:
    llmock.truncate(after_chunks=3)

    text, error = await said_until_it_broke(kimi)

    assert type(error) is CutOff
    assert text
    assert text != REPLY


async def test_a_broken_chunk_cuts_the_answer_off(llmock: LLMock, kimi: Kimi) -> None:
    llmock.corrupt(after_chunks=3)

    text, error = await said_until_it_broke(kimi)

    assert type(error) is CutOff
    assert REPLY.startswith(text)


async def test_a_stall_ends_at_the_idle_limit(llmock: LLMock, kimi: Kimi) -> None:
    llmock.stall(after_chunks=3, seconds=5)

    text, error = await said_until_it_broke(kimi)

    assert type(error) is CutOff
    assert error.limit_seconds == 2
    assert text


async def test_a_first_word_that_comes_too_late_is_not_waited_for(
    llmock: LLMock, kimi: Kimi
) -> None:
    llmock.slow_first_token(5)

    _, error = await said_until_it_broke(kimi)

    assert type(error) is NoFirstEvent
