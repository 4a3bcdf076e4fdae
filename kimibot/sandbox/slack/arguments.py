"""The arguments of a Web API call, from a query, a form or JSON, read by name and type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from kimibot.sandbox.slack.refusals import Refused


class Arguments:
    """What a call was given. Forms and queries carry JSON and booleans as text."""

    def __init__(self, values: Mapping[str, Any], *, is_json: bool = False) -> None:
        self.is_json = is_json
        self.values = {name: value for name, value in values.items() if value is not None}

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str) -> str:
        """A string, or "" where it was left out."""
        value = self.values.get(name, "")
        return value if isinstance(value, str) else json.dumps(value)

    def required(self, name: str) -> str:
        """A string. Raises Refused(invalid_arguments) where it is missing or empty."""
        value = self.text(name)
        if not value:
            raise Refused("invalid_arguments", [f"missing required field: {name}"])
        return value

    def flag(self, name: str, default: bool | None = None) -> bool | None:
        """A boolean, or the default where it was left out."""
        if name not in self.values:
            return default
        return str(self.values[name]).lower() in ("true", "1")

    def number(self, name: str, default: int) -> int:
        """A whole number. Raises Refused(invalid_arguments) for anything else."""
        try:
            return int(self.values.get(name, default))
        except (TypeError, ValueError) as error:
            raise Refused("invalid_arguments", [f"must be a number: {name}"]) from error

    def parsed(self, name: str, refusal: str) -> Any:
        """A JSON value, or None where it was left out or is empty text."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return json.loads(value)
        except ValueError as error:
            raise Refused(refusal) from error


async def read_arguments(request: web.Request) -> Arguments:
    """Take the arguments of one request. Raises Refused for a body that can't be read."""
    values: dict[str, Any] = dict(request.query)
    if request.method == "POST" and request.can_read_body:
        values |= await _body(request)
    return Arguments(values, is_json=request.content_type == "application/json")


async def _body(request: web.Request) -> dict[str, Any]:
    if request.content_type != "application/json":
        form = await request.post()
        return {name: value for name, value in form.items() if isinstance(value, str)}
    try:
        body = json.loads(await request.read())
    except ValueError as error:
        raise Refused("invalid_json") from error
    if not isinstance(body, dict):
        raise Refused("json_not_object")
    return body
