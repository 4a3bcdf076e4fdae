"""What the bot says when something did not work: with Kimi, GitHub, files, or Slack."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kimibot.attachments import Unread
from kimibot.errors import (
    AccessRefused,
    AccountExhausted,
    Busy,
    ContextTooLong,
    CutOff,
    GitHubError,
    GitHubFault,
    GitHubLimited,
    GitHubUnreachable,
    KeyRefused,
    KimiError,
    ModelNotFound,
    NoFirstEvent,
    NoText,
    NotPosted,
    NotThere,
    RepositoryRefused,
    RequestRefused,
    ServerFault,
    TokenRefused,
    TooLarge,
    TooSlow,
    Unposted,
    Unreachable,
)
from kimibot.texts import UNFORESEEN, with_trace
from kimibot.unseen import spelled_out

SPENT_ON_THINKING = (
    "Kimi spent its whole budget on thinking and wrote no answer. "
    "Please try again, or ask for something smaller."
)
PASTE_INSTEAD = "You can paste the diff here, or attach it as a file, and I review that."
_MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class Note:
    """Our words below an answer or instead of one; `can_retry` puts the button there."""

    text: str
    can_retry: bool


def failure(error: KimiError, trace_id: str) -> Note:
    """The text for a failure of the model's endpoint, with the id that support will ask for."""
    text, can_retry = _FAILURES.get(type(error), (UNFORESEEN, True))
    if isinstance(error, NoText) and error.code == "length":
        text = SPENT_ON_THINKING
    if isinstance(error, ContextTooLong) and error.excess_tokens:
        text = too_long_by(error.excess_tokens)
    limit = error.limit_seconds
    text = text.format(in_time="in time" if limit is None else f"within {limit:g} s")
    return Note(with_trace(text, trace_id), can_retry)


def github_failed(error: GitHubError) -> str:
    """Why a change could not be read, and the way out: nothing is reviewed that was not read."""
    text = _GITHUB_FAILURES.get(type(error), _GITHUB_FAILURES[GitHubFault])
    if isinstance(error, AccessRefused) and error.needed:
        text = text.replace("refused me", f"refused me; it needs: {error.needed}")
    if isinstance(error, GitHubLimited):
        text = text.replace("later", _when(error))
    return f"{text} {PASTE_INSTEAD}"


def _when(error: GitHubLimited) -> str:
    if error.retry_after_seconds is None:
        return "later"
    return f"in {max(1, math.ceil(error.retry_after_seconds / 60))} min"


def not_posted(error: GitHubError | NotPosted) -> Note:
    """Why a review is not on its pull request, and the way out."""
    if isinstance(error, NotPosted):
        return _NOT_POSTED[error.why]
    text, can_retry = _NOT_POSTED_BY_GITHUB.get(type(error), _NOT_POSTED_BY_GITHUB[GitHubFault])
    if isinstance(error, AccessRefused) and error.needed:
        text = text.replace(_WRITE, error.needed)
    if isinstance(error, GitHubLimited):
        text = text.replace("later", _when(error))
    return Note(text, can_retry)


def elsewhere(host: str) -> str:
    """For an address on a host that is not the configured GitHub."""
    return f"I read pull requests from one GitHub only, and {host} is another one. {PASTE_INSTEAD}"


def unread_files(unread: Iterable[tuple[str, Unread]]) -> list[str]:
    """A line for each reason, with the names of the files that were not read for it."""
    names: dict[Unread, list[str]] = {}
    for name, why in unread:
        names.setdefault(why, []).append(name)
    return [f"Not read: {_some(those)}. {_UNREAD[why]}" for why, those in names.items()]


def shortened_files(names: Sequence[str]) -> list[str]:
    """What of the files Kimi did not get to read."""
    return [f"Too long to be read whole, so I read the beginning: {_some(names)}."] if names else []


def closed_thread(channel: str, code: str) -> str:
    """Why there is no reply in the thread, for the asker alone, and what to do if that is known."""
    why = _CLOSED.get(code, f"Slack does not let me write there ({code}).")
    return f"I could not answer you in <#{channel}>: {why}"


