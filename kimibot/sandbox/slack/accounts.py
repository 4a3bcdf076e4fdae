"""Who is who: auth.test, users.info, bots.info, team.info."""

from __future__ import annotations

from typing import Any

from kimibot.sandbox.slack.arguments import Arguments
from kimibot.sandbox.slack.people import (
    BOT,
    FOUNDED,
    OTHER_TEAM_ID,
    OTHER_TEAM_NAME,
    TEAM_DOMAIN,
    TEAM_ID,
    TEAM_NAME,
)
from kimibot.sandbox.slack.refusals import Refused
from kimibot.sandbox.slack.workspace import Workspace, as_slack_user

Answer = dict[str, Any]


def auth_test(workspace: Workspace, _: Arguments) -> Answer:
    """https://docs.slack.dev/reference/methods/auth.test, for the bot's token."""
    return {
        "ok": True,
        "url": f"{workspace.base_url}/",
        "team": TEAM_NAME,
        "user": BOT.name,
        "team_id": TEAM_ID,
        "user_id": BOT.user_id,
        "bot_id": BOT.bot_id,
        "is_enterprise_install": False,
    }


def users_info(workspace: Workspace, arguments: Arguments) -> Answer:
    """https://docs.slack.dev/reference/methods/users.info."""
    person = workspace.people.get(arguments.required("user"))
    if person is None:
        raise Refused("user_not_found")
    user = as_slack_user(person)
    if "users:read.email" not in workspace.options.scopes:
        user["profile"].pop("email", None)
    return {"ok": True, "user": user}


def bots_info(workspace: Workspace, arguments: Arguments) -> Answer:
    """https://docs.slack.dev/reference/methods/bots.info."""
    app = workspace.apps.get(arguments.required("bot"))
    if app is None:
        raise Refused("bot_not_found")
    bot = {
        "id": app.bot_id,
        "deleted": False,
        "name": app.name,
        "updated": FOUNDED,
        "app_id": app.app_id,
        "user_id": app.user_id,
        "icons": {},
    }
    return {"ok": True, "bot": bot}


def team_info(workspace: Workspace, arguments: Arguments) -> Answer:
    """https://docs.slack.dev/reference/methods/team.info, also for who shares a channel with us."""
    team_id = arguments.text("team") or TEAM_ID
    if team_id not in _TEAMS:
        raise Refused("team_not_found")
    name, domain = _TEAMS[team_id]
    url = f"{workspace.base_url}/"
    team = {"id": team_id, "name": name, "domain": domain, "email_domain": "", "url": url}
    return {"ok": True, "team": team}


_TEAMS = {TEAM_ID: (TEAM_NAME, TEAM_DOMAIN), OTHER_TEAM_ID: (OTHER_TEAM_NAME, "acme")}
