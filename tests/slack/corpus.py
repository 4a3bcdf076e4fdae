"""Events in the shapes in which Slack delivers them, by what they are. All names are made up.

The shapes follow https://docs.slack.dev/reference/events/message, its subtypes, and what apps post.
"""

from __future__ import annotations

from typing import Any

Fields = dict[str, Any]

US_ID = "U0KIMIBOT"
ROOT, TS = "1764493900.000100", "1764493920.000200"


def text(value: str, **style: bool) -> Fields:
    return {"type": "text", "text": value, **({"style": style} if style else {})}


def section(*elements: Fields) -> Fields:
    return {"type": "rich_text_section", "elements": list(elements)}


def rich(*elements: Fields) -> list[Fields]:
    return [{"type": "rich_text", "block_id": "b1", "elements": list(elements)}]


def mrkdwn(value: str) -> Fields:
    return {"type": "mrkdwn", "text": value, "verbatim": False}


def plain(value: str) -> Fields:
    return {"type": "plain_text", "text": value, "emoji": True}


def by_person(**fields: Any) -> Fields:
    return {
        "type": "message",
        "user": "U0ANA0001",
        "client_msg_id": "5b5c3b0e-0000-4000-8000-000000000001",
        "text": "",
        "team": "T1",
        "channel": "C0DEV0001",
        "channel_type": "channel",
        "ts": TS,
        "thread_ts": ROOT,
        "event_ts": TS,
        **fields,
    }


def by_app(name: str = "Sentry", **fields: Any) -> Fields:
    return {
        "type": "message",
        "bot_id": "B0SENTRY1",
        "app_id": "A0SENTRY1",
        "user": "U0SENTRY1",
        "bot_profile": {"id": "B0SENTRY1", "app_id": "A0SENTRY1", "name": name, "team_id": "T1"},
        "text": "",
        "team": "T1",
        "channel": "C0DEV0001",
        "channel_type": "channel",
        "ts": TS,
        "event_ts": TS,
        **fields,
    }


BOT = {"type": "user", "user_id": US_ID}
DIFF = "diff --git a/x.py b/x.py\n@@ -1,2 +1,2 @@\n-\tif a < b && c:\n+\tif a <= b:\n "
TRACE = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    a["<k>"]'

