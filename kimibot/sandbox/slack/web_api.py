"""The Web API over HTTP: token, rate limit, ordered faults, the method itself, the record of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from kimibot.sandbox.slack.arguments import Arguments, read_arguments
from kimibot.sandbox.slack.faults import Fault, Faults
from kimibot.sandbox.slack.people import APP_TOKEN, BOT_TOKEN
from kimibot.sandbox.slack.rates import RateLimits
from kimibot.sandbox.slack.records import Call
from kimibot.sandbox.slack.refusals import Refused
from kimibot.sandbox.slack.workspace import Workspace

Answer = dict[str, Any]
Handler = Callable[[Workspace, Arguments], Answer]

SCOPE_PREFIXES = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}


@dataclass(frozen=True, slots=True)
class Method:
    """How a method is carried out, its rate-limit tier (0: none), its scope and its token.

    A `*` in the scope stands for the kind of the conversation that the call names.
    """

    carry_out: Handler
    tier: int = 0
    scope: str = ""
    token: str = BOT_TOKEN


@dataclass(slots=True)
class Response:
    """What the caller gets; no status means that the connection is closed instead."""

    answer: Answer
    status: int = 200
    headers: dict[str, str] | None = None
    body: str = ""
    applied: bool = False


class WebApi:
    """Answers `POST` and `GET` of `/api/<method>`."""

    def __init__(
        self,
        workspace: Workspace,
        methods: Mapping[str, Method],
        faults: Faults,
        rates: RateLimits,
        monotonic: Callable[[], float],
    ) -> None:
        self._workspace = workspace
        self._methods = methods
        self._faults = faults
        self._rates = rates
        self._monotonic = monotonic

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One call. It is carried out to the end even if the caller goes away meanwhile."""
        name = request.match_info["method"]
        at, start = self._workspace.clock(), self._monotonic()
        try:
            arguments = await read_arguments(request)
        except Refused as refused:
            arguments = Arguments({})
            response = Response(_refusal(refused))
        else:
            response = await self._respond(name, arguments, _token(request, arguments))
        shown = {key: value for key, value in arguments.values.items() if key != "token"}
        seconds = self._monotonic() - start
        call = Call(name, shown, at, seconds, response.status, response.answer, response.applied)
        self._workspace.records.call(call)
        return self._send(request, name, response)

    async def _respond(self, name: str, arguments: Arguments, token: str) -> Response:
        method = self._methods.get(name)
        try:
            if method is None:
                raise Refused("unknown_method")
            self._check_token(method, token)
            self._check_scope(method, arguments)
        except Refused as refused:
            return Response(_refusal(refused))
        wait_seconds = self._take(name, method, arguments)
        if wait_seconds:
            return _too_many(wait_seconds)
        return await self._with_faults(name, method, arguments)

    async def _with_faults(self, name: str, method: Method, arguments: Arguments) -> Response:
        before, after = self._faults.delays(name, arguments)
        failure = self._faults.failure(name, arguments)
        await asyncio.sleep(before + self._workspace.options.api_latency_seconds)
        if failure is not None and not (failure.after_applied or failure.drops_response):
            return _failed(failure, applied=False)
        response = self._watched(name, method, arguments)
        if after:
            await asyncio.sleep(after)
        return response if failure is None else _failed(failure, applied=response.applied)

    def _watched(self, name: str, method: Method, arguments: Arguments) -> Response:
        applied = False
        try:
            self._faults.watcher(name, False)
            response = self._carry_out(method, arguments)
            applied = response.applied
            self._faults.watcher(name, True)
        except ConnectionError:
            return Response({}, status=0, applied=applied)
        return response

    def _carry_out(self, method: Method, arguments: Arguments) -> Response:
        try:
            return Response(method.carry_out(self._workspace, arguments), applied=True)
        except Refused as refused:
            return Response(_refusal(refused))

    def _check_token(self, method: Method, token: str) -> None:
        if not token:
            raise Refused("not_authed")
        if token not in (BOT_TOKEN, APP_TOKEN):
            raise Refused("invalid_auth")
        if token != method.token:
            raise Refused("not_allowed_token_type")

    def _check_scope(self, method: Method, arguments: Arguments) -> None:
        options = self._workspace.options
        needed = self._needed_scope(method, arguments)
        if options.check_scopes and needed and needed not in options.scopes:
            provided = ",".join(sorted(options.scopes))
            raise Refused("missing_scope", needed=needed, provided=provided)

    def _needed_scope(self, method: Method, arguments: Arguments) -> str:
        channel = self._workspace.channels.get(arguments.text("channel"))
        kind = channel.kind if channel else "channel"
        return method.scope.replace("*", SCOPE_PREFIXES[kind])

    def _take(self, name: str, method: Method, arguments: Arguments) -> int:
        options = self._workspace.options
        if not options.rate_limits:
            return 0
        named = arguments.text("channel")
        channel = self._workspace.channel_named(named)
        return self._rates.take(
            name,
            method.tier,
            channel.id if channel else named,
            is_clamped=options.clamped_history,
        )

    def _send(self, request: web.Request, name: str, response: Response) -> web.StreamResponse:
        if not response.status and request.transport is not None:
            request.transport.abort()
        method = self._methods.get(name)
        headers = {
            "X-OAuth-Scopes": ",".join(sorted(self._workspace.options.scopes)),
            "X-Accepted-OAuth-Scopes": _accepted(method.scope) if method else "",
        } | (response.headers or {})
        status = response.status or 200
        if response.body:
            return web.Response(
                text=response.body, status=status, headers=headers, content_type="text/html"
            )
        return web.json_response(response.answer, status=status, headers=headers)


def _accepted(scope: str) -> str:
    if "*" not in scope:
        return scope
    return ",".join(scope.replace("*", prefix) for prefix in SCOPE_PREFIXES.values())


def _token(request: web.Request, arguments: Arguments) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme == "Bearer" else arguments.text("token")


def _refusal(refused: Refused) -> Answer:
    answer: Answer = {"ok": False, "error": refused.code} | refused.fields
    if refused.faults:
        messages = [f"[ERROR] {fault}" for fault in refused.faults]
        answer["response_metadata"] = {"messages": messages}
    return answer


def _too_many(wait_seconds: int) -> Response:
    answer = {"ok": False, "error": "ratelimited"}
    return Response(answer, status=429, headers={"Retry-After": str(wait_seconds)})


def _failed(fault: Fault, *, applied: bool) -> Response:
    if fault.drops_response:
        return Response({}, status=0, applied=applied)
    if fault.status == 429:
        response = _too_many(fault.retry_after_seconds or 1)
        response.applied = applied
        return response
    answer = {"ok": False, "error": fault.error or "internal_error"} | fault.fields
    return Response(answer, status=fault.status, body=fault.body, applied=applied)
