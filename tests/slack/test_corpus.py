"""What the model reads of each kind of message that there is in Slack."""

from __future__ import annotations

import pytest

from kimibot.conversation import Remembered, Speaker, Us
from kimibot.history import said_by
from kimibot.slack.events import read
from tests.slack.corpus import EVENTS, US_ID

US = Us("T1", US_ID, "B0KIMIBOT", "A0KIMIBOT")

READ = {
    "a plain question": ["why is `a[0]` slow?"],
    "a mention in the middle, with its twin's fields": ["hey <@U0KIMIBOT>, and <@U0BO00001>?"],
    "a pasted diff whose text was shortened": [
        "ok?",
        "```",
        "diff --git a/x.py b/x.py",
        "@@ -1,2 +1,2 @@",
        "-\tif a < b && c:",
        "+\tif a <= b:",
        " ",
        "```",
    ],
    "a stack trace as old clients send it": [
        "see ",
        "```",
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in <module>',
        '    a["<k>"]',
        "```",
    ],
    "a code block with a language": ["```python", "x = 1", "```"],
    "a list in a list, with links": [
        "todo:",
        "- read https://x.y/a?b=1&c=2",
        "    1. [docs](https://x.y)",
    ],
    "a quote of us with an own word below": ["> <@U0KIMIBOT> stop", "", "not me"],
    "people, groups, channels, emoji, a date": [
        "<@U0BO00001> @S0DEVS001 <#C0GENERAL> @here 👋🏽 :partyparrot: Nov 30, 2025"
    ],
    "a channel whose name the text has": ["see #general and <#C0OTHER01>"],
    "an address that became a link": ["write ana@people.invalid"],
    "a reply that is also sent to the channel": ["fixed"],
    "a message of /me": ["is looking into it"],
    "a file with a word": ["look"],
    "a forwarded message": [
        "what now?",
        "",
        "> Forwarded from Mei Tanaka:",
        "> <@U0KIMIBOT> the disk is full",
        "> [file: df.txt]",
    ],
    "a link with the preview of a page": [
        "https://x.y/post",
        "",
        "> Attached, from The Post:",
        "> [Lists are slow](https://x.y/post)",
        "> Why inserting & copying costs.",
    ],
    "an alert in blocks, without a text": [
        "## KeyError: 'user_id'",
        "",
        "*[app.views.login](https://sentry.invalid/issues/1)*",
        "*Environment:*",
        "production",
        "*Events:*",
        "42",
        "",
        "```",
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in <module>',
        '    a["<k>"]',
        "```",
        "",
        "Short id: APP-1 via rules",
    ],
    "an alert in an attachment of the old kind": [
        "> Attached:",
        "> [[Triggered] CPU is high](https://dd.invalid/1)",
        "> avg > 90",
        "> @slack-ops",
        "> Host: web-1",
        "> Tags: env:prod",
    ],
    "a pull request told by an app": [
        "> Attached:",
        "> Pull request opened by [ana](https://gh.invalid/ana)",
        "> [#7 Copy less](https://gh.invalid/o/r/pull/7)",
        "> It copied the list.",
        "> Reviewers: bo",
    ],
    "an attachment that is blocks": [
        "> Attached:",
        "> *[K-1 Slow list](https://jira.invalid/K-1)*",
        ">",
        "> [image: Bug] Status: *To Do*",
    ],
    "a webhook of the old kind": ["Deployed [#9](https://ci.invalid/9) to *prod*"],
    "a workflow's form": ["**New request**", "What: a list"],
    "a post with a person's own token": ["from a script"],
    "a table": ["| host | load |", "| --- | --- |", "| web-1 | 0.9 |"],
    "Markdown of another model's app": ["**Done**", "", "- a", "- b"],
    "a video and a picture": ["Demo", "How it works", "", "[image: load graph]"],
    "somebody of another company in a shared channel": ["hello from Acme"],
    "a direct message whose thread is its own": ["hi"],
    "a call": ["A call started"],
    "smart quotes and escapes": ["“a && b” <c> &lt;"],
}

NOT_SAID = [
    "somebody joins",
    "a topic",
    "a tombstone",
    "Slackbot",
    "our own post",
    "a message with nothing in it",
]

ADDRESSED = {
    "a mention in the middle, with its twin's fields": {US_ID, "U0BO00001"},
    "people, groups, channels, emoji, a date": {"U0BO00001", "S0DEVS001", "here"},
}
"""Whom a message addresses; all others address nobody, whomever they quote."""

NAMES = {"U0ANA0001": "ana", "B0SENTRY1": "Sentry", "B0HOOK001": "deploy", "C0GENERAL": "general"}


def test_the_corpus_is_whole() -> None:
    assert EVENTS.keys() == READ.keys() | set(NOT_SAID)
    assert len(READ) >= 25


@pytest.mark.parametrize("name", READ)
def test_a_message_is_read_as_it_was_said(name: str) -> None:
    event = EVENTS[name]

    message = read({"type": "event_callback", "event_id": "Ev1", "event": event}, US)

    assert message is not None
    assert message.text.split("\n") == READ[name]
    assert message.mentions == ADDRESSED.get(name, set())
    is_by_app = "bot_id" in event
    assert message.speaker is (Speaker.APP if is_by_app else Speaker.PERSON)
    assert message.author == (event["bot_id"] if is_by_app else event["user"])


@pytest.mark.parametrize("name", NOT_SAID)
def test_what_nobody_has_said_is_no_message(name: str) -> None:
    event = EVENTS[name]

    assert read({"type": "event_callback", "event_id": "Ev1", "event": event}, US) is None


@pytest.mark.parametrize("name", READ)
def test_the_model_reads_names_and_no_ids_of_channels_and_no_addresses(name: str) -> None:
    event = EVENTS[name]
    text = "\n".join(READ[name])
    speaker = Speaker.APP if "bot_id" in event else Speaker.PERSON
    author = event.get("bot_id") or event["user"]

    sent = said_by(Remembered(1, event["ts"], speaker, author, text), _name_of)

    assert sent.startswith(f"{_name_of(author)}{' (app)' if 'bot_id' in event else ''}, Sun 2025-")
    assert "people.invalid" not in sent
    assert "<@" not in sent
    assert "<#" not in sent


def _name_of(id_: str) -> str:
    return NAMES.get(id_, id_)
