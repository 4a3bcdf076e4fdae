"""The Chat Completions endpoint of the local Kimi: receives, refuses or streams, and remembers."""

from __future__ import annotations

import asyncio
import json
import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from kimibot.sandbox.kimi.checks import first_fault
from kimibot.sandbox.kimi.dialect import Dialect, Envelope, completion_id
from kimibot.sandbox.kimi.faults import Faults
from kimibot.sandbox.kimi.heard import Heard, hear
from kimibot.sandbox.kimi.orders import Orders
from kimibot.sandbox.kimi.plan import Counted, End, Pace, Plan, Refusal
from kimibot.sandbox.kimi.scenes import choose
from kimibot.sandbox.kimi.streaming import Streaming, break_connection
from kimibot.sandbox.kimi.telling import Teller

LOCAL_KEY = "local-fake-key"
PATHS = ("/kimi", "/v1", "/openai/v1", "")
_LARGEST_READ_BYTES = 32 * 1024 * 1024
_TRIES_KEPT = 1_000
_REQUESTS_KEPT = 5_000

_MAX_ONLY = ("max",)
_ALL_EFFORTS = ("low", "high", "max")
# A reseller's page allows one effort for K3, the platform three (https://platform.kimi.ai/docs).
_EFFORTS: Mapping[Dialect, Mapping[str, Sequence[str]]] = {
    Dialect.ACEDATA: {"kimi-k3": _MAX_ONLY, "kimi-k3.1-pro": _ALL_EFFORTS},
    Dialect.MOONSHOT: {"kimi-k3": _ALL_EFFORTS, "kimi-k3.1-pro": _ALL_EFFORTS},
}

Script = Callable[[Heard, Teller], Plan | Refusal]

Watcher = Callable[[str, bool], None]
"""Is told of a request twice: right before it is answered, and, with True, when its answer has
been sent but for the end of the body. A ConnectionError that it raises breaks the connection."""


@dataclass(frozen=True, slots=True)
class KimiOptions:
    """How the local Kimi behaves. `speed` divides every wait: 100 is a hundred times as fast.

    With `sees` its models take pictures.
    """

    pace: Pace = field(default_factory=Pace)
    speed: float = 1.0
    dialect: Dialect = Dialect.ACEDATA
    key: str = LOCAL_KEY
    sees: bool = True
    script: Script = choose
    clock: Callable[[], float] = time.time


@dataclass(slots=True)
class Exchange:
    """One request as it was received, without its key, and what became of it.

    `content_times` says when each content chunk went out, by the monotonic clock. `ended` is the
    name of the end, `refused`, `cancelled` when the client went away, or "" while it runs.
    """

    headers: Mapping[str, str]
    body: Any
    received_at: float
    status: int = 200
    ended: str = ""
    completion_id: str = ""
    content_times: list[float] = field(default_factory=list)


@dataclass(slots=True)
class _Tries:
    """How often an ask was refused in a row, and how long its longest request was."""

    count: int = 0
    longest_bytes: int = 0


