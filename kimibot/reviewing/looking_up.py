"""Looks up, while a review runs, what Kimi wants to see of the repository beside the change."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kimibot.answers import NO_TOOLS, Answer, ChatMessage, Toolbox, ToolCall
from kimibot.errors import GitHubError, NotThere, TooLarge
from kimibot.review.excerpts import excerpt, listing
from kimibot.review.lookups import TOOLS, BadCall, ListFiles, Lookup, ReadFile, read_call
from kimibot.review.repository import EntryKind, Repository
from kimibot.spending import estimate

MOST_ROUNDS = 8
"""Of a pass. Models were seen to go round in circles after that, and each round sends all again."""

MOST_ROUNDS_IN_ALL = 24
"""Of a review: what a large change costs must not grow with each of its passes."""

MOST_CALLS = 8
"""In one round: GitHub is asked for one thing after the other, while somebody waits."""

MOST_REPEATS = 3
"""A model that asks so often for what it was given would go on asking."""

MOST_FILE_BYTES = 1024 * 1024
FEWEST_TOKENS = 500
"""With less room than this nothing can be shown that is of use."""

ALREADY_GIVEN = "Already given above, and it is still the same. Do not ask for it again."
TOO_MANY = f"Not looked up: {MOST_CALLS} calls at once are the most. Ask again if you need it."
FAILED = "Not looked up: GitHub does not answer now."
NO_ROOM = "Not looked up: there is no room for more."
LAST_LOOK = "That was the last look. Write the review now, with what you know."

_CUT_SHORT = ("length", "content_filter")

OnLookup = Callable[[str], None]
"""Is told the path of what is about to be read."""


class LookingUp:
    """For one review. Without a repository there are no tools at all.

    `read` has the files of which something was read, each with all that was shown of it. After it
    `has_failed`, GitHub is not asked again: it wants to be left alone by whom it has refused.
    """

    def __init__(self, repository: Repository | None, budget_tokens: int) -> None:
        self.read: dict[str, str] = {}
        self.rounds = 0
        self.has_failed = False
        self._repository = repository
        self._budget_tokens = budget_tokens

    def dialogue(self, request: Sequence[ChatMessage]) -> Dialogue:
        """What is said in one pass, beginning with its request."""
        return Dialogue(self, request)

    @property
    def toolbox(self) -> Toolbox:
        return Toolbox(TOOLS) if self._repository is not None else NO_TOOLS

    def left_tokens(self, messages: Sequence[ChatMessage]) -> int:
        return self._budget_tokens - estimate(messages, self.toolbox)

    async def look_up(self, lookup: Lookup, most_tokens: int) -> str:
        """What is there, as the model reads it. Raises BadCall for what is not to be had."""
        try:
            if isinstance(lookup, ListFiles):
                return await self._folder(lookup, most_tokens)
            return await self._file(lookup, most_tokens)
        except NotThere:
            what = "file" if isinstance(lookup, ReadFile) else "folder"
            raise BadCall(
                f"There is no such {what} in {lookup.version}. list_files says what there is."
            ) from None
        except TooLarge:
            raise BadCall("This is too large to be read.") from None
        except GitHubError as error:
            self.has_failed = True
            raise BadCall(f"GitHub does not give it ({error.name}). Go on without it.") from error

    async def _folder(self, wanted: ListFiles, most_tokens: int) -> str:
        entries = await self._known.folder(wanted.folder, wanted.side)
        return listing(wanted.folder, entries, wanted.version, most_tokens)

    async def _file(self, wanted: ReadFile, most_tokens: int) -> str:
        """What it is, and how large, is looked at before any of it is fetched."""
        entries = await self._known.folder(wanted.folder, wanted.side)
        entry = next((one for one in entries if one.name == wanted.name), None)
        if entry is None:
            raise NotThere
        if entry.kind is not EntryKind.FILE:
            raise BadCall(f"This is a {entry.kind.value}, which is not read.")
        if entry.size_bytes > MOST_FILE_BYTES:
            raise BadCall(f"This has {entry.size_bytes} bytes, which is too large to be read.")
        content = await self._known.file(wanted.path, wanted.side)
        shown = excerpt(wanted, content, most_tokens)
        self.read[wanted.path] = f"{self.read.get(wanted.path, '')}\n{shown}"
        return shown

    @property
    def _known(self) -> Repository:
        assert self._repository is not None
        return self._repository


class Dialogue:
    """A request, and the calls and results that follow it: `steps`, exactly as they are sent."""

    def __init__(self, looking_up: LookingUp, request: Sequence[ChatMessage]) -> None:
        self.steps: list[ChatMessage] = []
        self._looking_up = looking_up
        self._request = tuple(request)
        self._given: set[Lookup] = set()
        self._rounds = 0
        self._repeats = 0
        self._has_room = True

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        return (*self._request, *self.steps)

    @property
    def toolbox(self) -> Toolbox:
        """After the last round the tools are still declared, but may not be called."""
        toolbox = self._looking_up.toolbox
        return Toolbox(toolbox.tools, may_call=not self._is_over)

    def goes_on(self, answer: Answer) -> bool:
        """Whether the model waits for something. A call that was cut off is none."""
        is_offered = bool(self.toolbox) and not self._is_over
        return is_offered and bool(answer.tool_calls) and answer.finish_reason not in _CUT_SHORT

    async def go_on(self, answer: Answer, on_lookup: OnLookup) -> None:
        """Add the answer as it was received, and a result for each of its calls."""
        self.steps.append(answer.raw)
        for number, call in enumerate(answer.tool_calls):
            content = TOO_MANY if number >= MOST_CALLS else await self._result(call, on_lookup)
            self.steps.append({"role": "tool", "tool_call_id": call.id, "content": content})
        self._rounds += 1
        self._looking_up.rounds += 1
        if self._is_over:
            last = self.steps[-1]
            self.steps[-1] = {**last, "content": f"{last['content']}\n\n{LAST_LOOK}"}

    async def _result(self, call: ToolCall, on_lookup: OnLookup) -> str:
        """Whatever is wrong is said to the model, and ends nothing."""
        left_tokens = self._looking_up.left_tokens(self.messages)
        if left_tokens < FEWEST_TOKENS:
            self._has_room = False
            return NO_ROOM
        if self._looking_up.has_failed:
            return FAILED
        try:
            lookup = read_call(call)
            if self._is_given(lookup):
                return ALREADY_GIVEN
            on_lookup(lookup.target)
            return await self._looking_up.look_up(lookup, left_tokens)
        except BadCall as bad:
            return str(bad)

    def _is_given(self, lookup: Lookup) -> bool:
        is_given = lookup in self._given
        self._given.add(lookup)
        self._repeats += is_given
        return is_given

    @property
    def _is_over(self) -> bool:
        return (
            not self._has_room
            or self._looking_up.has_failed
            or self._repeats >= MOST_REPEATS
            or self._rounds >= MOST_ROUNDS
            or self._looking_up.rounds >= MOST_ROUNDS_IN_ALL
        )


def latest(steps: Sequence[Sequence[ChatMessage]], most_tokens: int) -> tuple[ChatMessage, ...]:
    """The steps of the last passes, each whole, as far as they are short enough together."""
    kept: list[ChatMessage] = []
    for one in reversed(steps):
        most_tokens -= estimate(one)
        if most_tokens < 0:
            break
        kept[:0] = one
    return tuple(kept)
