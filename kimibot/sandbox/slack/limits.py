"""Slack's published and measured limits, as this local Slack enforces them."""

from __future__ import annotations

UPDATE_TEXT_CHARS = 4_000
"""chat.update refuses longer `text`: https://docs.slack.dev/reference/methods/chat.update"""

POST_TEXT_CHARS = 4_000
"""Longer text is posted as several messages; the advice is to stay below:
https://docs.slack.dev/reference/methods/chat.postMessage"""

POST_TEXT_TRUNCATED_CHARS = 40_000
"""What is beyond is thrown away: https://docs.slack.dev/reference/methods/chat.postMessage"""

MARKDOWN_CHARS = 12_000
"""All markdown blocks of one payload, and `markdown_text`:
https://docs.slack.dev/reference/block-kit/blocks/markdown-block"""

ALL_BLOCK_TEXT_CHARS = 13_200
"""From here on `msg_blocks_too_long`; measured: https://github.com/slackapi/bolt-js/issues/2509"""

BLOCKS_PER_MESSAGE = 50
"""https://docs.slack.dev/reference/block-kit/blocks"""

BLOCK_ID_CHARS = 255
"""https://docs.slack.dev/reference/block-kit/blocks"""

SECTION_TEXT_CHARS = 3_000
SECTION_FIELD_CHARS = 2_000
SECTION_FIELDS = 10
"""https://docs.slack.dev/reference/block-kit/blocks/section-block"""

HEADER_CHARS = 150
"""https://docs.slack.dev/reference/block-kit/blocks/header-block"""

ACTIONS_ELEMENTS = 25
"""https://docs.slack.dev/reference/block-kit/blocks/actions-block"""

CONTEXT_ELEMENTS = 10
"""https://docs.slack.dev/reference/block-kit/blocks/context-block"""

CONTEXT_ACTIONS_ELEMENTS = 5
"""https://docs.slack.dev/reference/block-kit/blocks/context-actions-block"""

CONFIRM_TITLE_CHARS = 100
CONFIRM_TEXT_CHARS = 300
CONFIRM_ANSWER_CHARS = 30
"""https://docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object"""

BUTTON_TEXT_CHARS = 75
BUTTON_VALUE_CHARS = 2_000
BUTTON_URL_CHARS = 3_000
ACTION_ID_CHARS = 255
"""https://docs.slack.dev/reference/block-kit/block-elements/button-element"""

SELECT_OPTIONS = 100
SELECT_PLACEHOLDER_CHARS = 150
"""https://docs.slack.dev/reference/block-kit/block-elements/select-menu-element"""

OPTION_TEXT_CHARS = 75
OPTION_VALUE_CHARS = 150
"""https://docs.slack.dev/reference/block-kit/composition-objects/option-object"""

TABLE_ROWS = 100
TABLE_COLUMNS = 20
"""https://docs.slack.dev/reference/block-kit/blocks/table-block"""

ATTACHMENTS = 100
"""`too_many_attachments`: https://docs.slack.dev/reference/methods/chat.postMessage"""

VIEW_BYTES = 250_000
"""https://docs.slack.dev/reference/methods/views.open"""

TRIGGER_SECONDS = 3.0
"""How long a trigger_id lives: https://docs.slack.dev/interactivity/handling-user-interaction"""

RESPONSE_URL_USES = 5
RESPONSE_URL_SECONDS = 30 * 60
"""https://docs.slack.dev/interactivity/handling-user-interaction"""

REPLIES_PAGE = 1_000
HISTORY_PAGE = 999
HISTORY_PAGE_DEFAULT = 100
"""https://docs.slack.dev/reference/methods/conversations.history and conversations.replies"""

CLAMPED_PAGE = 15
CLAMPED_CALLS_PER_MINUTE = 1.0
"""For apps that are distributed outside the Marketplace: https://docs.slack.dev/changelog/2025/05/29/rate-limit-changes-for-non-marketplace-apps"""

MEMBERS_PAGE = 100
"""https://docs.slack.dev/reference/methods/conversations.members"""

POSTS_PER_MINUTE_IN_A_CHANNEL = 60.0
POSTS_BURST_IN_A_CHANNEL = 4
"""One message a second and channel, short bursts pass (how short is unpublished):
https://docs.slack.dev/apis/web-api/rate-limits"""

TIER_CALLS_PER_MINUTE = {2: 20.0, 3: 50.0, 4: 100.0}
"""For each method and workspace: https://docs.slack.dev/apis/web-api/rate-limits"""

TIER_BURST = {2: 10, 3: 25, 4: 50}
"""Bursts pass, how large is unpublished: half a minute's worth is taken."""

OPEN_SOCKETS = 10
"""Connections of one app: https://docs.slack.dev/apis/events-api/using-socket-mode"""

SOCKET_URL_SECONDS = 30.0
"""How long an address from apps.connections.open may be used to connect."""

ACK_SECONDS = 3.0
REDELIVERY_SECONDS = (0.0, 60.0, 300.0)
"""A delivery counts as failed after 3 s and is made again nearly at once, a minute and five
minutes later: https://docs.slack.dev/apis/events-api"""

SNIPPET_BYTES = 1024 * 1024
"""`snippet_too_large`: https://docs.slack.dev/reference/methods/files.getUploadURLExternal"""

_TYPES_OF_TEXT = (
    "applescript c cfm clojure coffeescript cpp csharp css csv d dart diff dockerfile erlang "
    "fortran fsharp go groovy handlebars haskell haxe html java javascript json kotlin latex lisp "
    "lua markdown matlab mumps objc ocaml pascal perl php pig powershell puppet python r ruby rust "
    "sass scala scheme shell smalltalk sql swift text tsv vb vbscript velocity verilog xml yaml"
)
SNIPPET_TYPES = frozenset(_TYPES_OF_TEXT.split())
"""The types of text in https://docs.slack.dev/reference/objects/file-object"""

FILE_PREVIEW_CHARS = 500
"""How much of a text file its `preview` shows, roughly."""
