"""What went wrong at the border, as one of our errors: by the endpoint's code, then by status."""

from __future__ import annotations

import email.utils
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import httpx

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

DETAIL_CHARACTERS = 200

Headers = Mapping[str, str]
"""Response headers by lower-case name."""

# docs.acedata.cloud "Kimi Chat Completion API" (Error Handling), platform.kimi.ai "Errors",
# docs.aws.amazon.com/bedrock "Troubleshooting API error codes", and the names that servers of
# the same API use (vLLM, llama.cpp, one-api).
_BY_CODE: Mapping[str, type[KimiError]] = {
    "invalid_token": KeyRefused,
    "token_expired": KeyRefused,
    "no_token": KeyRefused,
    "disabled": KeyRefused,
    "invalid_authentication_error": KeyRefused,
    "incorrect_api_key_error": KeyRefused,
    "invalid_api_key": KeyRefused,
    "authentication_error": KeyRefused,
    "unrecognizedclientexception": KeyRefused,
    "used_up": AccountExhausted,
    "exceeded_current_quota_error": AccountExhausted,
    "insufficient_quota": AccountExhausted,
    "insufficient_user_quota": AccountExhausted,
    "insufficient_balance": AccountExhausted,
    "too_many_requests": Busy,
    "engine_overloaded_error": Busy,
    "rate_limit_reached_error": Busy,
    "rate_limit_exceeded": Busy,
    "rate_limit_error": Busy,
    "overloaded_error": Busy,
    "throttlingexception": Busy,
    "api_error": ServerFault,
    "chat_error": ServerFault,
    "server_error": ServerFault,
    "internal_server_error": ServerFault,
    "server_unavailable": ServerFault,
    "unexpected_output": ServerFault,
    "internalserverexception": ServerFault,
    "serviceunavailableexception": ServerFault,
    "modeltimeoutexception": ServerFault,
    "modelstreamerrorexception": ServerFault,
    "context_length_exceeded": ContextTooLong,
    "exceed_context_size_error": ContextTooLong,
    "token_mismatched": RequestRefused,
    "api_not_implemented": RequestRefused,
    "bad_request": RequestRefused,
    "content_filter": RequestRefused,
    "resource_not_found_error": ModelNotFound,
    "model_not_found": ModelNotFound,
    "resourcenotfoundexception": ModelNotFound,
}

# These say less than the message may: a quota that is used up has come as a refused permission,
# a context that is too long always comes as an invalid request.
_BY_VAGUE_CODE: Mapping[str, type[KimiError]] = {
    "permission_denied_error": KeyRefused,
    "accessdeniedexception": KeyRefused,
    "not_found": ModelNotFound,
    "not_found_error": ModelNotFound,
    "invalid_request_error": RequestRefused,
    "validationexception": RequestRefused,
}

_BY_STATUS: Mapping[int, type[KimiError]] = {
    401: KeyRefused,
    402: AccountExhausted,
    404: ModelNotFound,
    408: ServerFault,
    409: ServerFault,
    413: ContextTooLong,
    424: ServerFault,
    425: ServerFault,
    429: Busy,
    529: Busy,
}

BY_EXCEPTION: Mapping[type[Exception], type[KimiError]] = {
    httpx.ConnectTimeout: Unreachable,
    httpx.ReadTimeout: Unreachable,
    httpx.WriteTimeout: Unreachable,
    httpx.PoolTimeout: Unreachable,
    httpx.ConnectError: Unreachable,
    httpx.ReadError: Unreachable,
    httpx.WriteError: Unreachable,
    httpx.CloseError: Unreachable,
    httpx.ProxyError: Unreachable,
    httpx.RemoteProtocolError: Unreachable,
    httpx.DecodingError: ServerFault,
    httpx.TooManyRedirects: ServerFault,
    httpx.HTTPStatusError: ServerFault,
    httpx.StreamConsumed: ServerFault,
    httpx.StreamClosed: ServerFault,
    httpx.ResponseNotRead: ServerFault,
    httpx.RequestNotRead: ServerFault,
    httpx.CookieConflict: ServerFault,
    httpx.LocalProtocolError: RequestRefused,
    httpx.UnsupportedProtocol: RequestRefused,
    httpx.InvalidURL: RequestRefused,
}
"""Before the answer has begun; after that they all mean that it was cut off."""

_CONTEXT = re.compile(
    r"token length too long|exceeded model token limit|context (length|size|window)"
    r"|maximum context|message size.{0,60}exceeds|exceeds the maximum size",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"quota|insufficient|balance|billing|suspended|recharge|usage limit|余额|欠费", re.IGNORECASE
)
_DAILY = re.compile(r"\bTPD\b|per day|daily", re.IGNORECASE)
_SECONDS = re.compile(r"\d{1,9}(\.\d{1,9})?")
_WAIT = re.compile(r"\b(?:after|in|wait)\s+(\d{1,9}(?:\.\d{1,9})?)\s*s(?:ec|\b)", re.IGNORECASE)
_REQUEST_ID = re.compile(r"request[ _]id: ?([\w.:-]{4,128})", re.IGNORECASE)
_KEY = re.compile(r"\b(Bearer\s+|sk-|xox|xapp-|AKIA|eyJ)[\w.*+/=-]+")
_TRACE_HEADERS = (
    "x-trace-id",
    "x-msh-trace-id",
    "msh-request-id",
    "x-request-id",
    "x-amzn-requestid",
)