EVENTS: dict[str, Fields] = {
    "a plain question": by_person(
        text="why is `a[0]` slow?",
        blocks=rich(section(text("why is "), text("a[0]", code=True), text(" slow?"))),
    ),
    "a mention in the middle, with its twin's fields": by_person(
        type="app_mention",
        text=f"hey <@{US_ID}>, and <@U0BO00001>?",
        blocks=rich(
            section(
                text("hey "),
                BOT,
                text(", and "),
                {"type": "user", "user_id": "U0BO00001"},
                text("?"),
            )
        ),
    ),
    "a pasted diff whose text was shortened": by_person(
        text="diff --git a/x.py…",
        blocks=rich(
            section(text("ok?\n")),
            {"type": "rich_text_preformatted", "border": 0, "elements": [text(DIFF)]},
        ),
    ),
    "a stack trace as old clients send it": by_person(
        text='see ```Traceback (most recent call last):\n  File "x.py", line 1, in &lt;module&gt;\n'
        '    a["&lt;k&gt;"]```',
    ),
    "a code block with a language": by_person(
        blocks=rich(
            {"type": "rich_text_preformatted", "language": "python", "elements": [text("x = 1\n")]}
        )
    ),
    "a list in a list, with links": by_person(
        blocks=rich(
            section(text("todo:\n")),
            {
                "type": "rich_text_list",
                "style": "bullet",
                "indent": 0,
                "elements": [
                    section(text("read "), {"type": "link", "url": "https://x.y/a?b=1&c=2"})
                ],
            },
            {
                "type": "rich_text_list",
                "style": "ordered",
                "indent": 1,
                "elements": [section({"type": "link", "url": "https://x.y", "text": "docs"})],
            },
        )
    ),
    "a quote of us with an own word below": by_person(
        text=f"&gt; <@{US_ID}> stop\nnot me",
        blocks=rich(
            {"type": "rich_text_quote", "elements": [BOT, text(" stop")]},
            section(text("not me")),
        ),
    ),
    "people, groups, channels, emoji, a date": by_person(
        blocks=rich(
            section(
                {"type": "user", "user_id": "U0BO00001"},
                text(" "),
                {"type": "usergroup", "usergroup_id": "S0DEVS001"},
                text(" "),
                {"type": "channel", "channel_id": "C0GENERAL"},
                text(" "),
                {"type": "broadcast", "range": "here"},
                text(" "),
                {"type": "emoji", "name": "wave", "unicode": "1f44b-1f3fd", "skin_tone": 4},
                text(" "),
                {"type": "emoji", "name": "partyparrot"},
                text(" "),
                {
                    "type": "date",
                    "timestamp": 1764493920,
                    "format": "{date_short}",
                    "fallback": "Nov 30, 2025",
                },
            )
        )
    ),
    "a channel whose name the text has": by_person(
        text="see <#C0GENERAL|general> and <#C0OTHER01|>"
    ),
    "an address that became a link": by_person(
        text="write <mailto:ana@people.invalid|ana@people.invalid>",
        blocks=rich(
            section(
                text("write "),
                {"type": "link", "url": "mailto:ana@people.invalid", "text": "ana@people.invalid"},
            )
        ),
    ),
    "a reply that is also sent to the channel": by_person(
        subtype="thread_broadcast", text="fixed", root={"user": "U0BO00001", "text": "it breaks"}
    ),
    "a message of /me": by_person(subtype="me_message", text="is looking into it"),
    "a file with a word": by_person(
        subtype="file_share",
        text="look",
        upload=True,
        files=[{"id": "F1", "name": "trace.log", "mimetype": "text/plain", "filetype": "text"}],
    ),
    "a forwarded message": by_person(
        text="what now?",
        blocks=rich(section(text("what now?"))),
        attachments=[
            {
                "ts": "1764400000.000100",
                "channel_id": "C0OPS0001",
                "channel_team": "T1",
                "is_msg_unfurl": True,
                "is_share": True,
                "author_id": "U0MEI0001",
                "author_name": "Mei Tanaka",
                "author_subname": "mei",
                "text": f"<@{US_ID}> the disk is full",
                "fallback": "[Nov 29] mei: the disk is full",
                "mrkdwn_in": ["text"],
                "footer": "Posted in #ops",
                "from_url": "https://x.slack.com/archives/C0OPS0001/p1764400000000100",
                "message_blocks": [
                    {
                        "team": "T1",
                        "channel": "C0OPS0001",
                        "ts": "1764400000.000100",
                        "message": {"blocks": rich(section(BOT, text(" the disk is full")))},
                    }
                ],
                "files": [{"id": "F2", "name": "df.txt"}],
            }
        ],
    ),
    "a link with the preview of a page": by_person(
        text="<https://x.y/post>",
        blocks=rich(section({"type": "link", "url": "https://x.y/post"})),
        attachments=[
            {
                "from_url": "https://x.y/post",
                "original_url": "https://x.y/post",
                "service_name": "The Post",
                "title": "Lists are slow",
                "title_link": "https://x.y/post",
                "text": "Why inserting &amp; copying costs.",
                "fallback": "The Post: Lists are slow",
                "id": 1,
            }
        ],
    ),
    "an alert in blocks, without a text": by_app(
        blocks=[
            {"type": "header", "text": plain("KeyError: 'user_id'")},
            {
                "type": "section",
                "text": mrkdwn("*<https://sentry.invalid/issues/1|app.views.login>*"),
                "fields": [mrkdwn("*Environment:*\nproduction"), mrkdwn("*Events:*\n42")],
                "accessory": {"type": "button", "text": plain("Ignore"), "action_id": "ignore"},
            },
            {
                "type": "section",
                "text": mrkdwn(f"```{TRACE.replace('<', '&lt;').replace('>', '&gt;')}```"),
            },
            {"type": "actions", "elements": [{"type": "button", "text": plain("Resolve")}]},
            {"type": "context", "elements": [mrkdwn("Short id: APP-1"), plain("via rules")]},
        ]
    ),
    "an alert in an attachment of the old kind": by_app(
        name="Datadog",
        attachments=[
            {
                "color": "a30200",
                "title": "[Triggered] CPU is high",
                "title_link": "https://dd.invalid/1",
                "text": "avg &gt; 90\n@slack-ops",
                "fields": [
                    {"title": "Host", "value": "web-1", "short": True},
                    {"title": "Tags", "value": "env:prod", "short": True},
                ],
                "footer": "Datadog",
                "ts": 1764493920,
                "fallback": "[Triggered] CPU is high",
            }
        ],
    ),
    "a pull request told by an app": by_app(
        name="GitHub",
        attachments=[
            {
                "pretext": "Pull request opened by <https://gh.invalid/ana|ana>",
                "title": "#7 Copy less",
                "title_link": "https://gh.invalid/o/r/pull/7",
                "text": "It copied the list.",
                "color": "36a64f",
                "fields": [{"title": "Reviewers", "value": "bo", "short": False}],
                "fallback": "[o/r] Pull request opened by ana",
            }
        ],
    ),
    "an attachment that is blocks": by_app(
        name="Jira",
        attachments=[
            {
                "color": "#2684ff",
                "fallback": "[no preview available]",
                "blocks": [
                    {
                        "type": "section",
                        "text": mrkdwn("*<https://jira.invalid/K-1|K-1 Slow list>*"),
                    },
                    {
                        "type": "context",
                        "elements": [
                            {"type": "image", "image_url": "https://x.y/i.png", "alt_text": "Bug"},
                            mrkdwn("Status: *To Do*"),
                        ],
                    },
                ],
            }
        ],
    ),
    "a webhook of the old kind": {
        "type": "message",
        "subtype": "bot_message",
        "bot_id": "B0HOOK001",
        "username": "deploy",
        "text": "Deployed <https://ci.invalid/9|#9> to *prod*",
        "icons": {"emoji": ":rocket:"},
        "channel": "C0DEV0001",
        "channel_type": "channel",
        "ts": TS,
    },
    "a workflow's form": by_app(
        name="Workflow Builder",
        text="*New request*\nWhat: a list",
        blocks=rich(section(text("New request", bold=True), text("\nWhat: a list"))),
    ),
    "a post with a person's own token": by_person(
        app_id="A0CLI0001", client_msg_id=None, text="from a script"
    ),
    "a table": by_app(
        blocks=[
            {
                "type": "table",
                "rows": [
                    [{"type": "raw_text", "text": "host"}, {"type": "raw_text", "text": "load"}],
                    [{"type": "raw_text", "text": "web-1"}, {"type": "raw_number", "value": 0.9}],
                ],
            }
        ]
    ),
    "Markdown of another model's app": by_app(
        blocks=[{"type": "markdown", "text": "**Done**\n\n- a\n- b"}], text="Done"
    ),
    "a video and a picture": by_app(
        blocks=[
            {
                "type": "video",
                "title": plain("Demo"),
                "alt_text": "a demo",
                "description": plain("How it works"),
                "video_url": "https://x.y/v",
                "thumbnail_url": "https://x.y/t.png",
            },
            {"type": "image", "image_url": "https://x.y/g.png", "alt_text": "load graph"},
        ]
    ),
    "somebody of another company in a shared channel": by_person(
        user="U0STRANG1",
        user_team="T0OTHER01",
        source_team="T0OTHER01",
        text="hello from Acme",
        user_profile={"display_name": "sam", "real_name": "Sam", "team": "T0OTHER01"},
    ),
    "a direct message whose thread is its own": by_person(
        channel="D0ANA0001", channel_type="im", text="hi", thread_ts=TS
    ),
    "a call": by_app(
        blocks=[{"type": "call", "call_id": "R1", "call": {"v1": {"name": "Standup"}}}],
        text="A call started",
    ),
    "smart quotes and escapes": by_person(text="“a &amp;&amp; b” &lt;c&gt; &amp;lt;"),
    "somebody joins": by_person(subtype="channel_join", text="<@U0ANA0001> has joined the channel"),
    "a topic": by_person(subtype="channel_topic", topic="lists", text="set the topic: lists"),
    "a tombstone": by_person(
        subtype="tombstone", user="USLACKBOT", text="This message was deleted.", hidden=True
    ),
    "Slackbot": by_person(user="USLACKBOT", text="Reminder: stand-up"),
    "our own post": by_app()
    | {"user": US_ID, "bot_id": "B0KIMIBOT", "app_id": "A0KIMIBOT", "text": "hi"},
    "a message with nothing in it": by_person(),
}
