"""Whom and what the model reads of has a name, or at least always the same label."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from kimibot.conversation import Us
from kimibot.pacing import Pacing
from kimibot.sandbox.slack import BOT_TOKEN, TEAM_ID, LocalSlack, local_slack
from kimibot.sandbox.slack.people import ANA, BO, GUEST, MONITOR, OTHER_TEAM_ID, STRANGER
from kimibot.slack.names import NAME_SECONDS, SlackNames, is_of_another_company, name_of
from kimibot.slack.web_api import WebApi, open_web_api

US = Us(TEAM_ID, "U0KIMIBOT", "B0KIMIBOT")
DEV = "C0DEV0001"


@dataclass
class Scene:
    slack: LocalSlack
    web_api: WebApi
    seconds: float = 0.0

    def names(self, us: Us = US) -> SlackNames:
        return SlackNames(self.web_api, us, clock=lambda: self.seconds)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with (
        local_slack() as slack,
        open_web_api(BOT_TOKEN, base_url=slack.api_url, timeout_seconds=5) as client,
    ):
        yield Scene(slack, WebApi(client, Pacing()))


async def test_people_apps_and_channels_have_their_names(scene: Scene) -> None:
    ids = [ANA.id, GUEST.id, MONITOR.bot_id, DEV]

    assert await scene.names().names(ids) == {
        ANA.id: "ana",
        GUEST.id: "gus",
        MONITOR.bot_id: "monitor",
        DEV: "dev",
    }


async def test_people_of_another_company_have_a_label_that_names_it(scene: Scene) -> None:
    found = await scene.names().names([STRANGER.id])

    assert found == {STRANGER.id: f"external user {STRANGER.id} (Acme)"}


async def test_without_leave_to_look_up_a_company_the_label_does_without(scene: Scene) -> None:
    await scene.slack.fail("team.info", "missing_scope")

    found = await scene.names().names([STRANGER.id])

    assert found == {STRANGER.id: f"external user {STRANGER.id}"}


GRID = {"enterprise_user": {"enterprise_id": "E1"}}


@pytest.mark.parametrize(
    ("user", "enterprise", "is_strange"),
    [
        ({"team_id": TEAM_ID}, "", False),
        ({}, "", False),
        ({"team_id": OTHER_TEAM_ID}, "", True),
        ({"team_id": OTHER_TEAM_ID, "is_stranger": False}, "", True),
        ({"team_id": OTHER_TEAM_ID, **GRID}, "E1", False),
        ({"team_id": OTHER_TEAM_ID, **GRID}, "E2", True),
        ({"team_id": OTHER_TEAM_ID, **GRID}, "", True),
    ],
)
def test_another_workspace_is_outside_unless_it_is_of_our_organisation(
    user: dict[str, object], enterprise: str, is_strange: bool
) -> None:
    assert is_of_another_company(user, replace(US, enterprise=enterprise)) is is_strange


@pytest.mark.parametrize(
    ("profile", "name"),
    [
        ({"display_name": "ana", "real_name": "Ana Lima"}, "ana"),
        ({"display_name": "", "real_name": "Ana Lima"}, "Ana Lima"),
        ({"display_name": "ana@people.invalid", "real_name": "Ana Lima"}, "Ana Lima"),
        ({"display_name": None, "real_name": "ana@people.invalid"}, "ana.lima"),
    ],
)
def test_nobody_is_called_by_an_address(profile: dict[str, object], name: str) -> None:
    assert name_of({"profile": profile, "name": "ana.lima"}) == name


@pytest.mark.parametrize(
    ("code", "name"),
    [("user_not_found", BO.id), ("user_not_visible", f"external user {BO.id}")],
)
async def test_who_can_not_be_looked_up_is_an_id_and_not_looked_up_again_soon(
    scene: Scene, code: str, name: str
) -> None:
    await scene.slack.fail("users.info", code)
    names = scene.names()

    first, second = await names.names([BO.id]), await names.names([BO.id])
    scene.seconds = NAME_SECONDS + 1
    later = await names.names([BO.id])

    assert first == second == {BO.id: name}
    assert later == {BO.id: "bo"}


async def test_an_id_of_an_unknown_kind_is_left_out(scene: Scene) -> None:
    assert await scene.names().names(["X1", "", "D1"]) == {}
