"""What Kimi wants to see beside a change is looked up for it, within limits, whatever it asks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from kimibot.answers import Answer, ToolCall
from kimibot.errors import GitHubError, GitHubLimited, NotThere, TooLarge
from kimibot.review.changes import Side
from kimibot.review.repository import Entry, EntryKind
from kimibot.reviewing import looking_up
from kimibot.reviewing.looking_up import (
    ALREADY_GIVEN,
    FAILED,
    LAST_LOOK,
    NO_ROOM,
    Dialogue,
    LookingUp,
    latest,
)

REQUEST = ({"role": "user", "content": "Review this."},)


@dataclass
class Shop:
    """A repository with one folder."""

    files: dict[str, bytes] = field(default_factory=lambda: {"a.py": b"A = 1\n", "b.py": b"B\n"})
    kinds: dict[str, EntryKind] = field(default_factory=dict)
    size_bytes: int = 10
    error: GitHubError | None = None
    asked: list[str] = field(default_factory=list)

    async def folder(self, path: str, side: Side) -> Sequence[Entry]:
        self.asked.append(f"{path or '.'} {side.value}")
        if self.error is not None:
            raise self.error
        if path != "src":
            raise NotThere
        kind = self.kinds.get
        return [Entry(name, kind(name, EntryKind.FILE), self.size_bytes) for name in self.files]

    async def file(self, path: str, side: Side) -> bytes:
        self.asked.append(f"{path} {side.value}")
        return self.files[path.removeprefix("src/")]


def calling(*calls: tuple[str, Any], reason: str = "tool_calls") -> Answer:
    asked = tuple(
        ToolCall(f"c-{n}", name, json.dumps(arguments)) for n, (name, arguments) in enumerate(calls)
    )
    raw = {"role": "assistant", "reasoning_content": "hm", "tool_calls": [one.id for one in asked]}
    return Answer("", tool_calls=asked, finish_reason=reason, raw=raw)


def reading(path: str = "src/a.py", **more: Any) -> tuple[str, Any]:
    return "read_file", {"path": path, "version": "head"} | more


async def results(dialogue: Dialogue, answer: Answer) -> list[str]:
    before = len(dialogue.steps)
    await dialogue.go_on(answer, lambda _: None)
    return [str(step["content"]) for step in dialogue.steps[before + 1 :]]


def dialogue_with(shop: Shop, budget_tokens: int = 50_000) -> tuple[Dialogue, LookingUp]:
    looking = LookingUp(shop, budget_tokens)
    return looking.dialogue(REQUEST), looking


async def test_each_call_has_its_result_behind_the_answer_as_it_was_received() -> None:
    dialogue, looking = dialogue_with(Shop())
    answer = calling(reading(), ("list_files", {"folder": "src", "version": "base"}))
    told: list[str] = []

    await dialogue.go_on(answer, told.append)

    assert dialogue.steps[0] is answer.raw
    assert dialogue.steps[1] == {
        "role": "tool",
        "tool_call_id": "c-0",
        "content": "src/a.py (head), lines 1-1 of 1\n    1   A = 1",
    }
    assert dialogue.steps[2]["tool_call_id"] == "c-1"
    assert dialogue.messages == (*REQUEST, *dialogue.steps)
    assert told == ["src/a.py", "src"]
    assert list(looking.read) == ["src/a.py"]


async def test_without_a_repository_there_are_no_tools() -> None:
    dialogue = LookingUp(None, 50_000).dialogue(REQUEST)

    assert not dialogue.toolbox
    assert not dialogue.goes_on(calling(reading()))


@pytest.mark.parametrize("path", [".env", "src/.env.local", "tls/key.pem", "../a.py", "/a.py"])
async def test_what_must_not_be_read_is_refused_before_anything_is_asked(path: str) -> None:
    shop = Shop()
    dialogue, looking = dialogue_with(shop)

    [result] = await results(dialogue, calling(reading(path)))

    assert "may hold keys" in result or "without .." in result
    assert shop.asked == []
    assert looking.read == {}


@pytest.mark.parametrize(
    ("shop", "path", "words"),
    [
        (Shop(), "src/no.py", "There is no such file in head. list_files says"),
        (Shop(), "lib/a.py", "There is no such file in head"),
        (Shop(kinds={"a.py": EntryKind.LINK}), "src/a.py", "This is a link, which is not read."),
        (Shop(kinds={"a.py": EntryKind.SUBMODULE}), "src/a.py", "This is a submodule"),
        (Shop(kinds={"a.py": EntryKind.FOLDER}), "src/a.py", "This is a folder"),
        (Shop(size_bytes=2_000_000), "src/a.py", "2000000 bytes, which is too large"),
        (Shop(error=TooLarge()), "src/a.py", "too large to be read"),
    ],
)
async def test_what_is_not_to_be_had_is_said_and_no_file_is_fetched(
    shop: Shop, path: str, words: str
) -> None:
    dialogue, looking = dialogue_with(shop)

    [result] = await results(dialogue, calling(reading(path)))

    assert words in result
    assert len(shop.asked) == 1
    assert looking.read == {}
    assert dialogue.toolbox.may_call


@pytest.mark.parametrize(
    ("content", "lines", "words"),
    [(b"\0\1", {}, "is no text"), (b"x\n", {"first_line": 9}, "none of those are there")],
)
async def test_a_file_of_which_nothing_can_be_shown_does_not_count_as_read(
    content: bytes, lines: dict[str, Any], words: str
) -> None:
    dialogue, looking = dialogue_with(Shop({"a.py": content}))

    [result] = await results(dialogue, calling(reading(**lines)))

    assert words in result
    assert looking.read == {}


async def test_a_long_folder_stays_within_the_budget() -> None:
    shop = Shop({f"{n:03}{'x' * 250}.py": b"" for n in range(300)})
    dialogue, looking = dialogue_with(shop, 5_000)

    await results(dialogue, calling(("list_files", {"folder": "src"})))

    assert looking.left_tokens(dialogue.messages) > 0


async def test_who_was_refused_by_github_asks_it_for_nothing_more() -> None:
    shop = Shop(error=GitHubLimited())
    dialogue, looking = dialogue_with(shop)

    first, second = await results(dialogue, calling(reading(), reading("src/b.py")))

    assert first == "GitHub does not give it (github_limited). Go on without it."
    assert second == f"{FAILED}\n\n{LAST_LOOK}"
    assert len(shop.asked) == 1
    assert not dialogue.toolbox.may_call
    assert not looking.dialogue(REQUEST).toolbox.may_call


def test_what_is_kept_of_many_passes_are_the_last_ones_each_whole() -> None:
    passes = [[{"role": "tool", "content": f"{n} " * 300}] * 2 for n in range(4)]

    kept = latest([*passes, []], 900)

    assert kept == (*passes[2], *passes[3])
    assert latest(passes, 10) == ()


async def test_what_was_given_is_not_given_twice_and_who_insists_is_stopped() -> None:
    shop = Shop()
    dialogue, _ = dialogue_with(shop)
    await dialogue.go_on(calling(reading(), reading(first_line=1)), lambda _: None)
    asked = len(shop.asked)

    said = [await results(dialogue, calling(reading())) for _ in range(2)]
    assert said == [[ALREADY_GIVEN], [ALREADY_GIVEN]]
    assert dialogue.goes_on(calling(reading()))
    [last] = await results(dialogue, calling(reading()))

    assert last == f"{ALREADY_GIVEN}\n\n{LAST_LOOK}"
    assert len(shop.asked) == asked
    assert not dialogue.goes_on(calling(reading()))
    assert dialogue.toolbox.tools
    assert not dialogue.toolbox.may_call


async def test_after_so_many_rounds_of_a_pass_it_must_write_the_review() -> None:
    dialogue, looking = dialogue_with(Shop())
    for number in range(looking_up.MOST_ROUNDS):
        assert dialogue.toolbox.may_call
        [result] = await results(dialogue, calling(reading(first_line=number + 1)))

    assert result.endswith(LAST_LOOK)
    assert not dialogue.toolbox.may_call
    assert looking.dialogue(REQUEST).toolbox.may_call


async def test_many_passes_have_fewer_rounds_each() -> None:
    _, looking = dialogue_with(Shop())
    rounds = 0
    while (dialogue := looking.dialogue(REQUEST)).toolbox.may_call:
        while dialogue.toolbox.may_call:
            rounds += 1
            await dialogue.go_on(calling(reading(first_line=rounds)), lambda _: None)

    assert rounds == looking_up.MOST_ROUNDS_IN_ALL


async def test_a_round_has_only_so_many_calls_and_each_has_a_result() -> None:
    shop = Shop()
    dialogue, _ = dialogue_with(shop)
    calls = [reading(first_line=n) for n in range(1, looking_up.MOST_CALLS + 3)]

    said = await results(dialogue, calling(*calls))

    assert len(said) == len(calls)
    assert said[looking_up.MOST_CALLS :] == [looking_up.TOO_MANY] * 2
    assert len(shop.asked) == 2 * looking_up.MOST_CALLS


async def test_what_is_looked_up_stays_within_the_budget() -> None:
    shop = Shop({f"{n}.py": b"x = 1  # and so on\n" * 500 for n in range(8)})
    dialogue, looking = dialogue_with(shop, 9_000)

    said = await results(dialogue, calling(*[reading(f"src/{n}.py") for n in range(8)]))

    assert any("The file goes on" in one for one in said)
    assert said[-1] == f"{NO_ROOM}\n\n{LAST_LOOK}"
    assert looking.left_tokens(dialogue.messages) > -500
    assert not dialogue.toolbox.may_call


async def test_an_answer_without_calls_or_one_that_was_cut_off_is_the_last() -> None:
    dialogue, _ = dialogue_with(Shop())

    assert dialogue.goes_on(calling(reading(), reason="stop"))
    assert not dialogue.goes_on(calling())
    assert not dialogue.goes_on(calling(reading(), reason="length"))
