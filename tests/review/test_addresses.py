"""Addresses of pull requests and commits are recognised in all their forms, on one host only."""

from __future__ import annotations

import pytest

from kimibot.review.addresses import Address, Foreign, find, read, web_host

API = "https://api.github.com"
SHA = "0123456789abcdef0123456789abcdef01234567"
PULL = Address("octo", "hello.world", 12)


@pytest.mark.parametrize(
    "tail",
    [
        "", "/", "/files", "/changes", "/commits", "/checks", "/conflicts", ".diff", ".patch",
        "?w=1", "/files?diff=split&w=1", "#discussion_r99", "/files#diff-abcR10-R20",
        "/files?short_path=a#r7",
    ],
)  # fmt: skip
def test_every_page_of_a_pull_request_names_it(tail: str) -> None:
    assert read(f"https://github.com/octo/hello.world/pull/12{tail}", API) == PULL


@pytest.mark.parametrize(
    ("path", "commits"),
    [
        (f"/pull/12/commits/{SHA}", (SHA,)),
        (f"/pull/12/changes/{SHA[:7]}", (SHA[:7],)),
        (f"/pull/12/changes/{SHA[:7]}..{SHA}", (SHA[:7], SHA)),
        (f"/pull/12/files/{SHA[:7]}..HEAD", (SHA[:7], "HEAD")),
    ],
)
def test_commits_of_a_pull_request_are_named_with_it(path: str, commits: tuple[str, ...]) -> None:
    found = read(f"https://github.com/octo/hello.world{path}", API)

    assert found == Address("octo", "hello.world", 12, commits)


def test_a_commit_may_stand_for_itself() -> None:
    found = read(f"https://github.com/octo/a.git/commit/{SHA[:7]}.patch", API)
    compared = read(f"https://github.com/octo/a/compare/{SHA[:7]}...{SHA}", API)

    assert found == Address("octo", "a", None, (SHA[:7],))
    assert compared == Address("octo", "a", None, (SHA[:7], SHA))


def test_an_address_of_the_api_names_the_same() -> None:
    own = "https://git.example.com/api/v3"

    assert read("https://api.github.com/repos/octo/hello.world/pulls/12", API) == PULL
    assert read(f"{own}/repos/octo/hello.world/pulls/12/files", own) == PULL


@pytest.mark.parametrize(
    ("api_url", "host"),
    [
        ("https://api.github.com", "github.com"),
        ("https://git.example.com/api/v3", "git.example.com"),
        ("https://api.octo.ghe.com", "octo.ghe.com"),
        ("http://127.0.0.1:4020/api/v3", "127.0.0.1:4020"),
    ],
)
def test_each_api_has_its_own_pages(api_url: str, host: str) -> None:
    scheme = api_url.partition(":")[0]

    assert web_host(api_url) == host
    assert read(f"{scheme}://{host}/octo/hello.world/pull/12", api_url) == PULL


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com.evil.example/octo/hello/pull/1",
        "https://github.com@evil.example/octo/hello/pull/1",
        "https://evil.example#@github.com/octo/hello/pull/1",
        "https://somebody@github.com/octo/hello/pull/1",
        "https://github.com:8443/octo/hello/pull/1",
        "https://gitlab.example/octo/hello/pull/1",
        "http://127.0.0.1/octo/hello/pull/1",
        "https://raw.githubusercontent.com/octo/hello/pull/1",
    ],
)
def test_no_other_host_is_taken(url: str) -> None:
    assert not isinstance(read(url, API), Address)


def test_a_pull_request_elsewhere_is_told_from_any_other_address() -> None:
    assert read("https://git.example.com/a/b/pull/1", API) == Foreign("git.example.com")
    assert read("https://x:y@git.example.com/a/b/pull/1", API) == Foreign("git.example.com")
    assert read("https://github.com/octo/hello/issues/1", API) is None
    assert read("https://github.com/octo/hello", API) is None
    assert read("https://[broken/octo/hello/pull/1", API) is None


@pytest.mark.parametrize(
    "path",
    ["/octo/../pull/1", "/octo/./pull/1", "/-o/a/pull/1", "/octo/a/pull/0", "/octo/a%2Fb/pull/1",
     "/octo/a/pull/1x", "/octo/a/pull/12345678901", "/octo/a/commit/xyz", "/octo/.git/pull/1",
     "/octo/a/pull/１"],
)  # fmt: skip
def test_what_could_not_be_a_name_is_no_address(path: str) -> None:
    assert read(f"https://github.com{path}", API) is None


@pytest.mark.parametrize(
    "text",
    [
        "please review https://github.com/octo/hello.world/pull/12.",
        "(https://github.com/octo/hello.world/pull/12/files)",
        "[the change](https://github.com/octo/hello.world/pull/12), thanks",
        "<https://github.com/octo/hello.world/pull/12?w=1>",
        "请看https://github.com/octo/hello.world/pull/12、谢谢",
        "**https://github.com/octo/hello.world/pull/12**",
        "review octo/hello.world#12!",
        "https://github.com/octo/hello.world/pull/12 and octo/hello.world#12 are the same",
    ],
)
def test_an_address_is_found_within_a_sentence(text: str) -> None:
    assert find(text, API) == [PULL]


def test_several_are_found_in_their_order_and_each_once() -> None:
    url = "https://github.com/octo/{}/pull/1"
    text = (
        f"{url.format('b')} {url.format('a')} https://x.example/o/r/pull/1 {url.format('b')}/files"
    )

    assert find(text, API) == [Address("octo", "b", 1), Address("octo", "a", 1),
                               Foreign("x.example")]  # fmt: skip


def test_a_fraction_a_path_or_a_channel_is_no_short_form() -> None:
    assert find("see a/b/c#1, 1/2 #3, x/#4 and http://x.example/a/b#12", API) == []
