"""Pure: what the chosen provider of Kimi has for the settings that are left out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kimibot.kimi import providers

DEFAULT_PROVIDER = "acedata"


def with_defaults(values: Mapping[str, str]) -> dict[str, str]:
    """What is set; where something is not, what the provider has for it."""
    provider = provider_of(values)
    of_provider = {
        "KIMI_API_KEY": values.get(provider.key_variable),
        "KIMI_BASE_URL": _base_url(provider.base_url, values),
        "KIMI_MODEL": provider.model,
    }
    return {name: value for name, value in of_provider.items() if value} | dict(values)


def unused_key(values: Mapping[str, str]) -> str:
    """Only without a key: one that is set is the one to use."""
    if "KIMI_API_KEY" in values:
        return ""
    for name, provider in providers.PROVIDERS.items():
        if provider.key_variable in values:
            return f"{provider.key_variable} is there: set KIMI_PROVIDER={name} to use it"
    return ""


def provider_name(values: Mapping[str, str]) -> str:
    return values.get("KIMI_PROVIDER", DEFAULT_PROVIDER).lower()


def provider_of(values: Mapping[str, str]) -> providers.Provider:
    """The one that is named. A wrong name has a line of its own, which is enough."""
    default = providers.PROVIDERS[DEFAULT_PROVIDER]
    return providers.PROVIDERS.get(provider_name(values), default)


def _base_url(template: str, values: Mapping[str, str]) -> str:
    """The provider's address; "" while its region is missing or no region's name."""
    region = values.get("AWS_REGION", "")
    if "{region}" in template and not re.fullmatch(r"[a-z]{2,}(-[a-z0-9]+)+", region):
        return ""
    return template.format(region=region)
