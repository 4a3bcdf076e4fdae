"""Small stand-ins for the edges, handed over as arguments."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from kimibot.allowance import DailyLimits, Denial, Grant, Limit, Request, Standing, Taken, decide
from kimibot.attachments import SharedFile, Unread
from kimibot.conversation import Thread
from kimibot.errors import (
    DatabaseUnavailable,
    FileUnread,
    GitHubError,
    MessageGone,
    NotPosted,
    NotThere,
    SlackError,
)
from kimibot.review import postable
from kimibot.review.addresses import Address
from kimibot.review.material import Material
from kimibot.turns import Claim, Used
from kimibot.views import Cut, Part, Style, View

THREAD = Thread(team="T0TEAM", channel="C0DEV", root_ts="1700000000.000100")


@dataclass
class Channel:
    """A thread as its readers see it. `faults` are raised in turn, one a call of that method.

    A fault in `lost` is raised after the call was applied: its response did not arrive. One in
    `late` is raised at once, and the call applied so many seconds later all the same.
    """

    latency_seconds: float = 0.03
    shown: dict[str, View] = field(default_factory=dict)
    marks: dict[str, tuple[str, int]] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    history: list[tuple[float, str, View]] = field(default_factory=list)
    faults: dict[str, list[SlackError]] = field(default_factory=dict)
    lost: dict[str, list[SlackError]] = field(default_factory=dict)
    late: dict[str, list[tuple[SlackError, float]]] = field(default_factory=dict)
    unreadable: SlackError | None = None
    busy: int = 0
    most_at_once: int = 0

    async def post(self, thread: Thread, view: View, turn_id: str, part: int) -> str:
        ts = f"1700000001.{len(self.calls):06d}"

        def apply() -> None:
            self.shown[ts] = view
            self.marks[ts] = (turn_id, part)

        await self._call("post", ts, view, apply)
        return ts

    async def edit(self, thread: Thread, ts: str, view: View) -> None:
        if ts not in self.shown:
            raise MessageGone("chat.update", "message_not_found")
        await self._call("edit", ts, view, lambda: self.shown.__setitem__(ts, view))

    async def delete(self, thread: Thread, ts: str) -> None:
        await self._call("delete", ts, View(), lambda: self.shown.__delitem__(ts))

    async def find(self, thread: Thread, turn_id: str) -> Sequence[str]:
        self.calls.append(("find", turn_id))
        if self.unreadable is not None:
            raise self.unreadable
        return sorted(ts for ts in self.shown if self.marks[ts][0] == turn_id)

    async def _call(self, name: str, ts: str, view: View, apply: Callable[[], None]) -> None:
        self.calls.append((name, ts))
        self.busy += 1
        self.most_at_once = max(self.most_at_once, self.busy)
        try:
            await asyncio.sleep(self.latency_seconds)
            self._raise_next(self.faults, name)
            if self.late.get(name):
                error, seconds = self.late[name].pop(0)
                asyncio.get_running_loop().call_later(seconds, apply)
                raise error
            apply()
            self.history.append((asyncio.get_running_loop().time(), ts, view))
            self._raise_next(self.lost, name)
        finally:
            self.busy -= 1

    def _raise_next(self, faults: dict[str, list[SlackError]], name: str) -> None:
        if faults.get(name):
            raise faults[name].pop(0)

    def put(self, ts: str, view: View, turn_id: str) -> None:
        """A part that an earlier attempt has left."""
        self.shown[ts] = view
        self.marks[ts] = (turn_id, 1)

    def edited_at(self) -> list[float]:
        """When messages were edited, in order."""
        known: set[str] = set()
        times = []
        for at, ts, _ in self.history:
            if ts in known:
                times.append(at)
            known.add(ts)
        return times

    def count(self, name: str) -> int:
        return sum(1 for method, _ in self.calls if method == name)

    def bodies(self) -> list[str]:
        """What the parts show, oldest first."""
        return [self.shown[ts].body for ts in sorted(self.shown)]


@dataclass
class DailyTokens:
    """The day's tokens; what the turn itself has used comes on top of what is `taken`."""

    taken: Standing = field(default_factory=lambda: Standing(Taken(), Taken()))
    warns_of: Limit | None = None
    is_away: bool = False
    asked: list[tuple[Request, Used]] = field(default_factory=list)
    counted: list[tuple[date, Used]] = field(default_factory=list)

    async def count_unfinished(self, claim: Claim, day: date, used: Used) -> None:
        if self.is_away:
            raise DatabaseUnavailable("away")
        self.counted.append((day, used))

    async def grant(
        self, claim: Claim, day: date, limits: DailyLimits, wanted: Request, used: Used
    ) -> Grant | Denial:
        self.asked.append((wanted, used))
        return decide(limits, self.taken.plus(used.tokens), wanted)

    async def warning(
        self, claim: Claim, day: date, limits: DailyLimits, used: Used
    ) -> Limit | None:
        if self.is_away:
            raise DatabaseUnavailable("away")
        return self.warns_of