class LocalKimi(Orders):
    """What the local Kimi received and does; orders for the next requests are given on it."""

    def __init__(self, options: KimiOptions, randomness: random.Random) -> None:
        super().__init__()
        self.options = options
        self.base_url = ""
        self.requests: list[Exchange] = []
        self.open_streams = 0
        self.cancelled = 0
        self._closing = False
        self._randomness = randomness
        self._tries: dict[str, _Tries] = {}
        self._changed = asyncio.Event()
        self._watcher: Watcher = lambda *_: None

    def watch(self, watcher: Watcher) -> None:
        """Let it see, and lose on the way, all requests from now on; instead of an earlier one."""
        self._watcher = watcher

    async def until(self, holds: Callable[[], bool], timeout_seconds: float = 5.0) -> None:
        """Return once the condition holds. Raises TimeoutError when it does not in time."""
        async with asyncio.timeout(timeout_seconds):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    def app(self) -> web.Application:
        """The endpoint's routes, without the controls."""
        app = web.Application(client_max_size=_LARGEST_READ_BYTES)
        for path in PATHS:
            app.router.add_post(f"{path}/chat/completions", self._complete)
            app.router.add_get(f"{path}/models", self._models)
        return app

    def close(self) -> None:
        """From now on a stream that ends was ended by us, not by its client."""
        self._closing = True

    async def _models(self, request: web.Request) -> web.Response:
        if not self._accepts(request):
            return _refused(self._faults().named("invalid_key"))
        models = [{"id": name, "object": "model"} for name in self._efforts]
        return web.json_response({"object": "list", "data": models})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        exchange = _exchange(request, raw)
        self.requests.append(exchange)
        del self.requests[:-_REQUESTS_KEPT]
        self._note()
        self._tell(request, is_answered=False)
        response = await self._respond(request, exchange, len(raw))
        self._tell(request, is_answered=True)
        return response

    def _tell(self, request: web.Request, *, is_answered: bool) -> None:
        try:
            self._watcher("chat/completions", is_answered)
        except ConnectionError:
            break_connection(request, reset=True)
            raise

    async def _respond(
        self, request: web.Request, exchange: Exchange, size_bytes: int
    ) -> web.StreamResponse:
        faults = self._faults()
        answer = self._answer(request, exchange.body, size_bytes, faults)
        if isinstance(answer, Refusal):
            return await self._refuse(exchange, answer)
        envelope = self._envelope(exchange)
        counted = answer.usage or _counted(answer, size_bytes)
        if not exchange.body.get("stream"):
            return await self._whole(exchange, envelope.completion(answer, counted), answer)
        streaming = Streaming(answer, envelope, counted, faults)
        return await self._stream(request, exchange, streaming, answer.end)

    def _answer(
        self, request: web.Request, body: Any, size_bytes: int, faults: Faults
    ) -> Plan | Refusal:
        if not self._accepts(request):
            return faults.named("invalid_key")
        if fault := first_fault(body, size_bytes, self._efforts, sees=self.options.sees):
            return faults.named(fault.kind, fault.message)
        may_call = bool(body.get("tools")) and body.get("tool_choice") != "none"
        heard = self._hear(body["messages"], size_bytes, may_call)
        scripted = self.options.script(heard, Teller(self.options.pace, faults))
        answer = self.answer_for(heard.question, scripted)
        self._count_try(heard.question, size_bytes, refused=isinstance(answer, Refusal))
        if isinstance(answer, Refusal):
            return answer
        answer = answer if may_call else answer.without_calls()
        return answer.limited(body.get("max_completion_tokens", body.get("max_tokens")))

    def _hear(
        self, messages: Sequence[Mapping[str, Any]], size_bytes: int, has_tools: bool
    ) -> Heard:
        heard = hear(messages)
        tries = self._tries.get(heard.question, _Tries())
        shrunk = size_bytes < tries.longest_bytes
        return hear(messages, tries=tries.count, shrunk=shrunk, has_tools=has_tools)

    def _count_try(self, question: str, size_bytes: int, *, refused: bool) -> None:
        if not refused:
            self._tries.pop(question, None)
            return
        if len(self._tries) >= _TRIES_KEPT:
            self._tries.clear()
        tries = self._tries.setdefault(question, _Tries())
        tries.count += 1
        tries.longest_bytes = max(tries.longest_bytes, size_bytes)

    async def _refuse(self, exchange: Exchange, refusal: Refusal) -> web.Response:
        exchange.status = refusal.status
        exchange.ended = "refused"
        await asyncio.sleep(refusal.wait_seconds / self.options.speed)
        return _refused(refusal)

    async def _whole(self, exchange: Exchange, completion: Any, plan: Plan) -> web.Response:
        seconds = sum(chunk.wait_seconds for chunk in plan.chunks)
        await asyncio.sleep(seconds / self.options.speed)
        exchange.ended = End.DONE.value
        return web.json_response(completion)

    async def _stream(
        self, request: web.Request, exchange: Exchange, streaming: Streaming, end: End
    ) -> web.StreamResponse:
        self.open_streams += 1
        try:
            async for now in streaming.send(request, self.options.speed):
                exchange.content_times.append(now)
                self._note()
            exchange.ended = end.value
        except (asyncio.CancelledError, ConnectionError):
            self.cancelled += not self._closing
            exchange.ended = "cancelled"
            raise
        finally:
            self.open_streams -= 1
            self._note()
        return streaming.response

    def _accepts(self, request: web.Request) -> bool:
        return request.headers.get("Authorization", "") == f"Bearer {self.options.key}"

    def _envelope(self, exchange: Exchange) -> Envelope:
        options = exchange.body.get("stream_options") or {}
        exchange.completion_id = completion_id(self.options.dialect, self._randomness)
        return Envelope(
            self.options.dialect,
            exchange.completion_id,
            int(self.options.clock()),
            exchange.body["model"],
            bool(options.get("include_usage")),
        )

    def _faults(self) -> Faults:
        trace_id = uuid.UUID(int=self._randomness.getrandbits(128), version=4)
        return Faults(self.options.dialect, str(trace_id))

    @property
    def _efforts(self) -> Mapping[str, Sequence[str]]:
        return _EFFORTS[self.options.dialect]

    def _note(self) -> None:
        self._changed.set()


def _exchange(request: web.Request, raw: bytes) -> Exchange:
    headers = {name: value for name, value in request.headers.items() if name != "Authorization"}
    now = asyncio.get_running_loop().time()
    try:
        return Exchange(headers, json.loads(raw), now)
    except ValueError:
        return Exchange(headers, None, now)


def _counted(plan: Plan, size_bytes: int) -> Counted:
    return Counted(1 + size_bytes // 4, len(plan.chunks))


def _refused(refusal: Refusal) -> web.Response:
    return web.Response(
        status=refusal.status,
        text=refusal.body,
        content_type=refusal.content_type,
        headers=dict(refusal.headers),
    )
