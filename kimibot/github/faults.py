"""Pure: what a response of GitHub's that is no success means, as one of our errors.

https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api
"""

from __future__ import annotations

import email.utils
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from kimibot.errors import (
    AccessRefused,
    GitHubError,
    GitHubFault,
    GitHubLimited,
    NotThere,
    TokenRefused,
    TooLarge,
)

SECONDARY_SECONDS = 60.0
"""How long to wait at least after a secondary limit that does not say it
(https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api)."""

_DETAIL_CHARACTERS = 200
_SECONDARY = re.compile(r"secondary rate limit|abuse detection", re.IGNORECASE)
_PRIMARY = re.compile(r"API rate limit exceeded", re.IGNORECASE)
_POLICIES = (
    (re.compile(r"IP allow list", re.IGNORECASE), "the organization's IP allow list"),
    (re.compile(r"SAML", re.IGNORECASE), "SAML sign-on for the token"),
    (
        re.compile(r"forbids .*personal access token", re.IGNORECASE),
        "the organization's rules for tokens",
    ),
)
_GONE = (404, 410, 451)

Headers = Mapping[str, str]
"""Response headers by lower-case name."""


def fault(status: int, headers: Headers, body: bytes) -> GitHubError:
    """The error that a response is."""
    said = _said(body)
    message = said.get("message")
    message = message if isinstance(message, str) else ""
    detail = " ".join([*message.split(), *_reasons(said)])[:_DETAIL_CHARACTERS]
    if _is_too_large(status, said):
        return TooLarge(detail, status=status)
    if status == 401:
        return TokenRefused(detail, status=status)
    if status in (403, 429):
        return _limited(status, headers, detail) or _refused(status, headers, detail)
    if status in _GONE or (status == 422 and "No commit found" in message):
        return NotThere(detail, status=status)
    return GitHubFault(detail, status=status)


def _said(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _reasons(said: Mapping[str, Any]) -> list[str]:
    """Of reviews they are texts, of most else objects."""
    errors = said.get("errors")
    found = errors if isinstance(errors, list) else []
    named = [one.get("message") if isinstance(one, dict) else one for one in found]
    return [f"({one})" for one in named if isinstance(one, str)]


def _is_too_large(status: int, said: Mapping[str, Any]) -> bool:
    errors = said.get("errors")
    codes = [one.get("code") for one in errors if isinstance(one, dict)] if isinstance(
        errors, list
    ) else []  # fmt: skip
    return status == 406 or "too_large" in codes


def _limited(status: int, headers: Headers, detail: str) -> GitHubLimited | None:
    """A bare 403 is no rate limit: a header or the message must say so."""
    is_secondary = bool(_SECONDARY.search(detail))
    is_primary = headers.get("x-ratelimit-remaining") == "0" or _PRIMARY.search(detail)
    if not (status == 429 or is_secondary or is_primary or "retry-after" in headers):
        return None
    error = GitHubLimited(detail, status=status)
    error.retry_after_seconds = _wait_seconds(headers, is_primary=bool(is_primary))
    return error


def _wait_seconds(headers: Headers, *, is_primary: bool) -> float | None:
    """By GitHub's own clock; None where that is no time that ends."""
    wish, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    if not wish.isdecimal() and not is_primary:
        return SECONDARY_SECONDS
    try:
        seconds = float(wish) if wish.isdecimal() else float(reset) - _now(headers)
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _now(headers: Headers) -> float:
    return email.utils.parsedate_to_datetime(headers.get("date", "")).timestamp()


def _refused(status: int, headers: Headers, detail: str) -> AccessRefused:
    error = AccessRefused(detail, status=status)
    policies = [name for pattern, name in _POLICIES if pattern.search(detail)]
    if "x-github-sso" in headers:
        error.needed = "SAML sign-on for the token"
    elif policies:
        error.needed = policies[0]
    else:
        needed = headers.get("x-accepted-github-permissions", "")
        error.needed = needed if re.fullmatch(r"[\w=;, ]{1,200}", needed) else ""
    return error