@dataclass
class Files:
    """What can be downloaded, by the file's id; or why not."""

    contents: dict[str, bytes | Unread] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def describe(self, file: SharedFile) -> SharedFile:
        return replace(file, name=f"{file.id}.txt", url="https://files.slack.com/later")

    async def download(self, file: SharedFile) -> bytes:
        self.asked.append(file.id)
        found = self.contents[file.id]
        if isinstance(found, Unread):
            raise FileUnread(found)
        return found


@dataclass
class Submissions:
    """The changes on a GitHub; or why one can't be had."""

    found: Material | GitHubError = field(default_factory=NotThere)
    api_url: str = "https://api.github.com"
    asked: list[tuple[str, bool]] = field(default_factory=list)

    async def read(self, address: Address, words: str, *, is_guest: bool) -> Material:
        self.asked.append((f"{address.full_name}#{address.number}", is_guest))
        if isinstance(self.found, GitHubError):
            raise self.found
        return self.found


@dataclass
class PullRequests:
    """Where reviews are posted, or why one is not. `on_look` is called before one is looked for,
    and `on_sent` while it is on its way. What `is_on_its_way` is found by who waits for it."""

    fault: GitHubError | NotPosted | None = None
    is_there: bool = False
    is_on_its_way: bool = False
    looks: int = 0
    on_look: Callable[[], None] = lambda: None
    on_sent: Callable[[], None] = lambda: None
    posted: list[tuple[postable.Postable, bool]] = field(default_factory=list)

    async def post(
        self,
        review: postable.Postable,
        *,
        is_guest: bool,
        sure: Callable[[], Awaitable[None]],
        is_taken_over: bool,
    ) -> postable.Posted:
        self.is_there = self.is_there or (self.is_on_its_way and is_taken_over)
        self.looks += 1
        self.on_look()
        if self.fault is not None:
            raise self.fault
        if not self.is_there:
            await sure()
            self.on_sent()
            self.posted.append((review, is_guest))
        url = "https://github.com/acme/shop/pull/7#pullrequestreview-1"
        is_new = not self.is_there
        return postable.Posted(review.full_name, review.number, url, is_new=is_new, at_lines=1)


@dataclass(frozen=True)
class SplitEvery:
    """Parts of so many characters, a third of that as plain text; any place will do to end one."""

    characters: int

    def part(self, text: str, start: Cut, style: Style) -> Part:
        size = self.characters if style is Style.MARKDOWN else max(1, self.characters // 3)
        end = start.offset + size
        return Part(text[start.offset : end], Cut(end) if len(text) > end else None)

    def settled(self, text: str, start: Cut, style: Style) -> Cut:
        return Cut(len(text))


async def forget(_: Sequence[str]) -> None:
    """Nobody needs to know the parts."""


async def at_once() -> None:
    """The claim surely holds."""


def sign(elapsed_seconds: float) -> str:
    return "Thinking…" if elapsed_seconds < 5 else f"Thinking… {elapsed_seconds:.0f} s"


OnPosted = Callable[[Sequence[str]], Awaitable[None]]
