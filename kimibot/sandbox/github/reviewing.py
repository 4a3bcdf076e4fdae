"""Takes reviews, or refuses them as a whole where one comment does not stand within the diff.

The words of the refusals were observed; the rules are those of
https://docs.github.com/en/rest/pulls/reviews#create-a-review-for-a-pull-request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kimibot.sandbox.github.patches import ChangedFile, lines_of
from kimibot.sandbox.github.repositories import Json, LocalPull

LONGEST_BODY = 65_536
OUR_LOGIN = "kimibot-acme"
_STATES = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


class Unprocessable(Exception):
    """The review is refused, for this reason."""


def add_review(pull: LocalPull, asked: Mapping[str, Any], login: str = OUR_LOGIN) -> Json:
    """The review as it is kept. Raises Unprocessable, and keeps nothing then."""
    _check(pull, asked, login)
    review = _review(pull, asked, login)
    try:
        comments = [_checked(pull, comment) for comment in asked.get("comments") or []]
    except Unprocessable:
        if pull.keeps_refused_text:
            pull.reviews.append(review)
        raise
    pull.reviews.append(review)
    for comment in comments:
        pull.comments.append(_kept(pull, comment, review["id"], login))
    return review


def change_body(pull: LocalPull, number: int, asked: Mapping[str, Any]) -> Json:
    """The review with another text."""
    review = next(one for one in pull.reviews if one["id"] == number)
    review["body"] = asked["body"]
    return review


def _check(pull: LocalPull, asked: Mapping[str, Any], login: str) -> None:
    event, body = asked.get("event"), asked.get("body") or ""
    if event in ("COMMENT", "REQUEST_CHANGES") and not body:
        raise Unprocessable("body can't be blank")
    if len(body) > LONGEST_BODY:
        raise Unprocessable(f"body is too long (maximum is {LONGEST_BODY} characters)")
    if asked.get("commit_id", pull.head_sha) != pull.head_sha:
        raise Unprocessable("The commit is not part of the pull request")
    pending = [one for one in pull.reviews if one["state"] == "PENDING"]
    if any(one["user"]["login"] == login for one in pending):
        raise Unprocessable("User can only have one pending review per pull request")


def _review(pull: LocalPull, asked: Mapping[str, Any], login: str) -> Json:
    """One that waits has no time at which it was sent."""
    state = _STATES.get(str(asked.get("event")), "PENDING")
    sent = {} if state == "PENDING" else {"submitted_at": "2026-11-30T12:00:00Z"}
    return {
        "id": 1_000 + len(pull.reviews),
        "user": {"login": login},
        "body": asked.get("body") or "",
        "state": state,
        "commit_id": pull.head_sha,
    } | sent


def _checked(pull: LocalPull, comment: Mapping[str, Any]) -> Mapping[str, Any]:
    file = next((one for one in pull.files if one.path == comment.get("path")), None)
    if file is None:
        raise Unprocessable("Path could not be resolved")
    if not comment.get("body"):
        raise Unprocessable("body can't be blank")
    if len(comment["body"]) > LONGEST_BODY:
        raise Unprocessable(f"body is too long (maximum is {LONGEST_BODY} characters)")
    hunk = _hunk_of(file, comment.get("line"), comment.get("side", "RIGHT"))
    if hunk is None:
        raise Unprocessable("Line could not be resolved")
    start = comment.get("start_line")
    if start is not None:
        side = comment.get("start_side", comment.get("side", "RIGHT"))
        if _hunk_of(file, start, side) != hunk or start >= comment["line"]:
            raise Unprocessable("start line must be part of the same hunk as the line")
    return comment


def _hunk_of(file: ChangedFile, line: object, side: object) -> int | None:
    """An unchanged line stands on the right side only."""
    for hunk, number, changed_side in lines_of(file.hunks()):
        if (number, changed_side or "RIGHT") == (line, side):
            return hunk
    return None


def _kept(pull: LocalPull, comment: Mapping[str, Any], review_id: int, login: str) -> Json:
    return {
        "id": 5_000 + len(pull.comments),
        "pull_request_review_id": review_id,
        "user": {"login": login},
        "path": comment["path"],
        "line": comment["line"],
        "side": comment.get("side", "RIGHT"),
        "body": comment["body"],
        "subject_type": "line",
        "commit_id": pull.head_sha,
    }
