"""Delivers events and clicks to the app, over sockets or signed HTTP, and again where it failed.

See https://docs.slack.dev/apis/events-api and
https://docs.slack.dev/authentication/verifying-requests-from-slack.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import aiohttp

from kimibot.sandbox.slack.people import SIGNING_SECRET
from kimibot.sandbox.slack.records import DeliveryRecord
from kimibot.sandbox.slack.sockets import Sockets
from kimibot.sandbox.slack.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Parcel:
    """Something to deliver: `kind` is `events_api` or `interactive`.

    `about` says what it is, for the records. `connection` is a socket's place in the order of
    opening, None for any. `attempt` and `reason` are what the first delivery already claims.
    """

    id: str
    kind: str
    about: str
    payload: dict[str, Any]
    delay_seconds: float = 0.0
    is_repeated: bool = True
    connection: int | None = None
    attempt: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one delivery went; "" is success. `is_last` where the app wants no other."""

    failure: str = ""
    is_last: bool = False


class Delivery:
    """Owns every delivery under way, until `close`."""

    def __init__(self, workspace: Workspace, sockets: Sockets, http: aiohttp.ClientSession) -> None:
        self._workspace = workspace
        self._sockets = sockets
        self._http = http
        self._tasks: set[asyncio.Task[bool]] = set()
        self._running = asyncio.Event()
        self._running.set()

    def send(self, parcel: Parcel) -> asyncio.Task[bool]:
        """Deliver from now on; the task says whether it arrived in the end."""
        task = asyncio.create_task(self._deliver(parcel))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def pause(self) -> None:
        """Hold back all deliveries, repeated ones too."""
        self._running.clear()

    def resume(self) -> None:
        self._running.set()

    async def verify_request_url(self) -> bool:
        """Whether the request URL echoes the challenge of
        https://docs.slack.dev/reference/events/url_verification."""
        challenge = self._workspace.new_id("")
        payload = {"token": "", "challenge": challenge, "type": "url_verification"}
        body = json.dumps(payload).encode()
        headers = self._signed("application/json", body)
        async with self._http.post(
            self._workspace.options.request_url, data=body, headers=headers
        ) as response:
            return response.status == 200 and challenge in await response.text()

    async def close(self) -> None:
        """End what is under way."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _deliver(self, parcel: Parcel) -> bool:
        await asyncio.sleep(parcel.delay_seconds)
        attempt, reason = parcel.attempt, parcel.reason
        waits = self._workspace.options.redelivery_seconds if parcel.is_repeated else ()
        for wait_seconds in (None, *waits):
            if wait_seconds is not None:
                await asyncio.sleep(wait_seconds)
                attempt += 1
            await self._running.wait()
            outcome = await self._try(parcel, attempt, reason)
            if not outcome.failure:
                return True
            if outcome.is_last:
                break
            reason = outcome.failure
        self._workspace.records.given_up.append(parcel.id)
        self._workspace.revision.bump()
        return False

    async def _try(self, parcel: Parcel, attempt: int, reason: str) -> Attempt:
        clock, records = self._workspace.clock, self._workspace.records
        record = DeliveryRecord(parcel.id, parcel.about, attempt, reason, clock())
        records.delivery(record)
        outcome = await self._over_the_wire(parcel, record)
        if outcome.failure:
            record.failure = outcome.failure
        else:
            record.ack_seconds = clock() - record.sent_at
        self._workspace.revision.bump()
        return outcome

    def _over_the_wire(
        self, parcel: Parcel, record: DeliveryRecord
    ) -> Coroutine[Any, Any, Attempt]:
        if self._workspace.options.request_url:
            return self._post(parcel, record)
        return self._push(parcel, record)

    async def _push(self, parcel: Parcel, record: DeliveryRecord) -> Attempt:
        connection = self._sockets.choose(parcel.connection)
        if connection is None:
            return Attempt("timeout")
        record.connection = connection.number
        envelope = {
            "envelope_id": self._workspace.new_id("E0"),
            "type": parcel.kind,
            "payload": parcel.payload,
            "accepts_response_payload": parcel.kind == "interactive",
        }
        if parcel.kind == "events_api":
            envelope |= {"retry_attempt": record.attempt, "retry_reason": record.reason}
        timeout_seconds = self._workspace.options.ack_timeout_seconds
        arrived = await connection.deliver(envelope, timeout_seconds)
        return Attempt("" if arrived else "timeout")

    async def _post(self, parcel: Parcel, record: DeliveryRecord) -> Attempt:
        options = self._workspace.options
        timeout = aiohttp.ClientTimeout(total=options.ack_timeout_seconds)
        body, headers = self._request(parcel, record)
        try:
            async with self._http.post(
                options.request_url, data=body, headers=headers, timeout=timeout
            ) as response:
                await response.read()
                is_last = response.headers.get("X-Slack-No-Retry") == "1"
                return Attempt("" if response.ok else "http_error", is_last)
        except TimeoutError:
            return Attempt("http_timeout")
        except aiohttp.ClientError:
            return Attempt("connection_failed")

    def _request(self, parcel: Parcel, record: DeliveryRecord) -> tuple[bytes, dict[str, str]]:
        text = json.dumps(parcel.payload)
        if parcel.kind == "interactive":
            body = urlencode({"payload": text}).encode()
            return body, self._signed("application/x-www-form-urlencoded", body)
        headers = self._signed("application/json", text.encode())
        if record.attempt:
            headers["X-Slack-Retry-Num"] = str(record.attempt)
            headers["X-Slack-Retry-Reason"] = record.reason
        return text.encode(), headers

    def _signed(self, content_type: str, body: bytes) -> dict[str, str]:
        timestamp = str(int(self._workspace.clock()))
        return {
            "Content-Type": content_type,
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": signature(SIGNING_SECRET, timestamp, body),
        }


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """`v0=` and the HMAC of `v0:timestamp:body`."""
    base = b":".join((b"v0", timestamp.encode(), body))
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
