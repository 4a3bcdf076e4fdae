"""Pure: a review as GitHub is to show it: one text, and comments at lines of the diff.

https://docs.github.com/en/rest/pulls/reviews#create-a-review-for-a-pull-request
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kimibot.github.markdown import Piece, fence, pieces, quiet, within
from kimibot.review import phrases
from kimibot.review.postable import Postable, Remark
from kimibot.review.report import SEVERITY_WORDS, code_span, language, on_its_side
from kimibot.unseen import spelled_out

MOST_COMMENTS = 30
MOST_COMMENT_BYTES = 8_000
MOST_BODY_BYTES = 60_000
"""GitHub refuses texts of more than 65,536 characters, and with one of them the whole review."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What is sent; `comments` are in the words of the API."""

    head_sha: str
    body: str
    comments: tuple[dict[str, Any], ...] = ()

    @property
    def payload(self) -> dict[str, Any]:
        """The body of the request. With any other event it would approve, or wait as a draft."""
        said = {"commit_id": self.head_sha, "event": "COMMENT", "body": self.body}
        return said | ({"comments": list(self.comments)} if self.comments else {})


def drafted(review: Postable) -> Draft:
    """What has a line in the diff stands there, and the rest in the text."""
    at_lines = [one for one in review.remarks if one.is_in_diff][:MOST_COMMENTS]
    rest = [one for one in review.remarks if one not in at_lines]
    return Draft(review.head_sha, _body(review, rest), tuple(map(_comment, at_lines)))


def in_one_text(review: Postable) -> Draft:
    """The same with all that was found in the text."""
    return Draft(review.head_sha, _body(review, review.remarks))


def head_in_text(remark: Remark) -> str:
    """The line with which it begins where it does not stand at its own."""
    anchor = remark.finding.anchor
    place = code_span(quiet(spelled_out(f"{anchor.path}:{anchor.line}")))
    return f"{on_its_side(anchor, place)} · {_head(remark)}"


def marker(review: Postable) -> str:
    """By which a review of ours is known again; readers don't see it."""
    place = f"pr={review.number} head={review.head_sha} run={review.run}"
    return f"<!-- kimibot:review v1 {place} -->"


def _body(review: Postable, remarks: Sequence[Remark]) -> str:
    end = f"\n\n{phrases.POSTED_BY}\n\n{marker(review)}"
    found = [
        Piece(f"**{quiet(review.verdict)}**"),
        Piece(quiet(review.coverage)),
        *(piece for one in remarks for piece in _in_text(one)),
    ]
    room = MOST_BODY_BYTES - len(end.encode())
    return within(room, found, phrases.POSTED_IN_PART) + end


def _in_text(remark: Remark) -> Iterator[Piece]:
    finding = remark.finding
    path = finding.anchor.path
    yield Piece(head_in_text(remark))
    if finding.quote.strip():
        yield fence(finding.quote, language(path))
    yield from _why(remark)
    if finding.suggestion.strip():
        yield Piece(phrases.SUGGESTED)
        yield fence(finding.suggestion, language(path))


def _comment(remark: Remark) -> dict[str, Any]:
    path, side, line = remark.finding.anchor
    found = [Piece(_head(remark)), *_why(remark), *_suggestion(remark)]
    body = within(MOST_COMMENT_BYTES, found, phrases.POSTED_IN_PART)
    return {"path": path, "line": line, "side": side.value, "body": body}


def _suggestion(remark: Remark) -> Iterator[Piece]:
    """One that can be applied at a press replaces exactly the line that it stands at."""
    finding = remark.finding
    if remark.replacement:
        yield fence(remark.replacement, "suggestion")
    elif finding.suggestion.strip():
        yield Piece(phrases.SUGGESTED)
        yield fence(finding.suggestion, language(finding.anchor.path))


def _head(remark: Remark) -> str:
    finding = remark.finding
    title = quiet(finding.title.rstrip(".").replace("**", ""))
    return f"**{SEVERITY_WORDS[finding.severity]}: {title}**"


def _why(remark: Remark) -> Iterator[Piece]:
    yield from pieces(remark.finding.why)
    if not remark.finding.is_certain:
        yield Piece(f"_{phrases.NOT_CERTAIN}_")
