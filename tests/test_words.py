"""What a turn does that is not for the model, what goes with it, and who is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kimibot import texts
from kimibot.addressing import MOST_APP_ASKS, Policy
from kimibot.errors import Busy, ClaimLost, DatabaseUnavailable, StorageError
from kimibot.turns import FOR_THE_MODEL, Claim, Kind, Outcome, Turn
from tests.test_answering import CLAIM, ROOT, TURN, Memory, Stage, said
from tests.virtual_time import in_virtual_time

HELP = replace(TURN, kind=Kind.HELP)
SECOND = replace(TURN, id="turn-2", ts="1700000002.000100")
THIRD = replace(TURN, id="turn-3", ts="1700000003.000100")
BO = replace(SECOND, asker="U0BO")
NOT_BO = Policy(people=frozenset({"U0ANA"}))
NOT_HERE = Policy(channels=frozenset({"C0OPS"}))


def claim_of(*turns: Turn) -> Claim:
    return replace(CLAIM, turns=turns)


RECEIPTS = [
    (Kind.HELP, [], "I can help."),
    (Kind.GREETING, [], texts.GREETING),
    (Kind.MUTE, ["mute"], texts.MUTED),
    (Kind.UNMUTE, ["unmute"], texts.UNMUTED),
    (Kind.FORGET, [f"forget up to {TURN.ts}"], texts.forgotten(3)),
    (Kind.APP_LIMIT, [], texts.app_limit(MOST_APP_ASKS)),
]


@pytest.mark.parametrize(("kind", "done", "told"), RECEIPTS)
def test_a_word_is_done_and_told_without_the_model(kind: Kind, done: list[str], told: str) -> None:
    @in_virtual_time
    async def scene() -> None:
        stage = Stage()

        ending = await stage.answer(claim_of(replace(TURN, kind=kind)))

        assert stage.orders.done == done
        assert stage.channel.bodies() == [told]
        assert (ending.outcome, ending.answer) == (Outcome.ANSWERED, None)
        assert stage.model.requests == []

    scene()


@pytest.mark.parametrize("kind", sorted(set(Kind) - FOR_THE_MODEL))
def test_every_kind_that_is_not_for_the_model_has_words_of_our_own(kind: Kind) -> None:
    assert kind in {receipt[0] for receipt in RECEIPTS}


@in_virtual_time
async def test_a_word_leaves_the_thread_with_the_model_that_has_answered_it() -> None:
    ending = await Stage().answer(claim_of(HELP))

    assert (ending.provider, ending.complete_at) == ("", None)


@pytest.mark.parametrize("error", [DatabaseUnavailable(), ClaimLost("turn-1")])
def test_a_word_that_could_not_be_done_is_left_to_the_next_owner(error: StorageError) -> None:
    @in_virtual_time
    async def scene() -> None:
        stage = Stage()
        stage.orders.fails_with = error

        with pytest.raises(type(error)):
            await stage.answer(claim_of(replace(TURN, kind=Kind.FORGET)))

        assert texts.forgotten(3) not in stage.channel.bodies()

    scene()


@in_virtual_time
async def test_a_summary_is_the_models_and_asked_for_after_the_thread() -> None:
    stage = Stage(said("It was about lists."))

    ending = await stage.answer(claim_of(replace(TURN, kind=Kind.SUMMARISE)))

    [request] = stage.model.requests
    assert request[0]["content"] == "Be kind."
    assert request[-1]["content"].endswith("\n\n" + texts.INSTRUCTIONS[Kind.SUMMARISE])
    assert [
        one.sent for one in ending.placed if texts.INSTRUCTIONS[Kind.SUMMARISE] in one.sent
    ] == []
    assert stage.channel.bodies() == ["It was about lists."]


@in_virtual_time
async def test_a_word_to_the_bot_is_not_read_by_the_model() -> None:
    word = replace(ROOT, id=1, text="@kimibot help", is_for_model=False)
    ask = replace(ROOT, id=2, ts=SECOND.ts)
    stage = Stage(said("Because."), memory=Memory([word, ask]))

    await stage.answer(claim_of(SECOND))

    assert "help" not in str(stage.model.requests)
    assert stage.workspace.reads == 0


@in_virtual_time
async def test_a_word_takes_no_other_ask_with_it() -> None:
    ending = await Stage().answer(claim_of(HELP, SECOND, replace(THIRD, kind=Kind.MUTE)))

    assert ending.left_open == ("turn-2", "turn-3")


@in_virtual_time
async def test_an_ask_takes_those_with_it_that_come_before_the_next_word() -> None:
    rows = [ROOT, replace(ROOT, id=2, ts=SECOND.ts, text="Two?")]
    rows += [replace(ROOT, id=3, ts="1700000005.000100", text="Late?")]
    stage = Stage(said("Both."), memory=Memory(rows))
    last = replace(TURN, id="turn-4", ts="1700000005.000100")

    ending = await stage.answer(claim_of(TURN, SECOND, replace(THIRD, kind=Kind.FORGET), last))

    assert ending.left_open == ("turn-3", "turn-4")
    assert "Two?" in str(stage.model.requests)
    assert "Late?" not in str(stage.model.requests)


@in_virtual_time
async def test_whatever_becomes_of_an_ask_the_word_after_it_is_done() -> None:
    failing = await Stage([Busy()]).answer(claim_of(TURN, replace(SECOND, kind=Kind.HELP)))
    asked = replace(TURN, attempt=4, takeovers=3)
    given_up = await Stage().answer(claim_of(asked, replace(SECOND, kind=Kind.HELP)))

    assert (failing.outcome, failing.left_open) == (Outcome.FAILED, ("turn-2",))
    assert (given_up.outcome, given_up.left_open) == (Outcome.FAILED, ("turn-2",))


@in_virtual_time
async def test_what_was_forgotten_is_not_missed() -> None:
    ask = replace(ROOT, id=2, ts="1700000005.000100")
    stage = Stage(said("Anew."), memory=Memory([ask]))
    claim = replace(claim_of(replace(TURN, ts=ask.ts)), forgotten_ts="1700000004.000100")

    await stage.answer(claim)
    assert stage.workspace.reads == 0

    stage.model.scripts.append(said("Again."))
    stage.workspace.since = 1700000004.5
    await stage.answer(claim)
    assert stage.workspace.reads == 1


REFUSALS = [
    (NOT_HERE, TURN, "channel_not_allowed", texts.CHANNEL_NOT_ALLOWED),
    (NOT_BO, replace(TURN, asker="U0BO"), "person_not_allowed", texts.PERSON_NOT_ALLOWED),
    (Policy(), replace(TURN, asker="U0GUS"), "external_person", texts.EXTERNAL_PERSON),
]


@pytest.mark.parametrize(("policy", "turn", "code", "told"), REFUSALS)
@pytest.mark.parametrize("kind", [Kind.ASK, Kind.FORGET])
def test_who_may_not_ask_is_told_so_in_the_thread(
    policy: Policy, turn: Turn, code: str, told: str, kind: Kind
) -> None:
    @in_virtual_time
    async def scene() -> None:
        stage = Stage(policy=policy)
        stage.workspace.external = {"U0GUS"}

        ending = await stage.answer(claim_of(replace(turn, kind=kind)))

        assert stage.note == told
        assert not stage.has_button
        assert (ending.outcome, ending.error_code) == (Outcome.REFUSED, code)
        assert (stage.model.requests, stage.orders.done) == ([], [])

    scene()


@in_virtual_time
async def test_who_did_not_address_us_does_not_hear_that_they_may_not_ask() -> None:
    stage = Stage()
    stage.workspace.external = {"U0ANA"}

    ending = await stage.answer(claim_of(replace(TURN, is_follow_up=True), SECOND))

    assert stage.channel.shown == {}
    assert (ending.outcome, ending.reply_ts) == (Outcome.REFUSED, ())
    assert ending.left_open == ("turn-2",)


@in_virtual_time
async def test_where_external_people_are_let_in_nobody_is_looked_up() -> None:
    stage = Stage(said("Because."), policy=Policy(with_external_people=True))
    stage.workspace.external = {"U0ANA"}

    ending = await stage.answer()

    assert ending.outcome is Outcome.ANSWERED


@in_virtual_time
async def test_an_app_that_was_let_ask_is_not_looked_up_as_a_person() -> None:
    stage = Stage(said("Because."), policy=NOT_BO)

    ending = await stage.answer(claim_of(replace(TURN, asker="B0CI")))

    assert ending.outcome is Outcome.ANSWERED


@in_virtual_time
async def test_who_may_not_ask_is_not_answered_together_with_who_may() -> None:
    rows = [ROOT, replace(ROOT, id=2, ts=BO.ts, author="U0BO", text="And me?")]
    stage = Stage(said("For Ana."), memory=Memory(rows), policy=NOT_BO)

    ending = await stage.answer(claim_of(TURN, BO, THIRD))

    assert ending.outcome is Outcome.ANSWERED
    assert ending.left_open == ("turn-2", "turn-3")
    assert "And me?" not in str(stage.model.requests)


@in_virtual_time
async def test_who_may_not_ask_takes_nobody_with_them() -> None:
    ending = await Stage(policy=NOT_BO).answer(claim_of(BO, THIRD))

    assert (ending.outcome, ending.left_open) == (Outcome.REFUSED, ("turn-3",))


def test_the_help_says_what_is_stored_for_how_long_and_where_it_is_sent() -> None:
    told = help_text(sent_to="moonshot (api.moonshot.ai)", retention_days=30)

    assert "for 30 days" in told
    assert told.endswith("sent to moonshot (api.moonshot.ai), and to nobody else.")
    assert "until somebody deletes it" in help_text(retention_days=0)


def test_the_help_says_that_reviews_may_go_to_github_only_where_they_can_be_posted() -> None:
    sentence = "Only a review may go to its pull request on GitHub too"

    assert sentence in help_text(posts_reviews=True)
    assert sentence not in help_text(posts_reviews=False)


def help_text(sent_to: str = "x", *, retention_days: int = 30, posts_reviews: bool = False) -> str:
    return texts.help_text(
        sent_to=sent_to, retention_days=retention_days, posts_reviews=posts_reviews
    )


def test_a_receipt_counts_what_was_forgotten() -> None:
    assert "1 message of" in texts.forgotten(1)
    assert "1,200 messages of" in texts.forgotten(1200)
    assert "nothing left" in texts.forgotten(0)
