"""The bot's outside calls, by name and number, and what befalls one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """Right before the `nth` call of that name is carried out, or right after it `is_done`."""

    call: str
    nth: int
    is_done: bool

    def __str__(self) -> str:
        return f"{'after' if self.is_done else 'before'} {self.call} no. {self.nth}"


class Calls:
    """Sees all calls as they are made. A mishap that raises ConnectionError loses the call, or
    its answer if it is done."""

    def __init__(self) -> None:
        self.seen: list[Moment] = []
        self.has_struck = False
        self._counts: Counter[tuple[str, bool]] = Counter()
        self._at: Moment | None = None
        self._mishap: Callable[[], None] = lambda: None

    def befall(self, moment: Moment, mishap: Callable[[], None]) -> None:
        """Let this happen at the moment, once."""
        self._at, self._mishap = moment, mishap

    def watch(self, call: str, is_done: bool) -> None:
        """Is told of each call, before and after."""
        self._counts[call, is_done] += 1
        moment = Moment(call, self._counts[call, is_done], is_done)
        self.seen.append(moment)
        if moment == self._at and not self.has_struck:
            self.has_struck = True
            self._mishap()


def first_of_each_call(moments: Sequence[Moment]) -> list[Moment]:
    """Both moments of the first call of each name."""
    return [moment for moment in moments if moment.nth == 1]
