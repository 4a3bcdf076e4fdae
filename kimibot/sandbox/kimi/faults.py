"""The errors that the local Kimi can be asked for, in the words of either kind of endpoint.

Statuses and codes: https://docs.acedata.cloud (Kimi Chat Completion API, error handling) and
https://platform.kimi.ai/docs (Errors).
"""

from __future__ import annotations

from dataclasses import dataclass

from kimibot.sandbox.kimi.dialect import Dialect, refusal, trace_headers
from kimibot.sandbox.kimi.plan import Refusal

_BAD_GATEWAY = """<html>
<head><title>502 Bad Gateway</title></head>
<body><center><h1>502 Bad Gateway</h1></center><hr><center>local gateway</center></body>
</html>
"""
_TOO_LONG = "Your request exceeded model token limit: 1048576"

# name: (what a reseller answers, what the platform answers), each status, code, message
_ERRORS: dict[str, tuple[tuple[int, str, str], tuple[int, str, str]]] = {
    "invalid_key": (
        (401, "invalid_token", "Unauthorized, invalid or missing authorization token."),
        (401, "invalid_authentication_error", "Invalid Authentication"),
    ),
    "too_many_requests": (
        (429, "too_many_requests", "Too many requests, you have exceeded the rate limit."),
        (429, "rate_limit_reached_error", "max RPM reached, please try again after 1 seconds"),
    ),
    "server_fault": (
        (500, "api_error", "fetch failed"),
        (500, "server_error", "the server had an error while processing your request"),
    ),
    "quota": (
        (403, "used_up", "The balance of this account is used up."),
        (429, "exceeded_current_quota_error", "Your account is suspended, check your plan."),
    ),
    "bad_request": (
        (400, "token_mismatched", "Bad request, missing or invalid parameters."),
        (400, "invalid_request_error", "invalid request"),
    ),
    "context_too_long": (
        (400, "bad_request", _TOO_LONG),
        (400, "invalid_request_error", _TOO_LONG),
    ),
    "no_such_model": (
        (404, "not_found", "Not found the model or Permission denied"),
        (404, "resource_not_found_error", "Not found the model or Permission denied"),
    ),
}


@dataclass(frozen=True, slots=True)
class Faults:
    """Makes the refusals of one request; `trace_id` is what its support would ask for."""

    dialect: Dialect
    trace_id: str

    @property
    def trace_headers(self) -> dict[str, str]:
        """The headers in which this kind of endpoint names its trace, also on a good answer."""
        return trace_headers(self.dialect, self.trace_id)

    def named(self, name: str, message: str = "") -> Refusal:
        """One of the known errors, with its own message unless another is given."""
        reseller, platform = _ERRORS[name]
        status, code, usual = reseller if self.dialect is Dialect.ACEDATA else platform
        extra = {"Retry_After": "1"} if status == 429 and name == "too_many_requests" else {}
        return refusal(
            status, code, message or usual, dialect=self.dialect, trace_id=self.trace_id, **extra
        )

    def bad_gateway(self) -> Refusal:
        """The HTML page of a proxy in front of the endpoint."""
        return Refusal(502, _BAD_GATEWAY, content_type="text/html")
