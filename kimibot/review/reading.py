"""Pure: reads what the model writes while it writes it: findings, a verdict, and other words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from kimibot.review.findings import Dropped, Finding, are_alike
from kimibot.review.object_lines import ObjectLines, Piece
from kimibot.review.said import read_finding, read_judgement, read_verdict
from kimibot.review.verifying import Evidence, verify


@dataclass(slots=True)
class Heard:
    """What has come of a review so far; `prose` is all that was no finding, as it was written.

    `judged` says of findings of an earlier review, by their numbers, whether they are fixed: where
    one pass says that one is not, that counts. What is like one of the `no_problems` is no finding:
    which of them came up is in `left_out`.
    """

    findings: list[Finding] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    judged: dict[int, bool] = field(default_factory=dict)
    prose: str = ""
    no_problems: Sequence[Finding] = ()
    left_out: set[int] = field(default_factory=set)


class ReviewReading:
    """One for each pass: give it the content as it comes, and look at what is `heard`.

    Several passes may share what is heard.
    """

    def __init__(self, evidence: Evidence, heard: Heard | None = None) -> None:
        self.heard = heard or Heard()
        self._evidence = evidence
        self._lines = ObjectLines()

    def feed(self, content: str) -> bool:
        """Whether there is anything new to show."""
        return self._take(self._lines.feed(content))

    def end(self) -> bool:
        """The same for what is left, once nothing more comes."""
        return self._take(self._lines.end())

    def _take(self, pieces: list[Piece]) -> bool:
        for piece in pieces:
            if isinstance(piece, str):
                self._keep(piece)
            elif judgement := read_judgement(piece):
                number, is_fixed = judgement
                self.heard.judged[number] = is_fixed and self.heard.judged.get(number, True)
            elif verdict := read_verdict(piece):
                self.heard.verdicts.append(verdict)
            elif (said := read_finding(piece)) is None:
                self._keep(json.dumps(piece, ensure_ascii=False))
            else:
                self._judge(verify(said, self._evidence))
        return bool(pieces)

    def _keep(self, line: str) -> None:
        self.heard.prose = f"{self.heard.prose}{line}\n" if self.heard.prose or line.strip() else ""

    def _judge(self, judged: Finding | Dropped) -> None:
        if isinstance(judged, Dropped):
            self.heard.dropped.append(judged)
        elif alike := [n for n, one in enumerate(self.heard.no_problems) if are_alike(one, judged)]:
            self.heard.left_out.add(alike[0])
        else:
            self.heard.findings.append(judged)
