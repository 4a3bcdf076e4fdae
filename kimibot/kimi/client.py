"""Asks Kimi and streams its answer: the only module that opens connections to it."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from kimibot import __version__
from kimibot.answers import NO_TOOLS, ChatMessage, Delta, Retry, Toolbox
from kimibot.errors import BadSettings, KimiError
from kimibot.kimi.exchange import Exchange
from kimibot.kimi.places import OnWait, Places
from kimibot.kimi.providers import Provider, provider_named, takes_tools
from kimibot.kimi.reading import Clock, Limits, Patience, Reading, Timers, refusal
from kimibot.kimi.retrying import Failed, RetryPolicy
from kimibot.kimi.wire import request_body

KEPT_ALIVE = 20
SPARE_CONNECTIONS = 10
WRITE_SECONDS = 30.0
POOL_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 30.0

log = logging.getLogger(__name__)

OnRetry = Callable[[Retry], None]
OnError = Callable[[KimiError, bool], None]
"""Is told of each request that failed, and whether it is made again."""


@dataclass(frozen=True, slots=True)
class Chance:
    """Time and luck, handed over by tests."""

    clock: Clock = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    random: Callable[[], float] = random.random


@asynccontextmanager
async def open_kimi(
    *,
    provider: str,
    api_key: str,
    base_url: str = "",
    model: str = "",
    effort: str = "",
    takes_images: bool = False,
    max_completion_tokens: int = 32_768,
    concurrency: int = 64,
    max_retries: int = 3,
    limits: Limits | None = None,
    chance: Chance | None = None,
    on_error: OnError = lambda *_: None,
) -> AsyncIterator[Kimi]:
    """A Kimi with its pool of connections, closed at the end.

    `base_url` and `model` are the provider's own where they are empty; `/chat/completions` is
    appended to the first. The environment's proxy variables are honoured, as httpx does. Raises
    BadSettings for an address or a key that no request can carry.
    """
    limits, place, key = limits or Limits(), provider_named(provider), _bare(api_key)
    url = _url(base_url or place.base_url)
    async with _http_client(key, concurrency, limits) as http:
        kimi = Kimi(
            http,
            url=url,
            key=key,
            place=place,
            model=model or place.model,
            effort=effort,
            takes_images=takes_images,
            max_completion_tokens=max_completion_tokens,
            concurrency=concurrency,
            max_retries=max_retries,
            limits=limits,
            chance=chance or Chance(),
            on_error=on_error,
        )
        try:
            yield kimi
        finally:
            await kimi.close()


class Kimi:
    """A model at a provider. At most `concurrency` answers are streamed at once; others wait."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        url: httpx.URL,
        key: str,
        place: Provider,
        model: str,
        effort: str,
        takes_images: bool,
        max_completion_tokens: int,
        concurrency: int,
        max_retries: int,
        limits: Limits,
        chance: Chance,
        on_error: OnError,
    ) -> None:
        self.provider = place.name
        self.model = model
        self.effort = effort
        self.takes_images = takes_images
        self.takes_tools = takes_tools(model)
        self.max_completion_tokens = max_completion_tokens
        self._http = http
        self._url = url
        self._key = key
        self._include_usage = place.include_usage
        # Smaller than the pool, so that nobody waits in the pool: a task that is cancelled there
        # can take a connection with it (encode/httpcore#1093).
        self._places = Places(concurrency)
        self._limits = limits
        self._chance = chance
        self._policy = RetryPolicy(max_retries, limits.unreachable_seconds, chance.random)
        self._on_error = on_error
        self._exchanges: set[Exchange] = set()

    @property
    def open_streams(self) -> int:
        """How many requests are open now, those included that wait for their first event."""
        return len(self._exchanges)

    @property
    def ahead(self) -> int:
        """How many answers would have to end before one that is asked for now begins."""
        return self._places.ahead

    @asynccontextmanager
    async def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_completion_tokens: int | None = None,
        toolbox: Toolbox = NO_TOOLS,
        on_retry: OnRetry | None = None,
        on_wait: OnWait = lambda _: None,
    ) -> AsyncIterator[AsyncIterator[Delta]]:
        """The deltas of one answer; entered once the model has begun, left with nothing open.

        The last delta with a finish reason makes the answer whole; it is "unknown" where the
        endpoint ended well and gave none. Raises KimiError, on entering and between deltas; until
        the model has begun, failures that pass are retried, after `on_retry` was told. While all
        places are taken, `on_wait` is told how many must be left first.
        """
        body = request_body(
            messages,
            model=self.model,
            max_completion_tokens=max_completion_tokens or self.max_completion_tokens,
            effort=self.effort,
            include_usage=self._include_usage,
            toolbox=toolbox,
        )
        async with self._places.taken(on_wait):
            reading = await self._open(body, on_retry)
            try:
                yield reading
            except KimiError as error:
                self._on_error(error, False)
                raise
            finally:
                await reading.close()

    async def close(self) -> None:
        """Free the last connections: those whose asker went away without waiting for it."""
        await asyncio.gather(*(exchange.close() for exchange in self._exchanges))

    async def _open(self, body: bytes, on_retry: OnRetry | None) -> Reading:
        """Try until the model has begun to answer, as often as the policy says."""
        clock = self._chance.clock
        timers = Timers(self._limits, clock)
        first_try = clock()
        tries = 0
        while True:
            tries, started = tries + 1, clock()
            try:
                return await self._try(body, timers)
            except KimiError as error:
                now = clock()
                failed = Failed(error, tries, now - started, now - first_try)
                retry = self._policy.next(failed)
                if retry is None or retry.wait_seconds >= timers.left_seconds():
                    self._on_error(error, False)
                    raise
                self._on_error(error, True)
                _log_retry(retry, error)
            if on_retry is not None:
                on_retry(retry)
            await self._chance.sleep(retry.wait_seconds)

    async def _try(self, body: bytes, timers: Timers) -> Reading:
        """One request, read as far as the model's first event."""
        patience = timers.first_event()
        exchange = self._exchange(body)
        try:
            response = await self._head(exchange, timers, patience)
            if not response.is_success:
                raise await refusal(exchange, response, self._key)
            reading = Reading(exchange, response.headers, timers, self._key)
            await reading.begin(patience)
        except BaseException:  # cancelled too: whatever it is, the connection goes back
            await exchange.close()
            raise
        return reading

    def _exchange(self, body: bytes) -> Exchange:
        request = self._http.build_request("POST", self._url, content=body)
        exchange = Exchange(self._http, request)
        self._exchanges.add(exchange)
        exchange.task.add_done_callback(lambda _: self._exchanges.discard(exchange))
        return exchange

    async def _head(self, exchange: Exchange, timers: Timers, patience: Patience) -> httpx.Response:
        try:
            async with asyncio.timeout(timers.left_seconds(patience)):
                return await exchange.head()
        except TimeoutError:
            raise patience.error from None


