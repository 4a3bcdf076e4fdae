"""A small reading of Slack's `markdown` block that shares nothing with the code it judges."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

PING = re.compile(r"<[!@#]")


@dataclass
class Parsed:
    """What stands in closed fences at the top level, and all that stands elsewhere."""

    fences: list[str] = field(default_factory=list)
    elsewhere: str = ""
    is_open: bool = False


def parse(body: str) -> Parsed:
    """Line by line: up to three spaces and a run of backticks or tildes open a fence."""
    parsed = Parsed()
    mark, content = "", ""
    for line in re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", body):
        run = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line, re.DOTALL)
        if mark:
            if run and run[1][0] == mark[0] and len(run[1]) >= len(mark) and not run[2].strip():
                parsed.fences.append(content)
                mark = ""
            else:
                content += line
        elif run and not (run[1][0] == "`" and "`" in run[2]):
            mark, content = run[1], ""
        else:
            parsed.elsewhere += line
    if mark:
        parsed.elsewhere += content
        parsed.is_open = True
    return parsed


def can_ping(body: str) -> bool:
    """Whether anything outside closed fences looks like a mention."""
    parsed = parse(body)
    return parsed.is_open or PING.search(parsed.elsewhere) is not None
