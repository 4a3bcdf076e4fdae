"""A Slack on the loopback interface: its Web API, its deliveries and its limits, with controls."""

from kimibot.sandbox.slack.messages import Change
from kimibot.sandbox.slack.options import Options
from kimibot.sandbox.slack.people import (
    APP_TOKEN,
    BOT,
    BOT_TOKEN,
    SIGNING_SECRET,
    TEAM_ID,
)
from kimibot.sandbox.slack.records import Call, Counters, DeliveryRecord, Ping
from kimibot.sandbox.slack.server import LocalSlack, LocalSlackControls, local_slack
from kimibot.sandbox.slack.shown import Shown
from kimibot.sandbox.slack.workspace import Unknown

__all__ = [
    "APP_TOKEN",
    "BOT",
    "BOT_TOKEN",
    "SIGNING_SECRET",
    "TEAM_ID",
    "Call",
    "Change",
    "Counters",
    "DeliveryRecord",
    "LocalSlack",
    "LocalSlackControls",
    "Options",
    "Ping",
    "Shown",
    "Unknown",
    "local_slack",
]
