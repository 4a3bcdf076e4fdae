"""The local Slack as a whole, on one loopback port, in this process or seen from another."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import aiohttp
from aiohttp import web

from kimibot.sandbox.slack.arguments import read_arguments
from kimibot.sandbox.slack.control import Parts, Remote, perform
from kimibot.sandbox.slack.delivery import Delivery, Parcel
from kimibot.sandbox.slack.events import Event, EventSource
from kimibot.sandbox.slack.faults import Faults, Watcher
from kimibot.sandbox.slack.interactions import Interactions
from kimibot.sandbox.slack.messages import Change
from kimibot.sandbox.slack.methods import all_methods
from kimibot.sandbox.slack.network_controls import NetworkControls
from kimibot.sandbox.slack.observations import Observations
from kimibot.sandbox.slack.options import Options
from kimibot.sandbox.slack.people_controls import PeopleControls
from kimibot.sandbox.slack.rates import RateLimits
from kimibot.sandbox.slack.refusals import Refused
from kimibot.sandbox.slack.sockets import Sockets
from kimibot.sandbox.slack.uploads import LOGIN_PAGE, download, receive_upload
from kimibot.sandbox.slack.web_api import WebApi
from kimibot.sandbox.slack.workspace import Unknown, Workspace, new_workspace

LARGEST_REQUEST_BYTES = 64 * 1024 * 1024
SHUTDOWN_SECONDS = 0.2


class LocalSlack(PeopleControls, NetworkControls, Observations):
    """A local Slack that runs in this process.

    Give `api_url` to the bot as Slack's Web API. All controls are coroutines, the same as those of
    LocalSlackControls.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts, None)

    @property
    def url(self) -> str:
        return self.parts.workspace.base_url

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/"

    def subscribe(self) -> AbstractAsyncContextManager[AsyncIterator[Change]]:
        """A stream of every message added, changed, deleted or shown to one person."""
        return self.parts.workspace.subscribe()

    def watch(self, watcher: Watcher) -> None:
        """Let it see, and lose on the way, all calls of the Web API from now on.

        It takes the place of an earlier one. Calls that were ordered to fail without being
        carried out, and those over a rate limit, are not seen.
        """
        self.parts.faults.watcher = watcher


class LocalSlackControls(PeopleControls, NetworkControls, Observations):
    """The controls of a local Slack that runs in another process, at `url`."""

    def __init__(self, url: str) -> None:
        self._there = Remote(url)
        super().__init__(None, self._there)

    @property
    def url(self) -> str:
        return self._there.url

    @property
    def api_url(self) -> str:
        return f"{self.url}/api/"

    async def __aenter__(self) -> LocalSlackControls:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._there.close()


@asynccontextmanager
async def local_slack(
    port: int = 0,
    *,
    host: str = "127.0.0.1",
    seed: int | None = None,
    clock: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
    **switches: Any,
) -> AsyncIterator[LocalSlack]:
    """A running local Slack; port 0 takes a free one. `switches` are those of Options.

    `clock` gives seconds since the epoch for timestamps, `monotonic` drives the rate limits.
    """
    options = Options()
    options.change(switches)
    workspace = new_workspace(options, clock, random.randrange(2**32) if seed is None else seed)
    async with aiohttp.ClientSession() as http:
        slack = LocalSlack(_parts(workspace, http, monotonic))
        application = _application(slack, monotonic)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
            workspace.base_url = f"http://{host}:{runner.addresses[0][1]}"
            yield slack
        finally:
            await slack.parts.delivery.close()
            await slack.parts.sockets.close()
            await runner.cleanup()


def _parts(
    workspace: Workspace, http: aiohttp.ClientSession, monotonic: Callable[[], float]
) -> Parts:
    sockets = Sockets(workspace)
    delivery = Delivery(workspace, sockets, http)

    def send(event: Event) -> None:
        workspace.records.events[event.id] = event.payload
        delivery.send(
            Parcel(event.id, "events_api", event.kind, event.payload, event.delay_seconds)
        )

    events = EventSource(workspace, send)
    workspace.messages.listeners.append(events.on_change)
    return Parts(
        workspace=workspace,
        sockets=sockets,
        delivery=delivery,
        events=events,
        interactions=Interactions(workspace),
        faults=Faults(),
        rates=RateLimits(monotonic),
    )


def _application(slack: LocalSlack, monotonic: Callable[[], float]) -> web.Application:
    parts = slack.parts
    methods = all_methods(parts.sockets, parts.interactions)
    api = WebApi(parts.workspace, methods, parts.faults, parts.rates, monotonic)
    application = web.Application(client_max_size=LARGEST_REQUEST_BYTES)
    application.add_routes(
        [
            web.post("/api/{method}", api.serve),
            web.get("/api/{method}", api.serve),
            web.get("/link/", parts.sockets.serve),
            web.get("/files/{file}/{name}", partial(download, parts.workspace)),
            web.get("/files/{file}/download/{name}", partial(download, parts.workspace)),
            web.post("/upload/{file_id}", partial(receive_upload, parts.workspace)),
            web.post("/actions/{team}/{key}", partial(_respond, parts)),
            web.get("/signin", _sign_in),
            web.post("/control/{name}", partial(_control, slack)),
            web.get("/control/state", partial(_state, slack)),
        ]
    )
    return application


async def _respond(parts: Parts, request: web.Request) -> web.Response:
    try:
        parts.interactions.respond(request.match_info["key"], await read_arguments(request))
    except Refused as refused:
        status = 404 if refused.code in ("used_url", "expired_url") else 200
        return web.json_response({"ok": False, "error": refused.code}, status=status)
    return web.json_response({"ok": True})


async def _sign_in(_: web.Request) -> web.Response:
    return web.Response(text=LOGIN_PAGE, content_type="text/html")


async def _control(slack: LocalSlack, request: web.Request) -> web.Response:
    arguments = (await request.json()).get("arguments", {}) if request.can_read_body else {}
    try:
        result = await perform(slack, request.match_info["name"], arguments)
    except Unknown as error:
        return web.json_response({"error": str(error)}, status=404)
    except ValueError as error:
        return web.json_response({"error": str(error)}, status=400)
    return web.Response(text=result, content_type="application/json")


async def _state(slack: LocalSlack, _: web.Request) -> web.Response:
    result = await perform(slack, "state", {})
    return web.Response(text=result, content_type="application/json")
