"""Deltas become one answer."""

from __future__ import annotations

import time

import pytest

from kimibot.answers import Answer, Delta, ToolCallPiece, Usage
from kimibot.assembling import Assembling


def assembled(*deltas: Delta) -> Answer:
    assembling = Assembling()
    for delta in deltas:
        assembling.add(delta)
    return assembling.finish()


def pieces(*calls: ToolCallPiece) -> list[tuple[str, str]]:
    """Name and arguments of what the pieces add up to."""
    answer = assembled(*(Delta(tool_calls=(call,)) for call in calls))
    return [(call.name, call.arguments) for call in answer.tool_calls]


def test_an_answer_is_the_sum_of_its_deltas() -> None:
    answer = assembled(
        Delta(completion_id="msg_1", trace_id="t"),
        Delta(reasoning="The "),
        Delta(reasoning="end"),
        Delta(content="Hel"),
        Delta(content="lo", finish_reason="stop"),
        Delta(usage=Usage(1, 2)),
    )

    assert answer == Answer(
        content="Hello",
        reasoning="The end",
        finish_reason="stop",
        usage=Usage(1, 2),
        completion_id="msg_1",
        trace_id="t",
        raw={"role": "assistant", "content": "Hello", "reasoning_content": "The end"},
    )


def test_the_last_usage_counts_and_the_first_finish_reason_stays() -> None:
    answer = assembled(
        Delta(finish_reason="length", usage=Usage(1, 2)),
        Delta(content="more", finish_reason="stop", usage=Usage(3, 4)),
        Delta(),
    )

    assert (answer.finish_reason, answer.usage) == ("length", Usage(3, 4))
    assert answer.content == "more"


def test_an_answer_without_a_finish_reason_says_so() -> None:
    assert assembled(Delta(content="a")).finish_reason == "unknown"


@pytest.mark.parametrize(
    ("field", "raw"),
    [
        ("reasoning_content", {"reasoning_content": "hm"}),
        ("reasoning", {"reasoning": "hm"}),
        (
            "reasoning_details",
            {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        ),
    ],
)
def test_reasoning_goes_back_under_the_name_it_came_with(
    field: str, raw: dict[str, object]
) -> None:
    answer = assembled(Delta(content="a", reasoning="hm", reasoning_field=field))

    assert answer.raw == {"role": "assistant", "content": "a"} | raw


def test_reasoning_that_is_empty_is_kept_and_none_is_not_invented() -> None:
    assert assembled(Delta(content="a", reasoning="")).raw["reasoning_content"] == ""
    assert "reasoning_content" not in assembled(Delta(content="a")).raw


def test_interleaved_pieces_and_one_without_index_make_two_calls() -> None:
    assert pieces(
        ToolCallPiece(0, "find:0", "find", '{"q":'),
        ToolCallPiece(1, "read:1", "read"),
        ToolCallPiece(0, arguments='"x"}'),
        ToolCallPiece(1, arguments='{"f":'),
        ToolCallPiece(arguments="1}"),
    ) == [("find", '{"q":"x"}'), ("read", '{"f":1}')]


@pytest.mark.parametrize(
    ("calls", "wanted"),
    [
        ([ToolCallPiece(0, "a", "f")], [("f", "{}")]),
        ([ToolCallPiece(0, "a", "f", " ")], [("f", "{}")]),
        ([ToolCallPiece(0, "a", "", "{}"), ToolCallPiece(0, "", "f")], [("f", "{}")]),
        ([ToolCallPiece(None, "a", "f"), ToolCallPiece(None, "a", "", "1")], [("f", "1")]),
        (
            [ToolCallPiece(0, "a", "f", "1"), ToolCallPiece(0, "b", "f", "2")],
            [("f", "1"), ("f", "2")],
        ),
        (
            [ToolCallPiece(None, "", "f", "1"), ToolCallPiece(None, "", "g", "2")],
            [("f", "1"), ("g", "2")],
        ),
        ([ToolCallPiece(0, "a", "f", "1"), ToolCallPiece(0, "a", "f", "2")], [("f", "12")]),
        ([ToolCallPiece(0, "a", "", "{}")], []),
        ([ToolCallPiece()], []),
    ],
)
def test_pieces_are_put_together_in_all_their_forms(
    calls: list[ToolCallPiece], wanted: list[tuple[str, str]]
) -> None:
    assert pieces(*calls) == wanted


def test_ids_of_tool_calls_are_plain_short_and_unlike_those_of_other_answers() -> None:
    def ids(completion_id: str) -> list[str]:
        calls = tuple(
            ToolCallPiece(index, id_, "find")
            for index, id_ in enumerate(["find:0", "find:0", "", "ä" * 100])
        )
        answer = assembled(Delta(tool_calls=calls, completion_id=completion_id))
        raw = answer.raw["tool_calls"]
        assert [call["id"] for call in raw] == [call.id for call in answer.tool_calls]
        return [call.id for call in answer.tool_calls]

    first, second = ids("msg_1"), ids("msg_2")

    assert ids("msg_1") == first
    assert len({*first, *second}) == 8
    assert all(len(id_) <= 64 and id_.isascii() for id_ in first)
    assert all(id_.replace("-", "").replace("_", "").isalnum() for id_ in first)


def test_content_is_left_out_beside_tool_calls_when_it_is_empty() -> None:
    call = Delta(tool_calls=(ToolCallPiece(0, "a", "f"),))

    assert "content" not in assembled(call).raw
    assert assembled(Delta(content="Let me see."), call).raw["content"] == "Let me see."
    assert assembled(Delta()).raw["content"] == ""


def test_a_cut_answer_goes_back_as_text_alone() -> None:
    assembling = Assembling()
    assembling.add(Delta(content="Hel", reasoning="hm", trace_id="t", completion_id="c"))
    assembling.add(Delta(tool_calls=(ToolCallPiece(0, "a", "f", '{"q'),)))

    answer = assembling.cut()

    assert answer.finish_reason is None
    assert answer.tool_calls == ()
    assert (answer.content, answer.reasoning, answer.trace_id) == ("Hel", "hm", "t")
    assert answer.raw == {"role": "assistant", "content": "Hel"}


def test_adding_many_deltas_takes_linear_time() -> None:
    assembling, deltas = Assembling(), 50_000
    started = time.process_time()

    for index in range(deltas):
        assembling.add(Delta(content="word ", reasoning="r"))
        assembling.add(Delta(tool_calls=(ToolCallPiece(index % 500, f"i{index % 500}", "f", "1"),)))

    answer = assembling.finish()
    assert len(answer.content) == 5 * deltas
    assert len(answer.tool_calls) == 500
    assert time.process_time() - started < 3


def test_reading_the_text_after_every_delta_stays_affordable() -> None:
    assembling = Assembling()
    started = time.process_time()

    for _ in range(20_000):
        assembling.add(Delta(content="word "))
        text = assembling.content

    assert len(text) == 100_000
    assert time.process_time() - started < 3
