"""What each provider takes."""

from __future__ import annotations

import pytest

from kimibot.kimi.providers import PROVIDERS, check_effort, provider_named, takes_tools


@pytest.mark.parametrize(
    ("name", "base_url", "key_variable", "model"),
    [
        ("acedata", "https://api.acedata.cloud/kimi", "ACEDATACLOUD_API_KEY", "kimi-k3"),
        ("acedata-openai", "https://api.acedata.cloud/v1", "ACEDATACLOUD_API_KEY", "kimi-k3"),
        ("fishapi", "https://api.fishapi.cloud/kimi", "FISHAPI_API_KEY", "kimi-k3.1-pro"),
        ("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", "kimi-k3"),
        ("moonshot-cn", "https://api.moonshot.cn/v1", "MOONSHOT_API_KEY", "kimi-k3"),
        (
            "bedrock",
            "https://bedrock-runtime.{region}.amazonaws.com/openai/v1",
            "AWS_BEARER_TOKEN_BEDROCK",
            "moonshotai.kimi-k3",
        ),
        ("custom", "", "", "kimi-k3"),
    ],
)
def test_each_provider_has_its_address_its_key_and_its_model(
    name: str, base_url: str, key_variable: str, model: str
) -> None:
    provider = provider_named(name)

    assert (provider.base_url, provider.key_variable) == (base_url, key_variable)
    assert provider.model == model


def test_usage_is_asked_for_only_where_the_field_is_known_to_be_taken() -> None:
    asked = {name for name, provider in PROVIDERS.items() if provider.include_usage}

    assert asked == {"moonshot", "moonshot-cn", "custom"}


def test_an_unknown_provider_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match=r"'kimi' is no provider; there are acedata, .* or custom"):
        provider_named("kimi")


@pytest.mark.parametrize(
    ("provider", "model", "effort"),
    [
        ("acedata", "kimi-k3", "max"),
        ("acedata", "kimi-k2.6", ""),
        ("fishapi", "kimi-k3.1-pro", "low"),
        ("fishapi", "", "low"),
        ("moonshot", "kimi-k3", "high"),
        ("bedrock", "us.moonshotai.kimi-k3", "low"),
        ("custom", "whatever", "medium"),
    ],
)
def test_an_effort_that_the_model_knows_passes(provider: str, model: str, effort: str) -> None:
    check_effort(provider, model, effort)


@pytest.mark.parametrize(
    ("provider", "model", "effort", "said"),
    [
        ("acedata", "kimi-k3", "low", "kimi-k3 at acedata takes only max, found 'low'"),
        ("fishapi", "kimi-k3", "high", "takes only max"),
        ("fishapi", "kimi-k3.1-pro", "standard", "takes low, high or max, found 'standard'"),
        ("moonshot", "kimi-k3", "Max", "takes low, high or max, found 'Max'"),
        ("acedata", "kimi-k2.6", "max", "kimi-k2.6 at acedata takes no reasoning effort"),
        ("custom", "whatever", "most", "found 'most'"),
    ],
)
def test_an_effort_that_the_model_does_not_know_is_refused_by_name(
    provider: str, model: str, effort: str, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        check_effort(provider, model, effort)


@pytest.mark.parametrize(
    ("model", "does"),
    [("kimi-k3", True), ("us.moonshotai.kimi-k3", True), ("kimi-k2.6", True), ("whatever", False)],
)
def test_tools_are_for_models_that_are_known_to_take_them(model: str, does: bool) -> None:
    assert takes_tools(model) is does
