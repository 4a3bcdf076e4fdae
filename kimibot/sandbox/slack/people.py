"""The people, apps and channels that the local workspace begins with."""

from __future__ import annotations

from dataclasses import dataclass, field

TEAM_ID = "T0LOCAL01"
TEAM_NAME = "Local Slack"
TEAM_DOMAIN = "local-slack"
OTHER_TEAM_ID = "T0OTHER01"
OTHER_TEAM_NAME = "Acme"

BOT_TOKEN = "xoxb-local-fake"
APP_TOKEN = "xapp-local-fake"
SIGNING_SECRET = "local-fake-secret"
VERIFICATION_TOKEN = "local-fake-verification"

FOUNDED = 1_700_000_000


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with an account; `team_id` is another's for strangers of a shared channel, and for
    colleagues in an organisation of several workspaces, which `enterprise_id` names."""

    id: str
    name: str
    real_name: str
    team_id: str = TEAM_ID
    is_guest: bool = False
    is_bot: bool = False
    bot_id: str = ""
    app_id: str = ""
    enterprise_id: str = ""

    @property
    def is_stranger(self) -> bool:
        return self.team_id != TEAM_ID and not self.enterprise_id


@dataclass(frozen=True, slots=True)
class App:
    """An installed app that can post: as `user_id`, with `bot_id`."""

    app_id: str
    bot_id: str
    user_id: str
    name: str


@dataclass(slots=True)
class Channel:
    """A conversation; `kind` is Slack's channel_type: channel, group, im or mpim."""

    id: str
    name: str
    kind: str = "channel"
    members: set[str] = field(default_factory=set)
    is_archived: bool = False
    is_read_only: bool = False
    is_shared: bool = False


BOT = App("A0KIMIBOT", "B0KIMIBOT", "U0KIMIBOT", "kimibot")
SHORTCUTS = {"ask_about": "Ask Kimi about this", "review": "Review with Kimi"}
"""What the bot's app has in the menu of each message: callback ids, and names."""

MONITOR = App("A0MONITOR", "B0MONITOR", "U0MONITOR", "monitor")

ANA = Person("U0ANA0001", "ana", "Ana Lima")
BO = Person("U0BO00001", "bo", "Bo Andersen")
CHIDI = Person("U0CHIDI01", "chidi", "Chidi Okafor")
MEI = Person("U0MEI0001", "mei", "Mei Tanaka")
GUEST = Person("U0GUEST01", "gus", "Gus Guest", is_guest=True)
STRANGER = Person("U0STRANG1", "sam", "Sam Stranger", team_id=OTHER_TEAM_ID)


def first_people() -> list[Person]:
    """Everybody with an account, the apps' bot users included."""
    bots = [
        Person(app.user_id, app.name, app.name, is_bot=True, bot_id=app.bot_id, app_id=app.app_id)
        for app in (BOT, MONITOR)
    ]
    return [ANA, BO, CHIDI, MEI, GUEST, STRANGER, *bots]


def first_channels() -> list[Channel]:
    """#general, #dev, #random and a private one; an archived, a read-only, a shared one, and one
    where the bot is not a member."""
    staff = {ANA.id, BO.id, CHIDI.id, MEI.id, MONITOR.user_id}
    everybody = staff | {BOT.user_id}
    return [
        Channel("C0GENERAL", "general", members=everybody | {GUEST.id}),
        Channel("C0DEV0001", "dev", members=set(everybody)),
        Channel("C0RANDOM1", "random", members=set(everybody)),
        Channel("C0OLD0001", "old", members=set(everybody), is_archived=True),
        Channel("C0NEWS001", "news", members=set(everybody), is_read_only=True),
        Channel("C0WITHOUT", "without-bot", members=set(staff)),
        Channel("C0SHARED1", "shared", members=everybody | {STRANGER.id}, is_shared=True),
        Channel("G0PRIVATE", "private", "group", {ANA.id, BO.id, BOT.user_id}),
    ]
