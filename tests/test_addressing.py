"""When a message is for us and what it wants; when it is not; and when it stops us."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import resources
from typing import Any

import pytest

from kimibot.addressing import (
    MOST_APP_ASKS,
    FollowUps,
    Policy,
    Wanted,
    depends_on_thread,
    is_for_us,
    verdict,
)
from kimibot.conversation import Message, Speaker, ThreadFacts, Us
from kimibot.turns import Kind
from kimibot.wording import is_stop, number_in, wanted_by
from tests.fakes import THREAD

US = Us(team="T0TEAM", user_id="U0KIMI", bot_id="B0KIMI")
MESSAGE = Message(THREAD, "1700000009.000100", Speaker.PERSON, "U0ANA", "and for lists?")
ALONE = ThreadFacts(
    1, speakers=frozenset({"U0ANA"}), previous_speaker=Speaker.US, previous_asker="U0ANA"
)
WITH_BO = replace(ALONE, speakers=frozenset({"U0ANA", "U0BO"}))
BO_ASKED = replace(WITH_BO, previous_asker="U0BO")
BO_SPOKE = replace(WITH_BO, previous_speaker=Speaker.PERSON, previous_asker="")
MUTED = replace(ALONE, muted=True)
NOT_BEGUN = replace(ALONE, is_begun=False)
BUSY = replace(WITH_BO, app_asks=MOST_APP_ASKS)
TOLD = replace(BUSY, app_asks=MOST_APP_ASKS, is_limit_told=True)

AUTO = Policy()
ALWAYS = Policy(FollowUps.ALWAYS)
MENTION = Policy(FollowUps.MENTION)
HERE = Policy(channels=frozenset({"C0DEV"}))
ELSEWHERE = Policy(channels=frozenset({"C0OPS"}))
ONLY_BO = Policy(people=frozenset({"U0BO"}))
ONLY_ANA = Policy(people=frozenset({"U0ANA"}))
WITH_CI = Policy(apps=frozenset({"B0CI"}))
WITH_CI_APP = Policy(apps=frozenset({"A0CI"}))

TO_US: dict[str, Any] = {"mentions": frozenset({"U0KIMI"})}
TO_BO: dict[str, Any] = {"mentions": frozenset({"U0BO"})}
TO_BOTH: dict[str, Any] = {"mentions": frozenset({"U0KIMI", "U0BO"})}
DIRECT: dict[str, Any] = {"is_direct": True}
CI: dict[str, Any] = {"speaker": Speaker.APP, "author": "B0CI", "app_id": "A0CI"}

ASK = Wanted(Kind.ASK)
FOLLOW_UP = Wanted(Kind.ASK, is_follow_up=True)


def says(text: str, **how: Any) -> dict[str, Any]:
    return {"text": text, **how}


CASES: list[tuple[str, dict[str, Any], ThreadFacts | None, Policy, Wanted | None]] = [
    # Whoever addresses us.
    ("a mention in no thread of ours", TO_US, None, AUTO, ASK),
    ("a mention in our thread", TO_US, WITH_BO, AUTO, ASK),
    ("a mention that comes last", says("why, <@U0KIMI>?", **TO_US), None, AUTO, ASK),
    ("a mention of us and of Bo", TO_BOTH, BO_SPOKE, AUTO, ASK),
    ("a mention where follow-ups need one", TO_US, ALONE, MENTION, ASK),
    ("a mention in a muted thread", TO_US, MUTED, AUTO, ASK),
    ("a mention in code, which is none", says("`<@U0KIMI>`"), None, AUTO, None),
    ("a direct message", DIRECT, None, AUTO, ASK),
    ("a direct message in a thread of ours", DIRECT, ALONE, MENTION, ASK),
    ("a direct message about Bo", DIRECT | TO_BO, None, AUTO, ASK),
    ("a direct message in a muted thread", DIRECT, MUTED, AUTO, None),
    ("a mention in a muted direct thread", DIRECT | TO_US, MUTED, AUTO, ASK),
    # Whoever does not.
    ("nobody is mentioned, and no thread", {}, None, ALWAYS, None),
    ("alone with us", {}, ALONE, AUTO, FOLLOW_UP),
    ("alone with us, to Bo", TO_BO, ALONE, AUTO, None),
    ("to Bo, whatever the policy", TO_BO, ALONE, ALWAYS, None),
    ("alone with us, to everybody", {"mentions": frozenset({"here"})}, ALONE, ALWAYS, None),
    ("alone with us, to a group", {"mentions": frozenset({"S0OPS"})}, ALONE, AUTO, None),
    ("right after our reply to Ana", {}, WITH_BO, AUTO, FOLLOW_UP),
    ("right after our reply to Ana, to Bo", TO_BO, WITH_BO, AUTO, None),
    ("right after our reply to Bo", {}, BO_ASKED, AUTO, None),
    ("right after a remark of Bo's", {}, BO_SPOKE, AUTO, None),
    ("right after a remark of Bo's, always", {}, BO_SPOKE, ALWAYS, FOLLOW_UP),
    ("alone with us, never without a mention", {}, ALONE, MENTION, None),
    ("before anybody had asked us", {}, NOT_BEGUN, ALWAYS, None),
    ("in a muted thread", {}, MUTED, AUTO, None),
    ("in a muted thread, always", {}, MUTED, ALWAYS, None),
    # Asides.
    ("an aside alone with us", says("(aside) lunch?"), ALONE, AUTO, None),
    ("an aside in capitals", says(" (ASIDE) lunch?"), ALONE, ALWAYS, None),
    ("an aside in wide brackets", says("（aside）lunch?"), ALONE, ALWAYS, None),
    ("an aside that mentions us", says("(aside) <@U0KIMI> is slow", **TO_US), ALONE, AUTO, None),
    ("an aside behind a mention", says("<@U0KIMI> (aside) hm", **TO_US), ALONE, AUTO, None),
    ("an aside in a direct message", says("(aside) hm", **DIRECT), None, AUTO, None),
    ("a bracket that is no aside", says("(besides) why?"), ALONE, AUTO, FOLLOW_UP),
    ("an aside at the end", says("why? (aside)"), ALONE, AUTO, FOLLOW_UP),
    # Words.
    ("help", says("<@U0KIMI> help", **TO_US), None, AUTO, Wanted(Kind.HELP)),
    ("help, dressed", says("<@U0KIMI>: **Help!** :pray:", **TO_US), None, AUTO, Wanted(Kind.HELP)),
    ("help with something", says("<@U0KIMI> help me", **TO_US), None, AUTO, ASK),
    ("help as a quote", says("<@U0KIMI>\n> help", **TO_US), None, AUTO, ASK),
    ("help in code", says("<@U0KIMI> `help`", **TO_US), None, AUTO, ASK),
    ("help, directly", says("help", **DIRECT), None, AUTO, Wanted(Kind.HELP)),
    ("help, alone with us", says("help"), ALONE, AUTO, Wanted(Kind.HELP, is_follow_up=True)),
    ("help, said to others", says("help"), BO_SPOKE, AUTO, None),
    ("help with a word before it", says("please help"), ALONE, AUTO, FOLLOW_UP),
    ("mute", says("<@U0KIMI> mute", **TO_US), WITH_BO, AUTO, Wanted(Kind.MUTE)),
    ("mute, again", says("mute"), MUTED, AUTO, None),
    ("stop listening", says("Stop listening.", **DIRECT), ALONE, AUTO, Wanted(Kind.MUTE)),
    ("unmute", says("<@U0KIMI> unmute", **TO_US), MUTED, AUTO, Wanted(Kind.UNMUTE)),
    ("unmute, alone", says("unmute"), MUTED, AUTO, Wanted(Kind.UNMUTE, is_follow_up=True)),
    ("unmute, directly", says("unmute", **DIRECT), MUTED, AUTO, Wanted(Kind.UNMUTE)),
    ("forget", says("<@U0KIMI> forget", **TO_US), ALONE, AUTO, Wanted(Kind.FORGET)),
    ("forget it", says("<@U0KIMI> forget it, use a list", **TO_US), ALONE, AUTO, ASK),
    ("summarise", says("<@U0KIMI> summarise", **TO_US), WITH_BO, AUTO, Wanted(Kind.SUMMARISE)),
    ("summarize", says("summarize <@U0KIMI>", **TO_US), None, AUTO, Wanted(Kind.SUMMARISE)),
    ("tl;dr", says("<@U0KIMI> TL;DR?", **TO_US), WITH_BO, AUTO, Wanted(Kind.SUMMARISE)),
    ("a mention and nothing else", says("<@U0KIMI>", **TO_US), None, AUTO, Wanted(Kind.GREETING)),
    ("a mention and a comma", says(" <@U0KIMI>, ", **TO_US), None, AUTO, Wanted(Kind.GREETING)),
    ("a mention and a question mark", says("<@U0KIMI> ?", **TO_US), WITH_BO, AUTO, ASK),
    # Where and who.
    ("a mention in a channel that is listed", TO_US, None, HERE, ASK),
    ("a mention in another, to be refused", TO_US, None, ELSEWHERE, ASK),
    ("a follow-up in another", {}, ALONE, ELSEWHERE, None),
    ("a mention by who is not listed, to be refused", TO_US, None, ONLY_BO, ASK),
    ("a follow-up by who is not listed", {}, ALONE, ONLY_BO, None),
    ("a follow-up by who is listed", {}, ALONE, ONLY_ANA, FOLLOW_UP),
    # Apps, and us.
    ("an app that mentions us", CI | TO_US, None, AUTO, None),
    ("a listed app that mentions us", CI | TO_US, None, WITH_CI, ASK),
    ("an app listed by its app id", CI | TO_US, WITH_BO, WITH_CI_APP, ASK),
    ("a listed app that does not", CI, ALONE, WITH_CI, None),
    ("a listed app that writes to us directly", CI | DIRECT, None, WITH_CI, None),
    ("a listed app after our reply to it", CI, ALONE, replace(ALWAYS, apps=WITH_CI.apps), None),
    (
        "a listed app in another channel",
        CI | TO_US,
        None,
        replace(ELSEWHERE, apps=WITH_CI.apps),
        None,
    ),
    ("a listed app that says a word", CI | TO_US | says("<@U0KIMI> forget"), None, WITH_CI, ASK),
    ("a listed app too often", CI | TO_US, BUSY, WITH_CI, Wanted(Kind.APP_LIMIT)),
    ("a listed app that was told so", CI | TO_US, TOLD, WITH_CI, None),
    ("an app that is not listed, too often", CI | TO_US, BUSY, AUTO, None),
    ("a person in that thread", TO_US, TOLD, WITH_CI, ASK),
    ("ourselves", TO_US | {"speaker": Speaker.US}, ALONE, ALWAYS, None),
]


@pytest.mark.parametrize(
    ("change", "facts", "policy", "wanted"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_who_is_answered_and_what_is_wanted(
    change: dict[str, Any], facts: ThreadFacts | None, policy: Policy, wanted: Wanted | None
) -> None:
    assert verdict(replace(MESSAGE, **change), US, facts, policy) == wanted


def test_the_list_of_channels_names_all_direct_messages_with_one_word() -> None:
    policy = Policy(channels=frozenset({"C0DEV", "direct"}))

    assert [policy.has_channel(channel) for channel in ("C0DEV", "D0ANA", "C0OPS")] == [
        True,
        True,
        False,
    ]
    assert not HERE.has_channel("D0ANA")


def test_the_thread_matters_only_to_what_is_said_in_one_without_a_mention_or_by_an_app() -> None:
    root = replace(MESSAGE, ts=THREAD.root_ts)

    assert depends_on_thread(MESSAGE, US)
    assert depends_on_thread(replace(MESSAGE, **DIRECT), US)
    assert depends_on_thread(replace(MESSAGE, **CI, **TO_US), US)
    assert not depends_on_thread(replace(MESSAGE, **TO_US), US)
    assert not depends_on_thread(replace(root, **CI, **TO_US), US)
    assert not depends_on_thread(root, US)


def test_only_people_ask_us_wherever_they_are() -> None:
    assert is_for_us(replace(MESSAGE, **TO_BOTH), US)
    assert is_for_us(replace(MESSAGE, **DIRECT), US)
    assert not is_for_us(MESSAGE, US)
    assert not is_for_us(replace(MESSAGE, **CI, **TO_US), US)


STOPS = [
    "stop",
    "Stop",
    "STOP!",
    " stop. ",
    "stop!!!",
    "**stop**",
    "_stop_",
    "~~stop~~",
    "<@U0KIMI> stop",
    "stop <@U0KIMI>",
    "<@U0KIMI>, stop!",
    "<@U0KIMI>\nstop",
    "stop :octagonal_sign:",
    ":x: stop",
    "🛑 stop 🛑",
    "¡stop!",
    "“stop”",
    "stop…",
    "ｓｔｏｐ",
    "Stopp!",
    "停止",
    "停止。",
    "<@U0KIMI> 停止！",
    "(stop)",
    "- stop",
]
NO_STOPS = [
    "stop the deploy",
    "how do I stop nginx?",
    "<@U0KIMI> stop the deploy",
    "don't stop",
    "please stop",
    "stop it",
    "non-stop",
    "stopped",
    "stops",
    "stop stop",
    "<@U0BO> stop",
    "> stop",
    "`stop`",
    "```\nstop\n```",
    "stop\n\nand then?",
    "停止する方法は？",
    "",
    "!!!",
    "<@U0KIMI>",
    ":octagonal_sign:",
    "stop" + "!" * 100_000,
]


@pytest.mark.parametrize("text", STOPS)
def test_the_word_alone_stops_us_however_it_is_dressed(text: str) -> None:
    assert is_stop(replace(MESSAGE, text=text), US)


@pytest.mark.parametrize("text", NO_STOPS, ids=lambda text: text[:20])
def test_a_message_that_merely_has_the_word_in_it_stops_nothing(text: str) -> None:
    assert not is_stop(replace(MESSAGE, text=text), US)


def test_another_bot_stops_nothing() -> None:
    assert not is_stop(replace(MESSAGE, text="stop", speaker=Speaker.APP), US)


ASKS_FOR_A_REVIEW = (
    """
