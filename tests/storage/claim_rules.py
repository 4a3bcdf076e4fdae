"""What must be true of the rows and of what the processes believe, at every step and at rest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kimibot.conversation import Speaker
from kimibot.turns import Outcome
from tests.storage.replica import Replica, shown_under

Row = Mapping[str, Any]
Rows = Mapping[str, list[Row]]
"""The rows of each table as they are committed."""


def broken_by_a_step(before: Rows, after: Rows) -> Iterator[str]:
    """What one step has done to the rows that it must not do."""
    turns = {turn["id"]: turn for turn in after["turns"]}
    for old in before["turns"]:
        new = turns[old["id"]]
        if _is_over(old):
            yield from _broken_after_the_end(old, new)
        else:
            yield from _broken_while_open(old, new)
    for was, thread in zip(before["threads"], after["threads"], strict=False):
        if thread["fence"] < was["fence"]:
            yield "the fence of a thread has fallen"
        if thread["claim_owner"] and not was["claim_owner"] and thread["fence"] == was["fence"]:
            yield "a claim has the fence of the one before it"


def broken_beliefs(replicas: Sequence[Replica], rows: Rows, now: float) -> Iterator[str]:
    """Who is sure to own the thread is its only owner."""
    sure = [replica for replica in replicas if replica.held and now < replica.sure_until]
    if len(sure) > 1:
        yield f"{' and '.join(replica.name for replica in sure)} both own the thread"
    for replica in sure:
        [thread] = rows["threads"]
        held = replica.held and replica.held.fence
        if (thread["claim_owner"], thread["fence"]) != (replica.name, held):
            yield f"{replica.name} believes to own the thread, but its row says otherwise"


def broken_stops(rows: Rows) -> Iterator[str]:
    """What still runs knows of each stop that was said after it, whichever came first."""
    for stop in rows["stops"]:
        for turn in rows["turns"]:
            is_meant = turn["state"] == "running" and turn["ts"] < stop["ts"]
            if is_meant and turn["stop_requested"] is None:
                yield f"{turn['id']} does not know that it is to stop"


def broken_at_rest(replicas: Sequence[Replica], rows: Rows) -> Iterator[str]:
    """Each ask has ended, as often as it was queued, and nobody has the thread."""
    ended = Counter(turn_id for replica in replicas for turn_id in replica.ended)
    queued = Counter(turn_id for replica in replicas for turn_id in replica.queued_again)
    for turn in rows["turns"]:
        name = turn["id"]
        if not _is_over(turn):
            yield f"{name} is {turn['state']}, and nobody looks"
        elif ended[name] > 1 + queued[name]:
            yield f"{name} was ended {ended[name]} times"
        elif ended[name] < 1 + queued[name]:
            yield f"{name} has ended, and nobody has done it"
    if len({(turn["ts"], turn["pressed"]) for turn in rows["turns"]}) < len(rows["turns"]):
        yield "one ask has two turns"
    if any(thread["claim_owner"] for thread in rows["threads"]):
        yield "the thread has an owner, and nothing is left to do"
    yield from _broken_answers(rows)


def _broken_after_the_end(old: Row, new: Row) -> Iterator[str]:
    if new == old:
        return
    if new["state"] != "queued" or old["outcome"] not in (Outcome.FAILED, Outcome.ANSWERED):
        yield f"{old['id']} has changed after its end"


def _broken_while_open(old: Row, new: Row) -> Iterator[str]:
    name = old["id"]
    own = shown_under(old["fence"] or 0)
    added = set(json.loads(new["reply_ts"])) - set(json.loads(old["reply_ts"]))
    if added - {own}:
        yield f"{name} has got a part from somebody who does not own it"
    if not _is_over(new):
        return
    if old["state"] != "running":
        yield f"{name} has ended without having run"
    elif new["outcome"] != Outcome.MERGED and own not in json.loads(new["reply_ts"]):
        yield f"{name} was ended by somebody who does not own it"


def _broken_answers(rows: Rows) -> Iterator[str]:
    """Our messages are those of the turns that were answered, and no others."""
    kept = {row["turn_id"] for row in rows["messages"] if row["speaker"] == Speaker.US}
    answered = {turn["id"] for turn in rows["turns"] if turn["outcome"] == Outcome.ANSWERED}
    if kept != answered:
        yield f"answers are kept of {sorted(kept)}, and answered were {sorted(answered)}"


def _is_over(turn: Row) -> bool:
    return turn["ended_at"] is not None
