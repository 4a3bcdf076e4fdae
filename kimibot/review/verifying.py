"""Pure: holds what the model says against the code: a finding that can't be true is dropped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kimibot.review.anchors import Anchors
from kimibot.review.changes import Anchor, FileDiff, Side
from kimibot.review.findings import Dropped, Fault, Finding
from kimibot.review.numbered import name_of
from kimibot.review.said import FindingLine
from kimibot.review.selecting import Coverage, Look
from kimibot.review.symbols import named_in, words_of

_EXTENSIONS = (
    r"(?:py|pyi|jsx?|mjs|tsx?|go|rs|java|kts?|cc?|h|cpp|hpp|cs|rb|php|swift|scala|sh|sql|md|rst"
    r"|json|ya?ml|toml|cfg|ini|txt|html?|s?css|lock|mod|sum|proto|xml|gradle|vue|ex|exs|lua)"
)
_NAMED_FILE = re.compile(rf"(?<![\w:/.@-])((?:[\w.-]+/)*[\w-][\w.-]*\.{_EXTENSIONS})(?![\w/(.])")
_THINGS = r"(?:files?|modules?|imports?|tests?|definitions?|migrations?|dependency|dependencies)"
_GONE = (
    r"(?:missing|absent|not (?:\w+ )?(?:in|included|found|present|there|defined|imported|declared)"
    r"|undefined|lacking)"
)
_WITHIN = r"(?:[^.\n]|\.(?=\w)){0,80}"
_MISSING = re.compile(
    rf"\b{_THINGS}\b{_WITHIN}\b{_GONE}|\bmissing (?:\w+ )?{_THINGS}\b|\bno (?:\w+ )?tests?\b"
    r"|\b(?:never|not|nowhere) (?:\w+ )?(?:defined|imported|declared|called|used|tested)\b"
    r"|\bundefined (?:name|variable|function|symbol)|\bdoes(?:n't| not) exist|\bunused\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that was shown to the model in all passes, and what it can be held against."""

    anchors: Anchors
    words: frozenset[str]
    coverage: dict[str, Coverage]
    also_read: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, files: Sequence[FileDiff], coverage: Iterable[Coverage], texts: Iterable[str] = ()
    ) -> Evidence:
        """From the files of all passes, and from the other texts of the requests."""
        lines = (line.text for file in files for _, line in file.places())
        paths = (file.path for file in files)
        words = {word for text in (*lines, *paths, *texts) for word in words_of(text)}
        return cls(Anchors(files), frozenset(words), {one.file.path: one for one in coverage})

    def with_read(self, read: Mapping[str, str]) -> Evidence:
        """With what was looked at beside the change, by path: it proves names, but nothing can
        stand there."""
        words = frozenset(word for text in (*read, *read.values()) for word in words_of(text))
        return replace(self, words=self.words | words, also_read=self.also_read | frozenset(read))


def verify(said: FindingLine, evidence: Evidence) -> Finding | Dropped:
    """The finding at its line, or why it is none."""
    path = _path(said, evidence)
    if path is None:
        is_listed = said.path in evidence.coverage
        return Dropped(said, Fault.NOT_SHOWN if is_listed or said.path else Fault.NO_PLACE)
    anchor = evidence.anchors.find(said.quote, Anchor(path, said.side, said.line))
    if anchor is None:
        return Dropped(said, _why_nowhere(said, path, evidence))
    unknown = named_in(said.headline) - evidence.words
    if unknown and not named_in(said.headline) & evidence.words:
        return Dropped(said, Fault.INVENTED)
    if _contradicts(said, evidence):
        return Dropped(said, Fault.INVENTED)
    line = evidence.anchors.line_at(anchor)
    return Finding(
        anchor=anchor,
        severity=said.severity,
        title=said.headline,
        why=said.why if said.title else "",
        quote=line.text if line else said.quote,
        suggestion=said.suggestion,
        is_certain=not unknown and _can_be_seen(said, path, evidence),
    )


def _path(said: FindingLine, evidence: Evidence) -> str | None:
    """The file that is meant: its name may have been shortened, or have kept git's prefix."""
    paths = evidence.anchors.paths

    def has_quote(path: str) -> bool:
        return bool(evidence.anchors.places_of(said.quote, path, said.side))

    for name in (said.path, re.sub(r"^(?:[ab]/|\./|/)", "", said.path)):
        if name in paths:
            return name
        if alike := [path for path in paths if _as_read(path) == _as_read(name)]:
            return next(filter(has_quote, alike), alike[0])
    ending = [path for path in paths if said.path and path.endswith(f"/{said.path}")]
    if len(ending) == 1:
        return ending[0]
    if said.path in evidence.coverage:
        return None
    places = list(filter(has_quote, paths))
    return places[0] if len(places) == 1 else None


def _as_read(path: str) -> str:
    """A name as the model gets and gives it: some signs are not shown, and blanks don't count."""
    return " ".join(name_of(path).split())


def _why_nowhere(said: FindingLine, path: str, evidence: Evidence) -> Fault:
    is_old = said.side is Side.NEW and evidence.anchors.places_of(said.quote, path, Side.OLD)
    return Fault.REMOVED if is_old else Fault.NO_PLACE


def _contradicts(said: FindingLine, evidence: Evidence) -> bool:
    """It says that a file is missing which is a part of the change."""
    if not re.search(rf"\bfiles?\b{_WITHIN}\b{_GONE}|\bmissing (?:\w+ )?file", said.headline):
        return False
    return any(name in evidence.coverage for name in _files_in(said.headline))


def _can_be_seen(said: FindingLine, path: str, evidence: Evidence) -> bool:
    """Whether all that it rests on was shown."""
    text = f"{said.headline}\n{said.why}"
    proposed = set(words_of(said.suggestion))
    if named_in(said.why) - evidence.words - proposed:
        return False
    if any(not _is_shown(name, evidence) for name in _files_in(text)):
        return False
    return not _MISSING.search(text) or _is_seen_whole(path, evidence)


def _is_shown(name: str, evidence: Evidence) -> bool:
    if any(path == name or path.endswith(f"/{name}") for path in evidence.also_read):
        return True
    found = [path for path in evidence.coverage if path == name or path.endswith(f"/{name}")]
    return any(evidence.coverage[path].look is not Look.SKIPPED for path in found)


def _is_seen_whole(path: str, evidence: Evidence) -> bool:
    one = evidence.coverage.get(path)
    return one is not None and one.look is Look.WHOLE and one.file.is_all_there


def _files_in(text: str) -> list[str]:
    return _NAMED_FILE.findall(text)
