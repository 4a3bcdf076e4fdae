"""Who somebody is, as far as Slack says so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from kimibot.conversation import Us
from kimibot.pacing import Pacing
from kimibot.sandbox.slack import BOT_TOKEN, LocalSlack, local_slack
from kimibot.sandbox.slack.people import Person
from kimibot.slack.messages import SlackMessages
from kimibot.slack.web_api import WebApi, open_web_api
from kimibot.slack.workspace import SlackWorkspace

OURS, THEIRS = "T0LOCAL01", "T0OTHER01"
US = Us(team=OURS, user_id="U0KIMIBOT", bot_id="B0KIMIBOT")


@asynccontextmanager
async def opened(us: Us = US) -> AsyncIterator[tuple[LocalSlack, SlackWorkspace]]:
    async with (
        local_slack() as slack,
        open_web_api(BOT_TOKEN, base_url=slack.api_url, timeout_seconds=30) as client,
    ):
        web_api = WebApi(client, pacing := Pacing())
        messages = SlackMessages(web_api, pacing)
        yield (
            slack,
            SlackWorkspace(
                web_api,
                us,
                messages,
                connected_since=lambda: 0.0,
                is_deaf_in=lambda *_: False,
                clock=lambda: 0.0,
            ),
        )


@pytest.mark.parametrize(
    ("person", "team", "is_external"),
    [
        ("U0ANA0001", OURS, False),
        ("U0ANA0001", "", False),
        ("U0ANA0001", THEIRS, True),
        ("U0GUEST01", OURS, True),
        ("U0STRANG1", "", True),
        ("U0NOBODY1", OURS, False),
        ("U0NOBODY1", "", True),
    ],
)
async def test_guests_and_people_of_other_workspaces_are_external(
    person: str, team: str, is_external: bool
) -> None:
    async with opened() as (_, workspace):
        assert await workspace.is_external(person, team) is is_external


COLLEAGUE = Person("U0COLLEA1", "cleo", "Cleo Ruiz", team_id=THEIRS, enterprise_id="E0LOCAL01")


@pytest.mark.parametrize("team", [THEIRS, "E0LOCAL01", ""])
@pytest.mark.parametrize(
    ("person", "enterprise", "is_external"),
    [
        (COLLEAGUE, "E0LOCAL01", False),
        (COLLEAGUE, "E0OTHER01", True),
        (COLLEAGUE, "", True),
        (replace(COLLEAGUE, is_guest=True), "E0LOCAL01", True),
        (replace(COLLEAGUE, enterprise_id=""), "E0LOCAL01", True),
    ],
)
async def test_who_is_of_another_workspace_of_our_organisation_is_a_colleague(
    person: Person, enterprise: str, is_external: bool, team: str
) -> None:
    async with opened(replace(US, enterprise=enterprise)) as (slack, workspace):
        slack.parts.workspace.people[person.id] = person

        assert await workspace.is_external(person.id, team) is is_external


@pytest.mark.parametrize("person", ["U0NOBODY1", "U0ANA0001"])
async def test_without_slacks_word_for_it_nobody_of_another_workspace_is_a_colleague(
    person: str,
) -> None:
    async with opened(replace(US, enterprise="E0LOCAL01")) as (_, workspace):
        assert await workspace.is_external(person, THEIRS)


async def test_who_somebody_is_is_asked_once_for_both_their_name_and_their_standing() -> None:
    async with opened() as (slack, workspace):
        await workspace.is_external("U0GUEST01", OURS)
        await workspace.is_external("U0GUEST01", OURS)

        assert await workspace.names(["U0GUEST01"]) == {"U0GUEST01": "gus"}
        assert len(await slack.calls("users.info")) == 1


async def test_an_external_person_without_a_name_is_called_one_and_nobody_stays_an_id() -> None:
    async with opened() as (slack, workspace):
        people = slack.parts.workspace.people
        people["U0STRANG1"] = replace(people["U0STRANG1"], name="", real_name="")

        assert await workspace.names(["U0STRANG1"]) == {
            "U0STRANG1": "external user U0STRANG1 (Acme)"
        }
        assert await workspace.names(["U0NOBODY1"]) == {"U0NOBODY1": "U0NOBODY1"}
