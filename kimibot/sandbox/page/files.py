"""Draws the files of a message, and serves them to those who are in the conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from aiohttp import web

from kimibot.sandbox.page.highlight import highlighted
from kimibot.sandbox.slack.files import File, guess_mimetype
from kimibot.sandbox.slack.people import Person
from kimibot.sandbox.slack.workspace import Unknown, Workspace

_SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")


def files_html(files: Sequence[Mapping[str, Any]], viewer: str) -> str:
    """A link for each file; a picture is shown in it, and below it the beginning of a snippet."""
    drawn = "".join(_link(file, viewer) + _snippet(file) for file in files)
    return f'<div class="files">{drawn}</div>' if drawn else ""


def file_response(
    workspace: Workspace, viewer: Person, file_id: str, headers: Mapping[str, str]
) -> web.Response:
    """The file's content. Raises Unknown for one that this person can't see.

    What is not a picture is a download under its name, so that no page of somebody's runs here.
    """
    file = workspace.files.get(file_id)
    if file is None or not _may_see(workspace, viewer, file):
        raise Unknown(f"no such file: {file_id}")
    kind = file.mimetype or guess_mimetype(file.name)
    way = "inline" if kind in _SHOWN else "attachment"
    named = {"Content-Disposition": f"{way}; filename*=UTF-8''{quote(file.name, safe='')}"}
    return web.Response(
        body=file.content,
        content_type=kind if kind in _SHOWN else _plain_type(file.content),
        headers={**headers, **named},
    )


def _plain_type(content: bytes) -> str:
    try:
        content.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "text/plain"


def _may_see(workspace: Workspace, viewer: Person, file: File) -> bool:
    channels = (workspace.channels.get(channel) for channel, _ in file.shares)
    return any(channel is not None and viewer.id in channel.members for channel in channels)


def _link(file: Mapping[str, Any], viewer: str) -> str:
    words = dict.fromkeys(filter(None, (file.get("title"), file.get("name"))))
    name = escape(" · ".join(map(str, words)) or "file")
    address = f"/page/file/{quote(str(file.get('id')))}?as={quote(viewer)}"
    picture = f'<img src="{address}" alt="">' if file.get("mimetype") in _SHOWN else ""
    size = f'<span class="size">{_size(file.get("size"))}</span>'
    return f'<a class="file" href="{address}" target="_blank">{picture}{name}{size}</a>'


def _snippet(file: Mapping[str, Any]) -> str:
    if not (file.get("mode") == "snippet" and file.get("preview")):
        return ""
    code = highlighted(str(file["preview"]), str(file.get("filetype") or ""))
    more = int(file.get("lines_more") or 0)
    rest = f"<figcaption>{more} more lines</figcaption>" if more else ""
    return f'<figure class="snippet"><pre class="plain"><code>{code}</code></pre>{rest}</figure>'


def _size(size: Any) -> str:
    if not isinstance(size, int):
        return ""
    if size < 1_024:
        return f"{size} B"
    return f"{size / 1_024:,.0f} KB" if size < 1_024**2 else f"{size / 1_024**2:,.1f} MB"
