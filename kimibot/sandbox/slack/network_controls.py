"""Controls: faults of the Web API and of the delivery."""

from __future__ import annotations

from typing import Any

from kimibot.sandbox.slack.control import Controlled, control
from kimibot.sandbox.slack.delivery import Parcel
from kimibot.sandbox.slack.events import Event
from kimibot.sandbox.slack.faults import Fault
from kimibot.sandbox.slack.sockets import Connection, disconnect_frame
from kimibot.sandbox.slack.workspace import Unknown


class NetworkControls(Controlled):
    """A method is named as in the Web API; `*` stands for all of them."""

    @control
    async def configure(self, /, **switches: Any) -> None:
        """Change options while running. Raises ValueError for a name that is none."""
        self.parts.workspace.options.change(switches)
        self.parts.workspace.revision.bump()

    @control
    async def fail(
        self,
        method: str,
        error: str = "",
        *,
        status: int = 200,
        retry_after_seconds: int | None = None,
        body: str = "",
        needed: str | None = None,
        provided: str | None = None,
        times: int | None = 1,
        after_applied: bool = False,
        only_with: str = "",
    ) -> None:
        """Let the next calls of a method fail, all of them with `times=None`.

        With an `error` they answer `ok: false`; with `status=429` as rate limited; with another
        status and a `body` as a proxy on the way would. With `after_applied` the method is carried
        out first. `only_with` spares calls without that argument.
        """
        fault = Fault(method, error=error, status=status, body=body, only_with=only_with)
        fault.retry_after_seconds = retry_after_seconds
        fault.after_applied, fault.times = after_applied, times
        scopes = {"needed": needed, "provided": provided}
        fault.fields = {name: value for name, value in scopes.items() if value is not None}
        self.parts.faults.order(fault)

    @control
    async def drop_response(self, method: str, times: int | None = 1) -> None:
        """Carry the next calls out, and close the connection instead of answering."""
        self.parts.faults.order(Fault(method, drops_response=True, times=times))

    @control
    async def delay(
        self, method: str, seconds: float, times: int | None = 1, *, before_apply: bool = True
    ) -> None:
        """Let the next calls wait, before or after they are carried out."""
        fault = Fault(method, delay_seconds=seconds, delays_before=before_apply, times=times)
        self.parts.faults.order(fault)

    @control
    async def clear_faults(self) -> None:
        """Forget all failures and delays that are still to come."""
        self.parts.faults.clear()

    @control
    async def refill_rate_limits(self) -> None:
        """Let every burst be whole again."""
        self.parts.rates.refill()

    @control
    async def send_event(
        self,
        event: dict[str, Any],
        *,
        event_id: str = "",
        retry_num: int = 0,
        retry_reason: str = "",
        connection: int | None = None,
        is_wrapped: bool = False,
        is_repeated: bool = False,
    ) -> str:
        """Deliver any event from now on; its event id.

        The outer payload is made around it unless it `is_wrapped` already. `connection` counts the
        open sockets from the oldest. With `is_repeated` it is delivered again where it fails.
        """
        payload = event if is_wrapped else self.parts.events.wrap(event, event_id)
        self._remember(payload)
        self._send(payload, retry_num, retry_reason, connection, is_repeated=is_repeated)
        return Event(payload).id

    @control
    async def repeat_event(
        self,
        event_id: str,
        *,
        retry_num: int = 1,
        retry_reason: str = "timeout",
        connection: int | None = None,
    ) -> None:
        """Deliver an event once more that was raised before, with the same event id."""
        payload = self.parts.workspace.records.events.get(event_id)
        if payload is None:
            raise Unknown(f"no such event: {event_id}")
        self._send(payload, retry_num, retry_reason, connection, is_repeated=False)

    @control
    async def pause_delivery(self) -> None:
        """Hold back events and clicks until `resume_delivery`."""
        self.parts.delivery.pause()

    @control
    async def resume_delivery(self) -> None:
        self.parts.delivery.resume()

    @control
    async def close_sockets(self, how: str = "clean", connection: int | None = None) -> None:
        """Close the open sockets, or one: `clean` with a close frame, `hard` by a reset."""
        if how not in ("clean", "hard"):
            raise ValueError(f"clean or hard, not {how!r}")
        for open_one in self._open(connection):
            if how == "hard":
                open_one.abort()
            else:
                await open_one.close()

    @control
    async def half_open_sockets(self, connection: int | None = None) -> None:
        """Let nothing pass on the open sockets any more, while they stay connected."""
        for open_one in self._open(connection):
            open_one.is_half_open = True

    @control
    async def send_disconnect(self, reason: str, connection: int | None = None) -> None:
        """Announce an end: `warning`, `refresh_requested` or `too_many_websockets`."""
        for open_one in self._open(connection):
            await open_one.send(disconnect_frame(reason))

    @control
    async def verify_request_url(self) -> bool:
        """Whether the request URL answers Slack's challenge."""
        return await self.parts.delivery.verify_request_url()

    def _open(self, index: int | None) -> list[Connection]:
        connections = list(self.parts.sockets.connections)
        return connections if index is None else connections[index : index + 1]

    def _remember(self, payload: dict[str, Any]) -> None:
        self.parts.workspace.records.events[Event(payload).id] = payload

    def _send(
        self,
        payload: dict[str, Any],
        attempt: int,
        reason: str,
        connection: int | None,
        *,
        is_repeated: bool,
    ) -> None:
        event = Event(payload)
        parcel = Parcel(
            event.id,
            "events_api",
            event.kind or str(payload.get("type")),
            payload,
            is_repeated=is_repeated,
            connection=connection,
            attempt=attempt,
            reason=reason,
        )
        self.parts.delivery.send(parcel)
