"""Everything that can go wrong, as one tree.

KimibotError
├── BadSettings            one line for each wrong setting
├── KimiError              the model's endpoint failed; carries the trace id
│   ├── KeyRefused         the key was not accepted
│   ├── AccountExhausted   no quota or balance left
│   ├── Busy               rate limit or overload; says how long to wait, if the endpoint did
│   ├── ServerFault        5xx, an HTML page, an `api_error`
│   ├── RequestRefused     400 and its kin
│   ├── ContextTooLong     the messages do not fit the model
│   ├── ModelNotFound      the configured model is not available there
│   ├── Unreachable        connect, DNS, TLS, pool
│   ├── NoFirstEvent       nothing came within the limit
│   ├── CutOff             the stream broke or fell silent after it had begun
│   ├── TooSlow            the answer as a whole took longer than its limit
│   └── NoText             the model finished without saying anything
├── SlackError             a Web API call failed; carries method and Slack's own code
│   ├── RateLimited        429; carries the seconds to wait
│   ├── BlocksRefused      Slack does not take these blocks, plain text may pass
│   ├── ReplyRefused       nothing may be written there: archived, read-only, not a member
│   ├── MessageGone        the message or its thread is no longer there
│   ├── NotConnected       no connection: the call was certainly not applied
│   └── FateUnknown        no response: the call may or may not have been applied
├── GitHubError            GitHub did not give what was asked for; carries status and reason
│   ├── RepositoryRefused  our own settings do not allow to read it: nothing was asked
│   ├── NotThere           absent, or hidden from us
│   ├── TokenRefused       our token was not accepted
│   ├── AccessRefused      a permission or a policy is in the way; says which one
│   ├── GitHubLimited      a rate limit; says how long it lasts, if GitHub did
│   ├── TooLarge           more than GitHub, or we, hand out in one piece
│   ├── GitHubFault        5xx, or what nobody understands
│   └── GitHubUnreachable  no connection
├── NotPosted              a review was not put on its pull request; says why
├── FileUnread             a file that somebody attached could not be had; says why
└── StorageError
    ├── DatabaseUnavailable   unreachable, or locked for too long
    └── ClaimLost             another owner has the thread now
"""

from __future__ import annotations

from enum import StrEnum

from kimibot.attachments import Unread


class KimibotError(Exception):
    """The root of the tree."""


class BadSettings(KimibotError):
    """Settings are missing or wrong; `lines` says of each what was expected.

    `warnings` are the mistakes beside them that stop nothing: a misspelt name may be why another
    is missing.
    """

    def __init__(self, lines: list[str], warnings: tuple[str, ...] = ()) -> None:
        super().__init__("; ".join(lines))
        self.lines = lines
        self.warnings = warnings


class KimiError(KimibotError):
    """The model's endpoint failed.

    `detail` is for the log of the operator: it may hold the endpoint's own words, never a key
    or what people wrote. `trace_id` is the id that the endpoint's support will ask for, or "".
    """

    name = "kimi_error"

    def __init__(
        self,
        detail: str = "",
        *,
        trace_id: str = "",
        status: int | None = None,
        code: str = "",
        limit_seconds: float | None = None,
    ) -> None:
        super().__init__(detail or self.name)
        self.detail = detail
        self.trace_id = trace_id
        self.status = status
        self.code = code
        self.limit_seconds = limit_seconds


class KeyRefused(KimiError):
    """The key was not accepted."""

    name = "key_refused"


class AccountExhausted(KimiError):
    """The account has no quota or balance left."""

    name = "account_exhausted"


class Busy(KimiError):
    """Rate limit or overload. `retry_after_seconds` is the endpoint's own wish, or None."""

    name = "busy"
    retry_after_seconds: float | None = None


class ServerFault(KimiError):
    """The endpoint had a fault on its side. `retry_after_seconds` as with Busy."""

    name = "server_fault"
    retry_after_seconds: float | None = None


class RequestRefused(KimiError):
    """The endpoint does not take the request as it is."""

    name = "request_refused"


class ContextTooLong(KimiError):
    """The messages do not fit the model's context. `excess_tokens` is about how much the last of
    them is too long by itself, 0 where it is not or nobody knows."""

    name = "context_too_long"
    excess_tokens: int = 0


