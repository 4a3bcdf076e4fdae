"""What the bot itself says of all but failures and reviews: signs, notes, labels, help."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import partial

from kimibot.allowance import Limit, Whose
from kimibot.answers import CUT_OFF, Retry
from kimibot.errors import Busy
from kimibot.turns import Kind
from kimibot.unseen import without_unseen

TRY_AGAIN = "try_again"
TRY_AGAIN_LABEL = "Try again"
SHOW_REASONING = "show_reasoning"
SHOW_REASONING_LABEL = "Show reasoning"
CONTINUE = "continue"
CONTINUE_LABEL = "Continue"
ANSWER_AGAIN = "answer_again"
ANSWER_AGAIN_LABEL = "Answer again"
SUGGEST_PATCH = "suggest_patch"
SUGGEST_PATCH_LABEL = "Suggest patch"
EXPLAIN = "explain"
EXPLAIN_LABEL = "Explain"
NOT_A_PROBLEM = "not_a_problem"
NOT_A_PROBLEM_LABEL = "Not a problem"
POST_REVIEW = "post_review"
POST_REVIEW_LABEL = "Post to the pull request"
STOP = "stop"
STOP_LABEL = "Stop"

HISTORY_UNREAD = "I could not read what was said here before, so I answered without it."
MENTION_ME = (
    "I don't hear what is said here without a mention: mention me for follow-ups. For the admin of "
    "this bot: the app is not subscribed to the messages of this channel, see `kimibot manifest`."
)
OLDER_PART_LEFT_OUT = "The older part of this thread was too long for Kimi and was left out."
PICTURES_REFUSED = "Kimi did not take the pictures, so I answered without them."
RESTARTING = "I am being restarted; continuing shortly."
TOO_OLD = "Sorry, I was not there when you asked this. Shall I answer it now?"
GIVEN_UP = "I was interrupted three times while I answered this. Please try again."
UNFORESEEN = "Something went wrong on my side. Please try again."
DECLINED = "Kimi declined to go on here."
REACHED_LIMIT = (
    "The answer reached its length limit and ends here. Press Continue if you need the rest."
)
STOPPED = "Stopped."
NOTHING_TO_STOP = "There is nothing to stop here."
NOT_YOURS_TO_STOP = "Only the person who asked, or who takes part in the thread, can stop this."
YOUR_ANSWER_IS_READY = "your answer is ready."
NO_ANSWER_YET = "I could not finish your answer: see above."
ASKED_ALREADY = "That message has its answer already, or will have it: look into its thread."
PICKED_ALREADY = (
    "Somebody has asked for that here before, or I was told to forget the review: look below."
)
NOTHING_TO_CONTINUE = "What I should go on with was deleted, or I was told to forget it."
NOTHING_TO_ANSWER = "I can't answer that message. Ask me about it in its thread."
QUESTION_EDITED = (
    "You have edited your question; my answer is to what it said before. Shall I answer it again?"
)
NOT_WRITTEN_YET = "I am still writing that. Choose it again when I am done."
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

QUOTED_CHARACTERS = 300


def about_ours(answer: str) -> str:
    """The same where it is asked about an answer of its own, which may not be the last one."""
    return (
        "[Somebody wants to know about your answer above that begins with the words below: explain "
        "what it says to somebody who can't follow it yet, and what should be done about it.]\n\n"
        f"{_beginning(answer)}"
    )


def review_ours(answer: str) -> str:
    """The same where its own answer, which has no code, is to be reviewed."""
    return (
        "[Somebody wants you to look critically over your answer above that begins with the words "
        "below: say plainly what in it is wrong, unsafe, unclear or missing, and what would be "
        f"better. If nothing is, say that.]\n\n{_beginning(answer)}"
    )


def _beginning(answer: str) -> str:
    return " ".join(answer[:QUOTED_CHARACTERS].split())


POST_REVIEW_TITLE = "Post this review?"
POST_REVIEW_YES = "Post it"
POST_REVIEW_NO = "Not now"
NOTHING_POSTED = "Nothing was posted."


def post_review(full_name: str, number: int) -> str:
    """What is asked before a review is posted."""
    return (
        f"It goes to {full_name}#{number} under my name on GitHub, for all who can see it there: "
        "the verdict, and what I found as comments at their lines."
    )


def reasoning_left_out(characters: int) -> str:
    """What stands below reasoning that is too long to be shown as a whole."""
    return f"{REASONING_IS_YOURS} The rest of it, {characters:,} characters, is left out."


def thinking(elapsed_seconds: float) -> str:
    """The sign of life before there is text; the seconds appear once they matter."""
    if elapsed_seconds < 5:
        return "Thinking…"
    return f"Thinking… {round(elapsed_seconds)} s"


def waiting(ahead: int) -> Callable[[float], str]:
    """The sign while all places at Kimi are taken, and as soon as none is ahead any more."""
    return partial(_queued, ahead) if ahead else thinking


def history_in_part(count: int, part: str) -> str:
    """Said when Slack has shown us only some of a thread; `part` is "first", "last" or ""."""
    which = f"the {part} {count}" if part else f"{count}"
    return f"I could read only {which} messages of this thread: Slack showed me no more just now."


def stopped(name: str) -> str:
    """What stands below an answer that somebody stopped; without a name where it is not known."""
    name = " ".join(without_unseen(name).split())[:60]
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


def help_text(*, sent_to: str, retention_days: int, posts_reviews: bool) -> str:
    """What we can do, what is stored and for how long (0 is for ever), and where it is sent."""
    kept = f"for {retention_days} days" if retention_days else "until somebody deletes it"
    told = _HELP.format(sent_to=sent_to, kept=kept)
    return told + _HELP_WITH_POSTING if posts_reviews else told


def forgotten(messages: int) -> str:
    """The receipt for what was emptied."""
    if messages == 0:
        return "There is nothing left that I could forget of this thread."
    count = "1 message" if messages == 1 else f"{messages:,} messages"
    return f"Done: I have forgotten {count} of this thread. In Slack they are still there."


def app_limit(most: int) -> str:
    """What an app is told that asks too often, once an hour."""
    return f"I answer apps at most {most} times an hour in a thread. People can still ask me here."


def with_trace(text: str, trace_id: str) -> str:
    """Our words and, on a line of its own, the trace id."""
    return f"{text}\ntrace: {trace_id}"


def _queued(ahead: int, elapsed_seconds: float) -> str:
    sign = f"Queued, {ahead} ahead"
    return sign if elapsed_seconds < 5 else f"{sign}… {round(elapsed_seconds)} s"


_HELP = """\
Mention me in a channel or write to me directly, and I answer in the thread with Kimi. \
In a thread of mine, follow-ups need no mention where it is clear that they are for me.

A message to me that begins with `review` has code reviewed: what is pasted or attached, or a pull \
request by its address on GitHub. Below it, **Explain** tells more about a finding, and what is \
**Not a problem** is not brought up again in the thread.

I read the files that you attach: text, code, PDF, and pictures where Kimi sees them. \
You can edit or delete your question, press **Stop**, and let me **Continue** what ended too \
early. *Ask Kimi about this* and *Review with Kimi* are in the menu of every message.

Some words do something else when you say them to me alone:

- `summarise`: I sum up this thread.
- `stop`: I end the answer that I am writing.
- `mute`: in this thread I answer only who mentions me, until somebody says `unmute`.
- `forget`: I forget what was said in this thread.
- `help`: I say this.

A message that begins with `(aside)` is for the others: I read it, but don't answer it.

**What is stored and sent:** what is said in my threads is kept in this bot's database {kept}. \
When I am asked in a thread, what was said in it is sent to {sent_to}, and to nobody else."""

_HELP_WITH_POSTING = """ \
Only a review may go to its pull request on GitHub too, when the one who asked for it has it \
posted."""
