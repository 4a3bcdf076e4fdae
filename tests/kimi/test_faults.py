"""Errors of all endpoints, each as one of ours."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimibot import errors
from kimibot.errors import (
    AccountExhausted,
    Busy,
    ContextTooLong,
    KeyRefused,
    KimiError,
    ModelNotFound,
    RequestRefused,
    ServerFault,
    Unreachable,
)
from kimibot.kimi.faults import BY_EXCEPTION, fault, trace_id, transport_faults

HTML = "<html>\n<head><title>504 Gateway Time-out</title></head></html>"


def ace(code: str) -> dict[str, Any]:
    return {"success": False, "error": {"code": code, "message": "m"}, "trace_id": "t-1"}


def moonshot(type_: str, message: str = "m") -> dict[str, Any]:
    return {"error": {"type": type_, "message": message}}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, ace("token_mismatched"), RequestRefused),
        (400, ace("api_not_implemented"), RequestRefused),
        (401, ace("invalid_token"), KeyRefused),
        (429, ace("too_many_requests"), Busy),
        (500, ace("api_error"), ServerFault),
        (401, ace("token_expired"), KeyRefused),
        (403, ace("used_up"), AccountExhausted),
        (400, moonshot("invalid_request_error", "invalid temperature: only 1"), RequestRefused),
        (400, moonshot("invalid_request_error", "Input token length too long"), ContextTooLong),
        (
            400,
            moonshot("invalid_request_error", "Your request exceeded model token limit: 9"),
            ContextTooLong,
        ),
        (
            400,
            moonshot("", "total message size 3000000 exceeds limit 2097152"),
            ContextTooLong,
        ),
        (400, {"error": {"code": "context_length_exceeded", "message": "m"}}, ContextTooLong),
        (400, {"error": {"code": 400, "type": "exceed_context_size_error"}}, ContextTooLong),
        (413, moonshot("", "Request exceeds the maximum size"), ContextTooLong),
        (400, moonshot("content_filter", "high risk"), RequestRefused),
        (401, moonshot("invalid_authentication_error"), KeyRefused),
        (401, moonshot("incorrect_api_key_error"), KeyRefused),
        (403, moonshot("permission_denied_error"), KeyRefused),
        (403, moonshot("permission_denied_error", "You have no quota left"), AccountExhausted),
        (403, moonshot("access_terminated_error", "reached your usage limit"), AccountExhausted),
        (404, moonshot("resource_not_found_error"), ModelNotFound),
        (429, moonshot("engine_overloaded_error"), Busy),
        (429, moonshot("rate_limit_reached_error", "max RPM: 3, try again"), Busy),
        (429, moonshot("rate_limit_reached_error", "organization max TPD: 9"), AccountExhausted),
        (429, moonshot("exceeded_current_quota_error"), AccountExhausted),
        (500, moonshot("server_error"), ServerFault),
        (503, moonshot("server_unavailable"), ServerFault),
        (529, None, Busy),
        (408, None, ServerFault),
        (402, None, AccountExhausted),
        (403, None, RequestRefused),
        (404, None, ModelNotFound),
        (307, None, RequestRefused),
        (504, HTML, ServerFault),
        (502, HTML, ServerFault),
        (400, {"error": "a bare string"}, RequestRefused),
        (400, {"error": None}, RequestRefused),
        (400, "no JSON", RequestRefused),
        (401, "[1]", KeyRefused),
        (500, "[" * 100_000, ServerFault),
        (400, {"__type": "com.amazon#ThrottlingException", "message": "m"}, Busy),
        (403, {"Message": "m"}, RequestRefused),
        (200, moonshot("engine_overloaded_error"), Busy),
        (200, {"error": {"code": 429, "message": "m"}}, Busy),
        (200, {"error": {"code": "401", "message": "m"}}, KeyRefused),
        (200, ace("something_new"), ServerFault),
        (200, HTML, ServerFault),
    ],
)
def test_an_error_is_told_by_its_code_then_by_its_status(
    status: int, body: object, kind: type[KimiError]
) -> None:
    text = body if isinstance(body, str) else json.dumps(body) if body else ""

    error = fault(status, {}, text)

    assert type(error) is kind


def test_an_amazon_error_is_told_by_its_header() -> None:
    headers = {"x-amzn-errortype": "ThrottlingException:http://x/", "x-amzn-requestid": "r-1"}

    error = fault(400, headers, '{"message":"Too many requests"}')

    assert isinstance(error, Busy)
    assert (error.code, error.trace_id) == ("throttlingexception", "r-1")


def test_an_error_carries_code_status_and_the_endpoints_words() -> None:
    error = fault(500, {}, json.dumps(ace("api_error")))

    assert (error.code, error.status, error.trace_id) == ("api_error", 500, "t-1")
    assert error.detail == "m"


def test_a_page_is_kept_short_and_on_one_line() -> None:
    error = fault(502, {}, HTML + "x" * 10_000)

    assert error.detail.startswith("<html> <head><title>504 Gateway Time-out")
    assert len(error.detail) == 200


def test_json_without_a_message_is_not_quoted() -> None:
    error = fault(200, {}, '{"choices":[{"finish_reason":"error","delta":{"content":"text"}}]}')

    assert "text" not in error.detail


@pytest.mark.parametrize("key", ["sk-fake123", "Bearer fake-123", "sk-fa***ke"])
def test_what_looks_like_a_key_is_not_kept(key: str) -> None:
    error = fault(401, {}, json.dumps(moonshot("x", f"Incorrect key: {key}.")))

    assert "fa" not in error.detail


@pytest.mark.parametrize(
    ("headers", "message", "wish"),
    [
        ({"retry-after": "7"}, "", 7),
        ({"retry-after": "0"}, "", 0),
        ({"retry-after": "1.5"}, "", 1.5),
        ({"retry-after-ms": "250"}, "", 0.25),
        ({"x-retry-after": "3"}, "", 3),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT",
                "date": "Wed, 21 Oct 2026 07:28:00 GMT",
            },
            "",
            30,
        ),
        (
            {
                "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT",
                "date": "Wed, 21 Oct 2026 07:28:30 GMT",
            },
            "",
            0,
        ),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, "", None),
        ({"retry-after": "soon", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, "", None),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": "-1"}, "", None),
        ({"retry-after": "9" * 400}, "", None),
        ({}, "please try again after 2 seconds", 2),
        ({}, "m", None),
    ],
)
def test_the_wish_to_wait_is_read_in_all_its_forms(
    headers: dict[str, str], message: str, wish: float | None
) -> None:
    error = fault(429, headers, json.dumps(moonshot("rate_limit_reached_error", message)))

    assert isinstance(error, Busy)
    assert error.retry_after_seconds == wish


def test_the_trace_id_is_the_first_of_those_there_are() -> None:
    headers = {
        name: name
        for name in (
            "x-amzn-requestid",
            "x-request-id",
            "msh-request-id",
            "x-msh-trace-id",
            "x-trace-id",
        )
    }
    body: dict[str, Any] = {"trace_id": "body", "error": {"request_id": "error", "message": "m"}}
    found = [trace_id(headers, body, "completion")]

    del body["trace_id"]
    found.append(trace_id(headers, body, "completion"))
    for name in ("", "x-trace-id", "x-msh-trace-id", "msh-request-id", "x-request-id"):
        headers.pop(name, None)
        found.append(trace_id(headers, {}, "completion"))
    found.append(trace_id({}, {"error": {"message": "(request id: 2026abc)"}}, "completion"))
    found.append(trace_id({}, {}, "completion"))

    assert found == [
        "body",
        "error",
        "x-trace-id",
        "x-msh-trace-id",
        "msh-request-id",
        "x-request-id",
        "x-amzn-requestid",
        "2026abc",
        "completion",
    ]


def test_a_hostile_trace_id_is_made_harmless() -> None:
    found = trace_id({}, {"trace_id": "<!channel> `a`\n" + "x" * 500})

    assert found == "channela" + "x" * 120


def test_every_exception_of_httpx_has_a_translation() -> None:
    exceptions = {
        kind
        for name in httpx.__all__
        if isinstance(kind := getattr(httpx, name), type) and issubclass(kind, Exception)
    }
    leaves = {kind for kind in exceptions if not (exceptions & set(kind.__subclasses__()))}

    assert leaves == set(BY_EXCEPTION)


@pytest.mark.parametrize("kind", BY_EXCEPTION)
def test_an_exception_of_httpx_becomes_ours_with_its_cause(kind: type[Exception]) -> None:
    def thrown() -> Exception:
        error = kind.__new__(kind)
        Exception.__init__(error, "m")
        return error

    with pytest.raises(BY_EXCEPTION[kind]) as caught, transport_faults():
        raise thrown()

    assert type(caught.value.__cause__) is kind
    assert caught.value.code == kind.__name__


@pytest.mark.parametrize("error", [OSError("m"), ValueError("m"), RuntimeError("m")])
def test_an_exception_from_below_httpx_becomes_ours_too(error: Exception) -> None:
    with pytest.raises(Unreachable), transport_faults():
        raise error


def test_a_cancellation_is_no_fault() -> None:
    with pytest.raises(asyncio.CancelledError), transport_faults():
        raise asyncio.CancelledError


@given(
    st.integers(200, 599),
    st.dictionaries(
        st.sampled_from(["retry-after", "date", "x-amzn-errortype", "x-request-id"]), st.text()
    ),
    st.one_of(
        st.text(),
        st.recursive(
            st.none() | st.integers() | st.floats() | st.text(),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(
                    st.sampled_from(["error", "code", "type", "message", "trace_id", "__type"]),
                    inner,
                )
            ),
        ).map(json.dumps),
    ),
)
def test_any_response_becomes_one_of_our_errors(
    status: int, headers: dict[str, str], text: str
) -> None:
    error = fault(status, headers, text)

    assert isinstance(error, errors.KimiError)
    assert type(error) is not errors.KimiError
    assert "\n" not in error.detail