class ModelNotFound(KimiError):
    """The configured model is not available there."""

    name = "model_not_found"


class Unreachable(KimiError):
    """No connection: DNS, connect, TLS, or no free place in the pool."""

    name = "unreachable"


class NoFirstEvent(KimiError):
    """Nothing came within `limit_seconds`."""

    name = "no_first_event"


class CutOff(KimiError):
    """The stream broke, or fell silent for `limit_seconds`, after it had begun."""

    name = "cut_off"


class TooSlow(KimiError):
    """The answer as a whole took longer than `limit_seconds`."""

    name = "too_slow"


class NoText(KimiError):
    """The model finished without a word; `code` holds its finish reason."""

    name = "no_text"


class SlackError(KimibotError):
    """A Web API call failed; `code` is Slack's own, `needed` the scope that Slack asks for."""

    def __init__(self, method: str, code: str, *, needed: str = "") -> None:
        super().__init__(f"{method}: {code}")
        self.method = method
        self.code = code
        self.needed = needed


class RateLimited(SlackError):
    """429: the method is closed for `retry_after_seconds`."""

    def __init__(self, method: str, retry_after_seconds: float) -> None:
        super().__init__(method, "ratelimited")
        self.retry_after_seconds = retry_after_seconds


class BlocksRefused(SlackError):
    """Slack does not take these blocks; plain text may pass."""


class ReplyRefused(SlackError):
    """Nothing may be written there: archived, read-only, not a member."""


class MessageGone(SlackError):
    """The message, or the thread that it belongs to, is no longer there."""


class NotConnected(SlackError):
    """No connection could be made: the call was certainly not applied."""


class FateUnknown(SlackError):
    """No response came: the call may or may not have been applied."""


class GitHubError(KimibotError):
    """GitHub did not give what was asked for.

    `detail` is for the operator's log, in GitHub's words or ours; it holds no token and no code.
    """

    name = "github_error"

    def __init__(self, detail: str = "", *, status: int | None = None) -> None:
        super().__init__(detail or self.name)
        self.detail = detail
        self.status = status


class RepositoryRefused(GitHubError):
    """Our settings do not allow to read this repository: nothing was asked."""

    name = "repository_refused"


class NotThere(GitHubError):
    """Absent, or hidden from us: GitHub does not say which."""

    name = "not_there"


class TokenRefused(GitHubError):
    """The token was not accepted."""

    name = "token_refused"


class AccessRefused(GitHubError):
    """A permission or a policy is in the way; `needed` is GitHub's name for it, or ""."""

    name = "access_refused"
    needed: str = ""


class GitHubLimited(GitHubError):
    """A rate limit. `retry_after_seconds` is how long it lasts, or None."""

    name = "github_limited"
    retry_after_seconds: float | None = None


class TooLarge(GitHubError):
    """More than GitHub, or we, hand out in one piece."""

    name = "too_large"


class GitHubFault(GitHubError):
    """A fault on GitHub's side, or an answer that nobody understands."""

    name = "github_fault"


class GitHubUnreachable(GitHubError):
    """No connection, or none that lasted."""

    name = "github_unreachable"


class Unposted(StrEnum):
    """Why a review was not put on its pull request."""

    MOVED = "the pull request has newer commits"
    CLOSED = "the pull request is not open"
    MERGED = "the pull request is merged"
    STANDING = "all of it stands there already"
    LOCKED = "its conversation is locked"
    PENDING = "a review of ours was begun there and never sent"
    REFUSED = "GitHub does not take it in any form"
    UNCLEAR = "no answer came, and it can't be found there"


class NotPosted(KimibotError):
    """A review was not put on its pull request; where that is UNCLEAR it may still turn up."""

    name = "not_posted"

    def __init__(self, why: Unposted) -> None:
        super().__init__(why.value)
        self.why = why


class FileUnread(KimibotError):
    """A file that somebody attached could not be had."""

    def __init__(self, why: Unread) -> None:
        super().__init__(why.value)
        self.why = why


class StorageError(KimibotError):
    """The database could not do what was asked."""


class DatabaseUnavailable(StorageError):
    """The database can't be reached, or was locked for too long."""


class ClaimLost(StorageError):
    """Another owner has the thread now: nothing of this turn may be written any more."""
