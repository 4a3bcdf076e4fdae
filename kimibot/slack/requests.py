"""Turns a delivery into Bolt's request, or says that it is none of Slack's."""

from __future__ import annotations

from collections.abc import Mapping

from slack_bolt.request.async_request import AsyncBoltRequest


class Unreadable(Exception):
    """The delivery has no shape that Slack documents."""


def bolt_request(
    body: str | Mapping[str, object], headers: Mapping[str, str], *, query: str = "", mode: str
) -> AsyncBoltRequest:
    """Bolt looks into the body at once, and falls over what it does not expect there.

    Raises Unreadable.
    """
    try:
        request = AsyncBoltRequest(
            body=body if isinstance(body, str) else dict(body),
            headers=dict(headers),
            query=query,
            mode=mode,
        )
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise Unreadable(type(error).__name__) from error
    if not isinstance(request.body.get("type", ""), str):
        raise Unreadable("the type is no string")
    is_event = request.body.get("type") == "event_callback" or "event" in request.body
    if is_event and not isinstance(request.body.get("event"), Mapping):
        raise Unreadable("the event is no object")
    return request
