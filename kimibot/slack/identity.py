"""Asks Slack once, at the start, who we are."""

from __future__ import annotations

from kimibot.conversation import Us
from kimibot.slack.web_api import WebApi


async def identify(web_api: WebApi) -> Us:
    """Our team, user, bot and app. Raises SlackError, for example when the token is refused."""
    answer = await web_api.read("auth.test")
    return Us(
        team=str(answer.get("team_id") or ""),
        user_id=str(answer.get("user_id") or ""),
        bot_id=str(answer.get("bot_id") or ""),
        app_id=str(answer.get("app_id") or ""),
        name=str(answer.get("user") or ""),
        enterprise=str(answer.get("enterprise_id") or ""),
    )
