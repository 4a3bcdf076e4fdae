"""Files over the Web API: described, uploaded in three steps, downloaded."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from kimibot.sandbox.slack import limits
from kimibot.sandbox.slack.access import channel_to_post_in
from kimibot.sandbox.slack.arguments import Arguments
from kimibot.sandbox.slack.chat import bot_message, note_readers
from kimibot.sandbox.slack.content import content_of
from kimibot.sandbox.slack.files import File, as_slack_file, guess_mimetype
from kimibot.sandbox.slack.people import BOT, BOT_TOKEN, TEAM_ID
from kimibot.sandbox.slack.refusals import Refused
from kimibot.sandbox.slack.workspace import Workspace

Answer = dict[str, Any]

LOGIN_PAGE = (
    "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head>"
    "<body><form action='/signin'>Sign in to your workspace</form></body></html>"
)
STALL_SECONDS = 3600.0


def files_info(workspace: Workspace, arguments: Arguments) -> Answer:
    """https://docs.slack.dev/reference/methods/files.info."""
    return {"ok": True, "file": described(workspace, _known(workspace, arguments.required("file")))}


def get_upload_url(workspace: Workspace, arguments: Arguments) -> Answer:
    """https://docs.slack.dev/reference/methods/files.getUploadURLExternal.

    It was seen to read no JSON: https://github.com/Octember/earshot/pull/10.
    """
    if arguments.is_json:
        raise Refused("invalid_arguments", ["missing required field: filename"])
    name = arguments.required("filename")
    length, snippet_type = arguments.number("length", 0), arguments.text("snippet_type")
    if length < 1:
        raise Refused("invalid_arguments", ["length must be at least 1"])
    if snippet_type and snippet_type not in limits.SNIPPET_TYPES:
        raise Refused("unknown_snippet_type")
    if snippet_type and length > limits.SNIPPET_BYTES:
        raise Refused("snippet_too_large")
    file = File(
        id=workspace.new_id("F0"),
        name=name,
        content=b"",
        owner=BOT.user_id,
        created=int(workspace.clock()),
        mimetype=guess_mimetype(name),
        snippet_type=snippet_type,
        is_complete=False,
    )
    workspace.files.add(file)
    return {
        "ok": True,
        "upload_url": f"{workspace.base_url}/upload/{file.id}",
        "file_id": file.id,
    }


def complete_upload(workspace: Workspace, arguments: Arguments) -> Answer:
    """https://docs.slack.dev/reference/methods/files.completeUploadExternal: shares the files."""
    listed = arguments.parsed("files", "invalid_arguments")
    if not isinstance(listed, list) or not listed:
        raise Refused("invalid_arguments", ["missing required field: files"])
    files = [_completed(workspace, entry) for entry in listed]
    names = arguments.text("channel_id") or arguments.text("channels")
    for name in [name for name in names.split(",") if name]:
        _share(workspace, name, files, arguments)
    return {"ok": True, "files": [described(workspace, file) for file in files]}


async def receive_upload(workspace: Workspace, request: web.Request) -> web.Response:
    """The bytes of a file, raw or as the form field `file`."""
    file = workspace.files.get(request.match_info["file_id"])
    if file is None or file.is_complete:
        return web.Response(status=404, text="no such upload")
    if request.content_type == "multipart/form-data":
        field = (await request.post()).get("file")
        file.content = field.file.read() if isinstance(field, web.FileField) else b""
    else:
        file.content = await request.read()
    return web.Response(text=f"OK - {len(file.content)}")


async def download(workspace: Workspace, request: web.Request) -> web.StreamResponse:
    """A file's content for the bot's token with its scope; others are sent to sign in."""
    file = workspace.files.get(request.match_info["file"].rpartition("-")[2])
    if file is None or file.fault == "not_found":
        return web.Response(status=404, text="file not found")
    if file.fault == "stall":
        await asyncio.sleep(STALL_SECONDS)
    if file.fault.startswith("redirect:"):
        raise web.HTTPFound(file.fault.removeprefix("redirect:"))
    if file.fault == "login_page":
        return web.Response(
            body=LOGIN_PAGE.encode(), headers={"Content-Type": file.fault_content_type}
        )
    if not _may_download(workspace, request):
        raise web.HTTPFound(f"{workspace.base_url}/signin")
    content_type = file.mimetype or guess_mimetype(file.name)
    return web.Response(body=file.content, headers={"Content-Type": content_type})


def described(workspace: Workspace, file: File) -> dict[str, Any]:
    """A file as Slack describes it in answers and events."""
    return as_slack_file(file, workspace.base_url, TEAM_ID)


def in_message(workspace: Workspace, file: File) -> dict[str, Any]:
    """A file as a message holds it: without the list of where else it was shared.

    https://docs.slack.dev/apis/slack-connect: of some it holds the id, and `files.info` the rest.
    """
    if file.is_hidden:
        return {"id": file.id, "created": file.created, "file_access": "check_file_info"}
    fields = described(workspace, file)
    return {name: v for name, v in fields.items() if name not in ("channels", "groups", "ims")}


def _may_download(workspace: Workspace, request: web.Request) -> bool:
    is_ours = request.headers.get("Authorization") == f"Bearer {BOT_TOKEN}"
    return is_ours and "files:read" in workspace.options.scopes


def _known(workspace: Workspace, file_id: str) -> File:
    file = workspace.files.get(file_id)
    if file is None or not file.is_complete:
        raise Refused("file_not_found")
    return file


def _completed(workspace: Workspace, entry: Any) -> File:
    file = workspace.files.get(str(entry.get("id"))) if isinstance(entry, dict) else None
    if file is None:
        raise Refused("file_not_found")
    file.title = str(entry.get("title") or file.name)
    file.is_complete = True
    return file


def _share(workspace: Workspace, name: str, files: list[File], arguments: Arguments) -> None:
    channel = channel_to_post_in(workspace, name)
    thread_ts = arguments.text("thread_ts")
    if thread_ts and not workspace.messages.is_root(channel.id, thread_ts):
        raise Refused("invalid_thread_ts")
    comment = Arguments(arguments.values | {"text": arguments.text("initial_comment")})
    fields = bot_message(BOT) | content_of(workspace, comment).fields()
    fields |= {"files": [in_message(workspace, file) for file in files]}
    fields |= {"thread_ts": thread_ts} if thread_ts else {}
    message = workspace.messages.add(channel.id, fields)
    for file in files:
        file.shares.append((channel.id, message["ts"]))
    # An upload has no unfurl arguments: nothing of it is drawn as a card.
    quiet = Arguments({"unfurl_links": False, "unfurl_media": False})
    note_readers(workspace, channel.id, message, quiet)
