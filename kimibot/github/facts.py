"""What GitHub says of a change and of the comments on it, checked and reduced to what is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from kimibot.errors import GitHubFault
from kimibot.review.changes import Anchor, FileDiff, Side

LONGEST_COMMENT = 1_000


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be reviewed, pinned to two commits.

    `full_name` is the repository's name as it is now. `old_sha` is what the new version is compared
    with: for a pull request where the branches parted, since its base moves on; it is "" for a
    first commit. `path` is where the API has it. `file_count` is 0 where GitHub does not say it.
    """

    full_name: str
    path: str
    old_sha: str
    new_sha: str
    title: str = ""
    description: str = ""
    number: int | None = None
    state: str = ""
    is_merged: bool = False
    file_count: int = 0
    with_token: bool = False


class Shape(BaseModel):
    """A piece of GitHub's JSON; what is not named is left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Repository(Shape):
    full_name: str


class End(Shape):
    """One of the two ends of a pull request. The repository is gone when a fork was deleted."""

    sha: str
    repo: Repository | None = None


class PullShape(Shape):
    title: str = ""
    body: str | None = None
    state: str = ""
    draft: bool = False
    merged: bool = False
    locked: bool = False
    base: End
    head: End
    changed_files: int = 0

    @property
    def state_word(self) -> str:
        return "merged" if self.merged else "draft" if self.draft else self.state


class CommitMessage(Shape):
    message: str = ""


class Parent(Shape):
    sha: str


class FileShape(Shape):
    """One of the files; `patch` is missing for what is no text, and for what is too large."""

    filename: str
    status: str = "modified"
    additions: int = 0
    deletions: int = 0
    changes: int = 0
    patch: str | None = None
    previous_filename: str = ""
    sha: str | None = None


class FilesShape(Shape):
    """What a commit and a comparison have in common."""

    files: tuple[FileShape, ...] = ()


class EntryShape(Shape):
    """What stands in a folder: a file, a link, a folder, or another repository."""

    path: str
    mode: str
    sha: str
    size: int = 0


class FolderShape(Shape):
    tree: tuple[EntryShape, ...] = ()


class CommitShape(FilesShape):
    sha: str
    commit: CommitMessage = CommitMessage()
    parents: tuple[Parent, ...] = ()


class ComparisonShape(FilesShape):
    merge_base_commit: Parent
    commits: tuple[CommitShape, ...] = ()


class Author(Shape):
    login: str = ""


class CommentShape(Shape):
    """A comment on a line; `line` is None where it belongs to an older version of the change."""

    id: int
    path: str = ""
    line: int | None = None
    side: str | None = None
    body: str | None = None
    user: Author | None = None
    in_reply_to_id: int | None = None
    pull_request_review_id: int | None = None
    subject_type: str = "line"

    @property
    def is_outdated(self) -> bool:
        return self.line is None and self.subject_type == "line"


class ReviewShape(Shape):
    """A review; one that is PENDING is shown to its author alone."""

    id: int
    body: str | None = None
    state: str = ""
    commit_id: str | None = None
    user: Author | None = None


FILES = TypeAdapter(tuple[FileShape, ...])
COMMENTS = TypeAdapter(tuple[CommentShape, ...])
REVIEWS = TypeAdapter(tuple[ReviewShape, ...])


@contextmanager
def as_faults() -> Iterator[None]:
    """Raises GitHubFault for what is not of the documented shape; pydantic's own words would show
    what is in it."""
    try:
        yield
    except ValidationError as error:
        kinds = sorted({str(one["type"]) for one in error.errors()})
        raise GitHubFault(f"unexpected JSON: {', '.join(kinds[:5])}", status=200) from None


def pull_change(
    pull: PullShape, number: int, merge_base: str, *, full_name: str, with_token: bool
) -> Change:
    return Change(
        full_name=full_name,
        path=f"/repos/{full_name}/pulls/{number}",
        old_sha=merge_base,
        new_sha=pull.head.sha,
        title=pull.title,
        description=pull.body or "",
        number=number,
        state=pull.state_word,
        is_merged=pull.merged,
        file_count=pull.changed_files,
        with_token=with_token,
    )


def commit_change(commit: CommitShape, *, full_name: str, with_token: bool) -> Change:
    title, _, description = commit.commit.message.partition("\n")
    return Change(
        full_name=full_name,
        path=f"/repos/{full_name}/commits/{commit.sha}",
        old_sha=commit.parents[0].sha if commit.parents else "",
        new_sha=commit.sha,
        title=title,
        description=description.strip(),
        with_token=with_token,
    )


def told(comments: Sequence[CommentShape]) -> str:
    """The comments as text, each thread together, for the model to read."""
    threads: dict[int, list[CommentShape]] = {}
    for comment in comments:
        threads.setdefault(comment.in_reply_to_id or comment.id, []).append(comment)
    return "\n".join(_told(comment, thread[0]) for thread in threads.values() for comment in thread)


def line_links(web_url: str, change: Change, files: Sequence[FileDiff]) -> Callable[[Anchor], str]:
    """Where a line of the change can be looked at, for as long as the commits are there. What was
    removed stands under the name that its file had then."""
    old_paths = {file.path: file.old_path for file in files}

    def link_of(anchor: Anchor) -> str:
        is_new, path = anchor.side is Side.NEW, anchor.path
        sha = change.new_sha if is_new else change.old_sha
        path = path if is_new else old_paths.get(path, path)
        return f"{web_url}/{change.full_name}/blob/{sha}/{quote(path)}#L{anchor.line}"

    return link_of


def _told(comment: CommentShape, first: CommentShape) -> str:
    place = f"{comment.path}:{comment.line}" if comment.line else comment.path
    name = comment.user.login if comment.user else "somebody"
    old = " (of an older version)" if comment.is_outdated else ""
    text = " ".join((comment.body or "").split())[:LONGEST_COMMENT]
    return f"{'  ' if comment is not first else ''}{place}{old}, {name}: {text}"
