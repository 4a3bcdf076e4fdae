"""Pure: a review as Markdown, while it grows and when it is finished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from kimibot.fencing import fence_mark, open_mark, span_mark
from kimibot.review import phrases
from kimibot.review.changes import Anchor, FileDiff, Side
from kimibot.review.findings import MOST_FINDINGS, Chosen, Finding
from kimibot.review.locks import LockRemark, lock_remarks
from kimibot.review.said import Severity
from kimibot.review.selecting import Coverage, Look
from kimibot.unseen import spelled_out, without_unseen

LinkOf = Callable[[Anchor], str]
"""Where a line can be looked at, or ""."""

NAMED_FILES = 5
_LONGEST_PATH = 200
SEVERITY_WORDS = {
    Severity.CRITICAL: "Critical",
    Severity.MAJOR: "Major",
    Severity.MINOR: "Minor",
    Severity.NIT: "Nit",
}
_LANGUAGES = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".jsx": "jsx",
    ".ts": "typescript", ".tsx": "tsx", ".go": "go", ".rs": "rust", ".java": "java",
    ".kt": "kotlin", ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp",
    ".cs": "csharp", ".rb": "ruby", ".php": "php", ".swift": "swift", ".sh": "bash",
    ".sql": "sql", ".json": "json", ".yml": "yaml", ".yaml": "yaml", ".toml": "toml",
    ".patch": "diff", ".html": "html", ".css": "css", ".md": "markdown", ".scala": "scala",
}  # fmt: skip


def no_link(_anchor: Anchor) -> str:
    """For code that nobody can open."""
    return ""


@dataclass(frozen=True, slots=True)
class Review:
    """What a finished review says.

    `verdict` is the model's on exactly what is shown or counted here, "" where it gave none on
    that, `prose` what Kimi wrote that was no finding, `missing_files` how many files could not be
    had, `fixed` what an earlier review has found and this one not any more, `no_problems` how many
    findings are not shown because people here have said that they are none, and `also_read` which
    files were looked at beside the change.
    """

    chosen: Chosen
    coverage: Sequence[Coverage]
    verdict: str = ""
    prose: str = ""
    missing_files: int = 0
    fixed: Sequence[Finding] = ()
    no_problems: int = 0
    also_read: Sequence[str] = ()


def reading(files: Sequence[FileDiff], part: int, of: int) -> str:
    """The sign while a pass is under way: what is being read."""
    named = _listed(file.path for file in files)
    if of == 1:
        return phrases.READING.format(files=named)
    return phrases.READING_PART.format(part=part, of=of, files=named)


def growing(findings: Sequence[Finding], link_of: LinkOf = no_link) -> str:
    """The findings so far, in the order in which they came: more of them only add to it.

    There are no more of them than twice as many as a finished review has.
    """
    shown = findings[: 2 * MOST_FINDINGS]
    told = [_finding(number, one, link_of) for number, one in enumerate(shown, 1)]
    return "\n\n".join([*told, *([phrases.MORE_FOUND] if len(findings) > len(shown) else [])])


def finished(review: Review, link_of: LinkOf = no_link) -> str:
    """Verdict, coverage, and the findings, the worst first, each with its number."""
    findings = review.chosen.findings
    return "\n\n".join(
        [
            f"**{headline(review)}**",
            _read(review),
            *[_finding(number, one, link_of) for number, one in enumerate(findings, 1)],
            *_left_out(review),
            *_fixed(review.fixed),
            *_prose(review),
        ]
    )


def _read(review: Review) -> str:
    shown = covered(review.coverage, review.missing_files, review.chosen.below_floor)
    if not review.also_read:
        return shown
    count = phrases.counted(len(review.also_read), "file")
    also = phrases.ALSO_READ.format(files=_listed(review.also_read), count=count)
    return f"{shown} {also}"


def looking_at(paths: Sequence[str]) -> str:
    """The sign while something beside the change is read."""
    return phrases.READING.format(files=_listed(paths))


def covered(coverage: Sequence[Coverage], missing_files: int = 0, smaller: int = 0) -> str:
    """How much was read, and of the rest each file or at least how many, with the reason; and how
    many `smaller` things were found that are not worth their place."""
    missing = phrases.counted(missing_files, "file")
    sentences = [
        _read_files(coverage, missing_files),
        _read_in_part(coverage),
        _not_read(coverage),
        phrases.NOT_TO_BE_HAD.format(files=missing) if missing_files else "",
        phrases.SMALLER.format(remarks=phrases.counted(smaller, "smaller remark"))
        if smaller
        else "",
    ]
    return "\n".join(
        [" ".join(filter(None, sentences)), *_locks([one.file for one in coverage], missing_files)]
    )


def headline(review: Review) -> str:
    """The verdict in a line, or how much was found where there is none."""
    if review.verdict:
        return " ".join(review.verdict.replace("**", "").split())
    if all(one.look is Look.SKIPPED for one in review.coverage):
        return phrases.NOTHING_READ
    if review.chosen.findings:
        return summed_up(review.chosen.findings)
    if review.prose.strip():
        return phrases.NO_FINDINGS
    return phrases.NONE_LEFT if review.no_problems or review.fixed else phrases.NO_PROBLEMS


def summed_up(findings: Sequence[Finding]) -> str:
    """How many findings there are, and how bad they are."""
    found = Counter(one.severity for one in findings)
    severities = ", ".join(f"{found[one]} {SEVERITY_WORDS[one].lower()}" for one in sorted(found))
    count = phrases.counted(found.total(), "problem")
    return phrases.PROBLEMS.format(count=count, severities=severities)


def _finding(number: int, finding: Finding, link_of: LinkOf) -> str:
    """Bold words instead of headings, of which a message of Slack's holds only a few."""
    title = finding.title.rstrip(".").replace("**", "")
    state = f" · {finding.state}" if finding.state else ""
    head = f"**{number}. {SEVERITY_WORDS[finding.severity]}: {title}**"
    pieces = [f"{head} · {_place(finding, link_of)}{state}"]
    if finding.quote.strip():
        pieces.append(fenced(finding.quote, finding.anchor.path))
    pieces += [_closed(finding.why)] if finding.why else []
    pieces += [] if finding.is_certain else [f"_{phrases.NOT_CERTAIN}_"]
    if finding.suggestion.strip():
        pieces += [phrases.SUGGESTED, fenced(finding.suggestion, finding.anchor.path)]
    return "\n".join(pieces)


