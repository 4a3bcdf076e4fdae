"""What the model says in these tests: to each ask a text that is known by the ask's name."""

from __future__ import annotations

import json
import re

from kimibot.sandbox.kimi import Chunk, Heard, Plan, Refusal, Teller

LONG, SHORT = "long", "short"
"""An ask is named by one of these and a number: `long-3`."""

_NAME = re.compile(rf"\b(?:{LONG}|{SHORT})-\d+")
BUG, MENDED = "    return rows[len(rows)]", "    return rows[-1]"
"""What the model finds wrong with a change, and what it suggests."""

_PIECES = 30
_PIECE_SECONDS = 0.08


def script(heard: Heard, teller: Teller) -> Plan | Refusal:
    """The answer in some pieces; that to a long ask only at the second try."""
    if BUG in heard.question:
        return Plan((Chunk(content=_finding(), wait_seconds=_PIECE_SECONDS),))
    name = name_in(heard.question)
    if name.startswith(LONG) and heard.tries == 0:
        return teller.faults.named("server_fault")
    text = answer_to(name)
    pieces = _PIECES if name.startswith(LONG) else 3
    size = -(-len(text) // pieces)
    return Plan(
        tuple(
            Chunk(content=text[start : start + size], wait_seconds=_PIECE_SECONDS)
            for start in range(0, len(text), size)
        )
    )


def name_in(question: str) -> str:
    """The name of the ask that the model hears last."""
    names = _NAME.findall(question)
    return str(names[-1]) if names else ""


def answer_to(name: str) -> str:
    """A sentence or, for a long ask, prose and code of more than one part."""
    if name.startswith(SHORT):
        return f"Answer to {name}: it is as short as the ask."
    prose = [_paragraph(name, number) for number in range(40)]
    code = "\n".join(f"line_{number} = {number}" for number in range(60))
    half = len(prose) // 2
    fence = f"```python\n{code}\n```"
    return "\n\n".join([f"Answer to {name}:", *prose[:half], fence, *prose[half:], f"End {name}."])


def _finding() -> str:
    found = {"path": "src/rows.py", "line": 2, "quote": BUG, "severity": "critical"}
    said = {"title": "Reads behind the end", "why": "It always fails.", "suggestion": MENDED}
    return f"{json.dumps(found | said)}\n"


def _paragraph(name: str, number: int) -> str:
    words = " ".join(f"word{number}x{place}" for place in range(25))
    return f"Paragraph {number} of {name} says {words}."
