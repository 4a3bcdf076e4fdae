"""What the bot itself says about a review: in its report, while it is made, and after it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

NO_PROBLEMS = "No problems found."
NONE_LEFT = "No problems left: what was found before is fixed or no problem here."
NO_FINDINGS = "A review in Kimi's own words."
PROBLEMS = "{count} found: {severities}."
NOTHING_READ = "There was nothing in it to review."
NOT_CERTAIN = "I can't verify this from what I was shown."
SUGGESTED = "Suggested:"
REMOVED = "{place} (removed)"
FIXED = "Fixed since the review before:"
MORE_FOUND = "_There is more; the most important of it will stand in the finished review._"
LEFT_OUT = "{count} less important left out."
SMALLER = "{remarks} left out."
NO_PROBLEM_HERE = "{count} left out: not a problem here, as somebody has said."
STANDS_ALREADY = "{count} left out: on the pull request already."
IN_WORDS = "Kimi did not write this as findings with places, so it is shown as it came:"
ALSO = "Kimi also wrote:"
READ = "Read {count} of {files}{hunks}."
READ_HUNKS = " ({read} of {of} hunks)"
READ_IN_PART = "In part: {files}."
PART_OF_FILE = "{file} ({read} of {of} hunks, the others: {reason})"
NOT_READ = "Not read: {files}."
NOT_TO_BE_HAD = "Not to be had: {files}."
ALSO_READ = "Also read: {files} ({count})."
LOCKS = "Look at the lock files yourself: {remarks}."
LOCK_ALONE = "{lock} changed without {manifest}"
LOCK_HOSTS = "{lock} has new addresses at {hosts}"
CUT = "Kimi came to its length limit before it was through: there may be more to find."
ONE_CHANGE = "I review one pull request at a time, and took the first."
OF_NOTHING = (
    "I see no code here to review. Paste a snippet or a diff into the message that asks me, attach "
    "a file or a patch, or name a pull request by its address on GitHub."
)

READING = "Reading {files}…"
READING_PART = "Reading part {part} of {of}: {files}…"
LOOKING = "Looking around in the repository…"
POSTING = "Posting to the pull request…"
STOPPED_TOO_LATE = "That was on its way when somebody stopped it."

GONE = "I have not kept the review that this is about. Ask me to review it again."
NOTED_NO_PROBLEM = (
    "Noted: finding {number}, {title}, is not a problem here. I won't bring it up again in this "
    "thread."
)
NOTED_PROBLEM = (
    "Noted: finding {number}, {title}, is a problem after all. It counts again in this thread."
)
ABOUT_FINDING = "About finding {number}: {title}"
PATCH = "What is suggested above, as a patch for `git apply`. Look at it before you apply it."
PATCH_OF_ONE = (
    "What is suggested for finding {number}, as a patch for `git apply`. Look at it before you "
    "apply it."
)
PATCH_EMPTY = "There is nothing left to patch: what I suggested is not a problem here."
PATCH_GONE = "I have not kept the patch for this review. Ask me to review it again."
PATCH_TITLE = "Patch"
POSTED_BY = "_Reviewed by Kimi, a language model: hold it against the code._"
POSTED_IN_PART = "_The rest is too long to stand here and was left out._"

EXPLAIN_FINDING = (
    "[Somebody wants to know more about this finding of your review above:]\n\n{finding}\n\n"
    "[Explain it to a colleague who does not see the problem yet: what happens and when, step by "
    "step, with values or an order of events that lead to it, what it costs, and how it is mended, "
    "in code where that helps. If it turns out to be no problem when you look again, say so "
    "plainly. Leave out the other findings.]"
)
"""What the model is told beside the thread when a finding is to be explained."""


def under_way(what: str) -> Callable[[float], str]:
    """The sign while that is being done; the seconds appear once they matter."""
    return partial(_under_way, what)


def posted(link: str, *, at_lines: int, in_text: int, standing: int) -> str:
    """What has been posted, how much of it stands where, and how much was not posted again."""
    places = [f"{counted(at_lines, 'comment')} at the lines"] if at_lines else []
    places += [f"{counted(in_text, 'finding')} in its text"] if in_text else []
    places += [STANDS_ALREADY.format(count=counted(standing, "finding"))[:-1]] if standing else []
    return f"Posted to {link}{': ' if places else ''}{', '.join(places)}."


def posted_already(link: str) -> str:
    """Said when the review was there before."""
    return f"This review is on {link} already, so I posted nothing more."


def no_such_finding(number: int, *, of: int) -> str:
    """Said when a finding is named that the review does not have, and how many it has."""
    return f"The review has no finding {number}: it has {of or 'none'}."


def counted(number: int, thing: str) -> str:
    """A number of things, in the singular where it is one."""
    return f"1 {thing}" if number == 1 else f"{number} {thing}s"


def _under_way(what: str, elapsed_seconds: float) -> str:
    return what if elapsed_seconds < 5 else f"{what} {round(elapsed_seconds)} s"