def too_long_by(excess_tokens: int) -> str:
    """Said when one message alone is more than Kimi may read."""
    return (
        f"This message alone is too long for Kimi, by about {excess_tokens:,} tokens. "
        "Please leave out what does not matter, or ask about one part at a time."
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(map(spelled_out, names[:_MOST_NAMES])) + more


_FAILURES: dict[type[KimiError], tuple[str, bool]] = {
    KeyRefused: ("My key for Kimi was not accepted. Please tell the admin of this bot.", False),
    AccountExhausted: (
        "The Kimi account has run out of quota. Please tell the admin of this bot.",
        False,
    ),
    Busy: ("Kimi is busy right now. Please try again in a minute.", True),
    ServerFault: ("Kimi had a fault on its side. Please try again.", True),
    RequestRefused: (
        "Kimi refused the request as it was. Please tell the admin of this bot.",
        False,
    ),
    ContextTooLong: (
        "This thread is too long for Kimi, even without its older part. "
        "Please start a new thread with what matters.",
        False,
    ),
    ModelNotFound: (
        "The configured Kimi model is not available. Please tell the admin of this bot.",
        False,
    ),
    Unreachable: ("Kimi can't be reached right now. Please try again in a minute.", True),
    NoFirstEvent: ("Kimi did not begin to answer {in_time}. Please try again.", True),
    CutOff: ("The answer was cut off here. Please try again.", True),
    TooSlow: ("The answer was not complete {in_time} and ends here. Please try again.", True),
    NoText: ("Kimi gave no answer to this. Please try again, or ask in other words.", True),
}

_GITHUB_FAILURES: dict[type[GitHubError], str] = {
    RepositoryRefused: "I am not allowed to read this repository.",
    NotThere: "I can't read this: it is not there, or it is private and I have no access.",
    TokenRefused: "My GitHub token was not accepted. Please tell the admin of this bot.",
    AccessRefused: "GitHub refused me. Please tell the admin of this bot.",
    GitHubLimited: "GitHub does not answer me any more for now. Please try again later.",
    TooLarge: "This is more than GitHub hands out.",
    GitHubFault: "GitHub had a fault on its side. Please try again.",
    GitHubUnreachable: "GitHub can't be reached right now. Please try again in a minute.",
}

_WRITE = "write access to pull requests"
_NOTHING = "so I posted nothing"

_NOT_POSTED: dict[Unposted, Note] = {
    Unposted.MOVED: Note(
        "The pull request has newer commits than those that I reviewed, "
        f"{_NOTHING}. Ask me to review it again.",
        can_retry=False,
    ),
    Unposted.CLOSED: Note(
        f"The pull request is not open, {_NOTHING}. Once it is open again, try again.",
        can_retry=True,
    ),
    Unposted.MERGED: Note(
        f"The pull request is merged, {_NOTHING}. Mend what I found in a new one, and ask me to "
        "review it again there.",
        can_retry=False,
    ),
    Unposted.STANDING: Note(
        f"All that I found stands on the pull request already, {_NOTHING} once more. "
        "After newer commits, ask me to review it again.",
        can_retry=False,
    ),
    Unposted.LOCKED: Note(
        f"The conversation of the pull request is locked, {_NOTHING}. "
        "Somebody who may unlock it has to do that; then try again.",
        can_retry=True,
    ),
    Unposted.PENDING: Note(
        "On GitHub there is a review of this pull request under my name that was begun and never "
        f"submitted. GitHub takes no second one beside it, {_NOTHING}. The admin of this bot has "
        "to submit or discard it there; then try again.",
        can_retry=True,
    ),
    Unposted.REFUSED: Note(
        f"GitHub does not take this review, {_NOTHING}. Please tell the admin of this bot.",
        can_retry=False,
    ),
    Unposted.UNCLEAR: Note(
        "GitHub did not answer, and I can't find the review there. Please try again: I look for "
        "it once more before I post it.",
        can_retry=True,
    ),
}

_NOT_POSTED_BY_GITHUB: dict[type[GitHubError], tuple[str, bool]] = {
    RepositoryRefused: (
        f"I am not allowed to post to this repository for you, {_NOTHING}. "
        "The admin of this bot can change that.",
        True,
    ),
    NotThere: (
        "I can't post there: the pull request is gone, or my GitHub token lacks access to it or "
        f"{_WRITE}. The admin of this bot can look into that; then try again.",
        True,
    ),
    TokenRefused: (
        "My GitHub token was not accepted. Please tell the admin of this bot; then try again.",
        True,
    ),
    AccessRefused: (
        f"GitHub does not let me post there. My token needs: {_WRITE}. "
        "Please tell the admin of this bot; then try again.",
        True,
    ),
    GitHubLimited: ("GitHub takes nothing more from me for now. Please try again later.", True),
    GitHubFault: ("GitHub had a fault on its side. Please try again.", True),
    GitHubUnreachable: ("GitHub can't be reached right now. Please try again in a minute.", True),
}

_UNREAD: dict[Unread, str] = {
    Unread.TOO_MANY: "I read at most 8 files at once.",
    Unread.TOO_LARGE: "I read files of up to 20 MB, and pictures of up to 40 megapixels.",
    Unread.NO_SCOPE: (
        "This app lacks the scope `files:read`: its admin has to add it and install the app again."
    ),
    Unread.SIGN_IN: (
        "Slack asked me to sign in instead of giving me the file. Please tell the admin of this "
        "bot: the app may have to be installed again with the scope `files:read`."
    ),
    Unread.NO_ACCESS: "Slack does not let me see it.",
    Unread.GONE: "Slack does not have it any more.",
    Unread.HIDDEN: "Slack hides it: the workspace has reached its limit.",
    Unread.ELSEWHERE: "I read only files that are stored in Slack.",
    Unread.TOO_SLOW: "It took too long.",
    Unread.UNREACHABLE: "Slack did not give it to me. Please share it again.",
    Unread.UNKNOWN_KIND: "I read text, code, PDF and pictures only.",
    Unread.EMPTY: "There is nothing in it.",
    Unread.LOCKED: "It is locked with a password.",
    Unread.BROKEN: "It seems to be damaged.",
    Unread.NO_TEXT: "It holds no text, perhaps only scanned pages.",
    Unread.NO_PICTURES: "I received it, but the model here does not see pictures.",
}

_NOT_A_MEMBER = "I am not a member of it. Invite me there with `/invite`, and ask again."

_CLOSED = {
    "not_in_channel": _NOT_A_MEMBER,
    "channel_not_found": _NOT_A_MEMBER,
    "is_archived": "the channel is archived.",
    "restricted_action_read_only_channel": "nobody but its managers can write there.",
    "restricted_action_thread_locked": "the thread is locked.",
}
"""By Slack's codes: https://docs.slack.dev/reference/methods/chat.postMessage"""
