"""Pure: how many tokens a turn has used, over all its requests to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kimibot.answers import NO_TOOLS, ChatMessage, Toolbox, Usage
from kimibot.assembling import Assembling
from kimibot.estimating import tokens
from kimibot.picturing import tokens_of
from kimibot.turns import Used


@dataclass(eq=False, slots=True)
class Sent:
    """A request, with what it is by estimate and what has come back of its answer.

    `counts` is False while it waits for its turn, and once it is clear that the model has not
    worked on it.
    """

    prompt_tokens: int
    received: Assembling
    has_begun: bool = False
    counts: bool = True

    @property
    def used(self) -> Used:
        """As the endpoint has counted it; where it has not said, a pessimistic estimate."""
        if not self.counts:
            return Used()
        answer = self.received.finish()
        usage, said = answer.usage or Usage(), answer.content + (answer.reasoning or "")
        said += "".join(call.name + call.arguments for call in answer.tool_calls)
        return Used(
            _counted(usage.prompt_tokens, self.prompt_tokens),
            _counted(usage.completion_tokens, tokens(said) if said else 0),
            _counted(usage.cached_tokens, 0),
        )


class Spending:
    """The requests of a turn."""

    def __init__(self) -> None:
        self._sent: list[Sent] = []

    def send(
        self,
        messages: Sequence[ChatMessage],
        received: Assembling,
        toolbox: Toolbox = NO_TOOLS,
    ) -> Sent:
        """These messages are sent now, and what comes back is put together in `received`."""
        sent = Sent(estimate(messages, toolbox), received)
        self._sent.append(sent)
        return sent

    @property
    def used(self) -> Used | None:
        """None where the model has not worked for the turn."""
        counting = [sent.used for sent in self._sent if sent.counts]
        return sum(counting, Used()) if counting else None


def estimate(messages: Sequence[ChatMessage], toolbox: Toolbox = NO_TOOLS) -> int:
    """How many tokens these messages are at most, with the tools that go with them."""
    declared = sum(
        tokens(f"{tool.name} {tool.description} {tool.parameters}") for tool in toolbox.tools
    )
    return sum(map(tokens_of, messages)) + declared


def _counted(by_endpoint: int | None, by_us: int) -> int:
    return by_us if by_endpoint is None else max(0, by_endpoint)
