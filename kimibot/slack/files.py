"""Downloads what people attach: from Slack's file hosts and from nowhere else.

The token goes with each request, so each address is checked before it is called, those of
redirects included. https://docs.slack.dev/reference/objects/file-object
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from kimibot.attachments import SharedFile, Unread
from kimibot.errors import FileUnread, SlackError
from kimibot.slack.events import read_file
from kimibot.slack.shapes import shape
from kimibot.slack.sign_in import is_sign_in_page
from kimibot.slack.web_api import WebApi

MOST_BYTES = 20 * 1024 * 1024
MOST_REDIRECTS = 3
FILE_SECONDS = 60.0
"""For one file, all its steps included."""

_DOMAINS = (".slack-files.com", ".slack-edge.com")
"""Where Slack keeps files beside files.slack.com:
https://slack.com/help/articles/360001603387-Manage-Slack-connection-issues"""

_NO_CONTENT = {"tombstone": Unread.GONE, "hidden_by_limit": Unread.HIDDEN}
_WHY = {
    "missing_scope": Unread.NO_SCOPE,
    "file_not_found": Unread.GONE,
    "file_deleted": Unread.GONE,
    "access_denied": Unread.NO_ACCESS,
    "not_visible": Unread.NO_ACCESS,
}


@asynccontextmanager
async def open_files(
    web_api: WebApi, token: str, *, api_url: str, silence_seconds: float
) -> AsyncIterator[SlackFiles]:
    """`silence_seconds` is how long a host may say nothing."""
    async with httpx.AsyncClient(timeout=silence_seconds, follow_redirects=False) as http:
        yield SlackFiles(http, web_api, token, Places(httpx.URL(api_url)))


@dataclass(frozen=True, slots=True)
class Places:
    """From where files may come: Slack's file hosts over https.

    A Web API at another address, as in tests, may also serve the files itself. An address of a
    private network is none of these, whatever a message or a redirect says.
    """

    api: httpx.URL

    def has(self, url: httpx.URL) -> bool:
        if _origin(url) == _origin(self.api) and self.api.host != "slack.com":
            return True
        is_ours = url.host == f"files.{self.api.host}" or url.host.endswith(_DOMAINS)
        return is_ours and url.scheme == "https" and url.port in (None, 443)

    def is_sign_in(self, url: httpx.URL) -> bool:
        """Where Slack sends whoever may not have a file."""
        is_slack = url.host == self.api.host or url.host.endswith(f".{self.api.host}")
        return is_slack and url.scheme == "https"


class SlackFiles:
    """Fetches one file at a time, with a fresh address where the known one does not do."""

    def __init__(
        self, http: httpx.AsyncClient, web_api: WebApi, token: str, places: Places
    ) -> None:
        self._http = http
        self._web_api = web_api
        self._headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "identity"}
        self._places = places

    async def describe(self, file: SharedFile) -> SharedFile:
        """The file as Slack describes it now. Raises FileUnread."""
        try:
            answer = await self._web_api.read("files.info", file=file.id)
        except SlackError as error:
            raise FileUnread(_WHY.get(error.code, Unread.UNREACHABLE)) from error
        return read_file(shape(answer, "file"))

    async def download(self, file: SharedFile) -> bytes:
        """All its bytes. Raises FileUnread, also for what is too large, too slow or elsewhere.

        An address that has grown stale is looked up again, once.
        """
        _refuse_unseen(file)
        try:
            async with asyncio.timeout(FILE_SECONDS):
                try:
                    return await self._get(file)
                except FileUnread as first:
                    return await self._get(await self._fresh(file, first))
        except (TimeoutError, httpx.TimeoutException) as error:
            raise FileUnread(Unread.TOO_SLOW) from error

    async def _fresh(self, file: SharedFile, first: FileUnread) -> SharedFile:
        if first.why in (Unread.TOO_LARGE, Unread.ELSEWHERE):
            raise first
        described = await self.describe(file)
        if described.url == file.url:
            raise first
        return described

    async def _get(self, file: SharedFile) -> bytes:
        url = _url(file.url)
        for _ in range(MOST_REDIRECTS + 1):
            if not self._places.has(url):
                is_sign_in = self._places.is_sign_in(url)
                raise FileUnread(Unread.SIGN_IN if is_sign_in else Unread.ELSEWHERE)
            found = await self._step(url)
            if isinstance(found, bytes):
                if is_sign_in_page(found, file):
                    raise FileUnread(Unread.SIGN_IN)
                return found
            url = found
        raise FileUnread(Unread.UNREACHABLE)

    async def _step(self, url: httpx.URL) -> bytes | httpx.URL:
        """The content, or the address to which a redirect leads."""
        try:
            async with self._http.stream("GET", url, headers=self._headers) as response:
                if response.has_redirect_location:
                    return url.join(response.headers["Location"])
                if response.status_code != 200:
                    raise FileUnread(_why(response.status_code))
                return await _bytes_of(response)
        except httpx.TimeoutException:
            raise
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise FileUnread(Unread.UNREACHABLE) from error


def _refuse_unseen(file: SharedFile) -> None:
    if file.mode in _NO_CONTENT:
        raise FileUnread(_NO_CONTENT[file.mode])
    if file.size_bytes > MOST_BYTES:
        raise FileUnread(Unread.TOO_LARGE)


def _url(address: str) -> httpx.URL:
    try:
        return httpx.URL(address)
    except httpx.InvalidURL as error:
        raise FileUnread(Unread.ELSEWHERE) from error


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _why(status: int) -> Unread:
    if status in (404, 410):
        return Unread.GONE
    return Unread.NO_ACCESS if status in (401, 403) else Unread.UNREACHABLE


async def _bytes_of(response: httpx.Response) -> bytes:
    pieces, size = [], 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > MOST_BYTES:
            raise FileUnread(Unread.TOO_LARGE)
        pieces.append(piece)
    return b"".join(pieces)
