"""Pure: what is wrong with the settings, a line each. No line shows a secret."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from kimibot.kimi import providers
from kimibot.provided import provider_name, provider_of, unused_key

Fields = Mapping[str, FieldInfo]
"""The settings by the names of their variables."""


def line(details: ErrorDetails, values: Mapping[str, str], fields: Fields) -> str:
    """What is wrong with one setting."""
    name = str(details["loc"][0])
    if details["type"] == "missing":
        return f"{name} is missing: {_wanted(name, values)}"
    expected, found = _expected(fields[name], details), _found(name, values, fields)
    return f"{_name_as_set(name, values)} {expected}{found}"


def lines_across(values: Mapping[str, str], fields: Fields) -> Iterator[str]:
    """What can be wrong between settings that are right each for itself."""
    if "SLACK_APP_TOKEN" not in values and "SLACK_SIGNING_SECRET" not in values:
        yield (
            "SLACK_APP_TOKEN is missing: set it (xapp-…) for Socket Mode, "
            "or SLACK_SIGNING_SECRET for HTTP"
        )
    if provider_name(values) not in providers.PROVIDERS:
        names = ", ".join(providers.PROVIDERS)
        yield f"KIMI_PROVIDER should be one of {names}{_found('KIMI_PROVIDER', values, fields)}"
    elif effort := values.get("KIMI_REASONING_EFFORT", "").lower():
        try:
            providers.check_effort(provider_name(values), values["KIMI_MODEL"], effort)
        except ValueError as error:
            yield f"KIMI_REASONING_EFFORT: {error}"
    needed = _number(values, "KIMIBOT_RENEW_SECONDS", 5)
    needed += _number(values, "KIMIBOT_SLACK_TIMEOUT_SECONDS", 8)
    if needed >= _number(values, "KIMIBOT_LEASE_SECONDS", 20):
        yield (
            "KIMIBOT_LEASE_SECONDS should be more than KIMIBOT_RENEW_SECONDS "
            "and KIMIBOT_SLACK_TIMEOUT_SECONDS together"
        )


def warnings(values: Mapping[str, str], known: Collection[str]) -> Iterator[str]:
    for name in sorted(values.keys() - known):
        if name.startswith(("KIMIBOT_", "KIMI_")):
            nearest = get_close_matches(name, known, n=1)
            hint = f": did you mean {nearest[0]}?" if nearest else ""
            yield f"{name} is not a setting of this version{hint}"


def _name_as_set(name: str, values: Mapping[str, str]) -> str:
    """A key may have come under its provider's own name for it."""
    own = provider_of(values).key_variable
    is_own = name == "KIMI_API_KEY" and own and values.get(own) == values[name]
    return own if is_own else name


def _expected(field: FieldInfo, details: ErrorDetails) -> str:
    if details["type"] == "value_error":
        return str(details["ctx"]["error"])
    if field.annotation is bool:
        return "should be 1 or 0"
    if field.annotation in (int, int | None, float):
        return _expected_number(field)
    return details["msg"].removeprefix("Input ")


def _expected_number(field: FieldInfo) -> str:
    limits = {
        name: getattr(one, name)
        for one in field.metadata
        for name in ("gt", "ge", "le")
        if hasattr(one, name)
    }
    kind = "a number of seconds" if field.annotation is float else "a whole number"
    low = f"from {limits['ge']} to" if "ge" in limits else f"above {limits['gt']} and up to"
    return f"should be {kind} {low} {limits['le']}"


def _wanted(name: str, values: Mapping[str, str]) -> str:
    provider = provider_of(values)
    if name == "SLACK_BOT_TOKEN":
        return "set the bot token (xoxb-…) of your Slack app"
    if name == "KIMI_API_KEY":
        either = f" (or {provider.key_variable})" if provider.key_variable else ""
        unused = unused_key(values)
        return f"set the key of your Kimi provider{either}" + (unused and f"; {unused}")
    if "{region}" in provider.base_url:
        return "set AWS_REGION to a region such as us-east-1, or the address itself"
    return f"KIMI_PROVIDER={provider_name(values)} has none of its own"


def _found(name: str, values: Mapping[str, str], fields: Fields) -> str:
    """The value, where it is no secret and holds none."""
    if "SecretStr" in str(fields[name].annotation):
        return ""
    value = re.sub(r"(?<=//)[^/@]*(?=@)", "…", values[name])
    return f", found {value[:80]!r}"


def _number(values: Mapping[str, str], name: str, default: float) -> float:
    """NaN, which no comparison holds for, where it is no number: that has its own line."""
    try:
        return float(values.get(name, default))
    except ValueError:
        return math.nan
