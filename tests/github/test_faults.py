"""Each way in which GitHub says no is told from the others, and has its own words for people."""

from __future__ import annotations

import json

import pytest

from kimibot import failures
from kimibot.errors import (
    AccessRefused,
    GitHubError,
    GitHubFault,
    GitHubLimited,
    NotThere,
    TokenRefused,
    TooLarge,
)
from kimibot.github.faults import fault

DATE = {"date": "Mon, 30 Nov 2026 10:00:00 GMT"}
RESET = str(1_796_032_800 + 120)


@pytest.mark.parametrize(
    ("status", "headers", "message", "kind"),
    [
        (401, {}, "Bad credentials", TokenRefused),
        (403, {}, "Resource not accessible by personal access token", AccessRefused),
        (403, {"x-ratelimit-remaining": "17"}, "Forbidden", AccessRefused),
        (403, {"x-ratelimit-remaining": "0"}, "API rate limit exceeded for 1.2.3.4", GitHubLimited),
        (403, {}, "You have exceeded a secondary rate limit", GitHubLimited),
        (403, {"retry-after": "30"}, "wait", GitHubLimited),
        (429, {}, "", GitHubLimited),
        (404, {}, "Not Found", NotThere),
        (410, {}, "Gone", NotThere),
        (451, {}, "Repository access blocked", NotThere),
        (422, {}, "No commit found for SHA: abc", NotThere),
        (406, {}, "Sorry, the diff exceeded the maximum number of files (300).", TooLarge),
        (500, {}, "Server Error", GitHubFault),
        (400, {}, "Problems parsing JSON", GitHubFault),
    ],
)
def test_statuses_headers_and_messages_tell_what_it_is(
    status: int, headers: dict[str, str], message: str, kind: type[GitHubError]
) -> None:
    error = fault(status, headers, json.dumps({"message": message}).encode())

    assert type(error) is kind
    assert error.status == status


def test_a_code_in_the_body_says_that_it_is_too_large() -> None:
    body = {"message": "x", "errors": [{"code": "too_large"}]}

    assert type(fault(403, {}, json.dumps(body).encode())) is TooLarge


@pytest.mark.parametrize("body", [b"<html>", b"", b"[1]", b'"x"', b'{"message": 1}', b"[" * 9_999])
def test_a_body_of_another_shape_is_a_fault(body: bytes) -> None:
    assert type(fault(502, {}, body)) is GitHubFault


@pytest.mark.parametrize(
    ("headers", "message", "needed"),
    [
        ({"x-accepted-github-permissions": "pull_requests=read; contents=read"}, "x",
         "pull_requests=read; contents=read"),
        ({"x-github-sso": "required; url=https://example.com"}, "x", "SAML sign-on for the token"),
        ({}, "Resource protected by organization SAML enforcement.", "SAML sign-on for the token"),
        ({}, "`acme` has an IP allow list enabled", "the organization's IP allow list"),
        ({}, "`acme` forbids access via a personal access token (classic).",
         "the organization's rules for tokens"),
        ({"x-accepted-github-permissions": "pull_requests=write"},
         "Resource not accessible by personal access token", "pull_requests=write"),
        ({"x-accepted-github-permissions": "<!channel>"}, "x", ""),
    ],
)  # fmt: skip
def test_a_refusal_says_what_it_needs(headers: dict[str, str], message: str, needed: str) -> None:
    error = fault(403, headers, json.dumps({"message": message}).encode())

    assert isinstance(error, AccessRefused)
    assert error.needed == needed
    assert needed in failures.github_failed(error)


@pytest.mark.parametrize(
    ("headers", "seconds", "words"),
    [
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET} | DATE, 120.0, "in 2 min"),
        ({"x-ratelimit-remaining": "0"} | DATE, None, "later"),
        ({"retry-after": "7"}, 7.0, "in 1 min"),
        ({"retry-after": "9" * 400}, None, "later"),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "inf"} | DATE, None, "later"),
        ({}, 60.0, "in 1 min"),
    ],
)
def test_a_limit_says_how_long_it_lasts_by_the_clock_of_github(
    headers: dict[str, str], seconds: float | None, words: str
) -> None:
    error = fault(429, headers, b"{}")

    assert isinstance(error, GitHubLimited)
    assert error.retry_after_seconds == seconds
    assert f"try again {words}." in failures.github_failed(error)


def test_every_failure_offers_the_way_out_and_none_claims_that_it_is_absent() -> None:
    for kind in GitHubError.__subclasses__():
        assert failures.github_failed(kind("x")).endswith(failures.PASTE_INSTEAD)
    assert "or it is private" in failures.github_failed(NotThere("x"))
    assert "git.example.com" in failures.elsewhere("git.example.com")
