"""One definition of each control, usable in the process of the local Slack and over HTTP."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

import aiohttp

from kimibot.sandbox.slack.delivery import Delivery
from kimibot.sandbox.slack.events import EventSource
from kimibot.sandbox.slack.faults import Faults
from kimibot.sandbox.slack.interactions import Interactions
from kimibot.sandbox.slack.rates import RateLimits
from kimibot.sandbox.slack.sockets import Sockets
from kimibot.sandbox.slack.workspace import Unknown, Workspace

Given = ParamSpec("Given")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a local Slack is made of."""

    workspace: Workspace
    sockets: Sockets
    delivery: Delivery
    events: EventSource
    interactions: Interactions
    faults: Faults
    rates: RateLimits


class Remote:
    """A local Slack in another process, at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._http = aiohttp.ClientSession()

    async def perform(self, name: str, arguments: dict[str, Any]) -> Any:
        """Carry out a control there. Raises Unknown and ValueError as it does here."""
        body = {"arguments": arguments}
        async with self._http.post(f"{self.url}/control/{name}", json=body) as response:
            answer = await response.json()
        if response.status == 404:
            raise Unknown(answer["error"])
        if response.status != 200:
            raise ValueError(answer["error"])
        return answer["result"]

    async def close(self) -> None:
        await self._http.close()


class Controlled:
    """Base of the controls: they act on `parts` in this process, or through `remote`."""

    def __init__(self, parts: Parts | None, remote: Remote | None) -> None:
        self._parts = parts
        self._remote = remote

    @property
    def parts(self) -> Parts:
        """The local Slack itself. Raises RuntimeError where it runs in another process."""
        if self._parts is None:
            raise RuntimeError("this local Slack runs in another process")
        return self._parts

    @property
    def remote(self) -> Remote | None:
        return self._remote


Controls = TypeVar("Controls", bound=Controlled)


def control(
    method: Callable[Concatenate[Controls, Given], Awaitable[Result]],
) -> Callable[Concatenate[Controls, Given], Coroutine[Any, Any, Result]]:
    """Make a method a control: over HTTP, arguments and result travel as JSON."""
    signature = inspect.signature(method)

    async def controlled(self: Controls, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        if self.remote is None:
            return await method(self, *args, **kwargs)
        bound = dict(signature.bind(self, *args, **kwargs).arguments)
        bound.pop("self")
        result = await self.remote.perform(method.__name__, bound | bound.pop("switches", {}))
        revived: Result = _revived(get_type_hints(method)["return"], result)
        return revived

    functools.update_wrapper(controlled, method)
    controlled.is_control = True  # type: ignore[attr-defined]
    return controlled


async def perform(controls: Controlled, name: str, arguments: dict[str, Any]) -> str:
    """Carry out a control by name, for another process; its result as JSON.

    Raises Unknown where there is no such control, and ValueError for wrong arguments.
    """
    method = getattr(controls, name, None)
    if not getattr(method, "is_control", False) or method is None:
        raise Unknown(f"no such control: {name}")
    try:
        inspect.signature(method).bind(**arguments)
    except TypeError as error:
        raise ValueError(str(error)) from error
    return json.dumps({"result": await method(**arguments)}, default=_plain)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    raise TypeError(f"can't be sent as JSON: {type(value).__name__}")


def _revived(hint: Any, value: Any) -> Any:
    """JSON back to the dataclasses and tuples that the type hint names."""
    if get_origin(hint) is list:
        (inner,) = get_args(hint)
        return [_revived(inner, item) for item in value]
    if get_origin(hint) is tuple:
        return tuple(value)
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        return hint(**{name: _revived(hints[name], item) for name, item in value.items()})
    return value