def _http_client(key: str, concurrency: int, limits: Limits) -> httpx.AsyncClient:
    """No limit on reading: its timer starts again with each byte, and pings are bytes."""
    return httpx.AsyncClient(
        headers=_headers(key),
        timeout=httpx.Timeout(
            None, connect=limits.connect_seconds, write=WRITE_SECONDS, pool=POOL_SECONDS
        ),
        limits=httpx.Limits(
            max_connections=concurrency + SPARE_CONNECTIONS,
            max_keepalive_connections=KEPT_ALIVE,
            keepalive_expiry=KEEP_ALIVE_SECONDS,
        ),
        follow_redirects=False,
    )


def _headers(key: str) -> dict[str, str]:
    headers = {
        "Accept": "text/event-stream",
        "Accept-Encoding": "identity",  # a compressed stream may be held back to fill a block
        "Content-Type": "application/json",
        "User-Agent": f"kimibot/{__version__}",
    }
    return headers | {"Authorization": f"Bearer {key}"} if key else headers


def _bare(api_key: str) -> str:
    """The key alone: it is often pasted together with the header's scheme."""
    key = re.sub(r"^bearer\s+", "", api_key.strip(), flags=re.IGNORECASE)
    if re.search(r"[^!-~]", key):
        raise BadSettings(["KIMI_API_KEY holds blanks or characters that no key has"])
    return key


def _url(base_url: str) -> httpx.URL:
    try:
        url = httpx.URL(
            base_url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
        )
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host or "{" in base_url:
        raise BadSettings([f"KIMI_BASE_URL should be an http(s) address, found {base_url!r}"])
    return url


def _log_retry(retry: Retry, error: KimiError) -> None:
    log.info(
        "kimi is tried again",
        extra={
            "error_code": error.name,
            "status": error.status,
            "code": error.code,
            "trace_id": error.trace_id,
            "retry": retry.attempt,
            "of": retry.of,
            "wait_seconds": round(retry.wait_seconds, 3),
        },
    )