def _closed(text: str) -> str:
    """With an end for a fence that has none, so that what follows is not taken for code."""
    mark = open_mark(text)
    return f"{text}\n{mark}" if mark else text


def _place(finding: Finding, link_of: LinkOf) -> str:
    anchor = finding.anchor
    place = inline_code(f"{anchor.path}:{anchor.line}")
    link = link_of(anchor)
    shown = f"[{place}]({link})" if link else place
    return on_its_side(anchor, shown)


def on_its_side(anchor: Anchor, place: str) -> str:
    """A place as it is said; a line that the change removes has its number from before."""
    return phrases.REMOVED.format(place=place) if anchor.side is Side.OLD else place


def _left_out(review: Review) -> list[str]:
    beyond, no_problems = review.chosen.beyond_most, review.no_problems
    count = phrases.counted(no_problems, "finding")
    return [
        *([phrases.LEFT_OUT.format(count=beyond)] if beyond else []),
        *([phrases.NO_PROBLEM_HERE.format(count=count)] if no_problems else []),
    ]


def _fixed(fixed: Sequence[Finding]) -> list[str]:
    lines = [
        f"- {one.title} ({inline_code(f'{one.anchor.path}:{one.anchor.line}')})" for one in fixed
    ]
    return ["\n".join([phrases.FIXED, *lines])] if lines else []


def _prose(review: Review) -> list[str]:
    prose = review.prose.strip("\n")
    if not prose.strip():
        return []
    has_findings = bool(review.chosen.findings or review.verdict)
    return [phrases.ALSO if has_findings else phrases.IN_WORDS, prose]


def _locks(files: Sequence[FileDiff], missing_files: int) -> list[str]:
    """In one line, what nobody would see because it was not read."""
    found = lock_remarks(files, is_complete=not missing_files)
    said = [one for remark in found for one in _of_lock(remark)]
    more = len(said) - NAMED_FILES
    listed = "; ".join([*said[:NAMED_FILES], *([f"and {more} more"] if more > 0 else [])])
    return [phrases.LOCKS.format(remarks=listed)] if said else []


def _of_lock(remark: LockRemark) -> Iterator[str]:
    lock = inline_code(remark.path)
    if remark.manifest:
        manifest = inline_code(remark.manifest)
        yield phrases.LOCK_ALONE.format(lock=lock, manifest=manifest)
    if remark.hosts:
        yield phrases.LOCK_HOSTS.format(lock=lock, hosts=_listed(remark.hosts))


def _read_files(coverage: Sequence[Coverage], missing_files: int) -> str:
    """The hunks are counted where a file has more than one."""
    count = sum(one.look is not Look.SKIPPED for one in coverage)
    files = phrases.counted(len(coverage) + missing_files, "file")
    of, read = sum(one.hunks for one in coverage), sum(one.read_hunks for one in coverage)
    hunks = phrases.READ_HUNKS.format(read=read, of=of) if of > len(coverage) else ""
    return phrases.READ.format(count=count, files=files, hunks=hunks)


def _read_in_part(coverage: Sequence[Coverage]) -> str:
    files = "; ".join(
        phrases.PART_OF_FILE.format(
            file=inline_code(one.file.path), read=one.read_hunks, of=one.hunks, reason=one.reason
        )
        for one in coverage
        if one.look is Look.PARTLY
    )
    return phrases.READ_IN_PART.format(files=files) if files else ""


def _not_read(coverage: Sequence[Coverage]) -> str:
    paths: dict[str, list[str]] = {}
    for one in coverage:
        if one.look is Look.SKIPPED:
            paths.setdefault(one.reason, []).append(one.file.path)
    files = "; ".join(f"{_listed(found)} ({reason})" for reason, found in paths.items())
    return phrases.NOT_READ.format(files=files) if files else ""


def _listed(paths: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(paths))
    named = ", ".join(map(inline_code, distinct[:NAMED_FILES]))
    more = len(distinct) - NAMED_FILES
    return f"{named} and {more} more" if more > 0 else named


def fenced(code: str, path: str) -> str:
    """Code in a fence that nothing in it can close, with the language of its file."""
    mark = fence_mark(code)
    return f"{mark}{language(path)}\n{code}\n{mark}"


def language(path: str) -> str:
    """What a fence for the code of such a file begins with, or ""."""
    return _LANGUAGES.get(PurePosixPath(path).suffix, "")


def title_alone(finding: Finding) -> str:
    """What is wrong, as it can stand in a sentence of ours: nothing in it is drawn or pings."""
    return code_span(" ".join(without_unseen(finding.title.replace("`", "")).split()))


def inline_code(text: str) -> str:
    """On one line, as it can be told from any other, between more backticks than are in it. Of a
    path the end tells most."""
    line = " ".join(spelled_out(text).split())
    return code_span(line if len(line) <= _LONGEST_PATH else f"…{line[1 - _LONGEST_PATH :]}")


def code_span(line: str) -> str:
    mark = span_mark(line)
    space = " " if "`" in line else ""
    return f"{mark}{space}{line}{space}{mark}"
