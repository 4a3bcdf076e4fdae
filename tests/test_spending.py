"""How many tokens a turn has used: what the endpoint says, else a pessimistic estimate."""

from __future__ import annotations

from kimibot.answers import ChatMessage, Delta, Tool, Toolbox, ToolCallPiece, Usage
from kimibot.assembling import Assembling
from kimibot.estimating import tokens
from kimibot.spending import Spending, estimate
from kimibot.turns import Used

MESSAGES: list[ChatMessage] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Why does this copy the list?"},
]


def received(*deltas: Delta) -> Assembling:
    assembling = Assembling()
    for delta in deltas:
        assembling.add(delta)
    return assembling


def used(*deltas: Delta) -> Used | None:
    spending = Spending()
    spending.send(MESSAGES, received(*deltas))
    return spending.used


def test_what_the_endpoint_has_counted_counts() -> None:
    assert used(Delta(content="Because."), Delta(usage=Usage(100, 20, 80))) == Used(100, 20, 80)


def test_without_a_count_what_was_sent_and_received_is_estimated_with_its_reasoning() -> None:
    spent = used(Delta(reasoning="It must be so."), Delta(content="Because it must."))

    assert spent == Used(estimate(MESSAGES), tokens("Because it must.It must be so."))


def test_before_the_first_word_what_was_sent_counts() -> None:
    assert used() == Used(estimate(MESSAGES), 0)


def test_a_count_with_holes_is_completed() -> None:
    spent = used(Delta(content="Because."), Delta(usage=Usage(completion_tokens=20)))

    assert spent == Used(estimate(MESSAGES), 20)


def test_several_requests_add_up_and_refused_ones_are_free() -> None:
    spending = Spending()
    spending.send(MESSAGES, received(Delta(usage=Usage(100, 500))))
    spending.send(MESSAGES, received()).counts = False
    spending.send(MESSAGES, received(Delta(usage=Usage(100, 20, 90))))

    assert spending.used == Used(200, 520, 90)


def test_a_turn_whose_every_request_was_refused_has_not_asked() -> None:
    spending = Spending()
    assert spending.used is None
    spending.send(MESSAGES, received()).counts = False

    assert spending.used is None


def test_tools_count_with_what_is_sent_and_their_calls_with_what_is_said() -> None:
    spending, plain = Spending(), Spending()
    piece = ToolCallPiece(0, "c-1", "look", '{"path": "src/a.py"}')
    look = Tool("look", "Looks at a file of the repository.", {"type": "object"})
    spending.send(MESSAGES, received(Delta(tool_calls=(piece,))), Toolbox((look,)))
    plain.send(MESSAGES, received())
    used, without = spending.used, plain.used

    assert used is not None
    assert without is not None
    assert used.prompt_tokens > without.prompt_tokens + 10
    assert used.completion_tokens == tokens('look{"path": "src/a.py"}')
