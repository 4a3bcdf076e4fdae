"""What the bot itself says: signs, notes and error texts, in one place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial

from kimibot.allowance import Limit, Whose
from kimibot.answers import CUT_OFF, Retry
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
    NotThere,
    RepositoryRefused,
    RequestRefused,
    ServerFault,
    TokenRefused,
    TooLarge,
    TooSlow,
    Unreachable,
)
from kimibot.turns import Kind

TRY_AGAIN = "try_again"
TRY_AGAIN_LABEL = "Try again"
SHOW_REASONING = "show_reasoning"
SHOW_REASONING_LABEL = "Show reasoning"
CONTINUE = "continue"
CONTINUE_LABEL = "Continue"
ANSWER_AGAIN = "answer_again"
ANSWER_AGAIN_LABEL = "Answer again"
STOP = "stop"
STOP_LABEL = "Stop"

HISTORY_UNREAD = "I could not read what was said here before, so I answered without it."
OLDER_PART_LEFT_OUT = "The older part of this thread was too long for Kimi and was left out."
PICTURES_REFUSED = "Kimi did not take the pictures, so I answered without them."
RESTARTING = "I am being restarted; continuing shortly."
TOO_OLD = "Sorry, I was not there when you asked this. Shall I answer it now?"
GIVEN_UP = "I was interrupted three times while I answered this. Please try again."
UNFORESEEN = "Something went wrong on my side. Please try again."
DECLINED = "Kimi declined to go on here."
REACHED_LIMIT = (
    "The answer reached its length limit and ends here. Ask me to go on if you need the rest."
)
SPENT_ON_THINKING = (
    "Kimi spent its whole budget on thinking and wrote no answer. "
    "Please try again, or ask for something smaller."
)
STOPPED = "Stopped."
NOTHING_TO_STOP = "There is nothing to stop here."
NOT_YOURS_TO_STOP = "Only the person who asked, or who takes part in the thread, can stop this."
YOUR_ANSWER_IS_READY = "your answer is ready."
NO_ANSWER_YET = "I could not finish your answer: see above."
ASKED_ALREADY = "That message has its answer already, or will have it: look into its thread."
NOTHING_TO_ANSWER = "I can't answer that message. Ask me about it in its thread."
QUESTION_EDITED = (
    "You have edited a question that I answered, or am answering, as it was before. "
    "Shall I answer it again?"
)
NOT_ANSWERED_YET = "I am still answering this. Press the button again when I am done."
IS_FOLLOWED = "The thread has gone on since. Please ask again in a new message."
CODE_BELOW = "_… {lines} lines in all. The whole of it is below: code {number}._"
NOT_YOURS = "Only the person who asked can do this."
REASONING_OFF = "Kimi's reasoning is not shown here any more."
REASONING_GONE = "I have not kept any reasoning for this answer."
REASONING_IS_YOURS = "How Kimi came to its answer. Only you see this."
CHANNEL_NOT_ALLOWED = (
    "Sorry, I don't answer here: the admin of this bot has chosen the channels where I do."
)
PERSON_NOT_ALLOWED = (
    "Sorry, I can't answer you: the admin of this bot has chosen the people whom I answer."
)
EXTERNAL_PERSON = (
    "Sorry, I answer the members of this workspace, but neither guests nor people of other "
    "companies. The admin of this bot can change that."
)
GREETING = (
    "Hello! Ask me in the same message that mentions me, or right below in this thread. "
    "Say `help` to me for what else I can do."
)
MUTED = "I leave this thread alone now, and answer here only who mentions me. `unmute` ends that."
UNMUTED = "I answer follow-ups in this thread again."
INSTRUCTIONS = {
    Kind.SUMMARISE: (
        "[Summarise this thread so far, for somebody who has not read it: what it is about, what "
        "was found out or decided and why, and what is still open and with whom. Say who said "
        "what where that matters. A few sentences or a short list, in the language that most of "
        "the thread is in. Leave out that you were asked for this.]"
    ),
    Kind.ABOUT: (
        "[Somebody wants to know about the last message above: answer it if it is a question, "
        "otherwise explain what it says and what should be done about it.]"
    ),
    Kind.CONTINUE: (
        f"[Your answer that ends in {CUT_OFF} was not complete. Go on exactly where it ends: "
        "repeat nothing, and say nothing before it. If it ends within a block of code, open that "
        "block again.]"
    ),
}
"""What the model is told beside the thread for asks of these kinds."""

REVIEW_NO_PROBLEMS = "No problems found."
REVIEW_PROBLEMS = "{count} found: {severities}."
REVIEW_NOTHING_READ = "There was nothing in it to review."
REVIEW_NOT_CERTAIN = "I can't verify this from what I was shown."
REVIEW_SUGGESTED = "Suggested:"
REVIEW_LEFT_OUT = "{count} less important left out."
REVIEW_IN_WORDS = "Kimi did not write this as findings with places, so it is shown as it came:"
REVIEW_ALSO = "Kimi also wrote:"
REVIEW_READING = "Reading {files}…"
REVIEW_READING_PART = "Reading part {part} of {of}: {files}…"
REVIEW_OF_NOTHING = (
    "I see no code here to review. Paste a snippet or a diff into the message that asks me, attach "
    "a file or a patch, or name a pull request by its address on GitHub."
)
REVIEW_CUT = "Kimi came to its length limit before it was through: there may be more to find."
REVIEW_ONE_CHANGE = "I review one pull request at a time, and took the first."
PASTE_INSTEAD = "You can paste the diff here, or attach it as a file, and I review that."


@dataclass(frozen=True, slots=True)
class Note:
    """Our words below an answer or instead of one; `can_retry` puts the button there."""

    text: str
    can_retry: bool


def reasoning_left_out(characters: int) -> str:
    """What stands below reasoning that is too long to be shown as a whole."""
    return f"{REASONING_IS_YOURS} The rest of it, {characters:,} characters, is left out."


def thinking(elapsed_seconds: float) -> str:
    """The sign of life before there is text; the seconds appear once they matter."""
    if elapsed_seconds < 5:
        return "Thinking…"
    return f"Thinking… {round(elapsed_seconds)} s"


def while_reading(what: str) -> Callable[[float], str]:
    """The sign while a review has found nothing yet."""
    return partial(_reading, what)


def waiting(ahead: int) -> Callable[[float], str]:
    """The sign while all places at Kimi are taken, and as soon as none is ahead any more."""
    return partial(_queued, ahead) if ahead else thinking


def history_in_part(count: int, part: str) -> str:
    """Said when Slack has shown us only some of a thread; `part` is "first", "last" or ""."""
    which = f"the {part} {count}" if part else f"{count}"
    return f"I could read only {which} messages of this thread: Slack showed me no more just now."


def too_long_by(excess_tokens: int) -> str:
    """Said when one message alone is more than Kimi may read."""
    return (
        f"This message alone is too long for Kimi, by about {excess_tokens:,} tokens. "
        "Please leave out what does not matter, or ask about one part at a time."
    )


def closed_thread(channel: str, code: str) -> str:
    """Why there is no reply in the thread, for the asker alone, and what to do if that is known."""
    why = _CLOSED.get(code, f"Slack does not let me write there ({code}).")
    return f"I could not answer you in <#{channel}>: {why}"


def stopped(name: str) -> str:
    """What stands below an answer that somebody stopped; without a name where it is not known."""
    name = " ".join(name.split())[:60]
    return f"Stopped by {name}." if name else STOPPED


def code_so_far(lines: int) -> str:
    """What stands below long code while it grows and only its beginning is shown."""
    return f"… {lines} lines so far"


def code_title(number: int) -> str:
    """What the whole of long code is called in its thread."""
    return f"Code {number}"


def retrying(retry: Retry) -> str:
    """What the reply shows while a failed try waits to be made again."""
    reason = "Kimi is busy" if retry.error_name == Busy.name else "Kimi did not answer"
    return f"{reason}; retrying ({retry.attempt} of {retry.of})…"


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


def used_up(limit: Limit, day: date) -> str:
    """Why there is no answer on this day (UTC): the limit, and when it begins anew."""
    if limit.whose is Whose.PERSON:
        told = f"You have used your {limit.tokens:,} tokens for today"
    else:
        told = f"This workspace has used its {limit.tokens:,} tokens for today"
    return f"{told}, so I can't answer this now. The count starts again {_end_of(day)}."


def in_use(limit: Limit) -> str:
    """Why there is no answer just now: what runs may need all that is left."""
    if limit.whose is Whose.PERSON:
        return (
            f"My other answers to you may need the rest of your {limit.tokens:,} tokens for "
            "today. Please ask again when they are done."
        )
    return (
        f"The answers that I am writing may need the rest of this workspace's {limit.tokens:,} "
        "tokens for today. Please ask again in a minute."
    )


def nearly_used_up(limit: Limit, day: date) -> str:
    """The warning, once a day."""
    whose = "You have" if limit.whose is Whose.PERSON else "This workspace has"
    numbers = f"{limit.taken.used:,} of {limit.tokens:,} tokens for today"
    return f"{whose} used {numbers}. The count starts again {_end_of(day)}."


def reached_daily_limit(limit: Limit, day: date) -> str:
    """What stands below an answer that was allowed fewer tokens than it needed."""
    whose = "your" if limit.whose is Whose.PERSON else "this workspace's"
    return (
        f"The answer ends here: it has reached the end of {whose} {limit.tokens:,} tokens for "
        f"today. The count starts again {_end_of(day)}."
    )


def _end_of(day: date) -> str:
    """Midnight after the day (UTC), in the reader's own time zone where Slack shows it.

    https://docs.slack.dev/messaging/formatting-message-text#date-formatting
    """
    end = datetime.combine(day + timedelta(days=1), time(), UTC)
    shown = "{date_short_pretty} at {time}"
    return f"<!date^{int(end.timestamp())}^{shown}|at {end:%H:%M} UTC>"


def help_text(*, sent_to: str, retention_days: int) -> str:
    """What we can do, what is stored and for how long (0 is for ever), and where it is sent."""
    kept = f"for {retention_days} days" if retention_days else "until somebody deletes it"
    return _HELP.format(sent_to=sent_to, kept=kept)


def forgotten(messages: int) -> str:
    """The receipt for what was emptied."""
    if messages == 0:
        return "There is nothing left that I could forget of this thread."
    count = "1 message" if messages == 1 else f"{messages:,} messages"
    return f"Done: I have forgotten {count} of this thread. In Slack they are still there."


def app_limit(most: int) -> str:
    """What an app is told that asks too often, once an hour."""
    return f"I answer apps at most {most} times an hour in a thread. People can still ask me here."


def github_failed(error: GitHubError) -> str:
    """Why a change could not be read, and the way out: nothing is reviewed that was not read."""
    text = _GITHUB_FAILURES.get(type(error), _GITHUB_FAILURES[GitHubFault])
    if isinstance(error, AccessRefused) and error.needed:
        text = text.replace("refused me", f"refused me; it needs: {error.needed}")
    if isinstance(error, GitHubLimited) and error.retry_after_seconds is not None:
        minutes = max(1, math.ceil(error.retry_after_seconds / 60))
        text = text.replace("later", f"in {minutes} min")
    return f"{text} {PASTE_INSTEAD}"


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


def with_trace(text: str, trace_id: str) -> str:
    """Our words and, on a line of its own, the trace id."""
    return f"{text}\ntrace: {trace_id}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


_MOST_NAMES = 5


def _reading(what: str, elapsed_seconds: float) -> str:
    return what if elapsed_seconds < 5 else f"{what} {round(elapsed_seconds)} s"


def _queued(ahead: int, elapsed_seconds: float) -> str:
    sign = f"Queued, {ahead} ahead"
    return sign if elapsed_seconds < 5 else f"{sign}… {round(elapsed_seconds)} s"


_HELP = """\
Mention me in a channel or write to me directly, and I answer in the thread with Kimi. \
In a thread of mine, follow-ups need no mention where it is clear that they are for me.

Some words do something else when you say them to me alone:

- `summarise`: I sum up this thread.
- `stop`: I end the answer that I am writing.
- `mute`: in this thread I answer only who mentions me, until somebody says `unmute`.
- `forget`: I forget what was said in this thread.
- `help`: I say this.

A message that begins with `(aside)` is for the others: I read it, but don't answer it.

**What is stored and sent:** what is said in my threads is kept in this bot's database {kept}. \
When I am asked in a thread, what was said in it is sent to {sent_to}, and to nobody else."""

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
