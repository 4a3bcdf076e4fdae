"""Changes are read with what they stand in, for as many requests as that is worth."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from kimibot.github.client import GitHub, open_github
from kimibot.github.submitting import Submissions
from kimibot.github.surrounding import MOST_FILES, MOST_FILES_WITHOUT_TOKEN, with_surroundings
from kimibot.review.addresses import Address
from kimibot.review.anchors import commentable
from kimibot.review.changes import Anchor, FileDiff, Side
from kimibot.sandbox.github import (
    GITHUB_TOKEN,
    LocalGitHub,
    LocalPull,
    LocalRepository,
    Order,
    local_github,
)

CODE = b"import os\n\n\ndef sell(shop):\n" + b"".join(b"    step_%d()\n" % n for n in range(20))
CHANGED = CODE.replace(b"step_9()", b"step_nine()")
OLD = {f"src/{n:02}.py": CODE for n in range(30)}
NEW = {f"src/{n:02}.py": CHANGED for n in range(30)}
ADDRESS = Address("acme", "shop", 1)


async def no_wait(_seconds: float) -> None:
    """No test waits for what would pass."""


@pytest.fixture
async def local() -> AsyncIterator[LocalGitHub]:
    async with local_github() as github:
        github.add(LocalRepository("acme/shop", {1: LocalPull(OLD, NEW)}))
        yield github


@pytest.fixture
async def github(local: LocalGitHub) -> AsyncIterator[GitHub]:
    async with open_github(
        api_url=local.api_url, token=GITHUB_TOKEN, patterns=("acme/*",), sleep=no_wait
    ) as github:
        yield github


async def read(
    github: GitHub, *, with_token: bool = True
) -> tuple[tuple[FileDiff, ...], list[int]]:
    """The files with their surroundings, and which of them have any."""
    change = replace(await github.change(ADDRESS), with_token=with_token)
    files = (await github.diff(change)).files
    wide = await with_surroundings(github, change, files, "")
    return wide, [at for at, file in enumerate(files) if wide[at] != file]


@pytest.mark.parametrize(
    ("with_token", "most"), [(True, MOST_FILES), (False, MOST_FILES_WITHOUT_TOKEN)]
)
async def test_the_first_files_are_read_with_their_functions(
    with_token: bool, most: int, github: GitHub, local: LocalGitHub
) -> None:
    wide, changed = await read(github, with_token=with_token)

    assert changed == list(range(most))
    assert wide[0].hunks[0].lines[0].text == "def sell(shop):"
    assert sum("contents" in one.path for one in local.requests) == most


async def test_after_a_failure_nothing_more_is_asked(github: GitHub, local: LocalGitHub) -> None:
    local.orders.append(Order("contents/src/02", 403, "limit", {"retry-after": "60"}))

    _, changed = await read(github)

    assert changed == [0, 1]
    assert sum("contents" in one.path for one in local.requests) == 3


async def test_one_file_that_is_not_there_spoils_no_other(
    github: GitHub, local: LocalGitHub
) -> None:
    local.orders.append(Order("contents/src/02", 404, "Not Found"))

    _, changed = await read(github)

    assert changed == [n for n in range(MOST_FILES) if n != 2]


async def test_what_was_put_around_a_change_can_be_found_in_but_not_posted_to(
    github: GitHub,
) -> None:
    async with open_github(
        api_url=github.api_url, token=GITHUB_TOKEN, patterns=("acme/*",), posts=True
    ) as posting:
        material = await Submissions(posting).read(ADDRESS, "", is_guest=False)

    head = Anchor("src/00.py", Side.NEW, 4)
    assert material.pull is not None
    assert head in commentable(material.files)
    assert head not in material.pull.places
    assert Anchor("src/00.py", Side.NEW, 14) in material.pull.places
    assert material.link_of(head).endswith("src/00.py#L4")