def fault(status: int, headers: Headers, text: str) -> KimiError:
    """The error that a response is: JSON of any of the endpoints' shapes, a page, or nothing.

    The text may also be an error object that came in a stream of status 200: then the code alone
    decides, and without one it is a fault of the server.
    """
    body = _body(text)
    said = _said(body)
    codes = [code for code in (*_codes(said, body), _amazon_code(headers)) if code]
    status = _status_in(said, status)
    message = _message(said, body) or ("" if body else text)
    kind = _kind(status, codes, message)
    error = kind(
        _detail(message),
        trace_id=trace_id(headers, body),
        status=status,
        code=codes[0] if codes else "",
    )
    if isinstance(error, (Busy, ServerFault)):
        error.retry_after_seconds = _retry_after_seconds(headers, message)
    return error


def trace_id(
    headers: Headers, body: Mapping[str, Any] | None = None, completion_id: str = ""
) -> str:
    """The id that the endpoint's support asks for; "" where there is none."""
    body = body or {}
    said = _said(body)
    in_message = _REQUEST_ID.search(_message(said, body))
    candidates = (
        body.get("trace_id"),
        said.get("request_id"),
        *(headers.get(name) for name in _TRACE_HEADERS),
        in_message and in_message[1],
        completion_id,
    )
    return next((found for candidate in candidates if (found := _token(candidate))), "")


@contextmanager
def transport_faults() -> Iterator[None]:
    """Translates whatever sending and reading can raise; cancellation passes."""
    try:
        yield
    except Exception as error:  # below httpx each part has errors of its own, some slip through
        name = type(error).__name__
        kind = BY_EXCEPTION.get(type(error), Unreachable)
        raise kind(_detail(f"{name}: {error}"), code=name) from error


def _body(text: str) -> Mapping[str, Any]:
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        if isinstance(value, dict):
            return value
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return value[0]
    return {}


def _said(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The error object; a bare string is its message."""
    error = body.get("error")
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else {}


def _message(said: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    found = (said.get("message"), body.get("message"), body.get("Message"), body.get("detail"))
    return next((text for text in found if isinstance(text, str) and text), "")


def _codes(said: Mapping[str, Any], body: Mapping[str, Any]) -> Iterator[str]:
    for value in (said.get("code"), said.get("type"), body.get("code"), body.get("__type")):
        if isinstance(value, str):
            yield _token(value.rpartition("#")[2].lower())


def _amazon_code(headers: Headers) -> str:
    """`ThrottlingException:http://…`: the part before the colon."""
    return _token(headers.get("x-amzn-errortype", "").partition(":")[0].lower())


def _status_in(said: Mapping[str, Any], status: int) -> int:
    """Some relays pass the status on as the code of an error object in a stream."""
    code = said.get("code")
    with suppress(TypeError, ValueError):
        if status < 400 and isinstance(code, int | str) and 400 <= int(code) < 600:
            return int(code)
    return status


def _kind(status: int, codes: list[str], message: str) -> type[KimiError]:
    kind = next((_BY_CODE[code] for code in codes if code in _BY_CODE), None)
    if kind is Busy:
        return AccountExhausted if _DAILY.search(message) else Busy
    if status in (200, 400, 413) and kind in (None, RequestRefused) and _CONTEXT.search(message):
        return ContextTooLong
    if kind:
        return kind
    if status in (200, 402, 403, 429) and _QUOTA.search(message):
        return AccountExhausted
    vague = next((_BY_VAGUE_CODE[code] for code in codes if code in _BY_VAGUE_CODE), None)
    return vague or _by_status(status)


def _by_status(status: int) -> type[KimiError]:
    if status >= 500 or status < 300:
        return _BY_STATUS.get(status, ServerFault)
    return _BY_STATUS.get(status, RequestRefused)


def _retry_after_seconds(headers: Headers, message: str) -> float | None:
    """The endpoint's wish: in a header as seconds or as a date, else in words."""
    if milliseconds := _seconds(headers.get("retry-after-ms", "")):
        return milliseconds / 1000
    for name in ("retry-after", "x-retry-after"):
        value = headers.get(name, "").strip()
        wish = _seconds(value)
        wish = _seconds_until(value, headers.get("date", "")) if wish is None else wish
        if wish is not None:
            return wish
    in_words = _WAIT.search(message)
    return float(in_words[1]) if in_words else None


def _seconds(value: str) -> float | None:
    return float(value) if _SECONDS.fullmatch(value.strip()) else None


def _seconds_until(date: str, now: str) -> float | None:
    """By the endpoint's own clock, which ours may differ from."""
    try:
        until = email.utils.parsedate_to_datetime(date) - email.utils.parsedate_to_datetime(now)
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, until.total_seconds())


def _detail(text: str) -> str:
    """The first words of it, on one line, without what looks like a key."""
    words = " ".join(text[: 10 * DETAIL_CHARACTERS].split())
    return _KEY.sub("…", words)[:DETAIL_CHARACTERS]


def _token(value: object) -> str:
    """An id or a code as it may stand in a log and in Slack; "" for anything else."""
    if not isinstance(value, str):
        return ""
    return re.sub(r"[^\w.:@/=+-]", "", value, flags=re.ASCII)[:128]
