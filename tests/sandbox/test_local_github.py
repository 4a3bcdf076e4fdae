"""The local GitHub makes diffs as git does, and takes reviews as GitHub does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kimibot.review.diffs import parse
from kimibot.sandbox.github import (
    GITHUB_TOKEN,
    LocalGitHub,
    LocalPull,
    LocalRepository,
    Order,
    local_github,
)
from kimibot.sandbox.github.reviewing import OUR_LOGIN
from tests.review.repositories import judge, versions

OLD = {"a.py": b"".join(b"line %d\n" % n for n in range(60)), "é b/c.py": b"1\n", "gone": b"x\n"}
NEW = {
    "a.py": OLD["a.py"].replace(b"line 9\n", b"nine\n").replace(b"line 40\n", b""),
    "é b/c.py": b"1\n2",
    "new": b"y\n",
}


@pytest.fixture
async def github() -> AsyncIterator[LocalGitHub]:
    async with local_github() as local:
        local.add(LocalRepository("acme/shop", {1: LocalPull(OLD, NEW)}))
        yield local


@pytest.fixture
async def client(github: LocalGitHub) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {GITHUB_TOKEN}"}
    async with httpx.AsyncClient(base_url=github.api_url, headers=headers) as http:
        yield http


async def review(client: httpx.AsyncClient, **fields: Any) -> httpx.Response:
    comment = {"path": "a.py", "line": 10, "side": "RIGHT", "body": "b"} | fields
    asked = {"event": "COMMENT", "body": "All in all", "comments": [comment]}
    return await client.post("/repos/acme/shop/pulls/1/reviews", json=asked)


def test_its_diffs_are_those_of_git(tmp_path: Path) -> None:
    of = versions(tmp_path / "repository", OLD, NEW)

    diff = parse(LocalPull(OLD, NEW).diff())

    judge(of, diff, "--no-renames")


@pytest.mark.parametrize(
    "place",
    [
        {},
        {"line": 9},
        {"line": 13},
        {"line": 10, "side": "LEFT"},
        {"line": 41, "side": "LEFT"},
        {"line": 12, "start_line": 10, "start_side": "RIGHT"},
        {"path": "é b/c.py", "line": 2},
    ],
)
async def test_a_comment_within_the_diff_is_taken(
    place: dict[str, Any], client: httpx.AsyncClient
) -> None:
    taken = await review(client, **place)
    listed = await client.get("/repos/acme/shop/pulls/1/comments")

    assert taken.status_code == 200
    assert [one["body"] for one in listed.json()] == ["b"]


@pytest.mark.parametrize(
    "place",
    [
        {"line": 1},
        {"line": 14},
        {"line": 0},
        {"line": 9, "side": "LEFT"},
        {"line": 10, "start_line": 10},
        {"line": 41, "start_line": 10},
        {"path": "nowhere"},
        {"body": ""},
    ],
)
async def test_one_comment_outside_of_the_diff_refuses_the_whole_review(
    place: dict[str, Any], client: httpx.AsyncClient, github: LocalGitHub
) -> None:
    refused = await review(client, **place)

    assert refused.status_code == 422
    assert refused.json()["errors"]
    pull = github.repositories["acme/shop"].pulls[1]
    assert not pull.comments
    assert not pull.reviews


async def test_without_a_token_nothing_is_written_and_nobody_learns_why(
    github: LocalGitHub,
) -> None:
    async with httpx.AsyncClient(base_url=github.api_url) as stranger:
        assert (await review(stranger)).status_code == 404
        bad = {"Authorization": "Bearer local-fake-wrong"}
        answer = await stranger.get("/repos/acme/shop/pulls/1", headers=bad)
        assert answer.status_code == 401


async def test_an_older_commit_is_not_reviewed(client: httpx.AsyncClient) -> None:
    asked = {"event": "COMMENT", "body": "b", "commit_id": "0" * 40}
    answer = await client.post("/repos/acme/shop/pulls/1/reviews", json=asked)

    assert answer.status_code == 422


def of(github: LocalGitHub) -> LocalPull:
    return github.repositories["acme/shop"].pulls[1]


async def test_the_author_alone_sees_a_review_that_waits_and_can_send_no_other(
    client: httpx.AsyncClient, github: LocalGitHub
) -> None:
    waiting = await client.post("/repos/acme/shop/pulls/1/reviews", json={"body": "half"})
    refused = await review(client)
    mine = (await client.get("/repos/acme/shop/pulls/1/reviews")).json()
    async with httpx.AsyncClient(base_url=github.api_url) as stranger:
        others = (await stranger.get("/repos/acme/shop/pulls/1/reviews")).json()

    assert waiting.json()["state"] == "PENDING"
    assert "submitted_at" not in waiting.json()
    assert refused.json()["errors"] == ["User can only have one pending review per pull request"]
    assert ([one["body"] for one in mine], others) == (["half"], [])


async def test_the_text_of_a_review_can_stay_behind_when_its_comments_are_refused(
    client: httpx.AsyncClient, github: LocalGitHub
) -> None:
    of(github).keeps_refused_text = True
    refused = await review(client, line=1)
    [left] = (await client.get("/repos/acme/shop/pulls/1/reviews")).json()
    path = f"/repos/acme/shop/pulls/1/reviews/{left['id']}"
    await client.put(path, json={"body": "All of it"})

    assert refused.status_code == 422
    assert (await client.get(f"{path}/comments")).json() == []
    assert of(github).reviews[0]["body"] == "All of it"


async def test_it_says_whose_a_token_is_but_not_for_an_app(
    client: httpx.AsyncClient, github: LocalGitHub
) -> None:
    told = await client.get("/user")
    github.login = ""
    of_app = await client.get("/user")

    assert told.json() == {"login": OUR_LOGIN}
    assert of_app.status_code == 403


async def test_a_locked_conversation_and_a_token_that_only_reads_refuse_reviews(
    client: httpx.AsyncClient, github: LocalGitHub
) -> None:
    of(github).is_locked = True
    locked = await review(client)
    github.may_not_write = True
    not_allowed = await review(client)

    assert (await client.get("/repos/acme/shop/pulls/1")).json()["locked"]
    assert "locked" in locked.json()["message"]
    assert not_allowed.headers["x-accepted-github-permissions"] == "pull_requests=write"
    assert of(github).reviews == []


async def test_what_is_written_to_a_repository_that_has_moved_keeps_its_method(
    client: httpx.AsyncClient, github: LocalGitHub
) -> None:
    github.repositories["acme/shop"].moved_from = "acme/old"
    sent = await client.post("/repos/acme/old/pulls/1/reviews", json={"event": "COMMENT"})
    read = await client.get("/repos/acme/old/pulls/1")

    assert (sent.status_code, read.status_code) == (307, 301)


@pytest.mark.parametrize("status", [502, 0])
async def test_an_answer_can_be_lost_after_the_review_was_taken(
    status: int, client: httpx.AsyncClient, github: LocalGitHub
) -> None:
    github.orders.append(Order("reviews", status, method="POST", is_late=True))
    if status:
        assert (await review(client)).status_code == 502
    else:
        with pytest.raises(httpx.RemoteProtocolError):
            await review(client)

    assert len(of(github).reviews) == 1
