"""Pure: which repositories may be read or written to, and whether with our token.

It is decided before any request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kimibot.errors import RepositoryRefused

_PATTERN = re.compile(r"[A-Za-z0-9*?_-]+/[A-Za-z0-9*?._-]+")


def read_patterns(text: str) -> tuple[str, ...]:
    """The patterns `owner/name` of a setting, between blanks or commas. Raises ValueError."""
    patterns = re.split(r"[\s,]+", text.strip()) if text.strip() else []
    wrong = [pattern for pattern in patterns if not _PATTERN.fullmatch(pattern)]
    if wrong:
        raise ValueError(f"should be patterns such as acme/*, found {wrong[0][:80]!r}")
    return tuple(pattern.lower() for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Access:
    """What may be read. Without patterns that is what is public, whoever asks.

    `posts` says that reviews may be posted where the token may be sent.
    """

    patterns: Sequence[str] = ()
    has_token: bool = False
    posts: bool = False

    def with_token(self, full_name: str, *, is_guest: bool) -> bool:
        """Whether the token may be sent for this repository: without it only public ones answer.

        A guest gets what everybody could read. Raises RepositoryRefused where the patterns leave
        the repository out.
        """
        name = full_name.lower()
        if self.patterns and not any(fnmatchcase(name, pattern) for pattern in self.patterns):
            raise RepositoryRefused("no pattern of KIMIBOT_GITHUB_REPOS allows it")
        return self.has_token and bool(self.patterns) and not is_guest

    def may_post(self, full_name: str, *, is_guest: bool) -> bool:
        """Whether a review may be posted there for this person. Raises RepositoryRefused as
        `with_token` does."""
        return self.posts and self.with_token(full_name, is_guest=is_guest)