<@U0KIMI> review|<@U0KIMI> review this|<@U0KIMI>: Review this PR, please|<@U0KIMI> *review* it
<@U0KIMI> please review the file|<@U0KIMI> can you review https://github.com/acme/shop/pull/7?
<@U0KIMI> review https://github.com/acme/shop/pull/7|<@U0KIMI> code review please
<@U0KIMI> review again|<@U0KIMI> re-review|this is new, <@U0KIMI> review it|<@U0KIMI> :eyes: review
<@U0KIMI> review ```def f(): pass```|<@U0KIMI> could you please review acme/shop#7
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
ASKS_ABOUT_REVIEWS = (
    """
<@U0KIMI> what is a review?|<@U0KIMI> reviews are slow here|<@U0KIMI> who can review this?
<@U0KIMI> review comments: what do they mean?|<@U0KIMI> the review was good|<@U0KIMI> reviewed?
<@U0KIMI> review is a funny word|<@U0KIMI> > review this|<@U0KIMI> `review` does what?
<@U0KIMI> explain the review|<@U0KIMI> preview this|<@U0KIMI> how do I review a pull request?
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


@pytest.mark.parametrize("text", ASKS_FOR_A_REVIEW)
def test_what_begins_with_the_word_is_reviewed(text: str) -> None:
    assert verdict(replace(MESSAGE, **says(text, **TO_US)), US, None, AUTO) == Wanted(Kind.REVIEW)


def test_what_the_model_has_people_say_asks_for_a_review() -> None:
    prompt = resources.files("kimibot").joinpath("system_prompt.md").read_text(encoding="utf-8")
    (words,) = re.findall(r"`(review[^`]*)`", prompt)

    assert wanted_by(replace(MESSAGE, text=f"<@U0KIMI> {words}", **TO_US), US) == Kind.REVIEW


@pytest.mark.parametrize("text", ASKS_ABOUT_REVIEWS)
def test_a_question_that_speaks_of_reviews_is_an_ordinary_one(text: str) -> None:
    assert verdict(replace(MESSAGE, **says(text, **TO_US)), US, None, AUTO) == ASK


def test_a_follow_up_may_ask_for_a_review() -> None:
    wanted = Wanted(Kind.REVIEW, is_follow_up=True)
    assert verdict(replace(MESSAGE, text="review again"), US, ALONE, AUTO) == wanted


OF_A_FINDING = {
    Kind.NOT_A_PROBLEM: (
        "not a problem 2|Not a problem: 2.|not a problem #2|2 is not a problem|#2 is no problem!"
        "|finding 2 isn't a problem|2 isn’t a problem|No. 2 is not a problem|12 is no problem"
    ),
    Kind.PATCH: (
        "show the fix for 3 as a patch|patch for 3|give me the patch for finding 3"
        "|Please show me the fix for #3 as a patch|a patch of 3, please|patch for number 3"
    ),
    Kind.A_PROBLEM: (
        "2 is a problem|finding 2 is a problem after all|#2’s a problem!|No. 2 is a problem."
    ),
    Kind.ASK: (
        "is 2 a problem?|2 is a problem here|1 and 2 are a problem|2 is a big problem"
        "|explain 2|not a problem|2 and 3 are not a problem|is 2 not a problem?"
        "|not a problem 2 but 3 is|2 is not a problem because it is sorted|> 2 is not a problem"
        "|the fix for 3|show the fix for 3|patch 3|patch for the demo|no problem 2"
        "|not a problem 200"
    ),
}
SAID_OF_A_FINDING = [
    (text, kind) for kind, said in OF_A_FINDING.items() for text in said.split("|")
]


@pytest.mark.parametrize(("text", "kind"), SAID_OF_A_FINDING)
def test_what_is_said_of_one_finding_is_taken_only_where_it_is_clear(text: str, kind: Kind) -> None:
    message = replace(MESSAGE, **says(f"<@U0KIMI> {text}", **TO_US))

    assert verdict(message, US, None, AUTO) == Wanted(kind)


def test_a_thread_does_not_begin_with_what_is_said_of_a_finding() -> None:
    root = replace(MESSAGE, ts=MESSAGE.thread.root_ts, text="<@U0KIMI> patch for 3", **TO_US)

    assert verdict(root, US, None, AUTO) == ASK


@pytest.mark.parametrize(
    ("words", "number"),
    [("2 is not a problem", 2), ("patch for 12", 12), ("why?", 0), ("1 or 2", 0)],
)
def test_a_finding_is_meant_where_one_number_is_said(words: str, number: int) -> None:
    assert number_in(words) == number
