"""A review is carried out beside everything else that the bot does."""

from __future__ import annotations

import threading
from dataclasses import replace

from kimibot.review.changes import Anchor
from kimibot.review.diffs import parse
from kimibot.review.material import Material
from kimibot.turns import Kind, Outcome
from tests.fakes import Submissions
from tests.test_answering import CLAIM, ROOT, TURN, Stage, said

DIFF = b"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 0\n+x = 1\n"
FINDING = '{"path": "a.py", "line": 1, "quote": "x = 1", "title": "Wrong", "why": "It is."}\n'


async def test_nobody_else_waits_while_a_report_is_made() -> None:
    """Lock files of a large change take seconds to be looked through."""
    where: list[threading.Thread] = []

    def link_of(_: Anchor) -> str:
        where.append(threading.current_thread())
        return ""

    material = Material(parse(DIFF).files, link_of=link_of)
    stage = Stage(said(FINDING), submissions=Submissions(material))
    stage.memory.rows = [replace(ROOT, text="review https://github.com/acme/shop/pull/7")]

    ending = await stage.answer(replace(CLAIM, turns=(replace(TURN, kind=Kind.REVIEW),)))

    assert ending.outcome is Outcome.ANSWERED
    assert where[-1] is not threading.main_thread()
