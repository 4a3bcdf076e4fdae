"""Pull requests and commits are read from a local GitHub, whatever stands in the way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import httpx
import pytest
from aiohttp import web

from kimibot.errors import (
    GitHubError,
    GitHubFault,
    GitHubLimited,
    GitHubUnreachable,
    NotThere,
    RepositoryRefused,
    TokenRefused,
)
from kimibot.github.client import GitHub, open_github
from kimibot.github.facts import line_links, told
from kimibot.github.fetching import Fetching
from kimibot.review.addresses import Address
from kimibot.review.changes import Anchor, Diff, FileDiff, Side, Status
from kimibot.review.report import covered
from kimibot.review.selecting import Limits, select
from kimibot.sandbox.github import (
    GITHUB_TOKEN,
    LocalGitHub,
    LocalPull,
    LocalRepository,
    Order,
    local_github,
)

LINES = [b"line %d\n" % number for number in range(200)]
OLD = {
    "a b/é.py": b"".join(LINES),
    "gone.py": b"x = 1\n",
    "name.py": b"y = 1\n" * 9,
    "logo.png": b"\0\1",
}
NEW = {
    "a b/é.py": b"".join([*LINES[:90], b"changed\n", *LINES[91:150], *LINES[160:]]),
    "new.py": b"z = 1",
    "other.py": b"y = 1\n" * 9,
    "logo.png": b"\0\2",
}
PULL = Address("acme", "shop", 1)
Opener = Callable[..., AbstractAsyncContextManager[GitHub]]


@pytest.fixture
async def local() -> AsyncIterator[LocalGitHub]:
    async with local_github() as github:
        pull = LocalPull(OLD, NEW, title="Change", body="Why.", renames={"other.py": "name.py"})
        github.add(LocalRepository("acme/shop", {1: pull}))
        yield github


async def at_once(_seconds: float) -> None:
    """No test waits for what would pass."""


@pytest.fixture
def opened(local: LocalGitHub) -> Opener:
    return partial(open_github, api_url=local.api_url, sleep=at_once)


def pull_of(local: LocalGitHub) -> LocalPull:
    return local.repositories["acme/shop"].pulls[1]


def make_large(local: LocalGitHub, old: dict[str, bytes], new: dict[str, bytes]) -> None:
    """The diff as a whole is refused from now on."""
    pull = pull_of(local)
    pull.old, pull.new, pull.renames = old, new, {}
    local.orders.append(Order("pulls/1", 406, "too large", times=1))


async def read(opened: Opener, *, address: Address = PULL) -> Diff:
    async with opened() as github:
        return await github.diff(await github.change(address))


async def test_a_pull_request_is_pinned_to_where_the_branches_parted(
    local: LocalGitHub, opened: Opener
) -> None:
    async with opened() as github:
        change = await github.change(PULL)

    assert (change.old_sha, change.new_sha) == (
        pull_of(local).merge_base_sha,
        pull_of(local).head_sha,
    )
    assert (change.title, change.description, change.file_count) == ("Change", "Why.", 5)


async def test_its_diff_has_every_file_with_what_happened_to_it(opened: Opener) -> None:
    diff = await read(opened)

    assert {file.path: (file.status, file.is_binary) for file in diff.files} == {
        "a b/é.py": (Status.MODIFIED, False),
        "gone.py": (Status.REMOVED, False),
        "new.py": (Status.ADDED, False),
        "other.py": (Status.RENAMED, False),
        "logo.png": (Status.MODIFIED, True),
    }


async def test_both_versions_of_a_file_can_be_read(opened: Opener) -> None:
    async with opened() as github:
        change = await github.change(PULL)

        assert await github.content(change, "a b/é.py") == NEW["a b/é.py"]
        assert await github.content(change, "a b/é.py", Side.OLD) == OLD["a b/é.py"]
        assert await github.content(change, "gone.py") is None
        assert await github.content(change, "a b") is None


@pytest.mark.parametrize("path", ["../x", "a/../../x", "", "/etc/passwd", "a//b", "."])
async def test_no_file_is_read_by_a_name_that_leads_elsewhere(path: str, opened: Opener) -> None:
    async with opened() as github:
        change = await github.change(PULL)

        with pytest.raises(GitHubError):
            await github.content(change, path)


async def test_commits_are_read_with_and_without_a_pull_request(
    local: LocalGitHub, opened: Opener
) -> None:
    head, base = pull_of(local).head_sha, pull_of(local).merge_base_sha
    whole = await read(opened)

    for address in (
        Address("acme", "shop", None, (head[:7],)),
        Address("acme", "shop", 1, (head,)),
        Address("acme", "shop", 1, (base, "HEAD")),
        Address("acme", "shop", None, (base, head)),
    ):
        async with opened() as github:
            change = await github.change(address)
            assert (change.old_sha, change.new_sha) == (base, head)
            assert await github.diff(change) == whole
            assert await github.comments(change) == ()


async def test_what_is_too_large_for_one_diff_is_put_together_from_its_files(
    local: LocalGitHub, opened: Opener
) -> None:
    old = {f"src/{number:03}.py": b"%d\n" % number for number in range(350)}
    new = {path: content + b"more\n" for path, content in old.items()}
    pull_of(local).old, pull_of(local).new, pull_of(local).renames = old, new, {}

    diff = await read(opened)

    assert len(diff.files) == 350
    assert diff.missing_files == 0
    assert all(file.hunks[0].added == 1 for file in diff.files)


async def test_put_together_it_says_the_same_as_the_diff(
    local: LocalGitHub, opened: Opener
) -> None:
    whole = await read(opened)
    async with opened() as github:
        change = await github.change(PULL)
        local.orders.append(Order("pulls/1", 406, "too large"))
        pieces = await github.diff(change)

    assert [facts(file) for file in pieces.files] == [facts(file) for file in whole.files]


def facts(file: FileDiff) -> tuple[object, ...]:
    """All but the modes, which the list of files does not tell."""
    return file.old_path, file.path, file.status, file.hunks, file.is_binary, file.is_withheld


async def test_patches_that_are_missing_on_a_large_page_are_asked_for_on_smaller_ones(
    local: LocalGitHub, opened: Opener
) -> None:
    old = {f"{number:02}.py": b"%d\n" % number for number in range(80)}
    new = {path: content + b"more\n" for path, content in old.items()}
    local.patch_budget = 40
    async with opened() as github:
        pull_of(local).old, pull_of(local).new, pull_of(local).renames = old, new, {}
        change = await github.change(PULL)
        local.orders.append(Order("pulls/1", 406, "too large"))
        diff = await github.diff(change)

    assert [file.is_withheld for file in diff.files] == [False] * 80
    assert all(file.hunks for file in diff.files)
    assert not any("contents" in request.path for request in local.requests)


async def test_what_no_page_has_a_patch_for_is_compared_from_its_two_versions(
    local: LocalGitHub, opened: Opener
) -> None:
    whole = await read(opened)
    local.patch_budget = -1
    async with opened() as github:
        change = await github.change(PULL)
        local.orders.append(Order("pulls/1", 406, "too large"))
        diff = await github.diff(change)

    def lines(found: Diff) -> dict[str, list[tuple[int | None, int | None, bytes]]]:
        return {
            file.path: [(n.old, n.new, n.content) for hunk in file.hunks for n in hunk.lines]
            for file in found.files
        }

    assert lines(diff) == lines(whole)


async def test_what_can_be_had_in_no_way_is_named_and_not_reviewed(
    local: LocalGitHub, opened: Opener
) -> None:
    local.patch_budget = -1
    async with opened() as github:
        change = await github.change(PULL)
        local.orders += [Order("pulls/1", 406, times=1), Order("contents", 500, times=99)]
        diff = await github.diff(change)

    text = covered(select(diff.files, Limits(9_000, 9)).coverage)
    assert "`a b/é.py`, `gone.py`, `new.py` (too large to be had)" in text


async def test_files_beyond_the_longest_list_are_counted(
    local: LocalGitHub, opened: Opener
) -> None:
    async with opened() as github:
        change = await github.change(PULL)
        pull_of(local).new = {"new.py": b"z = 1"}
        pull_of(local).old = {}
        local.orders.append(Order("pulls/1", 406))
        diff = await github.diff(change)

    assert (len(diff.files), diff.missing_files) == (1, 4)


async def test_comments_are_read_page_after_page(local: LocalGitHub, opened: Opener) -> None:
    pull_of(local).comments = [
        {"id": number + 1, "path": "new.py", "line": 1, "side": "RIGHT", "body": f"c{number}",
         "user": {"login": "ana"}, "position": None}
        for number in range(250)
    ]  # fmt: skip
    pull_of(local).comments[1] |= {"line": None, "user": None, "body": None, "original_line": 3}
    pull_of(local).comments[2] |= {"in_reply_to_id": 1}

    async with opened() as github:
        comments = await github.comments(await github.change(PULL))

    assert len(comments) == 250
    assert told(comments).split("\n")[:3] == [
        "new.py:1, ana: c0",
        "  new.py:1, ana: c2",
        "new.py (of an older version), somebody: ",
    ]


@pytest.mark.parametrize(
    ("status", "kind"),
    [(404, NotThere), (401, TokenRefused), (429, GitHubLimited), (400, GitHubFault)],
)
async def test_a_refusal_ends_it_at_once(
    status: int, kind: type[GitHubError], local: LocalGitHub, opened: Opener
) -> None:
    local.orders.append(Order("pulls", status, times=9))

    with pytest.raises(kind):
        await read(opened)
    assert len(local.requests) == 1


async def test_a_fault_that_passes_is_not_noticed(local: LocalGitHub, opened: Opener) -> None:
    local.orders.append(Order("pulls", 502, times=2))

    assert len((await read(opened)).files) == 5


async def test_a_fault_that_stays_is_told(local: LocalGitHub, opened: Opener) -> None:
    local.orders.append(Order("pulls", 502, times=9))

    with pytest.raises(GitHubFault):
        await read(opened)


async def test_a_private_repository_is_as_good_as_absent_without_the_token(
    local: LocalGitHub, opened: Opener
) -> None:
    local.repositories["acme/shop"].is_private = True

    with pytest.raises(NotThere):
        await read(opened)
    with pytest.raises(NotThere):
        await read(partial(opened, token=GITHUB_TOKEN))
    async with opened(token=GITHUB_TOKEN, patterns=["acme/*"]) as github:
        with pytest.raises(NotThere):
            await github.change(PULL, is_guest=True)
        assert len((await github.diff(await github.change(PULL))).files) == 5


async def test_what_no_pattern_allows_is_not_even_asked_for(
    local: LocalGitHub, opened: Opener
) -> None:
    with pytest.raises(RepositoryRefused):
        await read(partial(opened, token=GITHUB_TOKEN, patterns=["acme/other"]))
    assert local.requests == []


async def test_the_limit_for_those_without_a_token_is_told(
    local: LocalGitHub, opened: Opener
) -> None:
    local.anonymous_left = 0

    with pytest.raises(GitHubLimited) as caught:
        await read(opened)
    assert 590 < (caught.value.retry_after_seconds or 0) < 610


async def test_a_repository_that_has_moved_is_read_under_its_new_name(
    local: LocalGitHub, opened: Opener
) -> None:
    local.repositories["acme/shop"].moved_from = "acme/old"

    async with opened() as github:
        change = await github.change(Address("acme", "old", 1))

        assert change.full_name == "acme/shop"
        assert len((await github.diff(change)).files) == 5


async def test_a_move_does_not_lead_around_the_patterns(local: LocalGitHub, opened: Opener) -> None:
    local.repositories["acme/shop"].moved_from = "octo/old"

    async with opened(token=GITHUB_TOKEN, patterns=["octo/*"]) as github:
        with pytest.raises(RepositoryRefused):
            await github.change(Address("octo", "old", 1))


async def test_a_pull_request_whose_fork_is_gone_is_read(
    local: LocalGitHub, opened: Opener
) -> None:
    pull_of(local).is_fork_gone = True
    pull_of(local).is_merged = True

    async with opened() as github:
        change = await github.change(PULL)
    assert change.state == "merged"


async def test_without_files_there_is_an_empty_diff(local: LocalGitHub, opened: Opener) -> None:
    pull_of(local).new = pull_of(local).old
    pull_of(local).renames = {}

    assert (await read(opened)).files == ()


async def test_lines_have_links_to_the_version_that_was_read(
    local: LocalGitHub, opened: Opener
) -> None:
    async with opened() as github:
        change = await github.change(PULL)
        diff = await github.diff(change)
        link_of = line_links(github.web_url, change, diff.files)

    assert link_of(Anchor("a b/é.py", Side.NEW, 91)) == (
        f"{local.url}/acme/shop/blob/{pull_of(local).head_sha}/a%20b/%C3%A9.py#L91"
    )
    before = f"{local.url}/acme/shop/blob/{pull_of(local).merge_base_sha}"
    assert link_of(Anchor("gone.py", Side.OLD, 1)) == f"{before}/gone.py#L1"
    assert link_of(Anchor("other.py", Side.OLD, 1)) == f"{before}/name.py#L1", "its name of then"


async def test_what_is_not_of_the_documented_shape_is_a_fault(
    local: LocalGitHub, opened: Opener
) -> None:
    local.orders.append(Order("pulls", 200, "a secret text"))

    with pytest.raises(GitHubFault) as caught:
        await read(opened)
    assert "secret" not in str(caught.value)


async def test_where_nobody_listens_that_is_said() -> None:
    async with open_github(api_url="http://127.0.0.1:9/api/v3", sleep=at_once) as github:
        with pytest.raises(GitHubUnreachable):
            await github.change(PULL)


Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Elsewhere:
    """Another host, which must never be asked."""

    def __init__(self) -> None:
        self.requests: list[web.Request] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        return web.json_response([])


@pytest.fixture
async def elsewhere() -> AsyncIterator[Elsewhere]:
    host = Elsewhere()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", host.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield host
    await runner.cleanup()


async def test_no_redirect_leads_to_another_host(
    local: LocalGitHub, opened: Opener, elsewhere: Elsewhere
) -> None:
    port = httpx.URL(elsewhere.url).port
    for there in (
        f"{elsewhere.url}/api/v3/repos/acme/shop/pulls/1",
        f"//127.0.0.1:{port}/api/v3/x",
        f"{local.url}/login",
        f"{local.url}/api/v3/../../x",
        f"{local.url.replace('//', '//user:pass@')}/api/v3/repos/acme/shop/pulls/1",
        "file:///etc/passwd",
        "",
    ):
        local.orders.append(Order("pulls", 302, headers={"Location": there}))
        with pytest.raises(GitHubError):
            await read(partial(opened, token=GITHUB_TOKEN, patterns=["acme/*"]))
        assert local.orders.pop().times == 0
    assert elsewhere.requests == []


async def test_no_next_page_is_fetched_from_another_host(
    local: LocalGitHub, opened: Opener, elsewhere: Elsewhere
) -> None:
    async with opened(token=GITHUB_TOKEN, patterns=["acme/*"]) as github:
        change = await github.change(PULL)
        link = {"Link": f'<{elsewhere.url}/api/v3/x?page=2>; rel="next"'}
        local.orders.append(Order("comments", 200, "[]", headers=link))
        with pytest.raises(GitHubError):
            await github.comments(change)
    assert elsewhere.requests == []


@pytest.mark.parametrize("there", ["http://a:b/", "//[::1", "http://☃..☃/", f"/{'x' * 70_000}"])
async def test_a_response_that_names_no_address_is_a_failure_of_github(there: str) -> None:
    """A proxy on the way may write anything there."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/list":
            return httpx.Response(200, headers=[(b"Link", f'<{there}>; rel="next"'.encode())])
        return httpx.Response(307, headers=[(b"Location", there.encode())])

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        fetching = Fetching(http, "https://api.example", GITHUB_TOKEN, at_once)
        with pytest.raises(GitHubError):
            await fetching.get("/user", with_token=True)
        with pytest.raises(GitHubError):
            await fetching.write("POST", "/x", {})
        with pytest.raises(GitHubError):
            _ = [page async for page in fetching.pages("/list", with_token=True)]


async def test_the_token_goes_to_the_api_and_only_where_it_may(
    local: LocalGitHub, opened: Opener
) -> None:
    await read(partial(opened, token=GITHUB_TOKEN))
    assert not any(request.has_token for request in local.requests)

    await read(partial(opened, token=GITHUB_TOKEN, patterns=["acme/shop"]))
    assert local.requests[-1].has_token


async def test_versions_too_long_to_be_compared_are_read_as_they_are(
    local: LocalGitHub, opened: Opener
) -> None:
    old = {"long.py": b"".join(b"%d\n" % number for number in range(11_000))}
    make_large(local, old, {"long.py": old["long.py"].replace(b"\n", b"!\n")})
    local.orders.clear()
    local.patch_budget = -1

    (file,) = (await read(opened)).files

    assert (file.path, file.status) == ("long.py", Status.WHOLE)
    assert file.hunks[0].lines[10_999].content == b"10999!"
