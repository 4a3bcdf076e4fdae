"""The REST API of the local GitHub: who may see what, media types, pages, limits, and refusals."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from kimibot.sandbox.github import repositories as described
from kimibot.sandbox.github import trees
from kimibot.sandbox.github.patches import ChangedFile
from kimibot.sandbox.github.repositories import Json, LocalPull, LocalRepository
from kimibot.sandbox.github.reviewing import (
    OUR_LOGIN,
    Unprocessable,
    add_review,
    change_body,
)

GITHUB_TOKEN = "local-fake-github-token"
PREFIX = "/api/v3"
MOST_FILES_IN_A_DIFF = 300
MOST_LINES_IN_A_DIFF = 20_000
"""https://docs.github.com/en/repositories/creating-and-managing-repositories/repository-limits"""

MOST_PER_PAGE = 100
_PER_PAGE = 30
_TOO_LARGE = (
    "Sorry, the diff exceeded the maximum number of {what}. Consider using 'List pull requests "
    "files' API or locally cloning the repository instead."
)


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in."""

    method: str
    path: str
    query: dict[str, str]
    accept: str
    has_token: bool


@dataclass(slots=True)
class Order:
    """The next so many requests whose path holds `part` get this answer instead.

    With `method` only those count. With `is_late` they are carried out first, and only the answer
    is another one; status 0 is none at all: the connection ends, after `delay_seconds`.
    """

    part: str
    status: int
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    method: str = ""
    is_late: bool = False
    delay_seconds: float = 0.0


class LocalGitHub:
    """Its repositories, what it was asked, and how it is to behave.

    `patch_budget` is how many changed lines a page of files has patches for; how large GitHub's
    own is has not been published. `anonymous_left` is how many more requests without a token are
    answered. `login` is whose the token is, or "" for that of an app, who is no user; it can only
    read where it `may_not_write`. `on_review` is told of each review that was taken, `watcher` of
    each request twice: right before it is carried out, and right after, with True.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.repositories: dict[str, LocalRepository] = {}
        self.requests: list[Request] = []
        self.orders: list[Order] = []
        self.patch_budget = 1_000_000
        self.anonymous_left = 60
        self.login = OUR_LOGIN
        self.may_not_write = False
        self.on_review: Callable[[], None] = lambda: None
        self.watcher: Callable[[str, bool], None] = lambda *_: None
        self.url = ""
        self._clock = clock

    @property
    def api_url(self) -> str:
        return f"{self.url}{PREFIX}"

    def add(self, repository: LocalRepository) -> LocalRepository:
        self.repositories[repository.full_name.lower()] = repository
        return repository

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Whatever comes in below the prefix."""
        path = request.path.removeprefix(PREFIX)
        token = request.headers.get("Authorization", "")
        accept = request.headers.get("Accept", "")
        self.requests.append(
            Request(request.method, path, dict(request.query), accept, bool(token))
        )
        order = self._order(request.method, path)
        if order is not None and not order.is_late:
            return await _obeyed(request, order)
        answer = self._refused(request, token) or await self._found(
            request, path, is_known=bool(token)
        )
        return answer if order is None else await _obeyed(request, order)

    def _order(self, method: str, path: str) -> Order | None:
        for order in self.orders:
            if order.times > 0 and order.part in path and order.method in ("", method):
                order.times -= 1
                return order
        return None

    def _refused(self, request: web.Request, token: str) -> web.Response | None:
        if not request.headers.get("User-Agent"):
            return _said(403, "Request forbidden by administrative rules.")
        if token and token != f"Bearer {GITHUB_TOKEN}":
            return _said(401, "Bad credentials")
        if token:
            return None
        if self.anonymous_left <= 0:
            reset = {
                "x-ratelimit-remaining": "0",
                "x-ratelimit-reset": f"{self._clock() + 600:.0f}",
            }
            return _said(403, "API rate limit exceeded for 127.0.0.1.", headers=reset)
        self.anonymous_left -= 1
        return None

    async def _found(self, request: web.Request, path: str, *, is_known: bool) -> web.Response:
        if path == "/user":
            return self._user(is_known=is_known)
        by_id = re.fullmatch(r"/repositories/(\d+)/(.*)", path)
        named = re.fullmatch(r"/repos/([^/]+/[^/]+)/(.*)", path)
        if by_id:
            all_of_them = self.repositories.values()
            found = next((one for one in all_of_them if one.id == int(by_id[1])), None)
            rest = by_id[2]
        elif named:
            moved = self._moved(named[1])
            if moved is not None:
                there = f"{self.api_url}/repositories/{moved.id}/{named[2]}"
                status = 301 if request.method == "GET" else 307
                return web.Response(status=status, headers={"Location": there})
            found, rest = self.repositories.get(named[1].lower()), named[2]
        else:
            found, rest = None, ""
        if found is None or (found.is_private and not is_known):
            return _said(404, "Not Found")
        return await self._in_repository(request, found, rest)

    def _user(self, *, is_known: bool) -> web.Response:
        if not is_known:
            return _said(401, "Requires authentication")
        if not self.login:
            return _said(403, "Resource not accessible by integration")
        return _json({"login": self.login})

    def _moved(self, name: str) -> LocalRepository | None:
        all_of_them = self.repositories.values()
        return next((one for one in all_of_them if one.moved_from.lower() == name.lower()), None)

    async def _in_repository(
        self, request: web.Request, repository: LocalRepository, rest: str
    ) -> web.Response:
        pull = re.fullmatch(r"pulls/(\d+)(?:/(files|comments|reviews))?(?:/(.+))?", rest)
        if pull and int(pull[1]) in repository.pulls:
            number, part = int(pull[1]), pull[2] or ""
            if request.method != "GET" or pull[3]:
                reviewed = repository.pulls[number]
                return await self._of_reviews(request, reviewed, part, pull[3] or "")
            return await self._pull(request, repository, number, part)
        commit = re.fullmatch(r"commits/([0-9a-fA-F]+)", rest)
        compared = re.fullmatch(r"compare/([0-9a-fA-F]+)\.\.\.([0-9a-fA-F]+)", rest)
        content = re.fullmatch(r"contents/(.+)", rest)
        if content:
            return _content(request, repository, content[1])
        if folder := re.fullmatch(r"git/trees/([0-9a-fA-F]+)", rest):
            return _folder(repository, folder[1])
        sha = commit[1] if commit else compared[2] if compared else ""
        found = repository.pull_with(sha)
        if found is None:
            return _said(404, "Not Found")
        if request.headers.get("Accept", "") == "application/vnd.github.diff":
            return _diff(found)
        describe = described.commit_json if commit else described.comparison_json
        return _json(describe(found, self._patched(found.files[:300])))

    async def _pull(
        self, request: web.Request, repository: LocalRepository, number: int, part: str
    ) -> web.Response:
        pull = repository.pulls[number]
        if part == "files":
            return self._page(request, pull.files, self._patched)
        if part == "reviews":
            return self._page(request, self._seen_reviews(request, pull), list)
        if part:
            return self._page(request, getattr(pull, part), list)
        if request.headers.get("Accept", "") == "application/vnd.github.diff":
            return _diff(pull)
        return _json(described.pull_json(repository, number))

    def _seen_reviews(self, request: web.Request, pull: LocalPull) -> list[Json]:
        """What waits to be sent is for its author alone."""
        login = self.login if request.headers.get("Authorization") else None
        return [
            one
            for one in pull.reviews
            if one["state"] != "PENDING" or one["user"]["login"] == login
        ]

    async def _of_reviews(
        self, request: web.Request, pull: LocalPull, part: str, rest: str
    ) -> web.Response:
        """Without a token that may write, it is as if the pull request were not there."""
        review = re.fullmatch(r"(\d+)(/comments)?", rest)
        if part != "reviews" or not request.headers.get("Authorization"):
            return _said(404, "Not Found")
        if request.method == "GET" and review and review[2]:
            number = int(review[1])
            of_it = [one for one in pull.comments if one["pull_request_review_id"] == number]
            return self._page(request, of_it, list)
        if refusal := self._no_writing(pull):
            return refusal
        if request.method == "PUT" and review and not review[2]:
            return _json(change_body(pull, int(review[1]), await request.json()))
        if request.method == "POST" and not rest:
            return self._added(pull, await request.json())
        return _said(404, "Not Found")

    def _no_writing(self, pull: LocalPull) -> web.Response | None:
        if self.may_not_write:
            needed = {"x-accepted-github-permissions": "pull_requests=write"}
            what = "Resource not accessible by personal access token"
            return _said(403, what, headers=needed)
        if pull.is_locked:
            return _said(403, "Unable to create comment because issue is locked.")
        return None

    def _added(self, pull: LocalPull, asked: Json) -> web.Response:
        try:
            review = add_review(pull, asked, self.login or OUR_LOGIN)
        except Unprocessable as refusal:
            return _said(422, "Unprocessable Entity", errors=[str(refusal)])
        self.on_review()
        return _json(review)

    def _patched(self, files: Sequence[ChangedFile]) -> list[Json]:
        """The budget is that of the page: the later of its files go without."""
        left, shown = self.patch_budget, []
        for file in files:
            left -= sum(file.counts())
            shown.append(described.file_json(file, has_patch=left >= 0))
        return shown

    def _page(
        self,
        request: web.Request,
        items: Sequence[Any],
        show: Callable[[Sequence[Any]], list[Json]],
    ) -> web.Response:
        """More than a hundred a page are cut to a hundred without a word."""
        size = min(int(request.query.get("per_page", _PER_PAGE)), MOST_PER_PAGE)
        number = int(request.query.get("page", "1"))
        headers = {}
        if number * size < len(items):
            following = request.url.update_query(page=str(number + 1), per_page=str(size))
            headers["Link"] = f'<{following}>; rel="next"'
        return _json(show(items[(number - 1) * size : number * size]), headers=headers)


def _diff(pull: LocalPull) -> web.Response:
    text = pull.diff()
    if len(pull.files) > MOST_FILES_IN_A_DIFF:
        return _too_large(f"files ({MOST_FILES_IN_A_DIFF})")
    if text.count(b"\n") > MOST_LINES_IN_A_DIFF:
        return _too_large(f"lines ({MOST_LINES_IN_A_DIFF})")
    return web.Response(body=text, content_type="application/vnd.github.diff", charset="utf-8")


def _too_large(what: str) -> web.Response:
    errors = [{"resource": "PullRequest", "field": "diff", "code": "too_large"}]
    return _said(406, _TOO_LARGE.format(what=what), errors=errors)


def _content(request: web.Request, repository: LocalRepository, path: str) -> web.Response:
    sha = request.query.get("ref", "")
    pull = repository.pull_with(sha)
    tree = pull.tree(sha) if pull else None
    if pull is None or tree is None:
        return _said(404, f"No commit found for the ref {sha}")
    is_raw = "raw" in request.headers.get("Accept", "")
    try:
        found = trees.content(pull, tree, path, is_raw=is_raw)
    except KeyError:
        return _said(404, "Not Found")
    except OverflowError:
        return _said(403, "This API returns blobs up to 100 MB in size.")
    if isinstance(found, bytes):
        return web.Response(body=found, content_type="application/vnd.github.raw+json")
    return _json(found)


def _folder(repository: LocalRepository, sha: str) -> web.Response:
    found = trees.folder_json(repository, sha)
    return _said(404, "Not Found") if found is None else _json(found)


async def _obeyed(request: web.Request, order: Order) -> web.Response:
    await asyncio.sleep(order.delay_seconds)
    if order.status == 0 and request.transport is not None:
        request.transport.close()
    return _said(order.status or 502, order.message, headers=order.headers)


def _json(found: object, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response(found, headers=headers)


def _said(
    status: int, message: str, *, headers: dict[str, str] | None = None, errors: object = None
) -> web.Response:
    body: Json = {"message": message, "status": str(status)}
    if errors is not None:
        body["errors"] = errors
    return web.Response(
        status=status, text=json.dumps(body), content_type="application/json", headers=headers
    )
