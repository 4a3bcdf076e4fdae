"""Pure: what a token, a key or an address must look like; each check says what it should be."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from pydantic import SecretStr

_KINDS_OF_TOKENS = {
    "xoxb-": "a bot token: it belongs in SLACK_BOT_TOKEN",
    "xapp-": "an app-level token: it belongs in SLACK_APP_TOKEN",
    "xoxp-": "a person's token",
    "xoxe": "a token that expires: switch token rotation off in the app's settings",
    "xox": "a token of Slack's",
}
"""By their beginnings: https://docs.slack.dev/authentication/tokens"""


def slack_token(token: SecretStr, prefix: str) -> SecretStr:
    """Raises ValueError unless it is a token of that kind; so do all checks here."""
    value = token.get_secret_value()
    if not value.startswith(prefix):
        kind = _kind_of_token(value) or "something else"
        raise ValueError(f"should begin with {prefix}, found {kind}")
    return one_word(token)


def no_slack_token(secret: SecretStr, expected: str) -> SecretStr:
    """A secret of another kind, which a token of Slack's may have been pasted for."""
    if kind := _kind_of_token(secret.get_secret_value()):
        raise ValueError(f"should be {expected}, found {kind}")
    return one_word(secret)


def one_word(secret: SecretStr) -> SecretStr:
    """It goes into an HTTP header, which takes nothing else."""
    if not re.fullmatch(r"[!#-&(-~]+", secret.get_secret_value()):
        raise ValueError("should be one word of plain ASCII without quotes or blanks")
    return secret


def http_url(url: str) -> str:
    """Without slashes at its end."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # brackets or a port that are none
        is_address = False
    if not is_address:
        raise ValueError("should be an address that begins with http:// or https://")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("should be an address without a password, query or fragment")
    return url.rstrip("/")


def database_url(url: SecretStr) -> SecretStr:
    """Of a kind of database that there is; the rest is for storage to read."""
    scheme, separator, _ = url.get_secret_value().partition("://")
    if not separator or scheme.split("+")[0] not in {"sqlite", "postgresql", "postgres"}:
        raise ValueError("should begin with sqlite:/// or postgresql://")
    return url


def slack_ids(
    ids: frozenset[str], beginnings: str, example: str, *, words: tuple[str, ...] = ()
) -> frozenset[str]:
    """Ids that begin with one of these letters; a name says nothing that stays the same."""
    wrong = sorted(
        id_ for id_ in ids if id_ not in words and not re.fullmatch(f"[{beginnings}][A-Z0-9]+", id_)
    )
    if wrong:
        raise ValueError(f"should be Slack's ids, such as {example}, but {wrong[0]!r} is none")
    return ids


def _kind_of_token(value: str) -> str:
    return next((kind for start, kind in _KINDS_OF_TOKENS.items() if value.startswith(start)), "")
