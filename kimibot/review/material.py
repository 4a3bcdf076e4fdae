"""The words for what a review is made of, wherever that comes from. Frozen, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from kimibot.review.changes import FileDiff, PullRequest
from kimibot.review.prompts import Subject
from kimibot.review.report import LinkOf, no_link
from kimibot.review.repository import Repository


@dataclass(frozen=True, slots=True)
class Material:
    """The files, and what is known beside them.

    `attributes` is the `.gitattributes` from before the change, `missing_files` how many files
    could not be had, and `link_of` says where a line can be looked at. `pull` is there where the
    review may be posted to it, `repository` where Kimi may look at more of it.
    """

    files: tuple[FileDiff, ...]
    subject: Subject = field(default_factory=Subject)
    attributes: str = ""
    missing_files: int = 0
    link_of: LinkOf = no_link
    pull: PullRequest | None = None
    repository: Repository | None = None
