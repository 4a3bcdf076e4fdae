"""Where Kimi can be had, and what each of these places takes: data, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

_ONLY_MAX = ("max",)
_LOW_HIGH_MAX = ("low", "high", "max")
_ANY = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class Provider:
    """One place that serves Kimi.

    `base_url` may hold `{region}`; it is "" where only the operator knows it. `efforts` lists by
    model what `reasoning_effort` may be: a model that is not in it takes none, and the model "*"
    stands for all others. `include_usage` says that `stream_options.include_usage` is known to be
    taken there; elsewhere usage comes unasked or not at all.
    """

    name: str
    base_url: str
    key_variable: str
    model: str
    efforts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    include_usage: bool = False


# docs.acedata.cloud, "Kimi Chat Completion API": k3 supports `max` and nothing else.
_ACEDATA = Provider(
    name="acedata",
    base_url="https://api.acedata.cloud/kimi",
    key_variable="ACEDATACLOUD_API_KEY",
    model="kimi-k3",
    efforts=MappingProxyType({"kimi-k3": _ONLY_MAX}),
)

_ACEDATA_OPENAI = Provider(
    name="acedata-openai",
    base_url="https://api.acedata.cloud/v1",
    key_variable="ACEDATACLOUD_API_KEY",
    model="kimi-k3",
    efforts=MappingProxyType({"kimi-k3": _ONLY_MAX}),
)

_FISHAPI = Provider(
    name="fishapi",
    base_url="https://api.fishapi.cloud/kimi",
    key_variable="FISHAPI_API_KEY",
    model="kimi-k3.1-pro",
    efforts=MappingProxyType({"kimi-k3.1-pro": _LOW_HIGH_MAX, "kimi-k3": _ONLY_MAX}),
)

# platform.kimi.ai, "Use Thinking Effort" and "Model Parameter Reference".
_MOONSHOT_EFFORTS = MappingProxyType(
    {
        "kimi-k3": _LOW_HIGH_MAX,
        "kimi-k3.1-pro": _LOW_HIGH_MAX,
        "kimi-k3.1-pro-highspeed": _LOW_HIGH_MAX,
    }
)

_MOONSHOT = Provider(
    name="moonshot",
    base_url="https://api.moonshot.ai/v1",
    key_variable="MOONSHOT_API_KEY",
    model="kimi-k3",
    efforts=_MOONSHOT_EFFORTS,
    include_usage=True,
)

_MOONSHOT_CN = Provider(
    name="moonshot-cn",
    base_url="https://api.moonshot.cn/v1",
    key_variable="MOONSHOT_API_KEY",
    model="kimi-k3",
    efforts=_MOONSHOT_EFFORTS,
    include_usage=True,
)

# docs.aws.amazon.com/bedrock, "Inference using Chat Completions API". Nothing there says which
# efforts K3 takes, so an operator who sets one gets the values that the model itself knows.
_BEDROCK = Provider(
    name="bedrock",
    base_url="https://bedrock-runtime.{region}.amazonaws.com/openai/v1",
    key_variable="AWS_BEARER_TOKEN_BEDROCK",
    model="moonshotai.kimi-k3",
    efforts=MappingProxyType(
        {
            "moonshotai.kimi-k3": _LOW_HIGH_MAX,
            "us.moonshotai.kimi-k3": _LOW_HIGH_MAX,
            "global.moonshotai.kimi-k3": _LOW_HIGH_MAX,
        }
    ),
)

# An endpoint of one's own speaks Chat Completions as platform.openai.com documents it, which has
# `stream_options` and, by model, all of these efforts.
_CUSTOM = Provider(
    name="custom",
    base_url="",
    key_variable="",
    model="kimi-k3",
    efforts=MappingProxyType({"*": _ANY}),
    include_usage=True,
)

PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        provider.name: provider
        for provider in (
            _ACEDATA,
            _ACEDATA_OPENAI,
            _FISHAPI,
            _MOONSHOT,
            _MOONSHOT_CN,
            _BEDROCK,
            _CUSTOM,
        )
    }
)


def provider_named(name: str) -> Provider:
    """The provider of that name. Raises ValueError, whose text lists the names there are."""
    try:
        return PROVIDERS[name]
    except KeyError:
        raise ValueError(f"{name!r} is no provider; there are {_listed(PROVIDERS)}") from None


def check_effort(provider: str, model: str, effort: str) -> None:
    """See that the provider's model knows the effort; "" asks for nothing and always passes.

    An endpoint takes an effort that it does not know in silence, so a typo would never show.
    An empty model is the provider's own. Raises ValueError, whose text names what is allowed.
    """
    if not effort:
        return
    place = provider_named(provider)
    model = model or place.model
    allowed = place.efforts.get(model) or place.efforts.get("*") or ()
    if not allowed:
        raise ValueError(f"{model} at {provider} takes no reasoning effort; leave it out")
    if effort not in allowed:
        raise ValueError(f"{model} at {provider} takes {_listed(allowed)}, found {effort!r}")


def takes_images(model: str) -> bool:
    """Whether the model is known to see pictures, at whichever provider.

    All of K3 do (platform.kimi.ai, "Use Kimi Vision Model"; the model's pages at AceData and in
    Amazon Bedrock list images as input too).
    """
    return "kimi-k3" in model.lower()


def takes_tools(model: str) -> bool:
    """Whether the model is known to call functions, at whichever provider.

    All of K2 and K3 do (platform.kimi.ai, "Tool Use"; the model's page in Amazon Bedrock).
    """
    return "kimi-k" in model.lower()


def _listed(words: Mapping[str, object] | tuple[str, ...]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else f"only {last}"
