"""Pure: what of a review stands on its pull request already, put there with other reviews of ours.

Nobody wants to read the same twice at a line, whoever in which thread has asked for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kimibot.github.drafting import head_in_text
from kimibot.github.facts import CommentShape
from kimibot.review import phrases
from kimibot.review.findings import are_titles_alike
from kimibot.review.postable import Postable, Remark
from kimibot.review.report import summed_up

_HEAD = re.compile(r"\*\*\w+: (?P<title>.*)\*\*")


def without_standing(
    review: Postable, comments: Sequence[CommentShape], bodies: Sequence[str]
) -> Postable:
    """The review without that; it says how much it is, and in our own words what is left: the
    verdict was on all of it. A comment that belongs to an older version of the change stands
    nowhere now."""
    left = tuple(one for one in review.remarks if not _stands(one, comments, bodies))
    count = len(review.remarks) - len(left)
    if not count:
        return review
    note = phrases.STANDS_ALREADY.format(count=phrases.counted(count, "finding"))
    return replace(
        review,
        verdict=summed_up([one.finding for one in left]) if left else review.verdict,
        coverage=f"{review.coverage} {note}",
        remarks=left,
        standing=count,
    )


def _stands(remark: Remark, comments: Sequence[CommentShape], bodies: Sequence[str]) -> bool:
    is_at_line = any(_says(one, remark) for one in comments)
    return is_at_line or any(head_in_text(remark) in body for body in bodies)


def _says(comment: CommentShape, remark: Remark) -> bool:
    finding = remark.finding
    place = (comment.path, comment.side, comment.line)
    head = _HEAD.match(comment.body or "")
    is_there = place == (finding.anchor.path, finding.anchor.side.value, finding.anchor.line)
    return is_there and head is not None and are_titles_alike(head["title"], finding.title)
