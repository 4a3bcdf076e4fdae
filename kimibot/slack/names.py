"""What people, apps and channels are called, looked up in Slack and remembered for an hour."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from kimibot.conversation import Us
from kimibot.emails import has_address
from kimibot.errors import SlackError
from kimibot.slack.shapes import Shape, shape, string
from kimibot.slack.web_api import WebApi

NAME_SECONDS = 3600.0
"""A name is looked up again after an hour."""

NAMES_WAIT_SECONDS = 3.0
"""An answer does not wait longer for names; who is still unknown then is an id."""


class Relation(Enum):
    """What somebody is to us, as far as Slack says so."""

    UNKNOWN = auto()
    MEMBER = auto()
    COLLEAGUE = auto()
    """Of our organisation, in whichever of its workspaces."""
    EXTERNAL = auto()


@dataclass(frozen=True, slots=True)
class _Known:
    """What Slack says of somebody or something."""

    looked_up_at: float
    name: str
    relation: Relation


class SlackNames:
    """The names in one workspace: that of our token."""

    def __init__(self, web_api: WebApi, us: Us, *, clock: Callable[[], float]) -> None:
        self._web_api = web_api
        self._us = us
        self._clock = clock
        self._known: dict[str, _Known] = {}
        self._lookups = {
            "U": self._person,
            "W": self._person,
            "B": self._app,
            "C": self._channel,
            "G": self._channel,
            "T": self._company,
        }

    async def names(self, ids: Collection[str]) -> Mapping[str, str]:
        """What is behind each id; what can't be looked up in time is left out."""
        unknown = [id_ for id_ in ids if id_[:1] in self._lookups and not self._is_fresh(id_)]
        if unknown:
            lookups = [asyncio.create_task(self._look_up(id_)) for id_ in unknown]
            try:
                await asyncio.wait(lookups, timeout=NAMES_WAIT_SECONDS)
            finally:
                for lookup in lookups:
                    lookup.cancel()
        return {id_: self._known[id_].name for id_ in ids if id_ in self._known}

    async def is_external(self, person: str, team: str) -> bool:
        """Whether it is a guest, or somebody whose own workspace is not ours, nor another of our
        organisation.

        `team` is that workspace as far as the event named it: where Slack does not say who
        somebody is, it has to be ours. Never fails.
        """
        is_elsewhere = team not in ("", self._us.team)
        if is_elsewhere and not self._us.enterprise:
            return True
        await self.names([person])
        known = self._known.get(person)
        relation = known.relation if known else Relation.UNKNOWN
        if relation is Relation.UNKNOWN:
            return team != self._us.team
        return relation is Relation.EXTERNAL or (is_elsewhere and relation is Relation.MEMBER)

    def _is_fresh(self, id_: str) -> bool:
        known = self._known.get(id_)
        return known is not None and self._clock() - known.looked_up_at < NAME_SECONDS

    async def _look_up(self, id_: str) -> None:
        """A failed look-up is remembered too: the next turn must not wait for it again."""
        relation = Relation.UNKNOWN
        try:
            name, relation = await self._lookups[id_[0]](id_)
        except SlackError as error:
            name = _label(id_, "") if error.code == "user_not_visible" else ""
        self._known[id_] = _Known(self._clock(), name or id_, relation)

    async def _person(self, id_: str) -> tuple[str, Relation]:
        user = shape(await self._web_api.read("users.info", user=id_), "user")
        if not is_of_another_company(user, self._us):
            return name_of(user), _relation(user, self._us)
        team = string(user, "team_id")
        if not self._is_fresh(team):
            await self._look_up(team)
        company = self._known[team].name
        return _label(id_, "" if company == team else company), Relation.EXTERNAL

    async def _app(self, id_: str) -> tuple[str, Relation]:
        answer = await self._web_api.read("bots.info", bot=id_)
        return string(shape(answer, "bot"), "name"), Relation.UNKNOWN

    async def _channel(self, id_: str) -> tuple[str, Relation]:
        answer = await self._web_api.read("conversations.info", channel=id_)
        return string(shape(answer, "channel"), "name"), Relation.UNKNOWN

    async def _company(self, id_: str) -> tuple[str, Relation]:
        answer = await self._web_api.read("team.info", team=id_)
        return string(shape(answer, "team"), "name"), Relation.UNKNOWN


def is_of_another_company(user: Shape, us: Us) -> bool:
    """Another workspace of our own organisation is none.

    https://docs.slack.dev/reference/objects/user-object
    """
    is_elsewhere = string(user, "team_id") not in ("", us.team)
    is_of_another = is_elsewhere and not _is_of_our_organisation(user, us)
    return is_of_another or user.get("is_stranger") is True


def _is_of_our_organisation(user: Shape, us: Us) -> bool:
    enterprise = string(shape(user, "enterprise_user"), "enterprise_id")
    return bool(enterprise) and enterprise == us.enterprise


def _relation(user: Shape, us: Us) -> Relation:
    """Of somebody of our own company."""
    if not user:
        return Relation.UNKNOWN
    if user.get("is_restricted") or user.get("is_ultra_restricted"):
        return Relation.EXTERNAL
    return Relation.COLLEAGUE if _is_of_our_organisation(user, us) else Relation.MEMBER


def name_of(user: Mapping[str, Any]) -> str:
    """The name that people see, unless that is an e-mail address."""
    profile = shape(user, "profile")
    shown = (string(profile, "display_name"), string(profile, "real_name"))
    names = (*shown, string(user, "real_name"), string(user, "name"))
    return next((name for name in names if name and not has_address(name)), "")


def _label(id_: str, company: str) -> str:
    """People of other companies are told apart by what does not change."""
    return f"external user {id_} ({company})" if company else f"external user {id_}"
