"""One request after the other, to the configured API and to no other place."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

import httpx

from kimibot.errors import GitHubError, GitHubFault, GitHubUnreachable, TooLarge
from kimibot.github.faults import fault

JSON = "application/vnd.github+json"
DIFF = "application/vnd.github.diff"
RAW = "application/vnd.github.raw+json"

MOST_BYTES = 20 * 1024 * 1024
MOST_PAGES = 30
MOST_REDIRECTS = 3
RETRY_SECONDS = (0.5, 2.0)
"""Waits before a GET is made again after a fault that may pass."""

_REDIRECTS = (301, 302, 307, 308)
_KEEP_THE_METHOD = (307, 308)
_NEXT = re.compile(r'<([^<>]+)>\s*;\s*rel="next"')

Sleep = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response that is a success."""

    body: bytes
    content_type: str
    next_url: str = ""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Where something is to be found instead, as GitHub says."""

    status: int
    location: str


class RepositoryMoved(GitHubFault):
    """What was sent would be lost on the way to where the repository is now: nothing was done."""


class Fetching:
    """Sends the token to the API alone: every address is held against it, redirects and further
    pages included."""

    def __init__(
        self, http: httpx.AsyncClient, api_url: str, token: str, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._http = http
        self._api = httpx.URL(f"{api_url.rstrip('/')}/")
        self._token = token
        self._sleep = sleep

    async def get(
        self,
        path: str,
        *,
        with_token: bool,
        accept: str = JSON,
        parameters: Mapping[str, str] | None = None,
    ) -> Fetched:
        """The body at a path below the API. Raises GitHubError; faults that pass are retried."""
        url = httpx.URL(f"{str(self._api).rstrip('/')}{path}", params=parameters or None)
        return await self._retried(url, accept, with_token)

    async def write(self, method: str, path: str, payload: Mapping[str, object]) -> Fetched:
        """The response to what was sent, with the token and once. Raises GitHubError, and
        RepositoryMoved where it was not taken but may be under the repository's new name.

        A redirect that keeps the method is followed; after any other a POST would be a GET.
        """
        url = httpx.URL(f"{str(self._api).rstrip('/')}{path}")
        for _ in range(MOST_REDIRECTS + 1):
            self._check(url)
            found = await self._once(url, JSON, True, method=method, payload=payload)
            if isinstance(found, Fetched):
                return found
            if found.status not in _KEEP_THE_METHOD or not found.location:
                raise RepositoryMoved("a redirect of what was to be written", status=found.status)
            url = _address(found.location, url)
        raise GitHubFault("redirects that lead nowhere", status=310)

    async def pages(
        self, path: str, *, with_token: bool, per_page: int = 100
    ) -> AsyncIterator[Fetched]:
        """Page after page, as far as GitHub links them, and at most MOST_PAGES."""
        parameters = {"per_page": str(per_page)}
        page = await self.get(path, with_token=with_token, parameters=parameters)
        for _ in range(MOST_PAGES - 1):
            yield page
            if not page.next_url:
                return
            page = await self._retried(_address(page.next_url, self._api), JSON, with_token)
        yield page

    async def _retried(self, url: httpx.URL, accept: str, with_token: bool) -> Fetched:
        for wait_seconds in RETRY_SECONDS:
            try:
                return await self._followed(url, accept, with_token)
            except (GitHubFault, GitHubUnreachable) as error:
                if error.status is not None and error.status < 500:
                    raise
            await self._sleep(wait_seconds)
        return await self._followed(url, accept, with_token)

    async def _followed(self, url: httpx.URL, accept: str, with_token: bool) -> Fetched:
        for _ in range(MOST_REDIRECTS + 1):
            self._check(url)
            fetched = await self._once(url, accept, with_token)
            if isinstance(fetched, Fetched):
                return fetched
            if not fetched.location:
                break
            url = _address(fetched.location, url)
        raise GitHubFault("redirects that lead nowhere", status=310)

    def _check(self, url: httpx.URL) -> None:
        """Scheme, host, port and the beginning of the path are those of the API."""
        is_same_origin = (url.scheme, url.host, url.port) == (
            self._api.scheme,
            self._api.host,
            self._api.port,
        )
        is_below = url.path.startswith(self._api.path) and ".." not in url.path.split("/")
        if not is_same_origin or not is_below or url.userinfo:
            raise GitHubFault("an address outside of the API was to be fetched", status=310)

    async def _once(
        self,
        url: httpx.URL,
        accept: str,
        with_token: bool,
        *,
        method: str = "GET",
        payload: Mapping[str, object] | None = None,
    ) -> Fetched | Elsewhere:
        headers = {"Accept": accept}
        if with_token and self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            async with self._http.stream(method, url, headers=headers, json=payload) as response:
                if response.status_code in _REDIRECTS:
                    location = str(response.headers.get("location", ""))
                    return Elsewhere(response.status_code, location)
                body = await _bounded(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise GitHubUnreachable(type(error).__name__) from error
        if not response.is_success:
            raise fault(response.status_code, response.headers, body)
        return _fetched(response, body)


def segment(name: str) -> str:
    """A part of a path, with every sign that could end it encoded."""
    return quote(name, safe="")


def file_path(path: str) -> str:
    """The path of a file below `contents`. Raises GitHubError for one that leads elsewhere."""
    if not path or any(part in ("", ".", "..") for part in path.split("/")):
        raise GitHubError("no file can have this name")
    return quote(path)


def _address(named: str, seen_at: httpx.URL) -> httpx.URL:
    """An address that a response names. Raises GitHubFault for what is none."""
    try:
        return seen_at.join(named)
    except httpx.InvalidURL as error:
        raise GitHubFault("what is no address was to be fetched", status=310) from error


def _fetched(response: httpx.Response, body: bytes) -> Fetched:
    link = _NEXT.search(response.headers.get("link", ""))
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Fetched(body, content_type, link[1] if link else "")


async def _bounded(response: httpx.Response) -> bytes:
    pieces, size = [], 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > MOST_BYTES:
            raise TooLarge(f"more than {MOST_BYTES} bytes")
        pieces.append(piece)
    return b"".join(pieces)
