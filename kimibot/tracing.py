"""Tells the life of one turn, line by line: what `kimibot trace` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from kimibot.answers import Usage
from kimibot.errors import StorageError
from kimibot.slack.permalink import read_permalink
from kimibot.storage import Database, pending
from kimibot.storage.trace import (
    MOST_TURNS,
    TracedAnswer,
    TracedTurn,
    turns_by_id,
    turns_by_message,
)
from kimibot.turns import Outcome

_LABEL_WIDTH = 15


async def trace(database: Database, sought: str, say: Callable[[str], None]) -> bool:
    """Say what is known of the turns with this id or link; False if there are none.

    It only reads, and not a word of what was said is told. Raises StorageError when the database
    can't be read.
    """
    if await pending(database):
        raise StorageError("the tables are not those of this version: kimibot db upgrade")
    found = await _find(database, sought)
    for turn in found:
        for line in lines(turn):
            say(line)
        say("")
    if len(found) == MOST_TURNS:
        say(f"There may be more: these are the newest {MOST_TURNS}.")
    return bool(found)


def lines(turn: TracedTurn) -> Iterator[str]:
    """What is known of a turn, a line each; what is not known is left out."""
    for label, words in (*_of_turn(turn), *_of_answer(turn.answer)):
        if words:
            yield f"{label:<{_LABEL_WIDTH}}{_plain(words)}"
    yield from _of_steps(sorted(turn.steps.items(), key=lambda step: step[1]))


async def _find(database: Database, sought: str) -> list[TracedTurn]:
    message = read_permalink(sought)
    if message is not None:
        return await turns_by_message(database, *message)
    return await turns_by_id(database, sought)


def _of_turn(turn: TracedTurn) -> Iterator[tuple[str, str]]:
    yield "turn", turn.id
    yield "outcome", _outcome(turn)
    yield "thread", " ".join((turn.thread.team, turn.thread.channel, turn.thread.root_ts))
    yield "ask", f"{turn.ts}, pressed: {turn.pressed}" if turn.pressed else turn.ts
    yield "event id", turn.event_id
    yield "trace id", turn.trace_id
    yield "attempts", f"{turn.attempt}, takeovers: {turn.takeovers}"
    yield "stop requested", turn.stop_requested
    yield "parts", " ".join(turn.reply_ts)
    yield "merged turns", " ".join(turn.merged)


def _outcome(turn: TracedTurn) -> str:
    if turn.outcome == Outcome.MERGED:
        return f"merged into {turn.merged_into}"
    words = turn.outcome or f"none yet, {turn.state}"
    return f"{words} ({turn.error_code})" if turn.error_code else words


def _of_answer(answer: TracedAnswer | None) -> Iterator[tuple[str, str]]:
    if answer is not None:
        yield "completion id", answer.completion_id
        yield "finish reason", answer.finish_reason
        yield "tokens", _tokens(answer.usage)
        yield "review", _review(answer.review)


def _tokens(usage: Usage) -> str:
    kinds = {
        "prompt": usage.prompt_tokens,
        "completion": usage.completion_tokens,
        "cached": usage.cached_tokens,
    }
    return ", ".join(f"{kind} {count}" for kind, count in kinds.items() if count is not None)


def _review(review: Mapping[str, Any] | None) -> str:
    if review is None:
        return ""
    return f"findings {len(review['findings'])}, dropped {review['dropped']}"


def _of_steps(steps: Sequence[tuple[str, datetime]]) -> Iterator[str]:
    """Each with the seconds since the one before it; an attempt that was made again has the
    times of its last try, and of the first part that was ever shown."""
    for (_, before), (step, at) in pairwise([("", steps[0][1]), *steps] if steps else []):
        label = step.replace("_", " ")
        since = (at - before).total_seconds()
        yield f"{label:<{_LABEL_WIDTH}}{_utc(at)}{since:>+12.3f} s"


def _utc(at: datetime) -> str:
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(' ', 'milliseconds')} UTC"


def _plain(words: str) -> str:
    """Ids come from outside: nothing in them may move a terminal's cursor or begin a line."""
    return "".join(one if " " <= one <= "~" else ascii(one)[1:-1] for one in words)
